//! Streams of what runs do, for displays.
//!
//! | module | owns |
//! |---|---|
//! | [`stored`] | a stream from the files of a run |
//! | [`playback`] | a stream at the pace at which it was recorded |

pub mod playback;
pub mod stored;
