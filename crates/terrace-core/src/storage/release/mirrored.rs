//! A version of a provider of another registry.

use serde::{Deserialize, Serialize};

use super::{PackageDocument, SCHEMA, SigningKeyDocument, same_file_names};
use crate::limits;
use crate::model::address::MirroredAddress;
use crate::model::platform::Platform;
use crate::model::protocol_version::ProtocolVersion;
use crate::model::provenance::Provenance;
use crate::model::version::Version;
use terrace_base::digest::Sha256;
use terrace_base::time::UnixTime;

/// One version of a provider that another registry hosts.
///
/// A mirror may hold only some of its platforms, and gain others later.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MirroredRelease {
    schema: u32,
    /// The provider's address.
    pub address: MirroredAddress,
    /// The version of the provider.
    pub version: Version,
    /// The time when its first platform was mirrored.
    pub published_at: UnixTime,
    /// The plugin protocols that it speaks, ascending; empty if no publisher listed any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub protocols: Vec<ProtocolVersion>,
    /// The documents that its origin signed, each once: many origins sign one for all platforms, others one for each. Every
    /// package names its own, unless only its zip was available.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub signed: Vec<SignedDocument>,
    /// The mirrored packages, one for each platform, ascending by platform.
    pub packages: Vec<PackageDocument>,
    /// The further packages that its origin offers, ascending by platform: each is stored when a client
    /// requests it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub offered: Vec<OfferedPackage>,
    /// The job that mirrored its first platform, if it was a job with a verified identity. It does not state
    /// where the provider was built.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provenance: Option<Provenance>,
}

/// A platform's zip that the origin has signed and that is not stored yet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OfferedPackage {
    /// The platform that it runs on.
    pub platform: Platform,
    /// Its file name in SHA256SUMS.
    pub filename: String,
    /// Its digest, which becomes part of its key.
    pub sha256: Sha256,
    /// The digest of the SHA256SUMS that lists it, unless that is not signed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shasums: Option<Sha256>,
}

impl OfferedPackage {
    /// Returns the offer without the SHA256SUMS that lists it, which no client of a mirror requests.
    #[must_use]
    pub fn unsigned(&self) -> Self {
        Self {
            shasums: None,
            ..self.clone()
        }
    }
}

/// The documents that a provider's origin signed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SignedDocument {
    /// The digest of the SHA256SUMS text, which may list platforms that are not mirrored.
    pub shasums: Sha256,
    /// The digest of its binary signature.
    pub signature: Sha256,
    /// The key that made the signature, as the origin listed it.
    pub signing_key: SigningKeyDocument,
}

/// The contents of a mirrored release, without its address and version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MirroredContents {
    /// The plugin protocols that it speaks, ascending.
    pub protocols: Vec<ProtocolVersion>,
    /// The documents that its origin signed, each once.
    pub signed: Vec<SignedDocument>,
    /// The packages, one for each platform, ascending by platform.
    pub packages: Vec<PackageDocument>,
}

impl MirroredRelease {
    /// Creates the release as it is first committed.
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
            provenance: None,
        }
    }

    /// Returns the origin's offer for a platform, as long as its package is not stored.
    pub fn offer(&self, platform: &Platform) -> Option<&OfferedPackage> {
        self.offered
            .iter()
            .find(|offer| offer.platform == *platform)
    }

    /// Returns the release after an offered package has been stored, with `size` bytes; `None` if it is not offered any more.
    ///
    /// # Errors
    /// The reason why the package must not become part of the release.
    pub fn with_stored(&self, offer: &OfferedPackage, size: u64) -> Result<Option<Self>, String> {
        if self.offer(&offer.platform) != Some(offer) {
            return Ok(None);
        }
        let OfferedPackage {
            platform,
            filename,
            sha256,
            shasums,
        } = offer.clone();
        let package = PackageDocument {
            platform,
            filename,
            sha256,
            size,
            h1: None,
            shasums,
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

    /// Returns the release with the additions of `more`: platforms, hashes, a signature, protocols.
    ///
    /// # Errors
    /// Everything in which `more` contradicts the release: known contents never change.
    pub fn with(&self, more: &MirroredContents) -> Result<Self, Vec<String>> {
        let mut grown = self.clone();
        let mut reasons = Vec::new();
        // Only some publishers list the protocols, and no client receives them: the first list is kept.
        if grown.protocols.is_empty() {
            grown.protocols.clone_from(&more.protocols);
        }
        if let Some(known) = grown.signed.first()
            && !more.signed.iter().all(|it| grown.is_signed_by(it))
        {
            let fingerprint = &known.signing_key.fingerprint;
            reasons.push(format!("it is signed by the key {fingerprint}"));
        }
        for package in &more.packages {
            reasons.extend(grown.add(package));
        }
        for signed in &more.signed {
            let named = Some(signed.shasums);
            let is_known = grown.signed.iter().any(|it| it.shasums == signed.shasums);
            if !is_known && grown.packages.iter().any(|it| it.shasums == named) {
                grown.signed.push(signed.clone());
            }
        }
        reasons.extend(same_file_names(&grown.packages));
        reasons.extend(grown.excess());
        grown.drop_offers_of_stored();
        if reasons.is_empty() {
            Ok(grown)
        } else {
            Err(reasons)
        }
    }

    /// Returns whether one of its keys made this signature.
    pub fn is_signed_by(&self, other: &SignedDocument) -> bool {
        let mut keys = self.signed.iter().map(|it| &it.signing_key.fingerprint);
        keys.any(|fingerprint| *fingerprint == other.signing_key.fingerprint)
    }

    /// Returns the first rule for packages that the release breaks, whether it was built at once or step by
    /// step.
    fn excess(&self) -> Option<String> {
        let count = self.packages.len();
        if count > limits::PLATFORMS {
            let limit = limits::PLATFORMS;
            return Some(format!(
                "it would have {count} platforms; at most {limit} are allowed"
            ));
        }
        let keys = self.signed.iter().map(|it| &it.signing_key.ascii_armor);
        let bytes: usize = keys.map(String::len).sum();
        let limit = limits::SIGNING_KEYS_BYTES;
        if bytes > limit {
            return Some(format!(
                "its signing keys, one for each SHA256SUMS, would have {bytes} bytes; at most {limit} are allowed"
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

    /// Adds a platform; returns the contradiction if there is one.
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
                    let at = self.published_at;
                    return Some(format!(
                        "{platform} has the sha256 {sha256}, as its origin offered it on {at}"
                    ));
                }
                let mut added = package.clone();
                if let Some(offer) = offered.filter(|_| added.shasums.is_none()) {
                    added.filename.clone_from(&offer.filename);
                    added.shasums = offer.shasums;
                }
                self.packages.insert(place, added);
                return None;
            }
        };
        let platform = &package.platform;
        let PackageDocument { sha256, size, .. } = &*known;
        if *sha256 != package.sha256 || *size != package.size {
            return Some(format!(
                "{platform} has the sha256 {sha256} and {size} bytes"
            ));
        }
        // Its publisher signed the name, too.
        if known.shasums.is_none() && package.shasums.is_some() {
            known.filename.clone_from(&package.filename);
            known.shasums = package.shasums;
        }
        match (known.h1, package.h1) {
            (Some(h1), Some(sent)) if h1 != sent => Some(format!("{platform} has the hash {h1}")),
            (None, sent) => {
                known.h1 = sent;
                None
            }
            _ => None,
        }
    }
}
