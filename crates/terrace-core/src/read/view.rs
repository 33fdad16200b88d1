//! Version indices as a read sees them: what is answered as it stands is borrowed, and what nobody asks for is
//! passed over. `index` wrote them, so nothing is checked here but that they are of this shape.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::storage::release::OfferedPackage;
use terrace_base::digest::Sha256;

/// An index of a provider, as its downloads need it.
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

/// An index of a provider, as a description of the version needs it.
#[derive(Deserialize)]
pub(super) struct SourceView<'i> {
    #[serde(default)]
    pub(super) source: Option<&'i str>,
}

/// A key, as it is answered.
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

/// An index of any provider, as the mirror needs it.
#[derive(Deserialize)]
pub(super) struct MirrorView<'i> {
    #[serde(borrow)]
    pub(super) packages: Vec<MirroredView<'i>>,
    #[serde(default)]
    pub(super) offered: Vec<OfferedPackage>,
}

/// One platform's zip, as the mirror needs it.
#[derive(Deserialize)]
pub(super) struct MirroredView<'i> {
    pub(super) platform: &'i str,
    pub(super) sha256: &'i str,
    #[serde(default)]
    pub(super) h1: Option<&'i str>,
}
