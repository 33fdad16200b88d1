//! Uploads: blobs on their way in.

use terrace_core::auth::access::Caller;
use terrace_core::http::form::Query;
use terrace_core::http::oci_error::{OciCode, OciError};
use terrace_core::http::problem::Problem;
use terrace_core::http::reply::{CachePolicy, Reply};
use terrace_core::limits;
use terrace_core::model::oci::UploadId;
use terrace_core::model::oci::{Digest, RepositoryName};
use terrace_core::oci::pushed::{PushedPath, UploadSession};
use terrace_core::storage::key::{ChunkKey, FactKey, PushedFact, UPLOADS};

use super::{corrupt, denied};
use crate::app::{App, Failure, Task, content_length};
use crate::store::{Clock as _, Condition, Facts as _, Payload, Platform, Request, Uploads as _};

/// A body as it comes.
pub(super) enum Incoming<S> {
    /// There is none.
    Nothing,
    /// So many bytes.
    Sized(S, u64),
    /// Nobody knows how many; what its range says, if it has one.
    Unsized(S, Option<u64>),
}

impl<P: Platform> App<'_, P> {
    pub(super) async fn begin_upload<R>(
        &self,
        caller: &Caller,
        repository: RepositoryName,
        mut request: R,
    ) -> Result<Reply<P::Stream>, Failure>
    where
        R: Request<Stream = P::Stream>,
    {
        let query = Query(request.query());
        // What cannot be mounted, whatever it is called, the client may send.
        let mount = query.value("mount");
        if let Some(digest) = mount.and_then(|mount| Digest::parse(&mount).ok()) {
            let from = query.value("from");
            let mountable = self.mountable(
                caller,
                &repository,
                from.as_deref(),
                digest,
                request.origin(),
            );
            if let Some(link) = mountable.await? {
                return self.link_blob(&repository, digest, link.size).await;
            }
        }
        let digest = match query.value("digest") {
            Some(digest) => Some(Digest::parse(&digest).map_err(denied)?),
            None => None,
        };
        let algorithm = query.value("digest-algorithm");
        if algorithm.is_some_and(|name| !matches!(name.as_ref(), "sha256" | "sha512")) {
            let told = "digest-algorithm is neither sha256 nor sha512";
            return Err(denied(OciError::new(OciCode::DigestInvalid, told)));
        }
        let now = self.platform.clock().now();
        let id = UploadId::new(now, self.platform.random());
        let session = UploadSession::new(&repository);
        self.later(Task::Sweep);
        if let Some(digest) = digest {
            let body = body_of(&mut request)?;
            let upload = (id, session);
            return self
                .receive_blob(caller, &repository, upload, digest, body)
                .await;
        }
        self.put_session(id, &session, Condition::Absent).await?;
        let least = limits::UPLOAD_CHUNK_BYTES.to_string();
        Ok(told(202, &repository, id, &session).with("oci-chunk-min-length", least))
    }

    pub(super) async fn go_on_with_upload<R>(
        &self,
        repository: &RepositoryName,
        id: UploadId,
        mut request: R,
    ) -> Result<Reply<P::Stream>, Failure>
    where
        R: Request<Stream = P::Stream>,
    {
        let (mut session, etag) = self.session(repository, id).await?;
        let body = self.chunk_of(repository, id, &session, &mut request)?;
        if self.store_body(id, &mut session, body).await? {
            let unchanged = Condition::Unchanged(etag);
            if !self.put_session(id, &session, unchanged).await? {
                let told = "another chunk of this upload has come at the same time";
                let error = OciError::new(OciCode::BlobUploadInvalid, told).with_status(416);
                return Err(denied(error));
            }
        }
        Ok(told(202, repository, id, &session))
    }

    pub(super) async fn complete_upload<R>(
        &self,
        caller: &Caller,
        repository: &RepositoryName,
        id: UploadId,
        mut request: R,
    ) -> Result<Reply<P::Stream>, Failure>
    where
        R: Request<Stream = P::Stream>,
    {
        let digest = Query(request.query()).value("digest").unwrap_or_default();
        let digest = Digest::parse(&digest).map_err(denied)?;
        let Some((session, _)) = self.find_session(repository, id).await? else {
            return self
                .linked_before(repository, digest, UploadId::unknown())
                .await;
        };
        let body = self.chunk_of(repository, id, &session, &mut request)?;
        let upload = (id, session);
        self.receive_blob(caller, repository, upload, digest, body)
            .await
    }

    /// The body of a request, if it goes on where the upload is.
    fn chunk_of<R>(
        &self,
        repository: &RepositoryName,
        id: UploadId,
        session: &UploadSession,
        request: &mut R,
    ) -> Result<Incoming<P::Stream>, Failure>
    where
        R: Request<Stream = P::Stream>,
    {
        let range = request.header("content-range");
        let body = body_of(request)?;
        let accepted = session.accepts(range.as_deref(), body.length());
        let said = accepted.map_err(|error| {
            let location = PushedPath::Upload(id).location(repository);
            let error = error.with_header("location", location);
            denied(error.with_header("range", session.range()))
        })?;
        Ok(match body {
            Incoming::Unsized(stream, _) => Incoming::Unsized(stream, said),
            body => body,
        })
    }

    pub(super) async fn describe_upload(
        &self,
        repository: &RepositoryName,
        id: UploadId,
    ) -> Result<Reply<P::Stream>, Failure> {
        let (session, _) = self.session(repository, id).await?;
        Ok(told(204, repository, id, &session))
    }

    pub(super) async fn cancel_upload(
        &self,
        repository: &RepositoryName,
        id: UploadId,
    ) -> Result<Reply<P::Stream>, Failure> {
        let (session, _) = self.session(repository, id).await?;
        self.discard_upload(names(id, &session)).await?;
        Ok(Reply::new(204, CachePolicy::NoStore))
    }

    /// Stores what comes as chunks behind those that have come; tells whether there is more now.
    pub(super) async fn store_body(
        &self,
        id: UploadId,
        session: &mut UploadSession,
        body: Incoming<P::Stream>,
    ) -> Result<bool, Failure> {
        let uploads = self.platform.uploads();
        let first = ChunkKey {
            upload: id,
            offset: session.size(),
            writer: self.unique_number(),
        };
        match body {
            Incoming::Nothing => Ok(false),
            Incoming::Sized(stream, length) => {
                session.add(first.writer, &[length]).map_err(denied)?;
                uploads.store_chunk(first, Payload::Stream(stream)).await?;
                Ok(true)
            }
            Incoming::Unsized(stream, said) => {
                let lengths = uploads.store_pieces(first, stream).await?;
                let come: u64 = lengths.iter().sum();
                if said.is_some_and(|said| said != come) {
                    let told = format!("Content-Range is not of the {come} bytes that have come");
                    return Err(denied(OciError::new(OciCode::SizeInvalid, told)));
                }
                session.add(first.writer, &lengths).map_err(denied)?;
                Ok(!lengths.is_empty())
            }
        }
    }

    async fn session(
        &self,
        repository: &RepositoryName,
        id: UploadId,
    ) -> Result<(UploadSession, String), Failure> {
        let found = self.find_session(repository, id).await?;
        found.ok_or_else(|| denied(UploadId::unknown()))
    }

    async fn find_session(
        &self,
        repository: &RepositoryName,
        id: UploadId,
    ) -> Result<Option<(UploadSession, String)>, Failure> {
        let key = FactKey::Pushed(PushedFact::Upload(id));
        let Some(fact) = self.platform.facts().get(&key).await? else {
            return Ok(None);
        };
        let session: UploadSession = serde_json::from_slice(&fact.bytes)
            .map_err(|error| Failure::Corrupt(format!("{key}: {error}")))?;
        let is_here = session.is_of(repository);
        Ok(is_here.then_some((session, fact.etag)))
    }

    async fn put_session(
        &self,
        id: UploadId,
        session: &UploadSession,
        condition: Condition,
    ) -> Result<bool, Failure> {
        let key = FactKey::Pushed(PushedFact::Upload(id));
        let document = serde_json::to_string(session).map_err(corrupt)?;
        let put = self.put_document(&key, &document, &[], condition);
        Ok(put.await?.is_some())
    }

    pub(in crate::app) async fn discard_upload(&self, names: Vec<String>) -> Result<(), Failure> {
        Ok(self.platform.uploads().remove(names).await?)
    }

    /// Removes what is left of uploads that nobody will complete: some of it each time another begins.
    pub(in crate::app) async fn sweep_uploads(&self) -> Result<(), Failure> {
        let now = self.platform.clock().now();
        let facts = self.platform.facts();
        let oldest = facts.list(UPLOADS, None, limits::UPLOADS_SWEPT).await?;
        let is_abandoned = |name: &String| {
            let id = name.split('/').next().and_then(UploadId::parse);
            id.is_some_and(|id| id.is_abandoned(now))
        };
        let names = oldest.facts.into_iter().map(|fact| fact.name);
        let abandoned: Vec<String> = names.filter(is_abandoned).collect();
        if abandoned.is_empty() {
            return Ok(());
        }
        self.discard_upload(abandoned).await
    }
}

