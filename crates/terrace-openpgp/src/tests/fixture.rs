//! What `testdata/make.sh` made.

use crate::{SigningKey, parse_signing_keys};

/// A file of `testdata` as bytes.
macro_rules! binary {
    ($name:literal) => {
        include_bytes!(concat!("../../testdata/", $name)).as_slice()
    };
}
/// A file of `testdata` as text.
macro_rules! text {
    ($name:literal) => {
        include_str!(concat!("../../testdata/", $name))
    };
}
pub(super) use {binary, text};

/// What every signature in `testdata` is over.
pub(super) const SIGNED: &[u8] = binary!("SHA256SUMS");

/// The day after everything was made and signed.
pub(super) const NEXT_DAY: u64 = 1_704_150_000;

/// Long after everything was made, and after what expires.
pub(super) const YEARS_LATER: u64 = 1_893_456_000;

pub(super) fn keys(text: &str) -> Vec<SigningKey> {
    parse_signing_keys(text).unwrap()
}
