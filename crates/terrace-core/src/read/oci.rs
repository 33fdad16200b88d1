//! Reads by OCI clients: tags, manifests, and the locations of blobs.

use super::download::Urls;
use super::{FinishError, IndexForm, IndexRequest, Lookup, Projection, ReadPlan, StoredIndex};
use crate::api::route::{OciRoute, Route};
use crate::http::method::Method;
use crate::http::oci_error::{OciCode, OciError};
use crate::http::problem::Problem;
use crate::http::range;
use crate::http::reply::{Body, CachePolicy, Reply};
use crate::limits;
use crate::model::oci::{Digest, OCI_PREFIX};
use crate::model::package::Package;
use crate::oci::pushed::{PushedRequest, Reference, RepositoryPath};
use crate::oci::{self, MediaType, TagPage};
use crate::read::VERSION_CACHE_SECONDS;
use crate::storage::index_document::IndexMetadata;
use crate::storage::key::{ArchiveKey, BytesKey, IndexKey, PushedIndex};

/// Cache time of content that is addressed by a digest, in seconds. Content never changes, but the absence of
/// content is cached for as long, and a search for it elsewhere costs a listing.
const CONTENT_CACHE_SECONDS: u32 = 300;

/// The header with the digest of the content.
pub const CONTENT_DIGEST: &str = "docker-content-digest";

/// Returns whether OCI clients read the errors of this path.
pub(super) fn is_oci(path: &str) -> bool {
    path == "/v2" || path.starts_with(OCI_PREFIX)
}

/// Plans a request for a repository that is generated from published releases.
#[inline(never)]
pub(super) fn plan_generated<S>(
    package: Package,
    path: RepositoryPath,
    query: &str,
) -> ReadPlan<S> {
    match path {
        RepositoryPath::Tags => {
            let name = oci::repository_of(&package);
            tag_list(IndexKey::Tags(package), query, name)
        }
        RepositoryPath::Manifest(Reference::Tag(tag)) => match tag.version() {
            Some(version) => {
                let seconds = match package {
                    Package::Provider(_) | Package::Module(_) => VERSION_CACHE_SECONDS,
                    Package::Mirrored(_) => limits::LIST_CACHE_SECONDS,
                };
                let key = IndexKey::Tag(package, version);
                stored_content(key, seconds, Projection::Manifest)
            }
            None => refuse(
                OciCode::ManifestUnknown,
                "the tags of this repository are versions, such as 1.2.3 or 1.2.3-rc.1_build.5",
            ),
        },
        RepositoryPath::Manifest(Reference::Digest(Digest::Sha256(digest))) => {
            let key = IndexKey::Content(package, digest);
            stored_content(key, CONTENT_CACHE_SECONDS, Projection::Manifest)
        }
        RepositoryPath::Blob(Digest::Sha256(digest)) if digest == oci::empty_config_digest() => {
            ReadPlan::AnswerToReaders(package, empty_config())
        }
        RepositoryPath::Blob(Digest::Sha256(digest)) => {
            let key = IndexKey::Content(package, digest);
            stored_content(key, CONTENT_CACHE_SECONDS, Projection::Blob)
        }
        RepositoryPath::Referrers(_) => ReadPlan::AnswerToReaders(package, referrers(&[])),
        // The parser refuses uploads.
        RepositoryPath::Manifest(_)
        | RepositoryPath::Blob(_)
        | RepositoryPath::Uploads
        | RepositoryPath::Upload(_) => refuse(
            OciCode::DigestInvalid,
            "a digest in this repository must be sha256: followed by 64 lower-case hexadecimal digits",
        ),
    }
}

fn refuse<S>(code: OciCode, message: &str) -> ReadPlan<S> {
    ReadPlan::Answer(Problem::Oci(OciError::new(code, message)).oci_reply())
}

