//! The flags of each command, each with the tests that show its effect.

/// `commands flag | tests`. A row without a command is about the options of every command.
pub(super) const TABLE: &str = "
-C | cli/tests/it/effects/tasks.rs::the_options_of_every_command_do_what_they_say
--config | cli/tests/it/config.rs::the_store_lies_where_the_config_says
--set | cli/tests/it/effects/tasks.rs::the_options_of_every_command_do_what_they_say
--color | cli/tests/it/effects/tasks.rs::the_options_of_every_command_do_what_they_say
--quiet | cli/tests/it/effects/tasks.rs::the_options_of_every_command_do_what_they_say, cli/tests/it/looping/shown.rs::without_a_terminal_there_are_no_escape_codes_and_stdout_is_empty
--verbose | cli/tests/it/effects/tasks.rs::the_options_of_every_command_do_what_they_say
--help | cli/tests/it/effects/tasks.rs::the_options_of_every_command_do_what_they_say
--version | cli/tests/it/effects/tasks.rs::the_options_of_every_command_do_what_they_say

init --agent | cli/tests/it/init.rs::another_agent_gets_skills_hooks_and_rules_where_it_looks_for_them
init --force | cli/tests/it/init.rs::what_is_there_is_kept_and_only_force_writes_ralphs_own_files_again
init --gates | cli/tests/it/init.rs::other_checks_are_comments_until_you_want_them_as_gates
init --undo | cli/tests/it/init.rs::init_is_undone_completely_and_keeps_what_you_changed
init --json | cli/tests/it/init.rs::the_test_command_of_the_project_is_found
doctor --fix | cli/tests/it/doctor/leftovers.rs::files_that_others_can_read_are_reported_and_closed
doctor --online | cli/tests/it/doctor/publishing.rs::the_server_is_asked_only_on_request > forge
doctor --json | cli/tests/it/doctor/mod.rs::a_healthy_repository_has_no_failure

task reopen --reason | cli/tests/it/history.rs::a_done_task_is_reopened_with_a_reason_and_says_what_stays_done
task reopen --json | cli/tests/it/history.rs::a_done_task_is_reopened_with_a_reason_and_says_what_stays_done
undo --task | cli/tests/it/history.rs::an_iteration_and_a_task_are_undone_by_reverts_and_shown_by_diff
undo --iterations | cli/tests/it/history.rs::an_iteration_and_a_task_are_undone_by_reverts_and_shown_by_diff
undo --reason | cli/tests/it/history.rs::an_iteration_and_a_task_are_undone_by_reverts_and_shown_by_diff
undo --dry-run | cli/tests/it/history.rs::an_iteration_and_a_task_are_undone_by_reverts_and_shown_by_diff
undo --yes | cli/tests/it/history.rs::an_iteration_and_a_task_are_undone_by_reverts_and_shown_by_diff
undo --json | cli/tests/it/history.rs::an_iteration_and_a_task_are_undone_by_reverts_and_shown_by_diff
diff --stat | cli/tests/it/history.rs::an_iteration_and_a_task_are_undone_by_reverts_and_shown_by_diff
diff --name-only | cli/tests/it/history.rs::an_iteration_and_a_task_are_undone_by_reverts_and_shown_by_diff
diff --json | cli/tests/it/history.rs::an_iteration_and_a_task_are_undone_by_reverts_and_shown_by_diff
runs --limit | cli/tests/it/history.rs::runs_are_listed_and_each_is_shown_again_by_its_id
runs --all | cli/tests/it/history.rs::runs_are_listed_and_each_is_shown_again_by_its_id
runs --json | cli/tests/it/history.rs::runs_are_listed_and_each_is_shown_again_by_its_id

