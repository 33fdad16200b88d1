//! Fuzz targets: functions that take any bytes, and must neither panic nor contradict themselves. There is a file for
//! each family of parsers.
//!
//! The programs in `fuzz/fuzz_targets` run them with libFuzzer, and `tests/it/native/fuzzed.rs` runs them
//! with the inputs in `fuzz/corpus`.

#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::string_slice,
    reason = "a target may panic; that is how it fails"
)]

mod admin;
mod archives;
mod config;
mod documents;
mod html;
mod login;
mod markdown;
mod mcp;
mod metadata;
mod names;
mod oci;
mod oidc;
mod origin;
mod requests;
mod signatures;
mod tokens;

pub use admin::admin;
pub use archives::{tar, zip};
pub use config::config;
pub use documents::{documents, release};
pub use html::assert_allowed;
pub use login::login;
pub use markdown::{highlight, markdown};
pub use mcp::mcp;
pub use metadata::{module, provider};
pub use names::names;
pub use oci::{oci, pushed};
pub use oidc::{exchange, oidc};
pub use origin::origin;
pub use requests::{read, route};
pub use signatures::{openpgp, shasums};
pub use tokens::token;

use std::fmt::{Debug, Display};
use std::str::FromStr;

use serde::Serialize;
use serde::de::DeserializeOwned;
use terrace_base::time::UnixTime;
use terrace_core::config::Config;

/// The current time in all targets.
const NOW: UnixTime = UnixTime(1_800_000_000);

/// A function that takes any bytes.
pub type Target = fn(&[u8]);

/// All targets, by the names of their programs and corpora.
pub const TARGETS: [(&str, Target); 23] = [
    ("admin", admin),
    ("config", config),
    ("documents", documents),
    ("exchange", exchange),
    ("highlight", highlight),
    ("login", login),
    ("markdown", markdown),
    ("mcp", mcp),
    ("module", module),
    ("names", names),
    ("oci", oci),
    ("oidc", oidc),
    ("openpgp", openpgp),
    ("origin", origin),
    ("provider", provider),
    ("pushed", pushed),
    ("read", read),
    ("release", release),
    ("route", route),
    ("shasums", shasums),
    ("tar", tar),
    ("token", token),
    ("zip", zip),
];

fn text(data: &[u8]) -> Option<&str> {
    str::from_utf8(data).ok()
}

/// Asserts that a value is written as text that parses to the same value.
fn round_trip<T: FromStr + Display + PartialEq + Debug>(text: &str) {
    if let Ok(value) = text.parse::<T>() {
        let written = value.to_string();
        let again = written.parse::<T>().ok();
        assert_eq!(
            again.as_ref(),
            Some(&value),
            "{text:?} is written {written:?}"
        );
    }
}

/// Asserts that a stored document is written as JSON that parses to the same document.
fn document<T: DeserializeOwned + Serialize + PartialEq + Debug>(data: &[u8]) {
    if let Ok(value) = serde_json::from_slice::<T>(data) {
        let written = serde_json::to_string(&value).expect("a document");
        assert_eq!(
            serde_json::from_str::<T>(&written).expect("a document"),
            value
        );
    }
}

/// Splits the data at the first `at`.
fn split(data: &[u8], at: u8) -> (&[u8], &[u8]) {
    match data.iter().position(|byte| *byte == at) {
        Some(place) => (&data[..place], &data[place + 1..]),
        None => (data, &[]),
    }
}

const OPEN: [(&str, &str); 1] = [("TERRACE_ADMIN_TOKEN", "0123456789abcdef")];

fn configured(vars: &[(&str, &str)]) -> Option<Config> {
    Config::from_vars(vars).ok()
}
