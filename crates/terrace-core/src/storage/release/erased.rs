//! The tombstone of an erased release.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{Release, SCHEMA};
use crate::model::package::Package;
use crate::model::status::Reason;
use crate::model::version::Version;
use crate::storage::key::{ArchiveKey, BytesKey};
use terrace_base::digest::Sha256;
use terrace_base::time::UnixTime;

/// The tombstone of an erased release, stored under the key of the release. So the version stays taken: a release is created
/// only where nothing is stored. It has nothing of its publisher's except names, digests and times.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErasedRelease {
    schema: u32,
    /// The package of which this was a version.
    #[serde(
        serialize_with = "Package::serialize_key",
        deserialize_with = "Package::deserialize_key"
    )]
    pub package: Package,
    /// The version of the package.
    pub version: Version,
    /// The time of the commit.
    pub published_at: UnixTime,
    /// The time of the erasure.
    pub erased_at: UnixTime,
    /// The operator's reason.
    pub reason: Reason,
    /// The archives that the release and its documentation consisted of. Some may be stored still, because others refer to
    /// them.
    pub archives: Vec<ErasedArchive>,
    /// The digests of the content that OCI clients could request.
    pub contents: Vec<Sha256>,
}

/// An archive in a tombstone, stored as its key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ErasedArchive(pub ArchiveKey);

impl ErasedRelease {
    /// Creates the tombstone of `release`, with its archives, and the digests of its content for OCI clients.
    pub fn new(
        release: &Release,
        archives: Vec<ArchiveKey>,
        contents: Vec<Sha256>,
        (erased_at, reason): (UnixTime, Reason),
    ) -> Self {
        Self {
            schema: SCHEMA,
            package: release.package(),
            version: release.version().clone(),
            published_at: release.published_at(),
            erased_at,
            reason,
            archives: archives.into_iter().map(ErasedArchive).collect(),
            contents,
        }
    }

    /// Returns the message for a request that would bring the version back.
    pub fn message(&self) -> String {
        let (address, version) = (self.package.address(), &self.version);
        let reason = &self.reason;
        // Another version of a package of another registry cannot be published.
        let advice = match self.package.origin() {
            Some(_) => "",
            None => "; publish another version",
        };
        format!("{address} {version} was erased, and never returns: {reason}{advice}")
    }
}

impl Package {
    fn serialize_key<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }

    fn deserialize_key<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse_key(&text).ok_or_else(|| serde::de::Error::custom("not the key of a package"))
    }
}

impl Serialize for ErasedArchive {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for ErasedArchive {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        match BytesKey::parse_key(&text) {
            Some(BytesKey::Archive(archive)) => Ok(Self(archive)),
            _ => Err(serde::de::Error::custom("not the key of an archive")),
        }
    }
}
