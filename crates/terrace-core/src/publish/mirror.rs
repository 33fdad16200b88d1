//! Mirroring a version of a provider of another registry.

use super::provider::{
    check_packages, disagreements_of, expected_archives, parse_packages, parse_protocol_list,
    parse_signature,
};
use super::{ExpectedArchive, PublishStep, Reasons, signed_documents};
use crate::api::admin::{MirrorBody, SignedBody};
use crate::model::address::MirroredAddress;
use crate::model::protocol_version::ProtocolVersion;
use crate::model::provenance::Provenance;
use crate::model::shasums::Shasums;
use crate::model::status::Reason;
use crate::model::version::Version;
use crate::storage::release::{
    MirroredContents, MirroredRelease, PackageDocument, SignedDocument, SigningKeyDocument,
};
use terrace_base::digest::Sha256;
use terrace_base::time::UnixTime;
use terrace_openpgp as openpgp;
use terrace_openpgp::parse_signing_keys;

/// A version of a provider of another registry, to mirror.
#[derive(Debug, Clone)]
pub struct MirrorPublication {
    /// The provider's address.
    pub address: MirroredAddress,
    /// The version of the provider.
    pub version: Version,
    protocols: Vec<ProtocolVersion>,
    signed: Option<Signed>,
    packages: Vec<PackageDocument>,
    provenance: Option<Provenance>,
    /// The reason for which it may replace contents that it contradicts.
    replace: Option<Reason>,
}

/// The documents that the origin signed, with a verified signature.
#[derive(Debug, Clone)]
struct Signed {
    shasums: Shasums,
    signature: Vec<u8>,
    key: SigningKeyDocument,
    warnings: Vec<String>,
}

impl MirrorPublication {
    /// Parses a request. The signature is verified here, since that needs only the key in the request.
    ///
    /// # Errors
    /// All errors that can be found without storage.
    pub fn parse(
        address: MirroredAddress,
        version: Version,
        body: &MirrorBody,
        now: UnixTime,
    ) -> Result<Self, Vec<String>> {
        let mut reasons = Reasons::default();
        let protocols = reasons.take_all(parse_protocol_list(&body.protocols));
        let packages = reasons.take_all(parse_packages(&body.packages));
        let signed = body.signed.as_ref();
        let signed = signed.map(|signed| Signed::parse(signed, now));
        let signed = reasons.take_all(signed.transpose());
        if let (Some(Some(signed)), Some(packages)) = (&signed, &packages) {
            reasons.extend(disagreements_of(&signed.shasums, packages));
        }
        let replace = body.replace.as_deref().map(str::parse).transpose();
        let replace = reasons.take(replace.map_err(|error| format!("replace: {error}")));
        match (protocols, packages, signed, replace) {
            (Some(protocols), Some(mut packages), Some(signed), Some(replace))
                if reasons.is_empty() =>
            {
                let shasums = signed.as_ref().map(|signed| signed.shasums.digest());
                packages.iter_mut().for_each(|it| it.shasums = shasums);
                Ok(Self {
                    address,
                    version,
                    protocols,
                    signed,
                    packages,
                    provenance: None,
                    replace,
                })
            }
            _ => Err(reasons.0),
        }
    }

    /// Creates a publication of packages that OCI clients have pushed. None of it is signed.
    ///
    /// # Errors
    /// All contradictions between the packages, and all limits that they exceed.
    pub fn of_pushed(
        address: MirroredAddress,
        version: Version,
        packages: Vec<PackageDocument>,
    ) -> Result<Self, Vec<String>> {
        Ok(Self {
            address,
            version,
            protocols: Vec::new(),
            signed: None,
            packages: check_packages(packages)?,
            provenance: None,
            replace: None,
        })
    }

    /// Returns the publication as that of a job.
    pub(super) fn by_job(self, job: Provenance) -> Self {
        Self {
            provenance: Some(job),
            ..self
        }
    }

    /// The key that made the signature, if there is one.
    pub fn signing_key(&self) -> Option<&SigningKeyDocument> {
        self.signed.as_ref().map(|signed| &signed.key)
    }

    /// The reason for which it may replace stored contents that it contradicts, if it may.
    pub fn replaces(&self) -> Option<&Reason> {
        self.replace.as_ref()
    }

    pub(super) fn archives(&self) -> Vec<ExpectedArchive> {
        expected_archives(&self.address.provider, &self.packages)
    }

