//! The page has words of its own for what JSON names: they are those of every other display.

use ralph_core::records::Verdict;
use ralph_core::run::{
    CHANGES, CLASSES, Cancel, Class, FORBIDDEN, PROTECTED, Port, SIGNAL, VERIFICATION_FAILED,
    VERIFIER, WEAKENED,
};
use ralph_core::task::Counts;
use ralph_core::view::live::Said;
use ralph_core::view::{Condition, Doing, words};
use ralph_ui::runs::RunState;

fn script() -> &'static str {
    std::str::from_utf8(ralph_web::page::file("/js/words.js").unwrap().bytes).unwrap()
}

/// What a constant of the page has between its brackets.
fn constant(name: &str) -> &'static str {
    let (_, rest) = script().split_once(&format!("const {name} = ")).unwrap();
    rest.split_once(';').unwrap().0
}

#[test]
fn the_page_says_how_an_attempt_ended_as_every_display() {
    for row in CLASSES {
        let (name, words) = (row.class.as_str(), row.class.words());
        let key = if name.contains('-') { format!("'{name}'") } else { name.to_owned() };
        assert_eq!(words, words::attempt(Some((name, ""))));
        assert!(script().contains(&format!("{key}: ['{words}', '")), "{name}: {words}");
    }
    let rejected = words::attempt(Some((Class::Red.as_str(), VERIFICATION_FAILED)));
    for words in [rejected, words::attempt(None)] {
        assert!(script().contains(&format!("'{words}'")), "{words}");
    }
    assert!(script().contains(&format!("/^{VERIFICATION_FAILED}/")));
}

#[test]
fn the_page_gets_the_end_of_an_iteration_by_the_name_that_attempts_have() {
    for row in CLASSES {
        let ended = Said::Ended { class: row.class, detail: String::new() };
        assert_eq!(serde_json::to_value(ended).unwrap()["class"], row.class.as_str());
    }
}

#[test]
fn the_page_says_how_soon_a_run_stops_as_every_display() {
    for cancel in [Cancel::AfterTask, Cancel::AfterSession, Cancel::Now, Cancel::Kill] {
        for sessions in [1, 2] {
            let words = format!("'{}'", words::cancel(cancel, sessions));
            assert!(script().contains(&words), "{words}");
        }
    }
}

#[test]
fn the_page_says_what_a_check_found_as_every_display() {
    for verdict in Verdict::ALL {
        let found = format!("{verdict}: '{}'", words::verdict("test", verdict));
        assert!(constant("VERDICTS").contains(&found), "{found}");
        let found = format!("{verdict}: '{}'", words::verdict(VERIFIER, verdict));
        let of_verifier = [Verdict::Pass, Verdict::Fail].contains(&verdict);
        assert_eq!(constant("OF_VERIFIER").contains(&found), of_verifier, "{found}");
    }
    assert!(script().contains(&format!("return '{}'", words::verdict(SIGNAL, Verdict::Pass))));
    for check in [SIGNAL, PROTECTED, WEAKENED, VERIFIER, CHANGES, FORBIDDEN] {
        let informs = words::is_note(check, Verdict::Pass);
        let list = constant(if informs { "NOTES" } else { "CHECKS" });
        assert!(list.contains(&format!("'{check}'")), "{check}");
    }
}

#[test]
fn the_page_says_the_state_of_a_run_as_every_display() {
    let states = constant("RUN_STATES");
    for condition in Condition::ALL {
        assert!(states.contains(&format!(" {condition}: '")), "{condition}");
    }
    assert_eq!(states.matches(": '").count(), Condition::ALL.len(), "{states}");
    for state in [RunState::Running, RunState::Interrupted] {
        let name = serde_json::to_value(state).unwrap();
        assert!(states.contains(&format!(" {}: '", name.as_str().unwrap())), "{name}");
    }
}

#[test]
fn the_page_has_no_words_of_its_own_for_what_a_slot_does() {
    let doing = Doing::ALL.iter().map(|doing| doing.as_str());
    let ports = [Port::Store, Port::Git, Port::Prompt, Port::Disk, Port::Gate].map(words::port);
    for words in doing.filter(|words| words.contains(' ')).chain(ports) {
        assert!(!script().contains(words), "{words}");
    }
}

#[test]
fn the_page_knows_every_state_of_a_task() {
    let counts = serde_json::to_value(Counts::default()).unwrap();
    for state in counts.as_object().unwrap().keys() {
        assert!(script().contains(&format!("{state}: [[")), "{state} has no sign");
    }
}
