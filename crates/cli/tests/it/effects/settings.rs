//! The settings, each with the tests that show its effect.

/// `key | tests`, in the order of `ralph config show`.
pub(super) const TABLE: &str = "
preset | cli/tests/it/effects/loops.rs::who_picks_is_a_setting_and_the_presets_affair
loop.max_iterations | cli/tests/it/looping/allowances.rs::s1_4_s1_39_s2_21_s2_22_s3_2_s3_3_a_limit_of_n_is_n_sessions_however_it_is_given
loop.max_retries | cli/tests/it/tasks.rs::the_retry_limit_is_a_setting
loop.give_up_after | cli/tests/it/looping/gates.rs::give_up_after_leaves_the_task_for_you
loop.max_consecutive_errors | cli/tests/it/looping/allowances.rs::s3_12_s4_15_s4_21_each_outcome_has_its_exit_code
loop.idle_threshold | cli/tests/it/looping/allowances.rs::s3_12_s4_15_s4_21_each_outcome_has_its_exit_code
loop.jobs | cli/tests/it/branches/side_by_side.rs::s4_5_a_set_number_of_jobs_holds_for_branches_too, cli/tests/it/effects/sessions.rs::the_number_of_sessions_side_by_side_is_taken
loop.recent_threads | cli/tests/it/plans/progress.rs::s2_19_attempts_are_kept_and_the_oldest_dropped
loop.verify | cli/tests/it/effects/loops.rs::verifying_and_learning_are_settings
loop.learn | cli/tests/it/effects/loops.rs::verifying_and_learning_are_settings
loop.strict_exit | cli/tests/it/looping/outcomes.rs::strict_exit_is_a_setting_and_init_turns_it_on
loop.commit | cli/tests/it/looping/shapes.rs::loop_commit_says_whether_ralph_commits_what_the_agent_left, cli/tests/it/looping/shapes.rs::loop_commit_done_leaves_an_iteration_without_a_tick_uncommitted
loop.on_red | cli/tests/it/plans/checklist.rs::red_gates_that_feed_the_next_iteration_end_this_one
loop.on_exhausted | cli/tests/it/effects/loops.rs::what_happens_when_the_retries_are_used_up_is_a_setting
loop.pick | cli/tests/it/effects/loops.rs::who_picks_is_a_setting_and_the_presets_affair
loop.ends_when | cli/tests/it/looping/shapes.rs::ends_when_decides_whether_ticks_or_the_promise_complete_a_checklist
loop.works_in | cli/tests/it/looping/shapes.rs::works_in_a_worktree_leaves_your_checkout_to_you_with_one_session_at_a_time
completion.claims | cli/tests/it/looping/gates.rs::a_done_that_changed_nothing_is_trusted_or_refused, cli/tests/it/plans/checklist.rs::s3_19_where_claims_are_confirmed_the_promise_needs_the_plan
completion.approve | cli/tests/it/looping/approving.rs::a_large_change_waits_and_a_small_one_lands
completion.approve_lines | cli/tests/it/looping/approving.rs::a_large_change_waits_and_a_small_one_lands
completion.plan_promises | cli/tests/it/effects/loops.rs::the_words_that_end_a_plan_and_a_build_are_settings
completion.build_promises | cli/tests/it/effects/loops.rs::the_words_that_end_a_plan_and_a_build_are_settings
agent.name | cli/tests/it/status_and_logs.rs::the_logs_show_what_was_shown > plan
agent.build | cli/tests/it/effects/agents.rs::each_kind_of_work_has_the_agent_that_its_setting_names
agent.plan | cli/tests/it/effects/agents.rs::each_kind_of_work_has_the_agent_that_its_setting_names
agent.verify | cli/tests/it/looping/verifying.rs::another_agent_and_another_model_may_verify
agent.fallback | cli/tests/it/looping/fallback.rs::while_one_agent_is_at_its_limit_another_goes_on
agent.env | cli/tests/it/effects/agents.rs::a_session_gets_the_variables_that_are_named_and_no_others, cli/tests/it/doctor/gates.rs::a_gate_is_as_green_for_doctor_as_for_the_loop
agent.timeout | cli/tests/it/effects/agents.rs::a_session_ends_at_the_timeout_of_the_settings
agent.silence | cli/tests/it/looping/ends.rs::a_silent_session_is_ended
agent.after_result | cli/tests/it/effects/agents.rs::an_agent_that_lingers_after_its_result_has_the_time_of_the_settings
agent.grace | cli/tests/it/effects/agents.rs::an_agent_that_is_asked_to_end_has_the_time_of_the_settings
agent.allowed_tools | cli/tests/it/effects/agents.rs::the_agent_has_the_tools_that_the_setting_names
agent.claude.path | cli/tests/it/effects/agents.rs::the_program_of_the_agent_is_the_one_that_the_setting_names
agent.claude.args | cli/tests/it/effects/agents.rs::the_program_of_the_agent_is_the_one_that_the_setting_names
agent.codex.path | cli/tests/it/effects/agents.rs::codex_has_its_own_program_arguments_and_models
agent.codex.args | cli/tests/it/effects/agents.rs::codex_has_its_own_program_arguments_and_models
agent.gemini.path | cli/tests/it/effects/agents.rs::gemini_has_its_own_program_arguments_and_models
agent.gemini.args | cli/tests/it/effects/agents.rs::gemini_has_its_own_program_arguments_and_models
agent.opencode.path | cli/tests/it/effects/agents.rs::opencode_has_its_own_program_arguments_and_models
agent.opencode.args | cli/tests/it/effects/agents.rs::opencode_has_its_own_program_arguments_and_models
agent.acp.path | cli/tests/it/acp.rs::the_program_and_its_arguments_are_those_of_the_settings
agent.acp.args | cli/tests/it/acp.rs::the_program_and_its_arguments_are_those_of_the_settings
agent.script.path | cli/tests/it/effects/agents.rs::each_kind_of_work_has_the_agent_that_its_setting_names
agent.command.version | cli/tests/it/looping/own_agents.rs::doctor_prints_the_version_of_an_agent_by_config
agent.command.limit_exit | cli/tests/it/looping/own_agents.rs::an_exit_code_may_mean_a_limit_and_another_agent_goes_on
agent.command.login_exit | cli/tests/it/looping/own_agents.rs::an_exit_code_may_mean_a_missing_login
agent.command.state | cli/tests/it/looping/own_agents.rs::an_agent_by_config_sees_its_files_and_changes_a_copy
agent.command.hosts | cli/tests/it/looping/own_agents.rs::an_agent_by_config_reaches_its_hosts_and_no_others
models.strategy | cli/tests/it/effects/agents.rs::the_model_is_chosen_as_the_settings_say
models.fixed | cli/tests/it/effects/agents.rs::the_model_is_chosen_as_the_settings_say
models.verify | cli/tests/it/looping/verifying.rs::another_agent_and_another_model_may_verify
models.claude.opus | cli/tests/it/effects/agents.rs::each_tier_is_the_model_that_its_setting_names
models.claude.sonnet | cli/tests/it/effects/agents.rs::each_tier_is_the_model_that_its_setting_names
models.claude.haiku | cli/tests/it/effects/agents.rs::each_tier_is_the_model_that_its_setting_names
models.claude.large | cli/tests/it/effects/agents.rs::each_tier_is_the_model_that_its_setting_names
models.claude.medium | cli/tests/it/effects/agents.rs::each_tier_is_the_model_that_its_setting_names
models.claude.small | cli/tests/it/effects/agents.rs::each_tier_is_the_model_that_its_setting_names
models.codex.opus | cli/tests/it/effects/agents.rs::codex_has_its_own_program_arguments_and_models
models.codex.sonnet | cli/tests/it/effects/agents.rs::codex_has_its_own_program_arguments_and_models
models.codex.haiku | cli/tests/it/effects/agents.rs::codex_has_its_own_program_arguments_and_models
models.codex.large | cli/tests/it/effects/agents.rs::codex_has_its_own_program_arguments_and_models
models.codex.medium | cli/tests/it/effects/agents.rs::codex_has_its_own_program_arguments_and_models
models.codex.small | cli/tests/it/effects/agents.rs::codex_has_its_own_program_arguments_and_models
models.gemini.opus | cli/tests/it/effects/agents.rs::gemini_has_its_own_program_arguments_and_models
models.gemini.sonnet | cli/tests/it/effects/agents.rs::gemini_has_its_own_program_arguments_and_models
models.gemini.haiku | cli/tests/it/effects/agents.rs::gemini_has_its_own_program_arguments_and_models
models.gemini.large | cli/tests/it/effects/agents.rs::gemini_has_its_own_program_arguments_and_models
models.gemini.medium | cli/tests/it/effects/agents.rs::gemini_has_its_own_program_arguments_and_models
models.gemini.small | cli/tests/it/effects/agents.rs::gemini_has_its_own_program_arguments_and_models
models.opencode.opus | cli/tests/it/effects/agents.rs::opencode_has_its_own_program_arguments_and_models
models.opencode.sonnet | cli/tests/it/effects/agents.rs::opencode_has_its_own_program_arguments_and_models
models.opencode.haiku | cli/tests/it/effects/agents.rs::opencode_has_its_own_program_arguments_and_models
models.opencode.large | cli/tests/it/effects/agents.rs::opencode_has_its_own_program_arguments_and_models
models.opencode.medium | cli/tests/it/effects/agents.rs::opencode_has_its_own_program_arguments_and_models
models.opencode.small | cli/tests/it/effects/agents.rs::opencode_has_its_own_program_arguments_and_models
models.acp.opus | cli/tests/it/acp.rs::each_tier_of_acp_is_the_model_that_its_setting_names
models.acp.sonnet | cli/tests/it/acp.rs::each_tier_of_acp_is_the_model_that_its_setting_names
models.acp.haiku | cli/tests/it/acp.rs::each_tier_of_acp_is_the_model_that_its_setting_names
models.acp.large | cli/tests/it/acp.rs::each_tier_of_acp_is_the_model_that_its_setting_names
models.acp.medium | cli/tests/it/acp.rs::each_tier_of_acp_is_the_model_that_its_setting_names
models.acp.small | cli/tests/it/acp.rs::each_tier_of_acp_is_the_model_that_its_setting_names
prompts.plan | cli/tests/it/effects/agents.rs::the_templates_are_those_that_the_settings_name
prompts.build | cli/tests/it/effects/agents.rs::the_templates_are_those_that_the_settings_name
prompts.budget_tokens | cli/tests/it/looping/skills.rs::five_hundred_skills_stay_within_the_budget_and_say_how_many_are_missing
gate.name | cli/tests/it/looping/gates.rs::a_gate_that_does_not_end_is_red
gate.command | cli/tests/it/looping/gates.rs::a_gate_that_does_not_end_is_red
gate.timeout | cli/tests/it/looping/gates.rs::a_gate_that_does_not_end_is_red
gates.clean | cli/tests/it/looping/clean.rs::what_is_not_in_the_tree_is_not_there > config
gates.baseline | cli/tests/it/looping/baseline.rs::only_old_failures_do_not_hold_a_task_up > gate
gates.protected | cli/tests/it/looping/protected.rs::a_change_of_a_protected_file_is_reported > config
gates.on_protected | cli/tests/it/looping/protected.rs::a_change_of_a_protected_file_is_refused_until_it_is_undone > config
budget.usd | cli/tests/it/effects/loops.rs::money_and_time_of_a_run_have_limits_in_the_settings
budget.tokens | cli/tests/it/looping/allowances.rs::a_budget_stops_the_run_after_the_session_that_used_it_up
budget.time | cli/tests/it/effects/loops.rs::money_and_time_of_a_run_have_limits_in_the_settings
budget.task_usd | cli/tests/it/looping/budgets.rs::a_task_that_costs_too_much_waits_for_you_and_you_may_reopen_it
budget.day_usd | cli/tests/it/looping/budgets.rs::the_budget_of_a_day_is_one_for_all_runs
git.pr_base | cli/tests/it/branches/bad_input.rs::an_unborn_repository_and_a_detached_head_are_named
git.auto_push | cli/tests/it/publishing.rs::s4_14_each_green_iteration_is_pushed_where_that_is_wanted > PUSH
git.auto_pr | cli/tests/it/publishing.rs::s4_11_a_complete_run_opens_one_pull_request_and_the_next_brings_it_up_to_date > PUBLISH
git.protected_branches | cli/tests/it/publishing.rs::a_protected_branch_is_untouched
git.never_commit | cli/tests/it/effects/places.rs::files_that_the_setting_names_are_never_committed
git.remote | cli/tests/it/effects/places.rs::a_push_goes_to_the_remote_of_the_setting
git.push_remote | cli/tests/it/effects/places.rs::a_branch_goes_to_the_fork_and_its_pull_request_to_the_upstream
git.pr_remote | cli/tests/it/effects/places.rs::a_branch_goes_to_the_fork_and_its_pull_request_to_the_upstream
git.worktree.name | cli/tests/it/branches/commits.rs::s4_8_commits_have_the_name_of_the_worktree
git.worktree.email | cli/tests/it/branches/commits.rs::s4_8_commits_have_the_name_of_the_worktree
git.worktree.signing_key | cli/tests/it/branches/commits.rs::s4_8_commits_are_signed_with_the_key_of_the_worktree
git.worktree.ssh_key | cli/tests/it/branches/commits.rs::s4_8_commits_have_the_name_of_the_worktree
git.worktree.dir | cli/tests/it/effects/places.rs::worktrees_of_branches_lie_where_the_setting_says, cli/tests/it/effects/places.rs::worktrees_may_lie_beside_the_repository_and_in_your_home
git.worktree.setup | cli/tests/it/branches/places.rs::a_worktree_is_set_up_once_and_again_after_a_failure
git.worktree.keep | cli/tests/it/branches/places.rs::worktrees_stay_until_their_branch_is_merged_or_as_it_is_set
publish.watch | cli/tests/it/reviewing.rs::a_failed_check_leads_to_a_green_commit_without_anybodys_help
publish.authors | cli/tests/it/reviewing.rs::comments_of_listed_authors_become_work_and_those_of_others_never
publish.rounds | cli/tests/it/reviewing.rs::a_check_that_stays_red_ends_with_the_rounds
publish.hosts | cli/tests/it/publishing.rs::a_gitlab_that_the_settings_name_gets_a_merge_request
sandbox.level | cli/tests/it/effects/places.rs::the_level_of_the_sandbox_is_a_setting
sandbox.writable | cli/tests/it/effects/places.rs::the_sandbox_shows_what_the_settings_name
sandbox.readable | cli/tests/it/effects/places.rs::the_sandbox_shows_what_the_settings_name
sandbox.sockets | cli/tests/it/effects/places.rs::sessions_reach_the_sockets_that_the_settings_admit
sandbox.home | cli/tests/it/effects/places.rs::a_session_has_an_empty_home_unless_the_settings_mask_it
sandbox.network.policy | cli/tests/it/effects/places.rs::the_sandbox_reaches_what_the_settings_allow, cli/tests/escape/network.rs::a_sandbox_without_a_network_reaches_no_host
sandbox.network.allowed | cli/tests/it/effects/places.rs::the_sandbox_reaches_what_the_settings_allow
sandbox.limits.processes | cli/tests/escape/limits.rs::a_session_that_multiplies_is_stopped_at_its_limit
sandbox.limits.memory | cli/tests/escape/limits.rs::a_session_that_wants_all_memory_does_not_get_it
sandbox.limits.file_size | cli/tests/escape/limits.rs::a_file_that_grows_and_grows_is_stopped_at_its_limit
store.path | cli/tests/it/config.rs::the_store_lies_where_the_config_says
logs.dir | cli/tests/it/effects/places.rs::logs_lie_where_the_setting_says
logs.keep_runs | cli/tests/it/looping/places.rs::old_logs_go_and_the_newest_stay
logs.keep_size | cli/tests/it/effects/places.rs::old_logs_go_when_they_are_larger_than_the_setting
logs.raw | cli/tests/it/effects/places.rs::raw_logs_are_kept_only_where_that_is_set
recover.keep | cli/tests/it/effects/places.rs::saved_work_of_finished_tasks_is_kept_as_long_as_the_settings_say
recover.keep_size | cli/tests/it/effects/places.rs::saved_work_of_finished_tasks_is_kept_as_long_as_the_settings_say
notify.on | cli/tests/it/looping/notifying.rs::only_the_events_of_the_settings_are_reported > quiet
notify.desktop | cli/tests/it/looping/notifying.rs::done_failed_and_the_end_appear_on_the_desktop > quiet
notify.sound | cli/tests/it/looping/notifying.rs::s1_29_a_voice_says_what_became_of_a_task > quiet
notify.webhook | cli/tests/it/looping/notifying.rs::a_webhook_is_posted_to_by_curl_and_its_address_is_no_argument > quiet
notify.command | cli/tests/it/looping/notifying.rs::a_command_gets_the_facts_as_variables_and_as_json > quiet
trust.paths | cli/tests/it/trusting/clones.rs::init_the_variable_and_a_folder_of_the_settings_approve_a_clone
ui.mode | cli/tests/it/effects/places.rs::a_run_is_shown_as_the_setting_says
ui.color | cli/tests/it/effects/places.rs::colors_are_as_the_setting_says
";
