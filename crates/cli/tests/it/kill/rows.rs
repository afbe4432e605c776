//! Short runs of the rows of the fault campaign.

use ralph_testkit::faults::{ROWS, Setting, hold, inside};

use super::setting;

#[test]
fn a_run_killed_at_random_moments_goes_on_by_itself() {
    hold("killed", &setting());
}

#[test]
fn a_run_killed_at_any_crash_point_goes_on_by_itself() {
    hold("points", &setting());
}

#[test]
fn an_agent_killed_at_random_moments_is_tried_again() {
    hold("agent-killed", &setting());
}

#[test]
fn a_run_that_is_asked_to_stop_gives_back_its_claims_and_goes_on_later() {
    for row in ["term", "hup", "int", "int-twice", "int-thrice"] {
        hold(row, &setting());
    }
}

#[test]
fn a_session_that_ignores_term_is_ended_with_all_it_started() {
    hold("ignores-term", &setting());
}

#[test]
fn a_session_that_says_nothing_any_more_is_ended_in_time() {
    hold("silent", &setting());
}

#[test]
fn a_full_disk_is_waited_for_or_named_and_nothing_is_lost() {
    hold("disk-full", &mounting());
}

#[test]
fn a_database_that_may_not_be_written_starts_no_agent() {
    hold("read-only", &mounting());
}

#[test]
fn an_outcome_waits_for_a_locked_database() {
    hold("locked", &setting());
}

#[test]
fn several_runs_on_one_repository_are_refused_or_share_it() {
    hold("two", &setting());
}

#[test]
fn a_clock_that_leaps_loses_nothing_and_gives_nothing_twice() {
    hold("clock", &setting());
}

#[test]
fn a_run_that_was_stopped_past_its_lease_comes_too_late() {
    hold("stalled", &setting());
}

#[test]
fn stale_locks_and_half_files_are_repaired_and_a_users_lock_stays() {
    hold("halves", &setting());
}

#[test]
fn a_run_killed_between_a_question_and_the_next_task_keeps_their_work_apart() {
    hold("asked", &setting());
}

#[test]
fn a_run_killed_after_it_recorded_unfinished_work_gives_it_back_to_its_task() {
    hold("left", &setting());
}

#[test]
fn what_the_user_writes_while_gates_run_stays_and_is_not_committed() {
    hold("user-edits", &setting());
}

#[test]
fn a_plan_that_changes_during_the_run_is_worked_off() {
    hold("edited", &setting());
}

#[test]
fn a_line_without_end_takes_little_memory() {
    hold("long-line", &setting());
}

#[test]
fn a_network_that_is_cut_costs_no_retry() {
    hold("network", &setting());
}

#[test]
fn every_row_has_a_test_and_a_line_on_its_page() {
    let tests = [include_str!("rows.rs"), include_str!("../parallel/killed.rs")].concat();
    let page = include_str!("../../../../../docs/faults.md");
    for row in ROWS {
        assert!(tests.contains(&format!("\"{}\"", row.name)), "{} has no test", row.name);
        assert!(page.contains(&format!("`{}`", row.name)), "{} is not told", row.name);
    }
}

/// Rows that need mounts of their own call this program again.
fn mounting() -> Setting {
    let this = std::env::current_exe().unwrap().into_os_string();
    let arguments = ["--exact", "kill::rows::the_row_with_mounts_of_its_own", "--ignored"];
    let again = [this].into_iter().chain(arguments.map(Into::into)).collect();
    Setting { again, ..setting() }
}

#[test]
#[ignore = "only as a call of the others"]
fn the_row_with_mounts_of_its_own() {
    assert!(inside());
}
