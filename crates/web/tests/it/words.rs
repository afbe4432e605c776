//! The page has words of its own for what JSON names: they are those of every other display.

use ralph_core::run::{CLASSES, Port};
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
fn the_page_says_what_a_slot_does_as_every_display() {
    for doing in Doing::ALL {
        let name = serde_json::to_value(doing).unwrap();
        let pair = format!("{}: '{}'", name.as_str().unwrap(), doing.as_str());
        assert!(script().contains(&pair), "{pair}");
    }
    for port in [Port::Store, Port::Git, Port::Prompt, Port::Disk, Port::Gate] {
        let name = serde_json::to_value(port).unwrap();
        let pair = format!("{}: '{}'", name.as_str().unwrap(), words::port(port));
        assert!(script().contains(&pair), "{pair}");
    }
}

#[test]
fn the_page_knows_every_state_of_a_task() {
    let counts = serde_json::to_value(Counts::default()).unwrap();
    for state in counts.as_object().unwrap().keys() {
        assert!(script().contains(&format!("{state}: [[")), "{state} has no sign");
    }
}
