//! The stream that every display reads, whatever process the run is in.
//!
//! | file | owns |
//! |---|---|
//! | `stored` | a run that has ended: its journal |

mod stored;

pub use stored::StoredSource;