build --agent | cli/tests/it/effects/sessions.rs::build_takes_the_flags_of_a_session > takes_the_flags_of_a_session
build --model | cli/tests/it/effects/sessions.rs::build_takes_the_flags_of_a_session > takes_the_flags_of_a_session
build --timeout | cli/tests/it/effects/sessions.rs::build_takes_the_flags_of_a_session > takes_the_flags_of_a_session
build --budget | cli/tests/it/effects/sessions.rs::build_takes_the_flags_of_a_session > takes_the_flags_of_a_session
build --allow | cli/tests/it/effects/sessions.rs::build_takes_the_flags_of_a_session > takes_the_flags_of_a_session
build --sandbox | cli/tests/it/effects/sessions.rs::build_takes_the_flags_of_a_session > takes_the_flags_of_a_session
build --no-sandbox | cli/tests/it/effects/sessions.rs::build_takes_the_flags_of_a_session > takes_the_flags_of_a_session
build --ui | cli/tests/it/effects/sessions.rs::build_takes_the_flags_of_a_session > takes_the_flags_of_a_session
build --trust | cli/tests/it/effects/sessions.rs::build_takes_the_flags_of_a_session > takes_the_flags_of_a_session
run --agent | cli/tests/it/effects/sessions.rs::run_takes_the_flags_of_a_session > takes_the_flags_of_a_session
run --model | cli/tests/it/effects/sessions.rs::run_takes_the_flags_of_a_session > takes_the_flags_of_a_session
run --timeout | cli/tests/it/effects/sessions.rs::run_takes_the_flags_of_a_session > takes_the_flags_of_a_session
run --budget | cli/tests/it/effects/sessions.rs::run_takes_the_flags_of_a_session > takes_the_flags_of_a_session
run --allow | cli/tests/it/effects/sessions.rs::run_takes_the_flags_of_a_session > takes_the_flags_of_a_session
run --sandbox | cli/tests/it/effects/sessions.rs::run_takes_the_flags_of_a_session > takes_the_flags_of_a_session
run --no-sandbox | cli/tests/it/effects/sessions.rs::run_takes_the_flags_of_a_session > takes_the_flags_of_a_session
run --ui | cli/tests/it/effects/sessions.rs::run_takes_the_flags_of_a_session > takes_the_flags_of_a_session
run --trust | cli/tests/it/effects/sessions.rs::run_takes_the_flags_of_a_session > takes_the_flags_of_a_session
loop --agent | cli/tests/it/effects/sessions.rs::loop_takes_the_flags_of_a_session > takes_the_flags_of_a_session
loop --model | cli/tests/it/effects/sessions.rs::loop_takes_the_flags_of_a_session > takes_the_flags_of_a_session
loop --timeout | cli/tests/it/effects/sessions.rs::loop_takes_the_flags_of_a_session > takes_the_flags_of_a_session
loop --budget | cli/tests/it/effects/sessions.rs::loop_takes_the_flags_of_a_session > takes_the_flags_of_a_session
loop --allow | cli/tests/it/effects/sessions.rs::loop_takes_the_flags_of_a_session > takes_the_flags_of_a_session
loop --sandbox | cli/tests/it/effects/sessions.rs::loop_takes_the_flags_of_a_session > takes_the_flags_of_a_session
loop --no-sandbox | cli/tests/it/effects/sessions.rs::loop_takes_the_flags_of_a_session > takes_the_flags_of_a_session
loop --ui | cli/tests/it/effects/sessions.rs::loop_takes_the_flags_of_a_session > takes_the_flags_of_a_session
loop --trust | cli/tests/it/effects/sessions.rs::loop_takes_the_flags_of_a_session > takes_the_flags_of_a_session
plan --agent | cli/tests/it/effects/sessions.rs::plan_takes_the_flags_of_a_session > takes_the_flags_of_a_session
plan --model | cli/tests/it/effects/sessions.rs::plan_takes_the_flags_of_a_session > takes_the_flags_of_a_session
plan --timeout | cli/tests/it/effects/sessions.rs::plan_takes_the_flags_of_a_session > takes_the_flags_of_a_session
plan --budget | cli/tests/it/effects/sessions.rs::plan_takes_the_flags_of_a_session > takes_the_flags_of_a_session
plan --allow | cli/tests/it/effects/sessions.rs::plan_takes_the_flags_of_a_session > takes_the_flags_of_a_session
plan --sandbox | cli/tests/it/effects/sessions.rs::plan_takes_the_flags_of_a_session > takes_the_flags_of_a_session
plan --no-sandbox | cli/tests/it/effects/sessions.rs::plan_takes_the_flags_of_a_session > takes_the_flags_of_a_session
plan --ui | cli/tests/it/effects/sessions.rs::plan_takes_the_flags_of_a_session > takes_the_flags_of_a_session
plan --trust | cli/tests/it/effects/sessions.rs::plan_takes_the_flags_of_a_session > takes_the_flags_of_a_session
feature create --agent | cli/tests/it/effects/sessions.rs::feature_create_takes_the_flags_of_a_session > takes_the_flags_of_a_session
feature create --model | cli/tests/it/effects/sessions.rs::feature_create_takes_the_flags_of_a_session > takes_the_flags_of_a_session
feature create --timeout | cli/tests/it/effects/sessions.rs::feature_create_takes_the_flags_of_a_session > takes_the_flags_of_a_session
feature create --budget | cli/tests/it/effects/sessions.rs::feature_create_takes_the_flags_of_a_session > takes_the_flags_of_a_session
feature create --allow | cli/tests/it/effects/sessions.rs::feature_create_takes_the_flags_of_a_session > takes_the_flags_of_a_session
feature create --sandbox | cli/tests/it/effects/sessions.rs::feature_create_takes_the_flags_of_a_session > takes_the_flags_of_a_session
feature create --no-sandbox | cli/tests/it/effects/sessions.rs::feature_create_takes_the_flags_of_a_session > takes_the_flags_of_a_session
feature create --ui | cli/tests/it/effects/sessions.rs::feature_create_takes_the_flags_of_a_session > takes_the_flags_of_a_session
feature create --trust | cli/tests/it/effects/sessions.rs::feature_create_takes_the_flags_of_a_session > takes_the_flags_of_a_session
feature plan --agent | cli/tests/it/effects/sessions.rs::feature_plan_takes_the_flags_of_a_session > takes_the_flags_of_a_session
feature plan --model | cli/tests/it/effects/sessions.rs::feature_plan_takes_the_flags_of_a_session > takes_the_flags_of_a_session
feature plan --timeout | cli/tests/it/effects/sessions.rs::feature_plan_takes_the_flags_of_a_session > takes_the_flags_of_a_session
feature plan --budget | cli/tests/it/effects/sessions.rs::feature_plan_takes_the_flags_of_a_session > takes_the_flags_of_a_session
feature plan --allow | cli/tests/it/effects/sessions.rs::feature_plan_takes_the_flags_of_a_session > takes_the_flags_of_a_session
feature plan --sandbox | cli/tests/it/effects/sessions.rs::feature_plan_takes_the_flags_of_a_session > takes_the_flags_of_a_session
feature plan --no-sandbox | cli/tests/it/effects/sessions.rs::feature_plan_takes_the_flags_of_a_session > takes_the_flags_of_a_session
feature plan --ui | cli/tests/it/effects/sessions.rs::feature_plan_takes_the_flags_of_a_session > takes_the_flags_of_a_session
feature plan --trust | cli/tests/it/effects/sessions.rs::feature_plan_takes_the_flags_of_a_session > takes_the_flags_of_a_session
feature build --agent | cli/tests/it/effects/sessions.rs::feature_build_takes_the_flags_of_a_session > takes_the_flags_of_a_session
feature build --model | cli/tests/it/effects/sessions.rs::feature_build_takes_the_flags_of_a_session > takes_the_flags_of_a_session
feature build --timeout | cli/tests/it/effects/sessions.rs::feature_build_takes_the_flags_of_a_session > takes_the_flags_of_a_session
feature build --budget | cli/tests/it/effects/sessions.rs::feature_build_takes_the_flags_of_a_session > takes_the_flags_of_a_session
feature build --allow | cli/tests/it/effects/sessions.rs::feature_build_takes_the_flags_of_a_session > takes_the_flags_of_a_session
feature build --sandbox | cli/tests/it/effects/sessions.rs::feature_build_takes_the_flags_of_a_session > takes_the_flags_of_a_session
feature build --no-sandbox | cli/tests/it/effects/sessions.rs::feature_build_takes_the_flags_of_a_session > takes_the_flags_of_a_session
feature build --ui | cli/tests/it/effects/sessions.rs::feature_build_takes_the_flags_of_a_session > takes_the_flags_of_a_session
feature build --trust | cli/tests/it/effects/sessions.rs::feature_build_takes_the_flags_of_a_session > takes_the_flags_of_a_session
prompt --agent | cli/tests/it/effects/sessions.rs::a_prompt_takes_the_flags_of_a_session
prompt --model | cli/tests/it/effects/sessions.rs::a_prompt_takes_the_flags_of_a_session
prompt --timeout | cli/tests/it/effects/sessions.rs::a_prompt_takes_the_flags_of_a_session
prompt --allow | cli/tests/it/effects/sessions.rs::a_prompt_takes_the_flags_of_a_session
prompt --sandbox | cli/tests/it/effects/sessions.rs::a_prompt_takes_the_flags_of_a_session
prompt --no-sandbox | cli/tests/it/effects/sessions.rs::a_prompt_takes_the_flags_of_a_session
prompt --ui | cli/tests/it/effects/sessions.rs::a_prompt_takes_the_flags_of_a_session
prompt --trust | cli/tests/it/effects/sessions.rs::a_prompt_takes_the_flags_of_a_session

