//! Publishing as a decision: the request and the stored state go in, the steps to take come out.
//!
//! Nothing is written before everything that a client would reject has been checked (except the contents of
//! zips that [`ExpectedArchive::zip_inspector`] only lists). One conditional write of the release document is
//! the commit: create-only, or, if a mirrored release gains contents, only over the document that was read.
//! The steps before it store bytes that nothing refers to yet; the steps after it rebuild indices, and a
//! retry of the request repeats them.

mod documentation;
mod mirror;
mod module;
mod provider;

use std::collections::BTreeMap;

use crate::index::{ARCHIVE, ListedRelease, PublishedDigests, SHASUMS, digests};
use crate::model::name::ProviderType;
use crate::model::package::Package;
use crate::model::platform::Platform;
use crate::model::provenance::Provenance;
use crate::model::shasums::Shasums;
use crate::model::status::KeyStatus;
use crate::model::subdir::Subdir;
use crate::model::version::Version;
use crate::storage::archive_url::ArchiveUrls;
use crate::storage::key::{ArchiveKey, ArchiveKind, IndexKey};
use crate::storage::release::Release;
use terrace_archive::{
    ArchiveFormat, Entry, Heads, ZipInspector, check_module_archive, check_provider_package,
    module_archive_warnings, provider_package_warnings, zip_contents_warning,
};
use terrace_base::digest::Sha256;
use terrace_base::time::UnixTime;
use terrace_openpgp::{KeyId, SigningKey};

pub use documentation::DocumentationPublication;
pub use mirror::MirrorPublication;
pub use module::ModulePublication;
pub use provider::ProviderPublication;

/// A parsed request to publish, without any error that is visible from the request alone.
#[derive(Debug, Clone)]
pub enum Publication {
    /// The publication of a provider.
    Provider(ProviderPublication),
    /// The publication of a provider of another registry, to mirror.
    Mirror(MirrorPublication),
    /// The publication of a module.
    Module(ModulePublication),
}

/// An archive that must be stored before the release.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExpectedArchive {
    /// The key that it is stored under.
    pub key: ArchiveKey,
    /// Its length in bytes.
    pub size: u64,
    /// Its file name, as the publisher calls it.
    pub filename: String,
    /// The contents that it must have.
    pub contents: ExpectedContents,
}

/// The contents that an archive must have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExpectedContents {
    /// The executable of a provider of this type, for this platform.
    Provider(ProviderType, Platform),
    /// Configuration files, in this directory if given.
    Module(Option<Subdir>),
}

/// The state of an [`ExpectedArchive`] in storage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ArchiveState {
    /// Nothing is stored, or no bytes that match the key.
    Missing,
    /// Bytes of the right digest.
    Stored {
        /// The length in bytes.
        size: u64,
        /// The reasons why a client would reject the archive.
        reasons: Vec<String>,
        /// Properties that a client accepts and its user may regret.
        warnings: Vec<String>,
    },
}

/// The state that a plan depends on, besides the request.
#[derive(Debug)]
pub struct ObservedState {
    /// The release of this version, if there is one.
    pub existing: Option<StoredRelease>,
    /// The digests that the index of the version still contains, if its release is lost.
    pub published: Option<PublishedDigests>,
    /// The signing keys of the namespace; empty for a publication that none of them signs.
    pub keys: Vec<SigningKey>,
    /// The statuses of these keys, by their ids.
    pub key_statuses: BTreeMap<KeyId, KeyStatus>,
    /// The states of [`Publication::archives`], in the same order.
    pub archives: Vec<ArchiveState>,
}

impl ObservedState {
    /// Returns the state of a version if its release, or the loss of it, decides alone.
    pub fn settled(existing: Option<StoredRelease>, published: Option<PublishedDigests>) -> Self {
        Self {
            existing,
            published,
            keys: Vec::new(),
            key_statuses: BTreeMap::new(),
            archives: Vec::new(),
        }
    }
}

/// A release as read from storage.
#[derive(Debug, Clone)]
pub struct StoredRelease {
    /// The parsed release.
    pub release: Release,
    /// The entity tag of the document, for a write that must replace no other document.
    pub etag: String,
}

