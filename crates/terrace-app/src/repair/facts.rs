//! Checks the facts that are not about a package's releases, and the staged uploads.

use terrace_core::limits;
use terrace_core::maintenance::repair::Position;
use terrace_core::model::package::Package;
use terrace_core::storage::key::{
    BytesKey, FactKey, IndexKey, PushedFact, PushedIndex, RULES, STAGED,
};

use crate::access::{auth, rules};
use crate::failure::Failure;
use crate::host::{Archives as _, Clock as _, Host};
use crate::oci::{blobs, manifests, pushed_contents, pushed_index_refresh};
use crate::read::index_backfill;
use crate::removal::garbage;
use crate::repair::step::{MIN_OPERATIONS, MIN_OPERATIONS_FOR_LISTS, RepairStep, StepFlow};

/// The page size of a listing of staged uploads.
const UPLOADS_PER_LISTING: u32 = 200;

impl<P: Host> RepairStep<'_, '_, P> {
    /// Checks what follows from a fact of any kind but a release, a card or documentation.
    pub(super) async fn repair_fact(&mut self, fact: FactKey, name: &str) -> StepFlow {
        // A group is a repository, which also has a list of tags.
        let group = name.rsplit_once(':').map_or("", |(group, _)| group);
        if let FactKey::Pushed(PushedFact::Tag(repository, _)) = &fact
            && !self.position.after.starts_with(&format!("{group}:"))
        {
            if !self.affords(MIN_OPERATIONS_FOR_LISTS) {
                return StepFlow::Pause;
            }
            let list = PushedIndex::Tags(repository.clone());
            let repaired = self.repair_pushed(&list).await;
            self.note(list.to_string(), repaired);
            self.position = Position::after(self.position.section, format!("{group}:"));
        }
        if !self.affords(MIN_OPERATIONS) {
            return StepFlow::Pause;
        }
        let key = fact.to_string();
        match fact {
            FactKey::Origin(address) => {
                let repaired = self.repair_lists(&Package::Mirrored(address)).await;
                self.note(key, repaired);
            }
            FactKey::Garbage(bytes) => {
                let removed = garbage::remove_again(self.ctx, bytes).await;
                self.note_removed(bytes.to_string(), removed);
            }
            FactKey::Pushed(pushed) => match self.remove_erased(&pushed).await {
                Ok(false) => {
                    let repaired = match index_of(pushed) {
                        Some(index) => self.repair_pushed(&index).await,
                        None => Ok(false),
                    };
                    self.note(key, repaired);
                }
                removed => self.note_removed(key, removed),
            },
            _ => self.note(key, Ok(false)),
        }
        StepFlow::Continue
    }

    /// Removes a manifest or a link if its digest was erased: a push that has read the mark before may have ended before its
    /// second look. Returns whether it was.
    async fn remove_erased(&mut self, fact: &PushedFact) -> Result<bool, Failure> {
        let (PushedFact::Manifest(repository, digest) | PushedFact::Link(repository, digest)) =
            fact
        else {
            return Ok(false);
        };
        if !self.is_erased(BytesKey::Blob(*digest)).await? {
            return Ok(false);
        }
        match fact {
            PushedFact::Manifest(..) => manifests::discard(self.ctx, repository, *digest).await?,
            _ => blobs::unlink(self.ctx, repository, *digest).await?,
        };
        Ok(true)
    }

    async fn repair_pushed(&mut self, index: &PushedIndex) -> Result<bool, Failure> {
        // An index without a fact is found by the walk over the indices.
        let Some(document) = pushed_contents::index(self.ctx, index).await? else {
            return Ok(false);
        };
        if self
            .all_same(&[(IndexKey::Pushed(index.clone()), document)])
            .await
        {
            return Ok(false);
        }
        self.count_writes(1);
        pushed_index_refresh::refresh(self.ctx, index).await?;
        Ok(true)
    }

    /// Checks an index that follows from all facts of a section.
    pub(super) async fn repair_list(&mut self, key: IndexKey) -> StepFlow {
        if !self.affords(MIN_OPERATIONS_FOR_LISTS) {
            return StepFlow::Pause;
        }
        let repaired = self.repair_listed(&key).await;
        self.note(key.to_string(), repaired);
        StepFlow::Continue
    }

    async fn repair_listed(&mut self, key: &IndexKey) -> Result<bool, Failure> {
        let expected = match key {
            // A registry that never had a rule has no such index until an exchange or a sign-in looks for it.
            IndexKey::Rules if self.list(RULES, "", 1).await?.0.is_empty() => return Ok(false),
            IndexKey::Rules => rules::index(self.ctx).await?.document(),
            _ => auth::revocations(self.ctx).await?.index(),
        };
        if self.all_same(&[(key.clone(), expected)]).await {
            return Ok(false);
        }
        self.count_writes(1);
        index_backfill::backfill(self.ctx, key).await?;
        Ok(true)
    }

    /// Removes staged uploads that were never published, or that contain erased archives. Nothing ever refers to them, and a
    /// client that publishes them after all is asked to upload them again.
    pub(super) async fn sweep_uploads(&mut self) -> Result<StepFlow, Failure> {
        let archives = self.ctx.host.archives();
        let now = self.ctx.host.clock().now();
        loop {
            let after = Some(self.position.after.as_str()).filter(|after| !after.is_empty());
            let page = archives.list_bytes(STAGED, after, UPLOADS_PER_LISTING);
            let page = page.await?;
            for object in page.objects {
                if !self.affords(MIN_OPERATIONS) {
                    return Ok(StepFlow::Pause);
                }
                let is_old = now.since(object.stored_at) > limits::UPLOAD_ABANDONED_SECONDS;
                match object.name.parse() {
                    Ok(key @ BytesKey::Staged(staged))
                        if is_old || self.is_erased(staged.archive.into()).await? =>
                    {
                        let removed = archives.discard(key).await;
                        self.note_removed(
                            key.to_string(),
                            removed.map(|()| true).map_err(Failure::from),
                        );
                    }
                    _ => self.report.looked_at += 1,
                }
                self.position.after = object.name;
            }
            if !page.is_truncated {
                return Ok(StepFlow::Continue);
            }
        }
    }
}

/// Returns the index that follows from a fact about pushed content.
fn index_of(fact: PushedFact) -> Option<PushedIndex> {
    match fact {
        PushedFact::Link(repository, digest) => Some(PushedIndex::Blob(repository, digest)),
        PushedFact::Manifest(repository, digest) => Some(PushedIndex::Manifest(repository, digest)),
        PushedFact::Tag(repository, tag) => Some(PushedIndex::Tag(repository, tag)),
        _ => None,
    }
}