/// Plans a request for a repository that clients push to, if it is a read of an index. Everything in such a
/// repository can be deleted, so the edge caches none of it for long.
#[inline(never)]
pub(super) fn plan_pushed<S>(request: PushedRequest, method: Method, query: &str) -> ReadPlan<S> {
    if !matches!(method, Method::Get | Method::Head) {
        return ReadPlan::Handle(Route::Oci(OciRoute::Pushed(request)));
    }
    let PushedRequest { repository, path } = request;
    match path {
        RepositoryPath::Tags => {
            let name = repository.to_string();
            tag_list(IndexKey::Pushed(PushedIndex::Tags(repository)), query, name)
        }
        RepositoryPath::Manifest(Reference::Tag(tag)) => {
            let key = IndexKey::Pushed(PushedIndex::Tag(repository, tag));
            stored_content(key, limits::LIST_CACHE_SECONDS, Projection::Manifest)
        }
        RepositoryPath::Manifest(Reference::Digest(digest)) => {
            let key = IndexKey::Pushed(PushedIndex::Manifest(repository, digest));
            stored_content(key, limits::LIST_CACHE_SECONDS, Projection::Manifest)
        }
        RepositoryPath::Blob(digest) => {
            let key = IndexKey::Pushed(PushedIndex::Blob(repository, digest));
            stored_content(key, limits::LIST_CACHE_SECONDS, Projection::Blob)
        }
        path @ (RepositoryPath::Referrers(_)
        | RepositoryPath::Uploads
        | RepositoryPath::Upload(_)) => {
            let request = PushedRequest { repository, path };
            ReadPlan::Handle(Route::Oci(OciRoute::Pushed(request)))
        }
    }
}

fn tag_list<S>(key: IndexKey, query: &str, name: String) -> ReadPlan<S> {
    let page = match TagPage::parse(query) {
        Ok(page) => page,
        Err(problem) => return ReadPlan::Answer(problem.oci_reply()),
    };
    let form = match page {
        Some(_) => IndexForm::Text,
        None => IndexForm::Stream,
    };
    ReadPlan::Read(IndexRequest::new(key, form, Projection::Tags(page, name)))
}

fn stored_content<S>(key: IndexKey, cache_seconds: u32, projection: Projection) -> ReadPlan<S> {
    ReadPlan::Read(IndexRequest {
        cache_seconds,
        ..IndexRequest::new(key, IndexForm::Stream, projection)
    })
}

impl Lookup {
    /// Returns a manifest, with every header that clients fail without (clients.md 6.5).
    #[inline(never)]
    pub(super) fn manifest<S>(&self, found: StoredIndex<S>) -> Result<Reply<S>, FinishError> {
        let IndexMetadata { etag, content, .. } = found.metadata;
        let content = content.ok_or(FinishError::Corrupt)?;
        let Some(media_type) = content.media_type else {
            return Err(self.other_kind());
        };
        if self.is_unchanged(&etag) {
            return Ok(Reply::new(304, CachePolicy::Revalidate).with("etag", etag));
        }
        Ok(Reply::new(200, CachePolicy::Revalidate)
            .with_stored_type(&media_type)
            .with("content-length", content.size.to_string())
            .with(CONTENT_DIGEST, content.digest.to_string())
            .with("etag", etag)
            .with_body(found.body))
    }

    /// Redirects to a zip. The URL is valid for GET only, so HEAD is answered here.
    #[inline(never)]
    pub(super) fn blob<S>(
        &self,
        found: &StoredIndex<S>,
        urls: &Urls<'_>,
    ) -> Result<Reply<S>, FinishError> {
        let content = found.metadata.content.as_ref();
        let content = content.ok_or(FinishError::Corrupt)?;
        if content.media_type.is_some() {
            return Err(self.other_kind());
        }
        let digest = content.digest.to_string();
        if self.method == Method::Head {
            return Ok(Reply::new(200, CachePolicy::NoStore)
                .with_stored_type("application/octet-stream")
                .with("content-length", content.size.to_string())
                .with(CONTENT_DIGEST, digest));
        }
        // The reply of storage to a range outside the object would be less exact.
        let size = content.size;
        let range = self
            .range
            .as_deref()
            .map(|it| range::requested_range(it, size));
        if range == Some(range::ByteRange::Unsatisfiable) {
            let reply = Reply::new(416, CachePolicy::NoStore).fenced();
            return Ok(reply.with("content-range", format!("bytes */{size}")));
        }
        let object = match (&self.key, content.digest) {
            (IndexKey::Pushed(_), digest) => BytesKey::Blob(digest),
            (_, Digest::Sha256(digest)) => BytesKey::Archive(ArchiveKey::zip(digest)),
            (_, Digest::Sha512(_)) => return Err(FinishError::Corrupt),
        };
        Ok(Reply::new(307, CachePolicy::NoStore)
            .with("location", urls.of(object))
            .with(CONTENT_DIGEST, digest))
    }

