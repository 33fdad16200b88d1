//! A version of another registry's provider.

use serde::{Deserialize, Serialize};

use super::{PackageDocument, SCHEMA, SigningKeyDocument};
use crate::limits;
use crate::model::address::MirroredAddress;
use crate::model::platform::Platform;
use crate::model::protocol_version::ProtocolVersion;
use crate::model::version::Version;
use terrace_base::digest::Sha256;
use terrace_base::time::UnixTime;

/// One version of a provider that another registry hosts.
///
/// A mirror may hold some of its platforms only, and gain others later.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MirroredRelease {
    schema: u32,
    /// Whose version it is.
    pub address: MirroredAddress,
    /// The version.
    pub version: Version,
    /// When its first platform was mirrored.
    pub published_at: UnixTime,
    /// The plugin protocols it speaks, ascending; none when nobody said.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub protocols: Vec<ProtocolVersion>,
    /// What its origin signed; not there when only the packages were at hand.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signed: Option<SignedDocument>,
    /// One for each platform that is mirrored, ascending by platform.
    pub packages: Vec<PackageDocument>,
    /// What its origin offers besides, ascending by platform: stored when somebody asks for it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub offered: Vec<OfferedPackage>,
}

/// One platform's zip that the origin has signed, and that is not stored yet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OfferedPackage {
    /// What it runs on.
    pub platform: Platform,
    /// Its name in SHA256SUMS.
    pub filename: String,
    /// Its digest, which will be its key.
    pub sha256: Sha256,
}

/// What a provider's origin signed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SignedDocument {
    /// Where the SHA256SUMS text lies. It may list platforms that are not mirrored.
    pub shasums: Sha256,
    /// Where its binary signature lies.
    pub signature: Sha256,
    /// The key that made the signature, as the origin named it.
    pub signing_key: SigningKeyDocument,
}

/// What a mirrored release says, apart from what it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MirroredContents {
    /// The plugin protocols it speaks, ascending.
    pub protocols: Vec<ProtocolVersion>,
    /// What its origin signed.
    pub signed: Option<SignedDocument>,
    /// One for each platform, ascending by platform.
    pub packages: Vec<PackageDocument>,
}

impl MirroredRelease {
    /// The release as it is first committed.
    pub fn new(
        address: MirroredAddress,
        version: Version,
        contents: MirroredContents,
        published_at: UnixTime,
    ) -> Self {
        let MirroredContents {
            protocols,
            signed,
            packages,
        } = contents;
        Self {
            schema: SCHEMA,
            address,
            version,
            published_at,
            protocols,
            signed,
            packages,
            offered: Vec::new(),
        }
    }

    /// What its origin offers for a platform, as long as it is not stored.
    pub fn offer(&self, platform: &Platform) -> Option<&OfferedPackage> {
        self.offered
            .iter()
            .find(|offer| offer.platform == *platform)
    }

    /// This release once what was offered for a platform is stored, as `size` bytes; `None` when
    /// nothing is offered for it.
    ///
    /// # Errors
    /// Why it must not be part of the release.
    pub fn with_stored(&self, platform: &Platform, size: u64) -> Result<Option<Self>, String> {
        let Some(offer) = self.offer(platform) else {
            return Ok(None);
        };
        let OfferedPackage {
            platform,
            filename,
            sha256,
        } = offer.clone();
        let package = PackageDocument {
            platform,
            filename,
            sha256,
            size,
            h1: None,
        };
        let mut grown = self.clone();
        if let Some(reason) = grown.add(&package).or_else(|| grown.excess()) {
            return Err(reason);
        }
        grown.drop_offers_of_stored();
        Ok(Some(grown))
    }

    fn drop_offers_of_stored(&mut self) {
        let Self {
            packages, offered, ..
        } = self;
        offered.retain(|offer| packages.iter().all(|p| p.platform != offer.platform));
    }

    /// This release with what `more` adds: platforms, hashes, a signature, protocols.
    ///
    /// # Errors
    /// Everything in which `more` contradicts what is known already: that never changes.
    pub fn with(&self, more: &MirroredContents) -> Result<Self, Vec<String>> {
        let mut grown = self.clone();
        let mut reasons = Vec::new();
        // They are only told by some, and served to nobody: the first to tell is believed.
        if grown.protocols.is_empty() {
            grown.protocols.clone_from(&more.protocols);
        }
        match (&grown.signed, &more.signed) {
            (Some(known), Some(told)) if known.shasums != told.shasums => {
                reasons.push(format!("its SHA256SUMS has the digest {}", known.shasums));
            }
            (Some(known), Some(told))
                if known.signing_key.fingerprint != told.signing_key.fingerprint =>
            {
                let fingerprint = &known.signing_key.fingerprint;
                reasons.push(format!("it is signed by the key {fingerprint}"));
            }
            (None, Some(_)) => grown.signed.clone_from(&more.signed),
            _ => {}
        }
        for package in &more.packages {
            reasons.extend(grown.add(package));
        }
        reasons.extend(grown.excess());
        grown.drop_offers_of_stored();
        if reasons.is_empty() {
            Ok(grown)
        } else {
            Err(reasons)
        }
    }

    /// What of it no release may have, whether it came at once or bit by bit.
    fn excess(&self) -> Option<String> {
        let count = self.packages.len();
        if count > limits::PLATFORMS {
            let most = limits::PLATFORMS;
            return Some(format!(
                "it would have {count} platforms; {most} are allowed"
            ));
        }
        let mut digests = std::collections::BTreeSet::new();
        let twice = self
            .packages
            .iter()
            .find(|package| !digests.insert(package.sha256))?;
        Some(format!(
            "{} has the same sha256 as another platform's package, which crashes OpenTofu",
            twice.filename
        ))
    }

    /// Adds a platform; says what contradicts it.
    fn add(&mut self, package: &PackageDocument) -> Option<String> {
        let place = self
            .packages
            .binary_search_by(|known| known.platform.cmp(&package.platform));
        let known = match place {
            Ok(place) => self.packages.get_mut(place)?,
            Err(place) => {
                let offered = self.offer(&package.platform);
                if let Some(offer) = offered.filter(|offer| offer.sha256 != package.sha256) {
                    let OfferedPackage {
                        platform, sha256, ..
                    } = offer;
                    return Some(format!("{platform} has the sha256 {sha256} at its origin"));
                }
                self.packages.insert(place, package.clone());
                return None;
            }
        };
        let PackageDocument {
            platform,
            sha256,
            size,
            ..
        } = &*known;
        if *sha256 != package.sha256 || *size != package.size {
            return Some(format!(
                "{platform} has the sha256 {sha256} and {size} bytes"
            ));
        }
        match (known.h1, package.h1) {
            (Some(h1), Some(told)) if h1 != told => Some(format!("{platform} has the hash {h1}")),
            (None, told) => {
                known.h1 = told;
                None
            }
            _ => None,
        }
    }
}
