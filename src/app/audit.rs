//! Writes down every change that was let through.

use futures_util::future::join_all;
use terrace_base::digest::Sha256;
use terrace_core::api::admin::AuditPage;
use terrace_core::http::form::Query;
use terrace_core::http::method::Method;
use terrace_core::http::reply::Reply;
use terrace_core::limits;
use terrace_core::maintenance::audit::{AuditEntry, AuditHead};
use terrace_core::model::oci::Digest;
use terrace_core::storage::key::{AUDIT, FactKey};

use super::access::ADDRESS;
use super::documents::BUSY_TRIES;
use super::tokens::json;
use super::{App, Failure};
use crate::store::{Clock as _, Condition, Facts as _, ListedFact, Platform, Request, StoreError};

/// The name of the metadata that tells when an entry was written.
const AT: &str = "at";

/// How many entries a page has where the newest is looked for
/// (<https://developers.cloudflare.com/r2/api/workers/workers-api-reference/#r2listoptions>).
const AT_ONCE: u32 = 1_000;

/// A change, as far as it is known before it is made.
pub(super) struct Change {
    by: String,
    from: String,
    what: String,
    sent: Option<Sha256>,
}

impl Change {
    /// The one that a request makes with this body.
    pub(super) fn new<R: Request>(by: String, request: &R, body: &[u8]) -> Self {
        Self {
            by,
            from: request.header(ADDRESS).unwrap_or_default(),
            what: format!("{} {}", request.method(), request.path()),
            sent: (!body.is_empty()).then(|| Sha256::of(body)),
        }
    }
}

impl Change {
    /// The same of a change that makes something of this path.
    pub(super) fn making(mut self, path: Option<&str>) -> Self {
        if let Some(path) = path {
            self.what.push_str(" makes ");
            self.what.push_str(path);
        }
        self
    }

    /// The same of what has a digest of its own, with the tags that name it now.
    pub(super) fn of_content(mut self, digest: Option<Digest>, tags: Option<&str>) -> Self {
        if let Some(tags) = tags {
            self.what.push_str(" tags ");
            self.what.push_str(tags);
        }
        if let Some(Digest::Sha256(digest)) = digest {
            self.sent = Some(digest);
        }
        self
    }
}

/// What is answered to a change, and written down then. Also that there is nothing to delete or to rotate:
/// whoever sends the same again, because the entry could not be written, finds nothing left.
pub(super) fn answered<S>(
    method: Method,
    done: Result<Reply<S>, Failure>,
) -> Result<Reply<S>, Failure> {
    let is_left = |status| {
        !matches!(
            (method, status),
            (Method::Delete, 404) | (Method::Post, 409)
        )
    };
    match done {
        Err(Failure::Problem(problem)) if !is_left(problem.status()) => Ok(problem.reply()),
        done => done,
    }
}

