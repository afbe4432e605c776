//! A number that stands for a text, in names that must be the same in every version.
//!
//! FNV-1a: anybody can find two texts with the same number. It must not decide whether content is unchanged.

/// The number of these bytes.
pub fn stable_hash(bytes: impl IntoIterator<Item = u8>) -> u64 {
    bytes.into_iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}
