//! Publishing, decided: what was sent and what is stored go in, the steps to take come out.
//!
//! Nothing is written before everything a client would refuse has been checked (but the contents of
//! zips that [`ExpectedArchive::zip_inspector`] only lists), and one conditional write of the
//! release document is the commit: create-only, or, for what a mirrored release gains, only over
//! the document that was read. All steps before it store bytes that nothing refers to yet; all steps
//! after it rebuild indices, and the same request again takes them again.

mod mirror;
mod module;
mod provider;

use std::collections::BTreeMap;

use crate::index::{ARCHIVE, DescribedVersion, ListedRelease, SHASUMS};
use crate::model::name::ProviderType;
use crate::model::package::Package;
use crate::model::platform::Platform;
use crate::model::status::KeyStatement;
use crate::model::subdir::Subdir;
use crate::model::version::Version;
use crate::storage::archive_url::ArchiveUrls;
use crate::storage::key::ArchiveKey;
use crate::storage::release::Release;
use terrace_archive::{
    ArchiveFormat, ArchiveWarning, Entry, ZipInspector, check_module_archive,
    check_provider_package, module_archive_warnings, provider_package_warnings,
    zip_contents_warning,
};
use terrace_base::digest::Sha256;
use terrace_base::time::UnixTime;
use terrace_openpgp::{KeyId, SigningKey};

pub use mirror::MirrorPublication;
pub use module::ModulePublication;
pub use provider::ProviderPublication;

/// A request to publish, understood and free of what can be seen to be wrong from it alone.
#[derive(Debug, Clone)]
pub enum Publication {
    /// Of a provider.
    Provider(ProviderPublication),
    /// Of another registry's provider.
    Mirror(MirrorPublication),
    /// Of a module.
    Module(ModulePublication),
}

/// An archive that must be stored before the release.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExpectedArchive {
    /// Where.
    pub key: ArchiveKey,
    /// How long it is, in bytes.
    pub size: u64,
    /// What the publisher calls it.
    pub filename: String,
    /// What must be inside.
    pub contents: ExpectedContents,
}

/// What must be inside an archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExpectedContents {
    /// The executable of a provider of this type, for this platform.
    Provider(ProviderType, Platform),
    /// Configuration files, in this directory if given.
    Module(Option<Subdir>),
}

/// What was found stored for an [`ExpectedArchive`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ArchiveState {
    /// Nothing, or nothing that is what its key says.
    Missing,
    /// Bytes of the right digest.
    Stored {
        /// How many.
        size: u64,
        /// What a client would refuse about them.
        reasons: Vec<String>,
        /// What a client accepts, and its user may regret.
        warnings: Vec<String>,
    },
}

/// Everything a plan depends on, apart from the request.
#[derive(Debug)]
pub struct Seen {
    /// The release of this version, if there is one.
    pub existing: Option<StoredRelease>,
    /// Where there is none, the version as its index still describes it: then its release is lost.
    pub described: Option<DescribedVersion>,
    /// The signing keys of the namespace; none for what is not signed by one of them.
    pub keys: Vec<SigningKey>,
    /// What is said of them, by their ids.
    pub statements: BTreeMap<KeyId, KeyStatement>,
    /// One for each of [`Publication::archives`], in that order.
    pub archives: Vec<ArchiveState>,
}

/// A release as it was read.
#[derive(Debug, Clone)]
pub struct StoredRelease {
    /// What it says.
    pub release: Release,
    /// Identifies what was read, for a write that must not overwrite anything else.
    pub etag: String,
}

/// What to do about a request to publish.
#[derive(Debug)]
pub enum Plan {
    /// Refuse: the version was published with other bytes.
    Conflict(Vec<String>),
    /// Refuse, for every one of these reasons.
    Invalid(Vec<String>),
    /// Ask for these archives.
    Upload(Vec<ExpectedArchive>),
    /// Take the steps in order.
    Execute {
        /// What to do.
        steps: Vec<Step>,
        /// Whether this publishes the version, or only makes its indices anew.
        creates: bool,
        /// What the publisher should know.
        warnings: Vec<String>,
    },
}

