//! Archives that have to be brought by whoever names them.
//!
//! All owners share what is stored: an archive is named by its digest, and a release by that name opens
//! it. Digests are no secrets; lock files hold them. So for a publisher who may not read everything it
//! makes no difference what is stored already: what counts is what was brought for the same release.

use terrace_core::auth::access::Caller;
use terrace_core::publish::{ArchiveState, ExpectedArchive, Publication};
use terrace_core::storage::key::IncomingKey;

use super::garbage::Look;
use super::{App, Failure, Task};
use crate::store::{Archives as _, Payload, Platform, Stored};

impl<P: Platform> App<'_, P> {
    /// Whether this caller has to bring what it publishes.
    pub(super) fn must_bring(&self, caller: &Caller) -> bool {
        !self.config.access.lets_read_all(caller)
    }

    /// What has been brought of the archives of a release. They are taken in when all of them are there.
    pub(super) async fn brought(
        &self,
        publication: &Publication,
        look: &Look,
    ) -> Result<Vec<ArchiveState>, Failure> {
        let archives = self.platform.archives();
        let expected = publication.archives();
        let mut states = Vec::new();
        for archive in &expected {
            let head = archives.head(incoming(publication, archive).into()).await?;
            states.push(
                head.map_or(ArchiveState::Missing, |head| ArchiveState::Stored {
                    size: head.size,
                    reasons: Vec::new(),
                    warnings: Vec::new(),
                }),
            );
        }
        if states.contains(&ArchiveState::Missing) {
            return Ok(states);
        }
        for (archive, state) in expected.iter().zip(&mut states) {
            *state = match self.take_in(incoming(publication, archive)).await? {
                true => self.archive_state(archive, look).await?,
                false => ArchiveState::Missing,
            };
        }
        Ok(states)
    }

    /// Copies what was brought to where archives are kept, also where it is kept already: the time that
    /// this takes tells nothing. Its bytes do not enter wasm. Tells whether it is what its key says.
    async fn take_in(&self, incoming: IncomingKey) -> Result<bool, Failure> {
        let archives = self.platform.archives();
        let Some((_, stream)) = archives.open(incoming.into()).await? else {
            return Ok(false);
        };
        let stored = archives.store(incoming.archive.into(), Payload::Stream(stream));
        match stored.await? {
            Stored::Yes => Ok(true),
            Stored::DigestMismatch => {
                archives.discard(incoming.into()).await?;
                Ok(false)
            }
        }
    }

    /// Has what was brought removed: it is published.
    pub(super) fn forget_brought(&self, publication: &Publication) {
        let archives = publication.archives();
        let keys = archives
            .iter()
            .map(|archive| incoming(publication, archive));
        self.later(Task::Forget(keys.collect()));
    }

    pub(super) async fn forget(&self, incoming: Vec<IncomingKey>) -> Result<(), Failure> {
        for key in incoming {
            self.platform.archives().discard(key.into()).await?;
        }
        Ok(())
    }
}

/// Where an archive of a release comes in.
pub(super) fn incoming(publication: &Publication, archive: &ExpectedArchive) -> IncomingKey {
    let key = archive.key;
    key.incoming(&publication.package(), publication.version())
}
