//! Version indices as a read sees them: text that is served unchanged is borrowed, and unneeded fields are
//! skipped. `index` wrote them, so only their shape is checked here.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::storage::release::OfferedPackage;
use terrace_base::digest::Sha256;

/// The fields of a provider's index that its downloads need.
#[derive(Deserialize)]
pub(super) struct ProviderView<'i> {
    #[serde(borrow)]
    pub(super) protocols: &'i RawValue,
    pub(super) shasums: Sha256,
    pub(super) signature: Sha256,
    #[serde(borrow)]
    pub(super) signing_key: SigningKeyView<'i>,
    #[serde(borrow)]
    pub(super) packages: Vec<PackageView<'i>>,
}

/// A signing key, in the form in which it is served.
#[derive(Deserialize, Serialize)]
pub(super) struct SigningKeyView<'i> {
    #[serde(borrow)]
    key_id: &'i RawValue,
    #[serde(borrow)]
    ascii_armor: &'i RawValue,
}

/// One platform's zip.
#[derive(Deserialize)]
pub(super) struct PackageView<'i> {
    pub(super) platform: &'i str,
    #[serde(borrow)]
    pub(super) filename: &'i RawValue,
    pub(super) sha256: &'i str,
    pub(super) size: u64,
    #[serde(default)]
    pub(super) h1: Option<&'i str>,
}

/// The fields of a provider's index that the mirror needs.
#[derive(Deserialize)]
pub(super) struct MirrorView<'i> {
    #[serde(borrow)]
    pub(super) packages: Vec<MirroredView<'i>>,
    #[serde(default)]
    pub(super) offered: Vec<OfferedPackage>,
}

/// The fields of one platform's zip that the mirror needs.
#[derive(Deserialize)]
pub(super) struct MirroredView<'i> {
    pub(super) platform: &'i str,
    pub(super) sha256: &'i str,
    #[serde(default)]
    pub(super) h1: Option<&'i str>,
}
