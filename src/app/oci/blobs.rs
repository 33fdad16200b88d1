//! Blobs: stored, linked and deleted.

use terrace_core::auth::access::Caller;
use terrace_core::http::oci_error::{OciCode, OciError};
use terrace_core::http::reply::{CachePolicy, Reply};
use terrace_core::model::oci::UploadId;
use terrace_core::model::oci::{Digest, RepositoryName};
use terrace_core::oci::empty_config;
use terrace_core::oci::pushed::{LinkDocument, PushedPath, UploadSession};
use terrace_core::read::CONTENT_DIGEST;
use terrace_core::storage::key::{BytesKey, IndexKey, PushedFact, PushedIndex};

use super::uploads::{Incoming, names};
use super::{corrupt, denied};
use crate::app::{App, Failure, Task};
use crate::store::{
    Archives as _, Facts as _, Payload, Platform, StoreError, Stored, Uploads as _,
};

impl<P: Platform> App<'_, P> {
    /// Makes a blob of what has come of an upload and the rest of it.
    pub(super) async fn receive_blob(
        &self,
        caller: &Caller,
        repository: &RepositoryName,
        (id, mut session): (UploadId, UploadSession),
        digest: Digest,
        body: Incoming<P::Stream>,
    ) -> Result<Reply<P::Stream>, Failure> {
        let (stored, size) = match body {
            Incoming::Sized(stream, length) if session.is_empty() => {
                let key = BytesKey::Blob(digest);
                let stored = self.platform.archives().store(key, Payload::Stream(stream));
                (stored.await.map(Some), length)
            }
            body => {
                self.store_body(id, &mut session, body).await?;
                let stored = self.assemble(id, &session, digest).await;
                (stored, session.size())
            }
        };
        let stored = match stored {
            Err(StoreError::Busy(_)) if self.has_bytes(caller, digest).await? => Some(Stored::Yes),
            stored => stored?,
        };
        let answer = match stored {
            // Until its blob is in the repository the upload stays: this may have to be sent again.
            Some(Stored::Yes) => Ok(self.link_blob(repository, digest, size).await?),
            Some(Stored::DigestMismatch) => {
                let told = format!("what was sent does not have the digest {digest}");
                Err(denied(OciError::new(OciCode::DigestInvalid, told)))
            }
            None => {
                let told = "a part of this upload is lost: begin another";
                let error = OciError::new(OciCode::BlobUploadInvalid, told);
                self.linked_before(repository, digest, error).await
            }
        };
        self.later(Task::Discard(names(id, &session)));
        answer
    }

    async fn assemble(
        &self,
        id: UploadId,
        session: &UploadSession,
        digest: Digest,
    ) -> Result<Option<Stored>, StoreError> {
        let chunks = session.chunks(id);
        if chunks.is_empty() {
            let nothing = Payload::Bytes(Vec::new());
            let stored = self
                .platform
                .archives()
                .store(BytesKey::Blob(digest), nothing);
            return stored.await.map(Some);
        }
        self.platform.uploads().assemble(&chunks, digest).await
    }

    /// Whether the bytes of a blob are there that this caller may read anyhow. All repositories share
    /// them, and storage takes one write of a key a second: ORAS brings the same empty config with each
    /// push. Of what was sent nobody knows the digest then, so it proves no right to read.
    async fn has_bytes(&self, caller: &Caller, digest: Digest) -> Result<bool, Failure> {
        let is_open =
            self.config.access.lets_read_all(caller) || digest == Digest::Sha256(empty_config());
        let archives = self.platform.archives();
        Ok(is_open && archives.head(BytesKey::Blob(digest)).await?.is_some())
    }

    /// **The commit** of a blob: from here on it is in the repository. Clients have looked for it
    /// before, and edges remember that there was none; so its index does not wait for a reader.
    pub(super) async fn link_blob(
        &self,
        repository: &RepositoryName,
        digest: Digest,
        size: u64,
    ) -> Result<Reply<P::Stream>, Failure> {
        let link = LinkDocument { size };
        if self.link(repository, digest).await?.as_ref() != Some(&link) {
            let document = serde_json::to_string(&link).map_err(corrupt)?;
            let fact = PushedFact::Link(repository.clone(), digest);
            self.put_pushed(fact, &document, &[]).await?;
            let index = PushedIndex::Blob(repository.clone(), digest);
            self.later(Task::Mend(IndexKey::Pushed(index)));
        }
        Ok(created(repository, digest))
    }

    /// The answer to who completes an upload that is not whole any more: the request that did may have
    /// been this one, whose answer was lost.
    pub(super) async fn linked_before(
        &self,
        repository: &RepositoryName,
        digest: Digest,
        otherwise: OciError,
    ) -> Result<Reply<P::Stream>, Failure> {
        match self.link(repository, digest).await? {
            Some(_) => Ok(created(repository, digest)),
            None => Err(denied(otherwise)),
        }
    }

    pub(super) async fn delete_blob(
        &self,
        repository: RepositoryName,
        digest: Digest,
    ) -> Result<Reply<P::Stream>, Failure> {
        let was_there = self.link(&repository, digest).await?.is_some();
        let index = PushedIndex::Blob(repository, digest);
        // Also where it is gone: what was broken off after the fact has left its index.
        self.platform.facts().delete(&index.fact()).await?;
        self.index_pushed(&index).await?;
        if !was_there {
            let told = format!("{} has no blob {digest}", index.repository());
            return Err(denied(OciError::new(OciCode::BlobUnknown, told)));
        }
        Ok(Reply::new(202, CachePolicy::NoStore))
    }
}

fn created<S>(repository: &RepositoryName, digest: Digest) -> Reply<S> {
    Reply::new(201, CachePolicy::NoStore)
        .with("location", PushedPath::Blob(digest).location(repository))
        .with(CONTENT_DIGEST, digest.to_string())
}
