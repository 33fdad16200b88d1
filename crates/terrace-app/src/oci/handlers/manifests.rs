//! Pushes and deletes manifests and tags.

use terrace_base::digest::Sha256;
use terrace_core::http::form::Query;
use terrace_core::http::oci_error::{OciCode, OciError};
use terrace_core::http::problem::Problem;
use terrace_core::http::reply::{CachePolicy, Reply};
use terrace_core::limits;
use terrace_core::model::oci::{Digest, RepositoryName, Tag};
use terrace_core::oci::pushed::{PushedManifest, Reference, RepositoryPath};
use terrace_core::read::CONTENT_DIGEST;

use crate::body::content_length;
use crate::context::Context;
use crate::failure::Failure;
use crate::host::{BodyError, Host, Request};
use crate::oci::manifests::PushedDocument;
use crate::oci::{manifests, providers};
use crate::outcome::{AuditDetails, Call, Handled, Outcome};

/// Maximum number of tags pushed with one manifest by its digest. The specification requires ten.
const TAGS_AT_ONCE: usize = 16;

pub(crate) async fn push<P: Host, R: Request<Stream = P::Stream>>(
    ctx: &Context<'_, P>,
    call: Call,
    repository: RepositoryName,
    name: Reference,
    mut request: R,
) -> Handled<P::Stream> {
    let sent = read_manifest(name, &call, &mut request).await?;
    manifests::check_kept(ctx, &sent).await?;
    // An installable release must be complete. In other repositories, parts may be missing: the publisher of
    // an index, for example, may omit platforms that it does not need, and without them the index would have
    // another digest.
    if ctx.config.oci_providers.address(&repository).is_some() {
        manifests::check_references(ctx, &repository, sent.manifest.references()).await?;
    }
    // Mirrors first: if the manifest contradicts the mirrored release, nothing of it is stored.
    providers::mirror(
        ctx,
        &repository,
        &sent.tags,
        &sent.manifest,
        (&call.caller, &call.origin),
    )
    .await?;
    manifests::store(ctx, &repository, &sent).await?;
    let by_digest = RepositoryPath::Manifest(Reference::Digest(sent.digest));
    let mut reply = Reply::new(201, CachePolicy::NoStore)
        .with("location", by_digest.location(&repository))
        .with(CONTENT_DIGEST, sent.digest.to_string());
    if let Some((subject, _)) = sent.referrer {
        reply = reply.with("oci-subject", subject.to_string());
    }
    if !sent.tags.is_empty() {
        let tags: Vec<&str> = sent.tags.iter().map(Tag::as_str).collect();
        reply = reply.with("oci-tag", tags.join(", "));
    }
    Ok(Outcome::new(
        reply,
        AuditDetails::Content(sent.digest, sent.tags),
    ))
}

pub(crate) async fn delete<P: Host>(
    ctx: &Context<'_, P>,
    repository: RepositoryName,
    name: Reference,
) -> Handled<P::Stream> {
    match name {
        Reference::Tag(tag) => manifests::delete_tag(ctx, &repository, tag).await?,
        Reference::Digest(digest) => {
            if !manifests::discard(ctx, &repository, digest).await? {
                return Err(manifests::unknown(format!(
                    "{repository} has no manifest {digest}"
                )));
            }
        }
    }
    Ok(Reply::new(202, CachePolicy::NoStore).into())
}

/// Reads and parses a pushed manifest, without access to storage.
async fn read_manifest<R: Request>(
    name: Reference,
    call: &Call,
    request: &mut R,
) -> Result<PushedDocument, Failure> {
    let bytes = manifest_body(request).await?;
    let (digest, tags) = match name {
        Reference::Tag(tag) => (Digest::Sha256(Sha256::of(&bytes)), vec![tag]),
        Reference::Digest(digest) => {
            let tags = tags_in(call.query())?;
            if digest.of_same_kind(&bytes) != digest {
                let message = format!("the body does not have the digest {digest}");
                return Err(OciError::new(OciCode::DigestInvalid, message).into());
            }
            (digest, tags)
        }
    };
    let content_type = request.header("content-type");
    let text = String::from_utf8(bytes)
        .map_err(|_| OciError::new(OciCode::ManifestInvalid, "the body is not UTF-8 text"))?;
    let manifest = PushedManifest::pushed(text.as_bytes(), content_type.as_deref())?;
    let referrer = match manifest.subject() {
        Some(subject) => Some((subject, manifest.referrer(text.as_bytes(), digest)?)),
        None => None,
    };
    Ok(PushedDocument {
        digest,
        text,
        manifest,
        tags,
        referrer,
    })
}

/// Reads the body, whether or not its length is declared.
async fn manifest_body<R: Request>(request: &mut R) -> Result<Vec<u8>, Failure> {
    let limit = limits::MANIFEST_BYTES;
    let too_large = || Failure::from(Problem::TooLarge(limit));
    let read = match request.header("content-length") {
        Some(_) if content_length(request)? > limit => return Err(too_large()),
        Some(_) => request.bytes().await,
        None => request.bytes_up_to(limit).await,
    };
    let bytes = read.map_err(|BodyError(cause)| {
        Problem::BadRequest(format!("the body could not be read completely: {cause}"))
    })?;
    if bytes.len() as u64 > limit {
        return Err(too_large());
    }
    Ok(bytes)
}

/// Returns the tags in the query of a manifest that is pushed by digest.
fn tags_in(query: Query<'_>) -> Result<Vec<Tag>, OciError> {
    let limit = TAGS_AT_ONCE;
    let mut tags: Vec<Tag> = Vec::new();
    for text in query.values("tag") {
        let tag = Tag::parse(&text).ok_or_else(|| {
            let message = "a tag must consist of 1 to 128 letters, digits and _ . -, and must not begin with . or -, such as v1.2.3";
            OciError::new(OciCode::ManifestInvalid, message)
        })?;
        if !tags.contains(&tag) {
            tags.push(tag);
        }
        if tags.len() > limit {
            let message = format!("one request can push at most {limit} tags");
            return Err(OciError::new(OciCode::SizeInvalid, message).with_status(414));
        }
    }
    Ok(tags)
}
