//! A run is killed at every step and at random moments. The next `ralph build` goes on by itself: nothing
//! is lost, nothing is done twice, nothing is left behind. The campaigns are rows of the fault campaign.

mod points;
mod rows;
mod survivors;
mod telling;

use ralph_testkit::faults::Setting;

fn setting() -> Setting {
    Setting::of_test(crate::RALPH)
}
