//! Uploads of blobs.

use terrace_core::http::oci_error::{OciCode, OciError};
use terrace_core::model::oci::{RepositoryName, UploadId};
use terrace_core::oci::pushed::UploadSession;
use terrace_core::storage::key::{ChunkKey, FactKey, PushedFact, UPLOADS};

use crate::context::Context;
use crate::failure::Failure;
use crate::host::{Clock as _, Condition, Facts as _, Host, Payload, Uploads as _};
use crate::{documents, json};

/// Maximum number of objects of abandoned uploads that are removed at once.
const UPLOADS_SWEPT: u32 = 100;

/// The body of an upload request.
pub(crate) enum UploadPayload<S> {
    /// No body.
    Nothing,
    /// A body of known length, in bytes.
    Sized(S, u64),
    /// A body of unknown length, with the length according to its `Content-Range`, if it has one.
    Unsized(S, Option<u64>),
}

impl<S> UploadPayload<S> {
    pub(crate) fn length(&self) -> Option<u64> {
        match self {
            Self::Nothing => Some(0),
            Self::Sized(_, length) => Some(*length),
            Self::Unsized(..) => None,
        }
    }
}

/// Stores a body as chunks after the existing ones. Returns whether this added any bytes.
pub(crate) async fn store_body<P: Host>(
    ctx: &Context<'_, P>,
    id: UploadId,
    session: &mut UploadSession,
    body: UploadPayload<P::Stream>,
) -> Result<bool, Failure> {
    let uploads = ctx.host.uploads();
    let first = ChunkKey {
        upload: id,
        offset: session.size(),
        writer: ctx.unique_number(),
    };
    match body {
        UploadPayload::Nothing => Ok(false),
        UploadPayload::Sized(stream, length) => {
            session.add(first.writer, &[length])?;
            uploads.store_chunk(first, Payload::Stream(stream)).await?;
            Ok(true)
        }
        UploadPayload::Unsized(stream, declared_length) => {
            let lengths = uploads.store_chunks(first, stream).await?;
            let received: u64 = lengths.iter().sum();
            if declared_length.is_some_and(|declared_length| declared_length != received) {
                let message = format!("Content-Range does not match the {received} bytes received");
                return Err(OciError::new(OciCode::SizeInvalid, message).into());
            }
            session.add(first.writer, &lengths)?;
            Ok(!lengths.is_empty())
        }
    }
}

pub(crate) async fn session<P: Host>(
    ctx: &Context<'_, P>,
    repository: &RepositoryName,
    id: UploadId,
) -> Result<(UploadSession, Condition), Failure> {
    let found = find_session(ctx, repository, id).await?;
    found.ok_or_else(|| UploadId::unknown().into())
}

/// Returns an upload of a repository, with the condition that it has not been changed since; `None` if the repository has none with
/// this id.
pub(crate) async fn find_session<P: Host>(
    ctx: &Context<'_, P>,
    repository: &RepositoryName,
    id: UploadId,
) -> Result<Option<(UploadSession, Condition)>, Failure> {
    let key = FactKey::Pushed(PushedFact::Upload(id));
    let (session, unchanged) = documents::read_for_change::<_, UploadSession>(ctx, &key).await?;
    let session = session.filter(|session| session.is_of(repository));
    Ok(session.map(|session| (session, unchanged)))
}

pub(crate) async fn put_session<P: Host>(
    ctx: &Context<'_, P>,
    id: UploadId,
    session: &UploadSession,
    condition: Condition,
) -> Result<bool, Failure> {
    let key = FactKey::Pushed(PushedFact::Upload(id));
    let document = json::text(session)?;
    let put = documents::put(ctx, &key, &document, &[], condition);
    Ok(put.await?.is_some())
}

pub(crate) async fn discard<P: Host>(
    ctx: &Context<'_, P>,
    names: Vec<String>,
) -> Result<(), Failure> {
    Ok(ctx.host.uploads().remove(names).await?)
}

/// Removes some remains of abandoned uploads. It is called each time an upload begins.
pub(crate) async fn sweep<P: Host>(ctx: &Context<'_, P>) -> Result<(), Failure> {
    let now = ctx.host.clock().now();
    let facts = ctx.host.facts();
    let oldest = facts.list(UPLOADS, None, UPLOADS_SWEPT).await?;
    let is_abandoned = |name: &String| {
        let id = name.split('/').next().and_then(UploadId::parse);
        id.is_some_and(|id| id.is_abandoned(now))
    };
    let names = oldest.facts.into_iter().map(|fact| fact.name);
    let abandoned: Vec<String> = names.filter(is_abandoned).collect();
    if abandoned.is_empty() {
        return Ok(());
    }
    discard(ctx, abandoned).await
}

/// Returns the names of all objects of an upload: the parts of their keys after [`UPLOADS`].
pub(crate) fn names(id: UploadId, session: &UploadSession) -> Vec<String> {
    let chunks = session.chunks(id).into_iter();
    let chunks = chunks.map(|(chunk, _)| chunk.name());
    std::iter::once(id.to_string()).chain(chunks).collect()
}