/// One storage operation of a publish. Each may be repeated without harm.
#[derive(Debug, Clone)]
pub enum Step {
    /// Store bytes under their own digest.
    StoreArchive(ArchiveKey, Vec<u8>),
    /// **The commit**: create the release document, and never replace one.
    CreateRelease(Box<Release>),
    /// **The commit** of what a mirrored release gains: replace the document with this etag, and no
    /// other.
    GrowRelease(Box<Release>, String),
    /// Write the index of the version; of one that may grow, as it is stored by then.
    IndexVersion(Box<Release>),
    /// Tell whoever is writing the version list that there is more to list.
    MarkChanged(Package),
    /// Write the version list.
    IndexVersions(Package),
}

impl ExpectedArchive {
    /// Says what a client would refuse about an archive with these entries.
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

    /// Says what a client accepts about an archive with these entries, and its user may regret.
    pub fn remarks(&self, entries: &[Entry]) -> Vec<String> {
        let warnings = match &self.contents {
            ExpectedContents::Provider(provider_type, platform) => {
                provider_package_warnings(entries, provider_type.as_str(), platform.os())
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

    /// Looks into a zip of `size` bytes as deep as this one needs it: a module is unpacked, while of a
    /// provider, which has hundreds of megabytes, only the entries are listed.
    pub fn zip_inspector(&self, size: u64) -> ZipInspector {
        match self.contents {
            ExpectedContents::Provider(..) => ZipInspector::new(size),
            ExpectedContents::Module(_) => ZipInspector::with_contents(size),
        }
    }

    /// The warning that a module with these entries was only listed, if it is a zip too large.
    fn contents_unchecked(&self, entries: &[Entry]) -> Option<ArchiveWarning> {
        match self.format() {
            ArchiveFormat::Zip => zip_contents_warning(self.size, entries),
            ArchiveFormat::TarGz => None,
        }
    }

    /// How it is packed.
    pub fn format(&self) -> ArchiveFormat {
        match self.key.kind {
            crate::storage::key::ArchiveKind::Archive(format) => format,
            _ => ArchiveFormat::Zip,
        }
    }
}

impl Publication {
    /// Whose version is published.
    pub fn package(&self) -> Package {
        match self {
            Self::Provider(provider) => Package::Provider(provider.address.clone()),
            Self::Mirror(mirror) => Package::Mirrored(mirror.address.clone()),
            Self::Module(module) => Package::Module(module.address.clone()),
        }
    }

    /// The address as its publisher writes it.
    pub fn address(&self) -> String {
        self.package().address()
    }

    /// Which version is published.
    pub fn version(&self) -> &Version {
        match self {
            Self::Provider(provider) => &provider.version,
            Self::Mirror(mirror) => &mirror.version,
            Self::Module(module) => &module.version,
        }
    }

    /// The archives that must be stored first.
    pub fn archives(&self) -> Vec<ExpectedArchive> {
        match self {
            Self::Provider(provider) => provider.archives(),
            Self::Mirror(mirror) => mirror.archives(),
            Self::Module(module) => vec![module.archive()],
        }
    }

    /// What `existing` becomes with this: the same, or more of it where it is mirrored.
    ///
    /// # Errors
    /// In what ways they contradict each other.
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
            _ => vec!["it is of another kind".to_owned()],
        };
        if differences.is_empty() {
            return Ok(existing.clone());
        }
        let (address, version) = (self.address(), self.version());
        let mut reasons = vec![match self {
            Self::Mirror(_) => {
                format!("{address} {version} is mirrored already, and that contradicts this")
            }
            _ => format!(
                "{address} {version} is already published and never changes; publish another version"
            ),
        }];
        reasons.extend(differences);
        Err(reasons)
    }

    /// Compares this with a version whose release is lost: the same bytes may be published again.
    ///
    /// # Errors
    /// In what they differ, and what can be done.
    pub fn repeats(&self, described: &DescribedVersion) -> Result<(), Vec<String>> {
        let (address, version) = (self.address(), self.version());
        let freed = format!(
            "if the loss is accepted, terrace admin reindex --accept-loss {address}@{version} frees this one within a \
             minute"
        );
        if described.is_of_unknown_bytes() {
            return Err(vec![format!(
                "{address} {version} was published and revoked, and its release is missing in storage. With which \
                 bytes is unknown, so none can be published again: restore it from a copy (terrace admin import), or \
                 publish another version; {freed}"
            )]);
        }
        let digests = self.digests().into_iter();
        let differences: Vec<String> = digests
            .filter_map(|(name, digest)| match described.digest(&name) {
                Some(before) if before == digest => None,
                Some(before) => Some(format!("{name} has the sha256 {digest}, and had {before}")),
                // Written to the index now, it would replace the digests there: one more publish could change those.
                None => Some(format!("{name} was not part of it")),
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

    /// The digests of its files, by the names that an index gives them.
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

    /// Whether `existing` decides alone, so that nobody need look at archives.
    pub fn is_settled_by(&self, existing: &Release) -> bool {
        self.onto(existing).map_or(true, |after| after == *existing)
    }

    /// Decides.
    pub fn plan(&self, seen: Seen, now: UnixTime) -> Plan {
        let mut replaces = None;
        if let Some(StoredRelease { release, etag }) = seen.existing {
            match self.onto(&release) {
                Ok(after) if after == release => {
                    return Plan::Execute {
                        steps: indexing(&release),
                        creates: false,
                        warnings: Vec::new(),
                    };
                }
                Ok(grown) => replaces = Some((grown, etag)),
                Err(reasons) => return Plan::Conflict(reasons),
            }
        }
        if replaces.is_none()
            && let Some(described) = &seen.described
            && let Err(reasons) = self.repeats(described)
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
                            "{}: the archive with this sha256 is not {} bytes long",
                            archive.filename, archive.size
                        ));
                    }
                    reasons.extend(found);
                    warnings.extend(remarks);
                }
            }
        }
        let release = match self.release((&seen.keys, &seen.statements), now) {
            Ok(release) => Some(release),
            Err(reason) => {
                reasons.insert(0, reason);
                None
            }
        };
        match release {
            Some((release, about_key)) if reasons.is_empty() && missing.is_empty() => {
                let mut steps = self.documents();
                let release = match replaces {
                    None => {
                        steps.push(Step::CreateRelease(Box::new(release.clone())));
                        release
                    }
                    Some((grown, etag)) => {
                        steps.push(Step::GrowRelease(Box::new(grown.clone()), etag));
                        grown
                    }
                };
                steps.extend(indexing(&release));
                warnings.extend(about_key);
                Plan::Execute {
                    steps,
                    creates: true,
                    warnings,
                }
            }
            _ if reasons.is_empty() => Plan::Upload(missing),
            _ => Plan::Invalid(reasons),
        }
    }

    fn release(
        &self,
        (keys, statements): (&[SigningKey], &BTreeMap<KeyId, KeyStatement>),
        now: UnixTime,
    ) -> Result<(Release, Vec<String>), String> {
        match self {
            Self::Provider(provider) => provider
                .release(keys, statements, now)
                .map(|(release, warnings)| (Release::Provider(release), warnings)),
            Self::Mirror(mirror) => {
                let (release, warnings) = mirror.release(now);
                Ok((Release::Mirrored(release), warnings))
            }
            Self::Module(module) => Ok((Release::Module(module.release(now)), Vec::new())),
        }
    }

    fn documents(&self) -> Vec<Step> {
        match self {
            Self::Provider(provider) => provider.documents(),
            Self::Mirror(mirror) => mirror.documents(),
            Self::Module(_) => Vec::new(),
        }
    }
}

/// The steps after a commit: they make its indices, and the same again does no harm.
pub fn indexing(release: &Release) -> Vec<Step> {
    vec![
        Step::MarkChanged(release.package()),
        Step::IndexVersion(Box::new(release.clone())),
        Step::IndexVersions(release.package()),
    ]
}

/// What is wrong with sending these archives where `urls` points to.
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

/// The metadata that the release object carries for version lists.
pub fn release_metadata(release: &Release) -> Vec<(&'static str, String)> {
    ListedRelease::of(release).to_metadata(&release.package())
}