impl<P: Platform> App<'_, P> {
    /// Appends an entry for a change that was made. Whoever is answered 503 because this fails sends the
    /// same again, and then it is written.
    pub(super) async fn record(&self, change: Change, status: u16) -> Result<(), Failure> {
        let facts = self.platform.facts();
        let mut number = self.newest_known().await?;
        let mut entry = AuditEntry {
            number,
            at: self.platform.clock().now().0,
            by: change.by,
            from: change.from,
            what: change.what,
            status,
            sent: change.sent,
            previous: Sha256::of(b""),
        };
        let mut tries = 1;
        loop {
            if number > 0 {
                let newest = facts.get(&FactKey::Audit(number)).await?;
                // Where it was taken away the chain breaks, and the log goes on.
                entry.previous = Sha256::of(&newest.map(|fact| fact.bytes).unwrap_or_default());
            }
            entry.number = number + 1;
            let text = serde_json::to_string(&entry);
            let text = text.map_err(|error| Failure::Corrupt(error.to_string()))?;
            let key = FactKey::Audit(entry.number);
            let at = [(AT, entry.at.to_string())];
            match facts.put(&key, &text, &at, Condition::Absent).await {
                Ok(Some(_)) => break,
                // Somebody else was faster, or the head is behind.
                Ok(None) => number = self.newest_behind(number).await?,
                Err(StoreError::Busy(what)) => {
                    // Somebody else has just written it, and the next one is free.
                    if facts.revision(&key).await?.is_some() {
                        number = self.newest_behind(number).await?;
                    } else if tries >= BUSY_TRIES {
                        return Err(StoreError::Busy(what).into());
                    } else {
                        tries += 1;
                        self.platform.clock().sleep(1).await;
                    }
                }
                Err(error) => return Err(error.into()),
            }
        }
        let head = AuditHead {
            number: entry.number,
        };
        let text = serde_json::to_string(&head);
        let text = text.map_err(|error| Failure::Corrupt(error.to_string()))?;
        match facts
            .put(&FactKey::AuditHead, &text, &[], Condition::Any)
            .await
        {
            // It is a hint: the next walks a few steps more.
            Err(StoreError::Busy(_)) => Ok(()),
            written => Ok(written.map(drop)?),
        }
    }

    /// The number of an entry that is about the newest: one that cannot be read tells nothing.
    async fn newest_known(&self) -> Result<u64, Failure> {
        match self.document::<AuditHead>(&FactKey::AuditHead).await {
            Ok(head) => {
                let number = head.unwrap_or_default().number;
                // One that no log reaches was not written here.
                Ok(if number < limits::AUDIT_ENTRIES {
                    number
                } else {
                    0
                })
            }
            Err(Failure::Corrupt(what)) => {
                self.platform.log(&format!("corrupt: {what}"));
                Ok(0)
            }
            Err(failure) => Err(failure),
        }
    }

    /// The number of the newest entry, of which there are some behind this one.
    async fn newest_behind(&self, number: u64) -> Result<u64, Failure> {
        let mut newest = number + 1;
        loop {
            let behind = format!("{newest:012}");
            let facts = self.platform.facts();
            let page = facts.list(AUDIT, Some(&behind), AT_ONCE).await?;
            let last = page.facts.last().and_then(|fact| fact.name.parse().ok());
            match last {
                Some(last) if last > newest => newest = last,
                _ => return Ok(newest),
            }
            if !page.is_cut {
                return Ok(newest);
            }
        }
    }

    /// Entries as they are stored, ascending, behind the one with this number.
    pub(super) async fn list_audit(&self, query: &str) -> Result<Reply<P::Stream>, Failure> {
        let query = Query(query);
        let number = |name| query.value(name).and_then(|text| text.parse::<u64>().ok());
        let behind = number("behind").map(|number| format!("{number:012}"));
        let since = number("since").unwrap_or_default();
        let facts = self.platform.facts();
        // Before the entries: one that is written meanwhile would seem to be missing.
        let newest = self.newest_known().await?;
        let most = limits::AUDIT_AT_ONCE;
        let page = facts.list(AUDIT, behind.as_deref(), most).await?;
        let is_recent = |fact: &&ListedFact| {
            let at = fact.metadata.iter().find(|(name, _)| name == AT);
            let at = at.and_then(|(_, at)| at.parse::<u64>().ok());
            at.is_none_or(|at| at >= since)
        };
        let numbers = page.facts.iter().filter(is_recent);
        let numbers = numbers.filter_map(|fact| fact.name.parse().ok());
        let read = numbers.map(async |number| {
            let text = facts.get(&FactKey::Audit(number)).await?;
            let text = text.map(|fact| String::from_utf8_lossy(&fact.bytes).into_owned());
            Ok::<_, Failure>(text.unwrap_or_default())
        });
        let entries = join_all(read).await.into_iter();
        let entries = entries.collect::<Result<Vec<String>, Failure>>()?;
        let last = page.facts.last().filter(|_| page.is_cut);
        let next = last.and_then(|fact| fact.name.parse().ok());
        json(
            200,
            &AuditPage {
                entries,
                next,
                newest,
            },
        )
    }
}