build --once | cli/tests/it/effects/sessions.rs::build_takes_the_limits_of_a_loop > takes_the_limits_of_a_loop
build --new | cli/tests/it/effects/sessions.rs::build_takes_the_limits_of_a_loop > takes_the_limits_of_a_loop
build --max-iterations | cli/tests/it/effects/sessions.rs::build_takes_the_limits_of_a_loop > takes_the_limits_of_a_loop
build --unlimited | cli/tests/it/effects/sessions.rs::build_takes_the_limits_of_a_loop > takes_the_limits_of_a_loop
build --max-retries | cli/tests/it/effects/sessions.rs::build_takes_the_limits_of_a_loop > takes_the_limits_of_a_loop
build --model-strategy | cli/tests/it/effects/sessions.rs::build_takes_the_limits_of_a_loop > takes_the_limits_of_a_loop
build --prompt | cli/tests/it/effects/sessions.rs::build_takes_the_limits_of_a_loop > takes_the_limits_of_a_loop
build --strict-exit | cli/tests/it/effects/sessions.rs::build_takes_the_limits_of_a_loop > takes_the_limits_of_a_loop
run --once | cli/tests/it/effects/sessions.rs::run_takes_the_limits_of_a_loop > takes_the_limits_of_a_loop
run --new | cli/tests/it/effects/sessions.rs::run_takes_the_limits_of_a_loop > takes_the_limits_of_a_loop
run --max-iterations | cli/tests/it/effects/sessions.rs::run_takes_the_limits_of_a_loop > takes_the_limits_of_a_loop
run --unlimited | cli/tests/it/effects/sessions.rs::run_takes_the_limits_of_a_loop > takes_the_limits_of_a_loop
run --max-retries | cli/tests/it/effects/sessions.rs::run_takes_the_limits_of_a_loop > takes_the_limits_of_a_loop
run --model-strategy | cli/tests/it/effects/sessions.rs::run_takes_the_limits_of_a_loop > takes_the_limits_of_a_loop
run --prompt | cli/tests/it/effects/sessions.rs::run_takes_the_limits_of_a_loop > takes_the_limits_of_a_loop
run --strict-exit | cli/tests/it/effects/sessions.rs::run_takes_the_limits_of_a_loop > takes_the_limits_of_a_loop
loop --once | cli/tests/it/effects/sessions.rs::loop_takes_the_limits_of_a_loop > takes_the_limits_of_a_loop, cli/tests/it/effects/sessions.rs::loop_plan_takes_the_limits_of_a_loop > takes_the_limits_of_a_loop
loop --new | cli/tests/it/effects/sessions.rs::loop_takes_the_limits_of_a_loop > takes_the_limits_of_a_loop, cli/tests/it/effects/sessions.rs::loop_plan_takes_the_limits_of_a_loop > takes_the_limits_of_a_loop
loop --max-iterations | cli/tests/it/effects/sessions.rs::loop_takes_the_limits_of_a_loop > takes_the_limits_of_a_loop, cli/tests/it/effects/sessions.rs::loop_plan_takes_the_limits_of_a_loop > takes_the_limits_of_a_loop
loop --unlimited | cli/tests/it/effects/sessions.rs::loop_takes_the_limits_of_a_loop > takes_the_limits_of_a_loop, cli/tests/it/effects/sessions.rs::loop_plan_takes_the_limits_of_a_loop > takes_the_limits_of_a_loop
loop --max-retries | cli/tests/it/effects/sessions.rs::loop_takes_the_limits_of_a_loop > takes_the_limits_of_a_loop, cli/tests/it/effects/sessions.rs::loop_plan_takes_the_limits_of_a_loop > takes_the_limits_of_a_loop
loop --model-strategy | cli/tests/it/effects/sessions.rs::loop_takes_the_limits_of_a_loop > takes_the_limits_of_a_loop, cli/tests/it/effects/sessions.rs::loop_plan_takes_the_limits_of_a_loop > takes_the_limits_of_a_loop
loop --prompt | cli/tests/it/effects/sessions.rs::loop_takes_the_limits_of_a_loop > takes_the_limits_of_a_loop, cli/tests/it/effects/sessions.rs::loop_plan_takes_the_limits_of_a_loop > takes_the_limits_of_a_loop
loop --strict-exit | cli/tests/it/effects/sessions.rs::loop_takes_the_limits_of_a_loop > takes_the_limits_of_a_loop, cli/tests/it/effects/sessions.rs::loop_plan_takes_the_limits_of_a_loop > takes_the_limits_of_a_loop
plan --once | cli/tests/it/effects/sessions.rs::plan_takes_the_limits_of_a_loop > takes_the_limits_of_a_loop
plan --new | cli/tests/it/effects/sessions.rs::plan_takes_the_limits_of_a_loop > takes_the_limits_of_a_loop
plan --max-iterations | cli/tests/it/effects/sessions.rs::plan_takes_the_limits_of_a_loop > takes_the_limits_of_a_loop
plan --unlimited | cli/tests/it/effects/sessions.rs::plan_takes_the_limits_of_a_loop > takes_the_limits_of_a_loop
plan --max-retries | cli/tests/it/effects/sessions.rs::plan_takes_the_limits_of_a_loop > takes_the_limits_of_a_loop
plan --model-strategy | cli/tests/it/effects/sessions.rs::plan_takes_the_limits_of_a_loop > takes_the_limits_of_a_loop
plan --prompt | cli/tests/it/effects/sessions.rs::plan_takes_the_limits_of_a_loop > takes_the_limits_of_a_loop
plan --strict-exit | cli/tests/it/effects/sessions.rs::plan_takes_the_limits_of_a_loop > takes_the_limits_of_a_loop

