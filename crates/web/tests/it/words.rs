//! The page has words of its own for what JSON names: they are those of every other display.

use ralph_core::run::{CLASSES, Cancel, Port};
use ralph_core::task::Counts;
use ralph_core::view::{Doing, words};

fn script() -> &'static str {
    std::str::from_utf8(ralph_web::page::file("/js/words.js").unwrap().bytes).unwrap()
}

#[test]
fn the_page_says_how_an_attempt_ended_as_every_display() {
    for row in CLASSES {
        let (name, words) = (row.class.as_str(), row.class.words());
        let key = if name.contains('-') { format!("'{name}'") } else { name.to_owned() };
        assert!(script().contains(&format!("{key}: ['{words}', '")), "{name}: {words}");
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
