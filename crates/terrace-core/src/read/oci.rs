//! Reads by OCI clients: tags, manifests, and where blobs are.

use super::download::Urls;
use super::plan::{Index, Plan};
use super::{FinishError, Found, IndexForm, Lookup, Wanted};
use crate::api::route::HandledRoute;
use crate::http::method::Method;
use crate::http::oci_error::{OciCode, OciError};
use crate::http::problem::Problem;
use crate::http::range;
use crate::http::reply::{Body, CachePolicy, Reply};
use crate::limits;
use crate::model::oci::Digest;
use crate::model::oci::OCI_PREFIX;
use crate::model::package::Package;
use crate::oci::TagPage;
use crate::oci::pushed::{ManifestName, PushedPath, PushedRequest};
use crate::oci::{self, MediaType, OciPath, Reference, Repository};
use crate::storage::index_document::IndexMetadata;
use crate::storage::key::{ArchiveKey, ArchiveKind, BytesKey, IndexKey, PushedIndex};
use terrace_archive::ArchiveFormat;

/// What the digest of an answer is told by.
pub const CONTENT_DIGEST: &str = "docker-content-digest";

/// Whether the error of this path is read by an OCI client.
pub(super) fn is_oci(path: &str) -> bool {
    path == "/v2" || path.starts_with(OCI_PREFIX)
}

/// What answers requests for a repository that is made of what is published.
pub(super) fn plan_virtual<S>(package: Package, path: OciPath, page: Option<TagPage>) -> Plan<S> {
    let changes = !matches!(package, Package::Provider(_) | Package::Module(_));
    match path {
        OciPath::Tags => {
            let name = Repository::of(&package);
            tag_list(IndexKey::Tags(package), page, name)
        }
        OciPath::Manifest(Reference::Tag(version)) => {
            let seconds = if changes {
                limits::LIST_CACHE_SECONDS
            } else {
                limits::VERSION_CACHE_SECONDS
            };
            let key = IndexKey::Tag(package, version);
            content(key, seconds, Wanted::Manifest)
        }
        OciPath::Manifest(Reference::Digest(digest)) => {
            let key = IndexKey::Content(package, digest);
            content(key, limits::CONTENT_CACHE_SECONDS, Wanted::Manifest)
        }
        OciPath::Blob(digest) if digest == oci::empty_config() => {
            Plan::AnswerFor(package, empty_config())
        }
        OciPath::Blob(digest) => {
            let key = IndexKey::Content(package, digest);
            content(key, limits::CONTENT_CACHE_SECONDS, Wanted::Blob)
        }
        OciPath::Referrers(_) => Plan::AnswerFor(package, no_referrers()),
    }
}

/// What answers requests for a repository that clients push to, if they are reads of an index. Everything
/// in it can be deleted, so the edge keeps none of it for long.
pub(super) fn plan_pushed<S>(
    request: PushedRequest,
    method: Method,
    page: Option<TagPage>,
) -> Plan<S> {
    if !matches!(method, Method::Get | Method::Head) {
        return Plan::Other(HandledRoute::Pushed(request));
    }
    let PushedRequest { repository, path } = request;
    match path {
        PushedPath::Tags => {
            let name = repository.to_string();
            tag_list(IndexKey::Pushed(PushedIndex::Tags(repository)), page, name)
        }
        PushedPath::Manifest(ManifestName::Tag(tag)) => {
            let key = IndexKey::Pushed(PushedIndex::Tag(repository, tag));
            content(key, limits::LIST_CACHE_SECONDS, Wanted::Manifest)
        }
        PushedPath::Manifest(ManifestName::Digest(digest)) => {
            let key = IndexKey::Pushed(PushedIndex::Manifest(repository, digest));
            content(key, limits::LIST_CACHE_SECONDS, Wanted::Manifest)
        }
        PushedPath::Blob(digest) => {
            let key = IndexKey::Pushed(PushedIndex::Blob(repository, digest));
            content(key, limits::LIST_CACHE_SECONDS, Wanted::Blob)
        }
        path @ (PushedPath::Referrers(_) | PushedPath::Uploads | PushedPath::Upload(_)) => {
            Plan::Other(HandledRoute::Pushed(PushedRequest { repository, path }))
        }
    }
}

fn tag_list<S>(key: IndexKey, page: Option<TagPage>, name: String) -> Plan<S> {
    Plan::Read(Index {
        key,
        others: Vec::new(),
        form: match page {
            Some(_) => IndexForm::Text,
            None => IndexForm::Stream,
        },
        cache_seconds: limits::LIST_CACHE_SECONDS,
        wanted: Wanted::Tags(page, name),
    })
}

fn content<S>(key: IndexKey, cache_seconds: u32, wanted: Wanted) -> Plan<S> {
    Plan::Read(Index {
        key,
        others: Vec::new(),
        form: IndexForm::Stream,
        cache_seconds,
        wanted,
    })
}