    /// Returns the stored release with the additions of this publication.
    ///
    /// # Errors
    /// The contradictions. A package without a signature must be one that the known signature covers: either the
    /// origin offers it, or the publisher has to send SHA256SUMS again, which lists it.
    pub(super) fn onto(&self, existing: &MirroredRelease) -> Result<MirroredRelease, Vec<String>> {
        let grown = existing.with(&self.contents())?;
        let contradictions = self.contradictions(existing);
        if !contradictions.is_empty() {
            return Err(contradictions);
        }
        let is_known = |package: &PackageDocument| {
            // Its digest has been compared above.
            let mut stored = existing.packages.iter();
            stored.any(|known| known.platform == package.platform)
                || existing.offer(&package.platform).is_some()
        };
        let gains = !grown.packages.iter().all(is_known);
        if !existing.signed.is_empty() && self.signed.is_none() && gains {
            return Err(vec![
                "its packages were signed by its origin, so a platform can only be added together with \
                 the origin's SHA256SUMS, signature and key (terrace mirror add sends them)"
                    .to_owned(),
            ]);
        }
        Ok(grown)
    }

    /// Returns whether it may take the place of a release that it contradicts: for a stated reason, or because the release is
    /// only an offer, of which nobody has got a package from here, and the same key signed this publication: the origin has
    /// created the version anew.
    pub(super) fn may_replace(&self, existing: &MirroredRelease) -> bool {
        let signed = self.signed.as_ref().map(Signed::document);
        let is_renewed =
            || signed.is_some_and(|it| existing.signed.is_empty() || existing.is_signed_by(&it));
        self.replace.is_some() || (existing.packages.is_empty() && is_renewed())
    }

    /// Returns the other platforms of a release whose packages have another digest in this SHA256SUMS: the origin has signed
    /// the version anew.
    fn contradictions(&self, existing: &MirroredRelease) -> Vec<String> {
        let Some(signed) = &self.signed else {
            return Vec::new();
        };
        let stored = existing.packages.iter();
        let stored = stored.map(|it| (&it.platform, &it.filename, it.sha256));
        let offered = existing.offered.iter();
        let offered = offered.map(|it| (&it.platform, &it.filename, it.sha256));
        let mut found = Vec::new();
        for (platform, filename, sha256) in stored.chain(offered) {
            let mut ours = self.packages.iter();
            if ours.any(|it| it.platform == *platform) {
                continue;
            }
            let listed = signed.shasums.digest_of(filename);
            if let Some(listed) = listed.filter(|listed| *listed != sha256) {
                found.push(format!(
                    "{platform} has the sha256 {sha256}, but SHA256SUMS lists {listed}"
                ));
            }
        }
        found
    }

    /// Returns the release for a version that is not mirrored yet, and warnings about its key.
    pub(super) fn release(&self, now: UnixTime) -> (MirroredRelease, Vec<String>) {
        let (address, version) = (self.address.clone(), self.version.clone());
        let signed = self.signed.as_ref();
        let warnings = signed.map(|signed| signed.warnings.clone());
        let mut release = MirroredRelease::new(address, version, self.contents(), now);
        release.provenance.clone_from(&self.provenance);
        (release, warnings.unwrap_or_default())
    }

    pub(super) fn documents(&self) -> Vec<PublishStep> {
        self.signed.as_ref().map_or_else(Vec::new, |signed| {
            signed_documents(&signed.shasums, &signed.signature)
        })
    }

    fn contents(&self) -> MirroredContents {
        MirroredContents {
            protocols: self.protocols.clone(),
            signed: self.signed.iter().map(Signed::document).collect(),
            packages: self.packages.clone(),
        }
    }
}

impl Signed {
    fn parse(body: &SignedBody, now: UnixTime) -> Result<Self, Vec<String>> {
        let mut reasons = Reasons::default();
        let shasums = reasons.take_all(Shasums::parse(&body.shasums));
        let signature = reasons.take(parse_signature(&body.signature));
        let keys = parse_signing_keys(&body.signing_key);
        let keys = reasons.take(keys.map_err(|error| format!("signing_key: {error}")));
        let (Some(shasums), Some(signature), Some(keys)) = (shasums, signature, keys) else {
            return Err(reasons.0);
        };
        let verified =
            openpgp::verify_detached(&keys, shasums.as_str().as_bytes(), &signature, now.0)
                .map_err(|error| vec![format!("signature of SHA256SUMS: {error}")])?;
        Ok(Self {
            key: SigningKeyDocument::from(verified.key),
            warnings: verified.warnings,
            shasums,
            signature,
        })
    }

    fn document(&self) -> SignedDocument {
        SignedDocument {
            shasums: self.shasums.digest(),
            signature: Sha256::of(&self.signature),
            signing_key: self.key.clone(),
        }
    }
}