build --dry-run | cli/tests/it/effects/sessions.rs::build_takes_the_flags_of_a_build > takes_the_flags_of_a_build
build --preset | cli/tests/it/effects/sessions.rs::build_takes_the_flags_of_a_build > takes_the_flags_of_a_build
build --verify | cli/tests/it/effects/sessions.rs::build_takes_the_flags_of_a_build > takes_the_flags_of_a_build
build --no-verify | cli/tests/it/effects/sessions.rs::build_takes_the_flags_of_a_build > takes_the_flags_of_a_build
build --learn | cli/tests/it/effects/sessions.rs::build_takes_the_flags_of_a_build > takes_the_flags_of_a_build
build --no-learn | cli/tests/it/effects/sessions.rs::build_takes_the_flags_of_a_build > takes_the_flags_of_a_build
run --dry-run | cli/tests/it/effects/sessions.rs::run_takes_the_flags_of_a_build > takes_the_flags_of_a_build
run --preset | cli/tests/it/effects/sessions.rs::run_takes_the_flags_of_a_build > takes_the_flags_of_a_build
run --verify | cli/tests/it/effects/sessions.rs::run_takes_the_flags_of_a_build > takes_the_flags_of_a_build
run --no-verify | cli/tests/it/effects/sessions.rs::run_takes_the_flags_of_a_build > takes_the_flags_of_a_build
run --learn | cli/tests/it/effects/sessions.rs::run_takes_the_flags_of_a_build > takes_the_flags_of_a_build
run --no-learn | cli/tests/it/effects/sessions.rs::run_takes_the_flags_of_a_build > takes_the_flags_of_a_build
loop --dry-run | cli/tests/it/effects/sessions.rs::loop_takes_the_flags_of_a_build > takes_the_flags_of_a_build
loop --preset | cli/tests/it/effects/sessions.rs::loop_takes_the_flags_of_a_build > takes_the_flags_of_a_build
loop --verify | cli/tests/it/effects/sessions.rs::loop_takes_the_flags_of_a_build > takes_the_flags_of_a_build
loop --no-verify | cli/tests/it/effects/sessions.rs::loop_takes_the_flags_of_a_build > takes_the_flags_of_a_build
loop --learn | cli/tests/it/effects/sessions.rs::loop_takes_the_flags_of_a_build > takes_the_flags_of_a_build
loop --no-learn | cli/tests/it/effects/sessions.rs::loop_takes_the_flags_of_a_build > takes_the_flags_of_a_build