impl<S> Incoming<S> {
    fn length(&self) -> Option<u64> {
        match self {
            Self::Nothing => Some(0),
            Self::Sized(_, length) => Some(*length),
            Self::Unsized(..) => None,
        }
    }
}

fn body_of<R: Request>(request: &mut R) -> Result<Incoming<R::Stream>, Failure> {
    let length = match request.header("content-length") {
        Some(_) => Some(content_length(request)?),
        None => None,
    };
    let most = limits::WORKER_BODY_BYTES;
    if length.is_some_and(|length| length > most) {
        return Err(denied(too_large(most)));
    }
    Ok(match (length, request.stream()) {
        (Some(0), _) | (None, None) => Incoming::Nothing,
        (Some(length), Some(stream)) => Incoming::Sized(stream, length),
        (None, Some(stream)) => Incoming::Unsized(stream, None),
        (Some(_), None) => {
            return Err(Problem::BadRequest("the body is missing".to_owned()).into());
        }
    })
}

fn too_large(most: u64) -> OciError {
    let told = format!(
        "Cloudflare takes request bodies of at most {most} bytes: send the blob in chunks, or publish \
         it with `terrace publish`, which sends archives straight to storage"
    );
    OciError::new(OciCode::SizeInvalid, told).with_status(413)
}

/// Everything that is stored of an upload, by what follows [`UPLOADS`] in its key.
pub(super) fn names(id: UploadId, session: &UploadSession) -> Vec<String> {
    let chunks = session.chunks(id).into_iter();
    let chunks = chunks.map(|(chunk, _)| chunk.name());
    std::iter::once(id.to_string()).chain(chunks).collect()
}

/// Where an upload is, and what has come of it.
fn told<S>(
    status: u16,
    repository: &RepositoryName,
    id: UploadId,
    session: &UploadSession,
) -> Reply<S> {
    Reply::new(status, CachePolicy::NoStore)
        .with("location", PushedPath::Upload(id).location(repository))
        .with("range", session.range())
        .with("docker-upload-uuid", id.to_string())
}