/// The decision about a request to publish.
#[derive(Debug)]
pub enum Plan {
    /// Reject: the version was published with other bytes.
    Conflict(Vec<String>),
    /// Reject: the version was erased; the message.
    Erased(String),
    /// Reject, for all of these reasons.
    Invalid(Vec<String>),
    /// Request the upload of these archives.
    Upload(Vec<ExpectedArchive>),
    /// Execute the steps in order.
    Execute(Vec<PublishStep>, Accepted),
}

/// A publish that is accepted.
#[derive(Debug)]
pub struct Accepted {
    /// Whether it is a commit: of a new release, or of additions to a mirrored one. Otherwise only indices are rebuilt.
    pub commits: bool,
    /// Whether the commit replaces stored contents.
    pub replaces: bool,
    /// The job that published the release first, if it was a job with a verified identity.
    pub provenance: Option<Provenance>,
    /// Warnings for the publisher.
    pub warnings: Vec<String>,
}

/// A storage operation of a publish. Each may be repeated without harm.
#[derive(Debug, Clone)]
pub enum PublishStep {
    /// Store bytes under their own digest.
    StoreArchive(ArchiveKey, Vec<u8>),
    /// **The commit**: create the release document, never replacing one.
    CreateRelease(Box<Release>),
    /// **The commit** of a change to a mirrored release: replace the document with this etag, and no other.
    GrowRelease(Box<Release>, String),
    /// Notify concurrent writers of the package's indices that there is another change, and write these indices. Those of a
    /// release that may grow follow from the release as it is stored at that time.
    RefreshIndices(Box<Release>, IndexScope),
    /// Remove these indices, which describe contents that the release no longer has. A read that misses one that another version
    /// has is answered from the facts.
    RemoveIndices(Vec<IndexKey>),
}

/// The indices that change with a release.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IndexScope {
    /// Those of the version.
    Version,
    /// Those of the version, the version lists and the catalogue.
    VersionAndLists,
}

/// The reasons against a request, which are all reported at once.
#[derive(Debug, Default)]
struct Reasons(Vec<String>);

impl Reasons {
    /// Returns the value, or keeps the reason against it.
    fn take<T, E: ToString>(&mut self, result: Result<T, E>) -> Option<T> {
        self.take_all(result.map_err(|reason| vec![reason]))
    }

    /// Returns the value, or keeps the reasons against it.
    fn take_all<T, E: ToString>(&mut self, result: Result<T, Vec<E>>) -> Option<T> {
        result.map_err(|reasons| self.extend(reasons)).ok()
    }

    fn extend<E: ToString>(&mut self, reasons: impl IntoIterator<Item = E>) {
        self.0.extend(reasons.into_iter().map(|it| it.to_string()));
    }

    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the value if there are no reasons against it.
    fn none_or<T>(self, value: T) -> Result<T, Vec<String>> {
        match self.is_empty() {
            true => Ok(value),
            false => Err(self.0),
        }
    }
}

/// Returns the steps that store SHA256SUMS and its signature.
pub fn signed_documents(shasums: &Shasums, signature: &[u8]) -> Vec<PublishStep> {
    let store =
        |bytes: &[u8], kind| PublishStep::StoreArchive(ArchiveKey::of(bytes, kind), bytes.to_vec());
    vec![
        store(shasums.as_str().as_bytes(), ArchiveKind::Shasums),
        store(signature, ArchiveKind::Signature),
    ]
}

impl ExpectedArchive {
    /// Returns the reasons why a client would reject an archive with these entries.
    pub fn refusals(&self, entries: &[Entry]) -> Vec<String> {
        let reasons = match &self.contents {
            ExpectedContents::Provider(provider_type, _) => {
                check_provider_package(entries, provider_type.as_str())
            }
            ExpectedContents::Module(subdir) => {
                check_module_archive(entries, subdir.as_ref().map(Subdir::as_str))
            }
        };
        reasons
            .iter()
            .map(|reason| format!("{}: {reason}", self.filename))
            .collect()
    }