build --feature | cli/tests/it/looping/graph.rs::s1_8_s1_12_a_feature_brings_its_files_and_only_its_tasks
build --task | cli/tests/it/looping/graph.rs::s1_8_s1_12_a_task_brings_the_files_of_its_feature_and_only_itself
build --branch | cli/tests/it/branches/side_by_side.rs::one_branch_alone_is_worked_on_where_it_is_named
build --jobs | cli/tests/it/parallel/landing.rs::tasks_run_side_by_side_and_land_one_after_the_other > build
build --sequential | cli/tests/it/effects/sessions.rs::the_number_of_sessions_side_by_side_is_taken
run --jobs | cli/tests/it/effects/sessions.rs::the_number_of_sessions_side_by_side_is_taken
run --sequential | cli/tests/it/effects/sessions.rs::the_number_of_sessions_side_by_side_is_taken
loop --max | cli/tests/it/effects/sessions.rs::a_loop_takes_a_limit_for_each_branch
loop --branch | cli/tests/it/branches/side_by_side.rs::one_branch_alone_is_worked_on_where_it_is_named > build
loop --jobs | cli/tests/it/branches/side_by_side.rs::s4_5_sequential_is_one_branch_at_a_time_still_in_worktrees > build
loop --sequential | cli/tests/it/branches/side_by_side.rs::s4_5_sequential_is_one_branch_at_a_time_still_in_worktrees > build

