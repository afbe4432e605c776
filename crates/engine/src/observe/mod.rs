//! The stream that every display reads, whatever process the run is in.
//!
//! | file | owns |
//! |---|---|
//! | `stored` | a run from its files: its journal, and between the facts what its agents said |
//! | [`playback`] | a stream at the pace at which it was recorded |

pub mod playback;
pub mod stored;

pub use stored::StoredSource;