    /// Returns the properties of an archive with these entries that a client accepts and its user may regret.
    pub fn remarks(&self, entries: &[Entry]) -> Vec<String> {
        let warnings = match &self.contents {
            ExpectedContents::Provider(provider_type, platform) => {
                let unread = Heads::default();
                provider_package_warnings(entries, provider_type.as_str(), platform.os(), &unread)
            }
            ExpectedContents::Module(_) => {
                let mut warnings = module_archive_warnings(entries);
                warnings.extend(self.contents_unchecked(entries));
                warnings
            }
        };
        warnings
            .iter()
            .map(|warning| format!("{}: {warning}", self.filename))
            .collect()
    }

    /// Returns the inspector for a zip of `size` bytes: a module is unpacked, while only the entries of a
    /// provider are listed, since it has hundreds of megabytes.
    pub fn zip_inspector(&self, size: u64) -> ZipInspector {
        match self.contents {
            ExpectedContents::Provider(..) => ZipInspector::new(size),
            ExpectedContents::Module(_) => ZipInspector::with_contents(size),
        }
    }

    /// Returns a warning if the module is a zip too large to unpack, so that its entries were only listed.
    fn contents_unchecked(&self, entries: &[Entry]) -> Option<String> {
        match self.format() {
            ArchiveFormat::Zip => zip_contents_warning(self.size, entries),
            ArchiveFormat::TarGz => None,
        }
    }

    /// The archive's format.
    pub fn format(&self) -> ArchiveFormat {
        match self.key.kind {
            ArchiveKind::Archive(format) => format,
            _ => ArchiveFormat::Zip,
        }
    }
}

impl Publication {
    /// Returns the publication as that of a job. The release records the job's verified claims. Without a job, the
    /// publication is unchanged. Neither the claims nor the source are compared with those of an existing release.
    #[must_use]
    pub fn by_job(self, job: Option<Provenance>) -> Self {
        let Some(job) = job else {
            return self;
        };
        match self {
            Self::Provider(provider) => Self::Provider(provider.by_job(job)),
            Self::Mirror(mirror) => Self::Mirror(mirror.by_job(job)),
            Self::Module(module) => Self::Module(module.by_job(job)),
        }
    }

    /// The package of which a version is published.
    pub fn package(&self) -> Package {
        match self {
            Self::Provider(provider) => Package::Provider(provider.address.clone()),
            Self::Mirror(mirror) => Package::Mirrored(mirror.address.clone()),
            Self::Module(module) => Package::Module(module.address.clone()),
        }
    }

    /// The address, as its publisher writes it.
    pub fn address(&self) -> String {
        self.package().address()
    }

    /// The version to publish.
    pub fn version(&self) -> &Version {
        match self {
            Self::Provider(provider) => &provider.version,
            Self::Mirror(mirror) => &mirror.version,
            Self::Module(module) => &module.version,
        }
    }

    /// Returns the archives that must be stored before the release.
    pub fn archives(&self) -> Vec<ExpectedArchive> {
        match self {
            Self::Provider(provider) => provider.archives(),
            Self::Mirror(mirror) => mirror.archives(),
            Self::Module(module) => vec![module.archive()],
        }
    }

    /// Returns `existing` after this publication: unchanged, or with more platforms if it is mirrored.
    ///
    /// # Errors
    /// The contradictions between the two.
    pub fn onto(&self, existing: &Release) -> Result<Release, Vec<String>> {
        let differences = match (self, existing) {
            (Self::Provider(provider), Release::Provider(release)) => {
                release.differences(&provider.contents())
            }
            (Self::Module(module), Release::Module(release)) => {
                release.differences(&module.document)
            }
            (Self::Mirror(mirror), Release::Mirrored(release)) => match mirror.onto(release) {
                Ok(grown) => return Ok(Release::Mirrored(grown)),
                Err(differences) => differences,
            },
            _ => vec![
                "the stored release is of another kind (hosted, mirrored or module)".to_owned(),
            ],
        };
        if differences.is_empty() {
            return Ok(existing.clone());
        }
        let (address, version) = (self.address(), self.version());
        let mut reasons = vec![match self {
            Self::Mirror(_) => {
                format!("{address} {version} is already mirrored, with different contents")
            }
            _ => format!(
                "{address} {version} is already published and never changes; publish another version"
            ),
        }];
        reasons.extend(differences);
        Err(reasons)
    }