trust --yes | cli/tests/it/trusting/command.rs::what_a_session_changed_is_shown_as_a_difference_and_approved
trust --list | cli/tests/it/trusting/command.rs::what_a_session_changed_is_shown_as_a_difference_and_approved
trust --revoke | cli/tests/it/trusting/command.rs::an_approval_can_be_revoked
trust --json | cli/tests/it/trusting/command.rs::trust_speaks_json

status --watch | cli/tests/it/status_and_logs.rs::a_running_loop_is_watched_and_followed_until_it_ends
status --json | cli/tests/it/status_and_logs.rs::a_finished_run_is_reported_on_a_page_and_as_json > json
logs --follow | cli/tests/it/status_and_logs.rs::a_running_loop_is_watched_and_followed_until_it_ends
replay --speed | cli/tests/it/status_and_logs.rs::the_logs_show_what_was_shown
replay --from | cli/tests/it/status_and_logs.rs::the_logs_show_what_was_shown
replay --max-pause | cli/tests/it/status_and_logs.rs::the_logs_show_what_was_shown
replay --ui | cli/tests/it/status_and_logs.rs::a_replay_in_json_has_the_output_of_agents_between_the_facts
bundle --output | cli/tests/it/status_and_logs.rs::a_bundle_has_no_secret_and_is_never_overwritten
bundle --with-logs | cli/tests/it/status_and_logs.rs::a_bundle_has_no_secret_and_is_never_overwritten
bundle --force | cli/tests/it/status_and_logs.rs::a_bundle_has_no_secret_and_is_never_overwritten
logs --json | cli/tests/it/status_and_logs.rs::the_logs_show_what_was_shown
report --csv | cli/tests/it/looping/budgets.rs::a_report_has_every_attempt_of_all_runs_or_of_one
build, run, loop, plan --serve | cli/tests/it/web.rs::a_run_with_a_page_ends_by_itself_and_goes_on_without_one
serve --listen | cli/tests/it/web.rs::other_machines_need_a_token_that_you_chose
serve --token-file | cli/tests/it/web.rs::other_machines_need_a_token_that_you_chose
serve --port | cli/tests/it/web.rs::a_port_in_use_is_an_error_with_another_port
serve --read-only | cli/tests/it/web.rs::the_link_is_all_that_the_page_needs
report --html | cli/tests/it/looping/budgets.rs::a_report_is_a_page_of_its_own_for_all_runs_for_one_or_for_a_day
report --day | cli/tests/it/looping/budgets.rs::a_report_is_a_page_of_its_own_for_all_runs_for_one_or_for_a_day
report --junit | cli/tests/it/looping/budgets.rs::a_report_has_every_attempt_of_all_runs_or_of_one
report --json | cli/tests/it/looping/budgets.rs::a_report_has_every_attempt_of_all_runs_or_of_one

