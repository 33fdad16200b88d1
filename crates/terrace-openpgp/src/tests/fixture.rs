//! The files that `testdata/make.sh` creates.

use std::fmt::Debug;

use crate::{OpenPgpError, SigningKey, parse_signing_keys};

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

/// The data that every signature in `testdata` covers.
pub(super) const SIGNED: &[u8] = binary!("SHA256SUMS");

/// The day after all files were created and signed.
pub(super) const NEXT_DAY: u64 = 1_704_150_000;

/// A time long after all files were created and after all expiry dates.
pub(super) const YEARS_LATER: u64 = 1_893_456_000;

pub(super) fn keys(text: &str) -> Vec<SigningKey> {
    parse_signing_keys(text).unwrap()
}

/// Checks that the result is the error of this variant.
#[track_caller]
pub(super) fn assert_refused<T: Debug>(result: Result<T, OpenPgpError>, variant: &str) {
    let error = format!("{:?}", result.unwrap_err());
    assert!(error.starts_with(variant), "{error} instead of {variant}");
}
