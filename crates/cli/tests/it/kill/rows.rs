//! Short runs of the rows of the fault campaign.

use ralph_testkit::faults::{Setting, hold, inside};

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
fn a_run_that_is_told_to_stop_gives_back_its_claims_and_goes_on_later() {
    for row in ["term", "hup", "int", "int-twice"] {
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
fn an_outcome_waits_for_a_database_that_somebody_holds() {
    hold("locked", &setting());
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