task add --id | cli/tests/it/effects/tasks.rs::a_task_is_made_and_changed_with_all_its_fields
task add, task create, task update --priority | cli/tests/it/effects/tasks.rs::a_task_is_made_and_changed_with_all_its_fields
task add, task create, task update --category | cli/tests/it/effects/tasks.rs::a_task_is_made_and_changed_with_all_its_fields
task add, task create, task update --description | cli/tests/it/effects/tasks.rs::a_task_is_made_and_changed_with_all_its_fields
task add, task create, task update --steps | cli/tests/it/effects/tasks.rs::a_task_is_made_and_changed_with_all_its_fields
task add, task create, task update --spec | cli/tests/it/effects/tasks.rs::a_task_is_made_and_changed_with_all_its_fields
task add, task create, task update --ref | cli/tests/it/effects/tasks.rs::a_task_is_made_and_changed_with_all_its_fields
task add, task create, task update --deps | cli/tests/it/effects/tasks.rs::a_task_is_made_and_changed_with_all_its_fields
task add, task create, task update --parent | cli/tests/it/effects/tasks.rs::a_task_is_made_and_changed_with_all_its_fields
task add, task create, task update --feature | cli/tests/it/effects/tasks.rs::a_task_is_made_and_changed_with_all_its_fields
task add, task create, task update --touches | cli/tests/it/effects/tasks.rs::a_task_is_made_and_changed_with_all_its_fields
task update --title | cli/tests/it/effects/tasks.rs::a_task_is_made_and_changed_with_all_its_fields
task update --status | cli/tests/it/tasks.rs::update_moves_the_status_as_far_as_it_may
task delete --status | cli/tests/it/effects/tasks.rs::tasks_are_deleted_by_their_status
task delete --all | cli/tests/it/tasks.rs::delete_takes_ids_a_status_or_everything
task delete --confirm | cli/tests/it/tasks.rs::delete_takes_ids_a_status_or_everything
task delete --spec | cli/tests/it/task_scripts.rs::delete_takes_several_statuses_a_spec_and_a_category
task delete --category | cli/tests/it/task_scripts.rs::delete_takes_several_statuses_a_spec_and_a_category
task list --status | cli/tests/it/tasks.rs::list_filters_by_status_assignee_and_feature
task list --all | cli/tests/it/tasks.rs::list_filters_by_status_assignee_and_feature
task list --assignee | cli/tests/it/tasks.rs::list_filters_by_status_assignee_and_feature
task list, task ready, task peek --feature | cli/tests/it/effects/tasks.rs::what_is_listed_can_be_limited_to_a_feature_and_printed_as_json
task list, task ready, task peek --json | cli/tests/it/effects/tasks.rs::what_is_listed_can_be_limited_to_a_feature_and_printed_as_json
task list --markdown | cli/tests/it/tasks.rs::list_markdown_shows_what_is_blocked
task show --with-deps | cli/tests/it/tasks.rs::show_prints_everything_and_its_neighbors
task show --all | cli/tests/it/looping/evidence.rs::a_task_that_came_back_shows_what_was_tried_and_why_it_failed
task show --json | cli/tests/it/tasks.rs::show_prints_everything_and_its_neighbors
task tree, task deps --json | cli/tests/it/tasks.rs::tree_and_deps_show_the_graph
task block, task unblock --by | cli/tests/it/effects/tasks.rs::a_task_no_longer_waits_for_one_that_it_is_unblocked_from
task ready --limit | cli/tests/it/tasks.rs::ready_has_a_limit_and_says_when_there_is_more
task peek --limit | cli/tests/it/acceptance.rs::s0_1_s0_2_peek_is_a_snapshot_and_empty_when_there_is_nothing
task claim, task renew --lease | cli/tests/it/tasks.rs::a_claim_can_be_renewed_by_its_holder_and_lost
task claim --agent | cli/tests/it/tasks.rs::list_is_a_table_of_six_columns
task claim --feature | cli/tests/it/acceptance.rs::s1_12_a_scope_holds_only_its_own
task claim --json | cli/tests/it/effects/tasks.rs::what_is_listed_can_be_limited_to_a_feature_and_printed_as_json
task done --result | cli/tests/it/tasks.rs::claim_prints_lease_retries_description_and_what_blockers_produced
task fail --reason | cli/tests/it/tasks.rs::fail_brings_a_task_back_until_its_retries_are_used_up
task fail --final | cli/tests/it/tasks.rs::fail_brings_a_task_back_until_its_retries_are_used_up
task log --json | cli/tests/it/effects/tasks.rs::what_is_listed_can_be_limited_to_a_feature_and_printed_as_json
task plan-status --feature | cli/tests/it/acceptance.rs::s1_12_a_scope_holds_only_its_own
task plan-status --json | cli/tests/it/effects/tasks.rs::what_is_listed_can_be_limited_to_a_feature_and_printed_as_json
task plan-sync --json | cli/tests/it/tasks.rs::plan_sync_is_exact_and_idempotent
task agent list --json | cli/tests/it/tasks.rs::agents_register_hold_and_leave

