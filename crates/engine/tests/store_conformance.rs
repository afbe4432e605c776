//! The contract of [`ralph_engine::ports::Store`], case by case, on every store there is.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "in a test, a surprise is a failure")]

#[path = "store/claims.rs"]
mod claims;
#[path = "store/kit.rs"]
mod kit;
#[path = "store/outcomes.rs"]
mod outcomes;
#[path = "store/plan.rs"]
mod plan;
#[path = "store/records.rs"]
mod records;
#[path = "store/sync.rs"]
mod sync;

/// A test for every case on one store. A case that is not listed here is an unused function.
macro_rules! conforms {
    ($store:ident, $run:path) => {
        mod $store {
            conforms! { each $run;
                plan:
                    a_task_keeps_every_field
                    a_field_can_be_changed_and_emptied
                    an_empty_patch_changes_nothing
                    done_and_deleted_tasks_are_not_changed
                    what_is_not_there_is_named
                    a_refused_change_leaves_no_trace
                    an_id_is_taken_once
                    s1_11_ready_tasks_come_by_priority_then_creation
                    s1_10_ready_is_pending_leaf_unblocked_below_nothing_failed
                    s1_12_a_scope_is_all_a_feature_or_a_task
                    a_blocker_blocks_until_done_or_deleted
                    blocking_twice_counts_once
                    a_closed_task_gets_no_blocker
                    a_failed_task_can_be_blocked_and_reset
                    no_task_needs_itself
                    a_cycle_is_refused_at_the_edge_that_closes_it
                    a_change_is_judged_by_the_edges_that_it_leaves
                    a_cycle_through_a_parent_is_refused
                    a_closed_parent_takes_no_parts
                    ids_are_deleted_all_or_none
                    unfinished_parts_go_with_their_parent_or_not_at_all
                    tasks_are_deleted_by_status
                    tasks_are_deleted_by_spec_category_and_several_statuses
                    deleting_all_keeps_what_is_done
                    the_id_of_a_deleted_task_can_be_used_again
                    a_task_made_again_is_not_stuck_behind_old_parts
                    s0_11_counts_distinguish_the_buckets
                    a_list_is_in_order_of_creation_and_filtered;
                claims:
                    s1_14_a_claim_takes_the_first_ready_task
                    s0_6_a_named_task_can_be_claimed
                    a_claim_stays_in_its_scope
                    a_claim_is_exclusive_even_for_its_holder
                    an_expired_claim_is_taken_over
                    an_agent_may_take_its_own_expired_claim_again
                    the_better_of_ready_and_expired_is_claimed
                    an_expired_but_blocked_task_is_not_taken_over
                    what_is_not_ready_cannot_be_claimed
                    nothing_below_a_failed_task_can_be_claimed
                    a_late_holder_may_still_finish_without_another_claim
                    a_lost_claim_writes_nothing_by_generation
                    a_lost_claim_writes_nothing_by_agent_id
                    an_agent_finishes_nothing_that_it_does_not_hold
                    a_person_acts_directly
                    renewing_moves_the_end_of_the_lease
                    only_a_claim_can_be_renewed
                    s1_50_a_released_task_is_as_if_it_was_never_taken
                    a_claim_brings_what_the_blockers_produced
                    peek_shows_the_claimable_then_the_held
                    a_claimed_task_can_still_be_changed;
                outcomes:
                    s1_47_only_a_claimed_task_can_be_done
                    done_keeps_the_result_and_the_time
                    a_claimed_task_that_got_parts_is_done_by_them
                    s1_45_a_failed_attempt_goes_back_to_pending
                    s1_46_three_retries_are_four_attempts
                    a_final_failure_asks_for_no_retries
                    without_a_limit_a_task_comes_back_for_ever
                    s1_52_reset_clears_claim_retries_and_reason
                    reset_leaves_pending_done_and_deleted_alone
                    a_parent_with_failed_parts_is_not_reset
                    a_done_task_reopens_with_its_parents_and_its_history
                    only_finished_tasks_reopen_and_all_or_none
                    s1_48_a_parent_is_done_with_its_last_child
                    s1_48_a_dependent_is_ready_after_its_last_blocker
                    s1_49_a_parent_fails_with_its_child
                    a_failed_parent_comes_back_with_its_last_failed_child
                    deleting_the_last_failed_child_heals_the_parent
                    deleting_the_only_child_makes_the_parent_a_leaf
                    deleting_the_last_open_child_finishes_the_parent
                    both_parents_follow_a_child_that_moves
                    a_moved_subtree_keeps_its_neighbor_counts
                    a_failed_leaf_can_be_split
                    a_claimed_task_that_gets_parts_is_done_with_them
                    s0_8_every_claim_of_an_agent_can_be_found_and_failed;
                sync:
                    a_plan_is_brought_in_once
                    a_plan_changes_what_it_names_and_keeps_the_rest
                    a_done_task_is_skipped
                    a_task_that_the_plan_marks_waits
                    what_a_named_spec_no_longer_has_is_deleted
                    a_plan_revives_a_deleted_task
                    a_revived_task_with_edges_counts_as_inserted_only
                    a_plan_may_point_forward
                    an_unknown_task_is_named_with_its_line
                    a_cycle_is_named_with_its_line
                    an_id_stands_in_a_plan_once
                    a_plan_with_one_bad_line_is_not_applied_at_all
                    a_plan_may_bring_finished_tasks
                    a_plan_may_finish_what_is_here
                    children_decide_over_what_a_plan_says_of_a_parent
                    a_plan_cannot_add_open_parts_to_a_done_parent
                    a_plan_heals_a_failed_parent_by_new_parts
                    both_parents_follow_a_child_that_a_plan_moves
                    a_parent_follows_when_a_plan_drops_its_parts
                    a_plan_finishes_a_task_whose_parts_it_drops
                    a_part_that_comes_back_leaves_its_old_parent_alone
                    a_finished_task_becomes_no_part_of_what_a_plan_calls_done
                    a_plan_brings_back_as_done_what_it_takes_the_parts_from
                    what_comes_back_above_a_failed_part_has_failed
                    a_plan_may_add_finished_parts_to_a_done_parent
                    a_plan_with_a_cycle_of_parents_is_refused_in_time
                    a_plan_and_what_it_replaces_change_together_or_not_at_all
                    a_dry_run_reports_everything_and_changes_nothing;
                records:
                    the_log_shows_what_happened_and_who_did_it
                    the_log_of_a_deleted_task_stays
                    attempts_come_back_as_they_went_in
                    the_history_has_all_attempts_that_did_not_end_before
                    evidence_comes_back_as_it_went_in
                    s1_44_the_verdict_of_the_verifier_is_recorded_with_the_task
                    a_task_waits_until_every_question_is_answered
                    a_message_waits_until_an_attempt_that_got_it_ends
                    a_message_needs_a_task_that_has_sessions
                    a_question_is_answered_once
                    questions_of_a_task_that_is_reset_or_deleted_are_withdrawn
                    only_open_work_can_wait
                    a_held_task_waits_until_it_is_reset
                    features_are_listed_by_name_and_taken_once
                    a_feature_with_unfinished_tasks_is_deleted_when_confirmed
                    a_deleted_feature_comes_back_under_its_name
                    a_reopened_task_of_a_deleted_feature_can_be_edited
                    an_agent_is_registered_once
                    an_agent_that_leaves_gives_its_claims_back;
            }
        }
    };
    (each $run:path; $($of:ident: $($case:ident)+;)+) => {
        $($(
            #[test]
            fn $case() {
                crate::kit::within_seconds($run, crate::$of::$case);
            }
        )+)+
    };
}

conforms!(memory, crate::kit::in_memory);
conforms!(sqlite, crate::kit::in_sqlite);
