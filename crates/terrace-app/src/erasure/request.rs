//! Requests for erasures.

use terrace_core::api::admin::{ErasedContent, ErasureBody};
use terrace_core::http::problem::Problem;
use terrace_core::limits;
use terrace_core::model::oci::{Digest, RepositoryName};
use terrace_core::model::package::Package;
use terrace_core::model::status::Reason;
use terrace_core::model::version::Version;
use terrace_core::oci::empty_config_digest;
use terrace_core::storage::key::{ArchiveKey, BytesKey};

use crate::body::{check_count, package};
use crate::removal::handler::archive;

/// A request for an erasure.
pub(super) struct Requested {
    pub(super) release: Option<(Package, Version)>,
    pub(super) archives: Vec<ArchiveKey>,
    pub(super) contents: Vec<PushedContent>,
    pub(super) reason: Reason,
}

/// Pushed content to erase: its digest, and the repositories that have it.
pub(super) type PushedContent = (Digest, Vec<RepositoryName>);

impl Requested {
    /// Returns the name of the version, if there is one.
    pub(super) fn release_name(&self) -> Option<String> {
        let (package, version) = self.release.as_ref()?;
        Some(release_name(package, version))
    }

    /// Returns the names of the archives and of the content.
    pub(super) fn names(&self) -> Vec<String> {
        let archives = self.archives.iter().map(ToString::to_string);
        let blobs = self.contents.iter();
        let blobs = blobs.map(|(digest, _)| BytesKey::Blob(*digest).to_string());
        archives.chain(blobs).collect()
    }
}

/// Parses the body of a request.
pub(super) fn requested(body: ErasureBody) -> Result<Requested, Problem> {
    let ErasureBody {
        package: address,
        version,
        reason,
        archives,
        contents,
    } = body;
    let invalid = |message: String| Problem::Invalid(vec![message]);
    let reason = reason.parse::<Reason>();
    let reason = reason.ok().filter(Reason::is_short).ok_or_else(|| {
        let limit = limits::ERASURE_REASON_BYTES;
        invalid(format!(
            "the reason of an erasure must be one line of 1 to {limit} bytes of printable text"
        ))
    })?;
    let release = match (address, version) {
        (Some(address), Some(version)) => {
            let version = version
                .parse()
                .map_err(|error| Problem::BadRequest(format!("version: {error}")))?;
            Some((package(&address)?, version))
        }
        (None, None) => None,
        _ => {
            let message = "package and version must be given together: each version is erased by a request of its own";
            return Err(invalid(message.to_owned()));
        }
    };
    if release.is_none() && archives.is_empty() && contents.is_empty() {
        let message = "there is nothing to erase: give package and version, archives or contents";
        return Err(invalid(message.to_owned()));
    }
    check_count(archives.len(), limits::ERASED_AT_ONCE)?;
    let archives = archives.iter().map(|text| {
        let archive = archive(text)?;
        check_shared(Digest::Sha256(archive.digest)).map(|()| archive)
    });
    let places: usize = contents.iter().map(|it| it.repositories.len().max(1)).sum();
    check_count(places, limits::CONTENTS_ERASED_AT_ONCE)?;
    let contents = contents.into_iter().map(content);
    Ok(Requested {
        release,
        archives: archives.collect::<Result<_, _>>()?,
        contents: contents.collect::<Result<_, _>>()?,
        reason,
    })
}

fn content(content: ErasedContent) -> Result<PushedContent, Problem> {
    let ErasedContent {
        digest: text,
        repositories,
    } = content;
    let digest = Digest::parse(&text).map_err(|_| {
        Problem::BadRequest(format!(
            "{text:?} is not a digest: it must be sha256:<digits> or sha512:<digits>"
        ))
    })?;
    check_shared(digest)?;
    let repository = |name: String| {
        RepositoryName::parse(&name).map_err(|_| {
            Problem::BadRequest(format!(
                "{name:?} is not a repository that clients push to: it must be a name such as team/app"
            ))
        })
    };
    let repositories = repositories.into_iter().map(repository);
    Ok((digest, repositories.collect::<Result<_, _>>()?))
}

/// Checks that content is not shared by all manifests.
fn check_shared(digest: Digest) -> Result<(), Problem> {
    if digest != Digest::Sha256(empty_config_digest()) {
        return Ok(());
    }
    Err(Problem::Invalid(vec![format!(
        "{digest} is the digest of {{}}, the empty configuration that manifests share: it cannot be erased"
    )]))
}

/// Returns the name of a version in the audit log.
pub(super) fn release_name(package: &Package, version: &Version) -> String {
    format!("{}@{version}", package.address())
}