    /// Compares the publication with a version that has lost its release: the same bytes may be published again.
    ///
    /// # Errors
    /// The differences, and the possible remedies.
    pub fn repeats(&self, published: &PublishedDigests) -> Result<(), Vec<String>> {
        let (address, version) = (self.address(), self.version());
        let freed = format!(
            "to accept the loss instead, run terrace admin reindex --accept-loss {address}@{version}: it frees this \
             version within a minute"
        );
        if published.are_unknown() {
            return Err(vec![format!(
                "{address} {version} was published and revoked, and its release is missing in storage. Its \
                 digests are unknown, so it cannot be published again: restore it from a copy (terrace admin import), or \
                 publish another version; {freed}"
            )]);
        }
        let digests = self.digests().into_iter();
        let differences: Vec<String> = digests
            .filter_map(|(name, digest)| match published.digest(&name) {
                Some(before) if before == digest => None,
                Some(before) => Some(format!(
                    "{name} has the sha256 {digest}, but was published with {before}"
                )),
                // In the index, the new digest would replace the old ones: one more publish could then change
                // those.
                None => Some(format!("{name} was not part of the published version")),
            })
            .collect();
        if differences.is_empty() {
            return Ok(());
        }
        let mut reasons = vec![format!(
            "{address} {version} was published with other bytes, and its release is missing in storage: restore it \
             from a copy (terrace admin import), publish the same bytes again, or publish another version; {freed}"
        )];
        reasons.extend(differences);
        Err(reasons)
    }

    /// Returns the digests of its files, by the names in its index.
    fn digests(&self) -> Vec<(String, Sha256)> {
        let archives = self.archives().into_iter();
        let mut digests: Vec<(String, Sha256)> = archives
            .map(|archive| match archive.contents {
                ExpectedContents::Provider(_, platform) => {
                    (platform.to_string(), archive.key.digest)
                }
                ExpectedContents::Module(_) => (ARCHIVE.to_owned(), archive.key.digest),
            })
            .collect();
        if let Self::Provider(provider) = self {
            digests.push((SHASUMS.to_owned(), provider.contents().shasums));
        }
        digests
    }

    /// Returns whether `existing` alone decides the plan, so that archives need not be looked up.
    pub fn is_settled_by(&self, existing: &Release) -> bool {
        match self.onto(existing) {
            Ok(after) => after == *existing,
            Err(_) => !self.may_replace(existing),
        }
    }

    /// Returns whether it may take the place of a release that it contradicts.
    fn may_replace(&self, existing: &Release) -> bool {
        match (self, existing) {
            (Self::Mirror(mirror), Release::Mirrored(release)) => mirror.may_replace(release),
            _ => false,
        }
    }

