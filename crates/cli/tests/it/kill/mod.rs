//! A run is killed at every step and at random moments. The next `ralph build` goes on by itself: nothing
//! is lost, nothing is done twice, nothing is left behind.

mod points;
mod random;
mod signals;
mod survivors;
mod tally;

mod world;
