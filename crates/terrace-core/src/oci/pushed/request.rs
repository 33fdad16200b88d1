//! Requests to repositories that clients push to.

use crate::http::oci_error::{OciCode, OciError};
use crate::model::oci::{Digest, OCI_PREFIX, RepositoryName, Tag, UploadId};

/// A path below `/v2/`, of a repository that clients push to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PushedRequest {
    /// The repository.
    pub repository: RepositoryName,
    /// The path within the repository.
    pub path: RepositoryPath,
}

/// A path within a repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RepositoryPath {
    /// `tags/list`
    Tags,
    /// `manifests/{reference}`
    Manifest(Reference),
    /// `blobs/{digest}`
    Blob(Digest),
    /// `referrers/{digest}`
    Referrers(Digest),
    /// `blobs/uploads/`
    Uploads,
    /// `blobs/uploads/{id}`
    Upload(UploadId),
}

/// A reference to a manifest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reference {
    /// A tag.
    Tag(Tag),
    /// A digest.
    Digest(Digest),
}

impl PushedRequest {
    /// Parses the path after `/v2/`.
    ///
    /// # Errors
    /// The error code of the specification, with the rule.
    pub fn parse(path: &str) -> Result<Self, OciError> {
        let (name, path) = split(path)?;
        Ok(Self {
            repository: RepositoryName::parse(&name)?,
            path: path?,
        })
    }
}

impl RepositoryPath {
    /// Returns the path of this resource. It has no host, so it is valid under every hostname of the registry
    /// (clients.md 11.1).
    pub fn location(&self, repository: &RepositoryName) -> String {
        let rest = match self {
            Self::Tags => "tags/list".to_owned(),
            Self::Manifest(Reference::Tag(tag)) => format!("manifests/{tag}"),
            Self::Manifest(Reference::Digest(digest)) => format!("manifests/{digest}"),
            Self::Blob(digest) => format!("blobs/{digest}"),
            Self::Referrers(digest) => format!("referrers/{digest}"),
            Self::Uploads => "blobs/uploads/".to_owned(),
            Self::Upload(id) => format!("blobs/uploads/{id}"),
        };
        format!("{OCI_PREFIX}{repository}/{rest}")
    }
}

/// Splits a path after `/v2/` into the name of its repository, and the path within it.
pub(crate) fn split(path: &str) -> Result<(String, Result<RepositoryPath, OciError>), OciError> {
    let segments: Vec<&str> = path.split('/').collect();
    let (name, path) = match segments.as_slice() {
        [name @ .., "tags", "list"] => (name, Ok(RepositoryPath::Tags)),
        [name @ .., "manifests", reference] => (name, manifest(reference)),
        [name @ .., "blobs", "uploads", ""] | [name @ .., "blobs", "uploads"] => {
            (name, Ok(RepositoryPath::Uploads))
        }
        [name @ .., "blobs", "uploads", id] => (name, upload(id)),
        [name @ .., "blobs", digest] => (name, Digest::parse(digest).map(RepositoryPath::Blob)),
        [name @ .., "referrers", digest] => {
            (name, Digest::parse(digest).map(RepositoryPath::Referrers))
        }
        _ => {
            let message = "this is not a path of the OCI Distribution API";
            return Err(OciError::new(OciCode::NameUnknown, message));
        }
    };
    Ok((name.join("/"), path))
}

fn manifest(reference: &str) -> Result<RepositoryPath, OciError> {
    if reference.contains(':') {
        let digest = Digest::parse(reference)?;
        return Ok(RepositoryPath::Manifest(Reference::Digest(digest)));
    }
    match Tag::parse(reference) {
        Some(tag) => Ok(RepositoryPath::Manifest(Reference::Tag(tag))),
        None => Err(OciError::new(
            OciCode::ManifestUnknown,
            "a tag must consist of 1 to 128 letters, digits and _ . -, and must not begin with . or -, such as v1.2.3",
        )),
    }
}

fn upload(id: &str) -> Result<RepositoryPath, OciError> {
    UploadId::parse(id)
        .map(RepositoryPath::Upload)
        .ok_or_else(UploadId::unknown)
}

#[cfg(test)]
mod tests {
    use super::*;
    use terrace_base::time::UnixTime;

    #[test]
    fn a_location_is_parsed() {
        let repository = RepositoryName::parse("a/blobs/uploads").unwrap();
        let digest = Digest::Sha256(terrace_base::digest::Sha256::of(b"x"));
        let tag = Tag::parse("latest").unwrap();
        for path in [
            RepositoryPath::Tags,
            RepositoryPath::Manifest(Reference::Tag(tag)),
            RepositoryPath::Manifest(Reference::Digest(digest)),
            RepositoryPath::Blob(digest),
            RepositoryPath::Referrers(digest),
            RepositoryPath::Uploads,
            RepositoryPath::Upload(UploadId::new(UnixTime(1_800_000_000), [9; 16])),
        ] {
            let location = path.location(&repository);
            let rest = location.strip_prefix(OCI_PREFIX).unwrap();
            let repository = repository.clone();
            let read = PushedRequest::parse(rest);
            assert_eq!(read, Ok(PushedRequest { repository, path }), "{rest}");
        }
    }

    #[test]
    fn an_invalid_path_is_rejected_with_its_status() {
        let status = |path: &str| PushedRequest::parse(path).unwrap_err().status();
        assert_eq!(status("a/manifests/sha256:baddigeststring"), 400);
        assert_eq!(status("a/referrers/latest"), 400);
        assert_eq!(status("a/blobs/md5:00"), 400);
        assert_eq!(status("a/manifests/-x"), 404);
        assert_eq!(status("A/manifests/x"), 404);
        assert_eq!(status("a/blobs/uploads/x"), 404);
        assert_eq!(status("a"), 404);
    }
}