    /// Returns the decision for this request.
    pub fn plan(&self, seen: ObservedState, now: UnixTime) -> Plan {
        let mut replaces = None;
        let mut before = Vec::new();
        if let Some(StoredRelease { release, etag }) = seen.existing {
            if let Some(tombstone) = release.erased() {
                return Plan::Erased(tombstone.message());
            }
            match self.onto(&release) {
                Ok(after) if after == release => {
                    let accepted = Accepted {
                        commits: false,
                        replaces: false,
                        provenance: release.provenance().cloned(),
                        warnings: Vec::new(),
                    };
                    return Plan::Execute(vec![refresh(&release)], accepted);
                }
                Ok(grown) => replaces = Some((Some(grown), etag)),
                Err(_) if self.may_replace(&release) => {
                    before = digests(&release);
                    replaces = Some((None, etag));
                }
                Err(reasons) => return Plan::Conflict(reasons),
            }
        }
        if replaces.is_none()
            && let Some(published) = &seen.published
            && let Err(reasons) = self.repeats(published)
        {
            return Plan::Conflict(reasons);
        }
        let expected = self.archives();
        let mut reasons = Vec::new();
        let mut warnings = Vec::new();
        let mut missing = Vec::new();
        for (archive, state) in expected.into_iter().zip(seen.archives) {
            match state {
                ArchiveState::Missing => missing.push(archive),
                ArchiveState::Stored {
                    size,
                    reasons: found,
                    warnings: remarks,
                } => {
                    if size != archive.size {
                        reasons.push(format!(
                            "{}: the stored archive with this sha256 is {size} bytes long, not {}",
                            archive.filename, archive.size
                        ));
                    }
                    reasons.extend(found);
                    warnings.extend(remarks);
                }
            }
        }
        let release = match self.release((&seen.keys, &seen.key_statuses), now) {
            Ok(release) => Some(release),
            Err(reason) => {
                reasons.insert(0, reason);
                None
            }
        };
        match release {
            Some((release, about_key)) if reasons.is_empty() && missing.is_empty() => {
                let mut steps = self.documents();
                let is_replaced = matches!(replaces, Some((None, _)));
                let release = match replaces {
                    None => {
                        steps.push(PublishStep::CreateRelease(Box::new(release.clone())));
                        release
                    }
                    Some((grown, etag)) => {
                        let release = grown.unwrap_or(release);
                        steps.push(PublishStep::GrowRelease(Box::new(release.clone()), etag));
                        release
                    }
                };
                steps.push(refresh(&release));
                let kept = digests(&release);
                before.retain(|digest| !kept.contains(digest));
                if !before.is_empty() {
                    let key = |digest| IndexKey::Content(release.package(), digest);
                    let keys = before.into_iter().map(key).collect();
                    steps.push(PublishStep::RemoveIndices(keys));
                }
                warnings.extend(about_key);
                let accepted = Accepted {
                    commits: true,
                    replaces: is_replaced,
                    provenance: release.provenance().cloned(),
                    warnings,
                };
                Plan::Execute(steps, accepted)
            }
            _ if reasons.is_empty() => Plan::Upload(missing),
            _ => Plan::Invalid(reasons),
        }
    }

    fn release(
        &self,
        (keys, key_statuses): (&[SigningKey], &BTreeMap<KeyId, KeyStatus>),
        now: UnixTime,
    ) -> Result<(Release, Vec<String>), String> {
        match self {
            Self::Provider(provider) => provider
                .release(keys, key_statuses, now)
                .map(|(release, warnings)| (Release::Provider(release), warnings)),
            Self::Mirror(mirror) => {
                let (release, warnings) = mirror.release(now);
                Ok((Release::Mirrored(release), warnings))
            }
            Self::Module(module) => Ok((Release::Module(module.release(now)), Vec::new())),
        }
    }

    fn documents(&self) -> Vec<PublishStep> {
        match self {
            Self::Provider(provider) => provider.documents(),
            Self::Mirror(mirror) => mirror.documents(),
            Self::Module(_) => Vec::new(),
        }
    }
}

/// Returns the step after a commit. It may be repeated without harm.
fn refresh(release: &Release) -> PublishStep {
    PublishStep::RefreshIndices(Box::new(release.clone()), IndexScope::VersionAndLists)
}

/// Returns the reasons why these archives cannot be uploaded to the targets of `urls`.
pub fn too_large(archives: &[ExpectedArchive], urls: &ArchiveUrls) -> Vec<String> {
    let (limit, why) = urls.upload_limit();
    archives
        .iter()
        .filter(|archive| archive.size > limit)
        .map(|archive| {
            let ExpectedArchive { filename, size, .. } = archive;
            format!("{filename} is {size} bytes long, at most {limit} can be sent: {why}")
        })
        .collect()
}

/// Returns the metadata that the release object has for version lists.
pub fn release_metadata(release: &Release) -> Vec<(&'static str, String)> {
    ListedRelease::of(release).to_metadata(&release.package())
}