impl Lookup {
    /// A manifest, with every header that is fatal to miss (clients.md 6.5).
    pub(super) fn manifest<S>(&self, found: Found<S>) -> Result<Reply<S>, FinishError> {
        let IndexMetadata { etag, content, .. } = found.metadata;
        let content = content.ok_or(FinishError::Corrupt)?;
        let Some(media_type) = content.media_type else {
            return Err(self.unknown());
        };
        if self.is_unchanged(&etag) {
            return Ok(Reply::new(304, CachePolicy::Revalidate).with("etag", etag));
        }
        Ok(Reply::new(200, CachePolicy::Revalidate)
            .with("content-type", media_type)
            .with("content-length", content.size.to_string())
            .with(CONTENT_DIGEST, content.digest.to_string())
            .with("etag", etag)
            .with_body(found.body))
    }

    /// Where a zip is. Its URL is good for GET alone, so HEAD is answered here.
    pub(super) fn blob<S>(
        &self,
        found: &Found<S>,
        urls: &Urls<'_>,
    ) -> Result<Reply<S>, FinishError> {
        let content = found.metadata.content.as_ref();
        let content = content.ok_or(FinishError::Corrupt)?;
        if content.media_type.is_some() {
            return Err(self.unknown());
        }
        let digest = content.digest.to_string();
        if self.method == Method::Head {
            return Ok(Reply::new(200, CachePolicy::NoStore)
                .with("content-type", "application/octet-stream")
                .with("content-length", content.size.to_string())
                .with(CONTENT_DIGEST, digest));
        }
        // Storage would be less exact about what is not there.
        let size = content.size;
        let range = self.range.as_deref().map(|it| range::wanted(it, size));
        if range == Some(range::Wanted::Nothing) {
            let reply = Reply::new(416, CachePolicy::NoStore);
            return Ok(reply.with("content-range", format!("bytes */{size}")));
        }
        let object = match (&self.key, content.digest) {
            (IndexKey::Pushed(_), digest) => BytesKey::Blob(digest),
            (_, Digest::Sha256(digest)) => BytesKey::Archive(ArchiveKey {
                digest,
                kind: ArchiveKind::Archive(ArchiveFormat::Zip),
            }),
            (_, Digest::Sha512(_)) => return Err(FinishError::Corrupt),
        };
        Ok(Reply::new(307, CachePolicy::NoStore)
            .with("location", urls.of(object))
            .with(CONTENT_DIGEST, digest))
    }

    /// What was found is of another kind than what was asked for.
    fn unknown(&self) -> FinishError {
        let (code, told) = match self.wanted {
            Wanted::Blob => (
                OciCode::BlobUnknown,
                "this digest belongs to a manifest: request it under /manifests/",
            ),
            _ => (
                OciCode::ManifestUnknown,
                "this digest belongs to a blob: request it under /blobs/",
            ),
        };
        FinishError::Problem(Problem::Oci(OciError::new(code, told)))
    }
}

/// "Determining Support" of OCI Distribution; OpenTofu asks it first, and has to be answered without a
/// challenge that it would have to follow (clients.md 6.1).
pub fn oci_base<S>() -> Reply<S> {
    Reply::json(200, CachePolicy::Short, "{}".to_owned())
        .with("docker-distribution-api-version", "registry/2.0")
}

/// The answer to a request for the list of all repositories. No specification has it any more ("Listing Tags" of OCI
/// Distribution 1.1 lists within a repository), so the path counts as missing, and the code says that this is not about a
/// name.
pub(super) fn no_catalog<S>() -> Reply<S> {
    let told = "this registry offers no catalog of its repositories: list the tags of one that you know with \
                GET /v2/<repository>/tags/list. Published releases are in providers/<hostname>/<namespace>/<type> and \
                modules/<namespace>/<name>/<system>";
    let error = OciError::new(OciCode::Unsupported, told).with_status(404);
    Problem::Oci(error).oci_reply()
}

/// The config that all manifests of all repositories share.
fn empty_config<S>() -> Reply<S> {
    let text = oci::EMPTY_CONFIG.to_owned();
    Reply::new(200, CachePolicy::Short)
        .with("content-type", "application/octet-stream")
        .with(
            CONTENT_DIGEST,
            Digest::Sha256(oci::empty_config()).to_string(),
        )
        .with_body(Body::Text(text))
}

/// Nothing refers to what is published.
fn no_referrers<S>() -> Reply<S> {
    referrers(&[])
}

/// A list of referrers, of descriptors as they are stored. The type is exact (clients.md 11.7).
pub fn referrers<S>(descriptors: &[String]) -> Reply<S> {
    let media_type = MediaType::Index.as_str();
    let descriptors = descriptors.join(",");
    let text =
        format!(r#"{{"schemaVersion":2,"mediaType":"{media_type}","manifests":[{descriptors}]}}"#);
    Reply::new(200, CachePolicy::NoStore)
        .with("content-type", media_type)
        .with_body(Body::Text(text))
}

/// A part of a list of tags. The next part is named by a path, which is of this origin whatever that
/// is called (clients.md 6.3).
pub(super) fn tags<S>(
    page: &TagPage,
    name: &str,
    found: &Found<S>,
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