    /// Returns the error for content of another kind than requested.
    fn other_kind(&self) -> FinishError {
        let (code, message) = match self.projection {
            Projection::Blob => (
                OciCode::BlobUnknown,
                "this digest belongs to a manifest: request it under /manifests/",
            ),
            _ => (
                OciCode::ManifestUnknown,
                "this digest belongs to a blob: request it under /blobs/",
            ),
        };
        FinishError::Problem(Problem::Oci(OciError::new(code, message)))
    }
}

/// "Determining Support" of OCI Distribution. OpenTofu requests it first, and must not be answered with
/// 401: it would have to follow the challenge (clients.md 6.1).
pub fn oci_base<S>() -> Reply<S> {
    Reply::json(200, CachePolicy::Short, "{}".to_owned())
        .with("docker-distribution-api-version", "registry/2.0")
}

/// The answer to a request for the list of all repositories. No specification has it any more ("Listing Tags"
/// of OCI Distribution 1.1 lists within a repository), so the path counts as missing, and the code shows that
/// the error does not concern a name.
#[inline(never)]
pub(super) fn no_catalog<S>() -> Reply<S> {
    let message = "this registry offers no catalog of its repositories: list the tags of one that you know with \
                GET /v2/<repository>/tags/list. Published releases are in providers/<hostname>/<namespace>/<type> and \
                modules/<namespace>/<name>/<system>";
    let error = OciError::new(OciCode::Unsupported, message).with_status(404);
    Problem::Oci(error).oci_reply()
}

/// The config that all manifests of all generated repositories share.
fn empty_config<S>() -> Reply<S> {
    let text = oci::EMPTY_CONFIG.to_owned();
    Reply::new(200, CachePolicy::Short)
        .with_stored_type("application/octet-stream")
        .with(
            CONTENT_DIGEST,
            Digest::Sha256(oci::empty_config_digest()).to_string(),
        )
        .with_body(Body::Text(text))
}

/// Returns a list of referrers from stored descriptors. The type is exact (clients.md 11.7).
pub fn referrers<S>(descriptors: &[String]) -> Reply<S> {
    let media_type = MediaType::Index.as_str();
    let descriptors = descriptors.join(",");
    let text =
        format!(r#"{{"schemaVersion":2,"mediaType":"{media_type}","manifests":[{descriptors}]}}"#);
    Reply::new(200, CachePolicy::NoStore)
        .with_stored_type(media_type)
        .with_body(Body::Text(text))
}

/// Returns a page of a list of tags. The link to the next page is a path, so it is on this origin under any
/// hostname (clients.md 6.3).
#[inline(never)]
pub(super) fn tags<S>(
    page: &TagPage,
    name: &str,
    found: &StoredIndex<S>,
) -> Result<Reply<S>, FinishError> {
    let Body::Text(text) = &found.body else {
        return Err(FinishError::Corrupt);
    };
    let (text, next) = page.of(text).map_err(|_| FinishError::Corrupt)?;
    let reply = Reply::json(200, CachePolicy::Revalidate, text);
    Ok(match (page.n, next) {
        (Some(n), Some(last)) => {
            let next = format!("<{OCI_PREFIX}{name}/tags/list?n={n}&last={last}>; rel=\"next\"");
            reply.with("link", next)
        }
        _ => reply,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oci::pushed::ManifestType;
    use crate::storage::key::ArchiveKind;

    #[test]
    fn every_type_of_stored_content_is_sent_as_it_is() {
        let archives = ArchiveKind::ALL.map(ArchiveKind::content_type);
        let generated = [MediaType::Index, MediaType::Manifest].map(MediaType::as_str);
        let pushed = ManifestType::ALL.map(ManifestType::as_str);
        for content_type in archives.iter().chain(&generated).chain(&pushed) {
            let reply: Reply<()> =
                Reply::new(200, CachePolicy::NoStore).with_stored_type(content_type);
            assert_eq!(reply.header("content-type"), Some(*content_type));
        }
    }
}
