//! Archives that nothing refers to: marked, and removed an hour later. That none is removed which a
//! release refers to is argued in [`terrace_core::maintenance::repair`].

use terrace_base::time::UnixTime;
use terrace_core::api::admin::{GarbageAnswer, GarbageBody, MarkedBody};
use terrace_core::http::problem::Problem;
use terrace_core::http::reply::Reply;
use terrace_core::limits;
use terrace_core::maintenance::repair::{GarbageDocument, GarbageState};
use terrace_core::storage::key::{ArchiveKey, BytesKey, FactKey, GARBAGE};

use super::tokens::{json, parse};
use super::{App, Failure, operations};
use crate::store::{Archives as _, Clock as _, Condition, Facts as _, Platform};

/// What whoever is going to refer to archives has seen of the marks, before it looks for the archives.
#[derive(Debug)]
pub(super) struct Look {
    marks: Vec<ArchiveKey>,
    at: UnixTime,
}

/// Why an archive cannot be stored at the moment.
pub(super) fn being_removed(key: ArchiveKey) -> Problem {
    Problem::Unavailable(format!(
        "{key} is being removed as garbage: send the same request again in a moment; if this stays for more \
         than an hour, end it with `terrace admin gc --yes`"
    ))
}

impl<P: Platform> App<'_, P> {
    /// Looks which archives are marked. There are hardly ever any, so this is one listing.
    pub(super) async fn begin_look(&self) -> Result<Look, Failure> {
        let at = self.platform.clock().now();
        let marks = self.list_all(GARBAGE).await?;
        let marks = marks.iter().filter_map(|fact| fact.name.parse().ok());
        let marks = marks.collect();
        Ok(Look { marks, at })
    }

    /// Refuses to commit by what was seen too long ago.
    pub(super) fn check_age(&self, look: &Look) -> Result<(), Problem> {
        let age = self.platform.clock().now().0.saturating_sub(look.at.0);
        if age <= limits::LOOK_SECONDS {
            return Ok(());
        }
        Err(Problem::Unavailable(format!(
            "it took {age} s to look at what is stored: send the same request again"
        )))
    }

    /// Sees to it that an archive stays if it is there; false when it must not be referred to, because it
    /// is being removed.
    pub(super) async fn claim(&self, archive: ArchiveKey, look: &Look) -> Result<bool, Failure> {
        if !look.marks.contains(&archive) {
            return Ok(true);
        }
        loop {
            let Some((document, etag)) = self.mark_of(archive).await? else {
                // Kept by somebody else; or it is gone, which is what is looked at next.
                return Ok(true);
            };
            let now = self.platform.clock().now();
            match document.state {
                GarbageState::Kept => return Ok(true),
                GarbageState::Marked => {
                    let kept = GarbageDocument::becomes(GarbageState::Kept, now);
                    let unchanged = Condition::Unchanged(etag);
                    if self.put_mark(archive, kept, unchanged).await? {
                        return Ok(true);
                    }
                }
                // Whoever began it is not there any more.
                GarbageState::Removing if document.is_settled(now) => {
                    // By one at a time: another's late removal would take what is sent again.
                    if self.begin_removal(archive, etag).await? {
                        self.finish_removal(archive).await?;
                        return Ok(true);
                    }
                }
                GarbageState::Removing => return Ok(false),
            }
        }
    }

    /// `POST /admin/v1/garbage`: whoever asks has looked at every release.
    pub(super) async fn change_garbage(&self, body: &[u8]) -> Result<Reply<P::Stream>, Failure> {
        let GarbageBody { mark, keep, remove } = parse(body)?;
        let count = mark.len() + keep.len() + remove.len();
        operations::check_count(count, limits::GARBAGE_AT_ONCE)?;
        // All of them first: what is refused changes nothing.
        let read = |text: String| Ok((archive(&text)?, text));
        let mark = mark
            .into_iter()
            .map(read)
            .collect::<Result<Vec<_>, Problem>>()?;
        let keep = keep
            .into_iter()
            .map(read)
            .collect::<Result<Vec<_>, Problem>>()?;
        let read = |MarkedBody { key, marked_at }| Ok((archive(&key)?, key, marked_at));
        let remove = remove.into_iter().map(read);
        let remove = remove.collect::<Result<Vec<_>, Problem>>()?;
        let mut answer = GarbageAnswer::default();
        for (archive, text) in mark {
            let list = match self.mark_garbage(archive).await? {
                true => &mut answer.marked,
                false => &mut answer.spared,
            };
            list.push(text);
        }
        for (archive, text) in keep {
            let list = match self.unmark(archive).await? {
                true => &mut answer.kept,
                false => &mut answer.spared,
            };
            list.push(text);
        }
        for (archive, text, marked_at) in remove {
            let list = match self.remove_marked(archive, marked_at).await? {
                true => &mut answer.removed,
                false => &mut answer.spared,
            };
            list.push(text);
        }
        json(200, &answer)
    }

    /// Marks an archive. One that was kept, and that nothing refers to still, is marked again: its hour
    /// begins anew.
    async fn mark_garbage(&self, archive: ArchiveKey) -> Result<bool, Failure> {
        let condition = match self.mark_of(archive).await? {
            None => Condition::Absent,
            Some((document, etag)) => match document.state {
                GarbageState::Marked => return Ok(true),
                GarbageState::Kept => Condition::Unchanged(etag),
                GarbageState::Removing => return Ok(false),
            },
        };
        let marked = GarbageDocument::marked(self.platform.clock().now());
        self.put_mark(archive, marked, condition).await
    }

    /// Takes a mark away. What is being removed stays so: nothing can refer to it.
    async fn unmark(&self, archive: ArchiveKey) -> Result<bool, Failure> {
        match self.mark_of(archive).await? {
            Some((document, _)) if document.state == GarbageState::Removing => Ok(false),
            Some(_) => {
                self.remove_mark(archive).await?;
                Ok(true)
            }
            None => Ok(true),
        }
    }

    /// The second phase. The mark must be the one that was there before the second look.
    async fn remove_marked(&self, archive: ArchiveKey, marked_at: u64) -> Result<bool, Failure> {
        let Some((document, etag)) = self.mark_of(archive).await? else {
            return Ok(false);
        };
        let now = self.platform.clock().now();
        if document.since != marked_at || !document.is_settled(now) {
            return Ok(false);
        }
        if document.state == GarbageState::Kept {
            return Ok(false);
        }
        // A removal that was broken off is taken up, too: by one at a time.
        if !self.begin_removal(archive, etag).await? {
            return Ok(false);
        }
        self.finish_removal(archive).await?;
        Ok(true)
    }

    /// Says that an archive is being removed, unless somebody else has changed its mark; tells whether it did.
    async fn begin_removal(&self, archive: ArchiveKey, etag: String) -> Result<bool, Failure> {
        let now = self.platform.clock().now();
        let removing = GarbageDocument::becomes(GarbageState::Removing, now);
        self.put_mark(archive, removing, Condition::Unchanged(etag))
            .await
    }

    /// The archive first, and then its mark: as long as that is there nothing refers to the archive.
    async fn finish_removal(&self, archive: ArchiveKey) -> Result<(), Failure> {
        let key = BytesKey::Archive(archive);
        self.platform.archives().discard(key).await?;
        self.remove_mark(archive).await
    }

    /// Takes a mark away that may have been written within the same second.
    async fn remove_mark(&self, archive: ArchiveKey) -> Result<(), Failure> {
        let key = FactKey::Garbage(archive);
        let remove = async || Ok(self.platform.facts().delete(&key).await?);
        self.patiently(remove).await
    }

    async fn mark_of(
        &self,
        archive: ArchiveKey,
    ) -> Result<Option<(GarbageDocument, String)>, Failure> {
        let key = FactKey::Garbage(archive);
        let Some(fact) = self.platform.facts().get(&key).await? else {
            return Ok(None);
        };
        let document = serde_json::from_slice(&fact.bytes)
            .map_err(|error| Failure::Corrupt(format!("{key}: {error}")))?;
        Ok(Some((document, fact.etag)))
    }

    async fn put_mark(
        &self,
        archive: ArchiveKey,
        document: GarbageDocument,
        condition: Condition,
    ) -> Result<bool, Failure> {
        let text = serde_json::to_string(&document);
        let text = text.map_err(|error| Failure::Corrupt(error.to_string()))?;
        let key = FactKey::Garbage(archive);
        let written = self.put_document(&key, &text, &[], condition).await?;
        Ok(written.is_some())
    }
}

fn archive(text: &str) -> Result<ArchiveKey, Problem> {
    match BytesKey::parse_key(text) {
        Some(BytesKey::Archive(archive)) => Ok(archive),
        _ => Err(Problem::BadRequest(format!(
            "{text:?} is the key of no archive: it must be archives/<sha256>.<zip, tar.gz, SHA256SUMS or sig>"
        ))),
    }
}
