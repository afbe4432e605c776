//! The page as a file, of the day that the snapshots of every display show.

use ralph_web::frozen::{Scope, gather};

use crate::recorded::Recorded;

#[test]
fn the_data_of_a_recorded_day() {
    let mut data = gather(&Recorded::new(), &Scope::default()).unwrap();
    data["session"]["version"] = "VERSION".into();
    insta::assert_snapshot!(format!("{data:#}"));
}