feature create --edit | cli/tests/it/features/interview.rs::the_editor_of_the_user_opens_the_file
feature create --interview | cli/tests/it/features/interview.rs::a_question_ends_the_call_and_the_answer_continues_the_conversation
feature create --answer | cli/tests/it/features/interview.rs::a_question_ends_the_call_and_the_answer_continues_the_conversation
feature plan --edit | cli/tests/it/features/interview.rs::the_editor_of_the_user_opens_the_file
feature build --yes | cli/tests/it/features/building.rs::a_second_build_keeps_done_tasks_and_deletes_the_rest_only_on_request
feature build --no-apply | cli/tests/it/features/building.rs::what_is_proposed_is_kept_until_it_is_applied
feature build --apply | cli/tests/it/features/building.rs::what_is_proposed_is_kept_until_it_is_applied
feature list --json | cli/tests/it/effects/tasks.rs::what_is_listed_can_be_limited_to_a_feature_and_printed_as_json
feature show --json | cli/tests/it/features/mod.rs::a_feature_has_files_rows_and_tasks
feature delete --confirm | cli/tests/it/features/mod.rs::deleting_asks_first_and_keeps_the_files

import --prefix | cli/tests/it/interchange.rs::a_spec_kit_feature_keeps_its_ids_and_its_order
import --format | cli/tests/it/effects/tasks.rs::an_import_takes_its_format_and_prints_json
import --dry-run | cli/tests/it/interchange.rs::a_prd_comes_in_and_goes_out
import --json | cli/tests/it/effects/tasks.rs::an_import_takes_its_format_and_prints_json
recover --attempt | cli/tests/it/recovering.rs::saved_work_is_listed_and_brought_back
recover --json | cli/tests/it/recovering.rs::saved_work_is_listed_and_brought_back
clean --all | cli/tests/it/cleaning.rs::all_removes_unchanged_files_of_init
clean --worktrees | cli/tests/it/cleaning.rs::s4_13_worktrees_are_saved_and_removed_and_a_users_stay
clean --everything | cli/tests/it/cleaning.rs::everything_goes_and_the_repository_is_as_before_init
clean --yes | cli/tests/it/cleaning.rs::everything_goes_and_the_repository_is_as_before_init
clean --dry-run | cli/tests/it/cleaning.rs::all_removes_unchanged_files_of_init
clean --json | cli/tests/it/cleaning.rs::all_removes_unchanged_files_of_init
answer --json | cli/tests/it/socket.rs::a_question_waits_for_its_answer
pause, resume --json | cli/tests/it/effects/tasks.rs::a_paused_run_is_resumed_and_both_say_so_in_json
cancel --after | cli/tests/it/looping/stopping.rs::cancel_after_task_retries_the_current_task_and_starts_no_other
cancel --now | cli/tests/it/looping/stopping.rs::s2_28_cancel_ends_the_run_keeps_the_work_and_it_can_be_taken_up_again
cancel --json | cli/tests/it/socket.rs::controls_go_to_the_run_that_the_state_file_names
tell --json | cli/tests/it/looping/telling.rs::a_session_that_takes_no_messages_is_followed_by_one_that_has_it
takeover --json | cli/tests/it/looping/telling.rs::takeover_stops_the_session_pauses_the_run_and_prints_the_way_in
skip, retry --json | cli/tests/it/effects/tasks.rs::controls_print_json
config show --json | cli/tests/it/config.rs::show_names_every_value_and_its_origin
config get --show-origin | cli/tests/it/config.rs::settings_are_read_written_and_removed_one_by_one
config get --json | cli/tests/it/config.rs::settings_are_read_written_and_removed_one_by_one
config set --user | cli/tests/it/config.rs::settings_are_read_written_and_removed_one_by_one
config set --project | cli/tests/it/config.rs::what_cannot_be_set_changes_no_file
config unset --user | cli/tests/it/config.rs::settings_are_read_written_and_removed_one_by_one
config unset --project | cli/tests/it/config.rs::settings_are_read_written_and_removed_one_by_one
config edit --user | cli/tests/it/config.rs::a_file_is_edited_in_the_users_editor_and_checked
config edit --project | cli/tests/it/config.rs::a_file_is_edited_in_the_users_editor_and_checked
demo --keep | cli/tests/it/demo.rs::the_demo_can_be_kept_and_looked_at > demo
";
