//! Records every authorised change.

use std::rc::Rc;

use terrace_base::digest::Sha256;
use terrace_core::auth::access::Caller;
use terrace_core::maintenance::audit::{
    AuditEntry, AuditHead, ERASED_SEPARATOR, ERASES, REPAIR, REPAIRS, REVOKES, StatusChange,
};
use terrace_core::model::oci::{Digest, Tag};
use terrace_core::model::provenance::Provenance;
use terrace_core::storage::failover::{FailoverDocument, ServingBucket};
use terrace_core::storage::key::{AUDIT, FactKey};

use crate::context::Context;
use crate::documents::BUSY_TRIES;
use crate::failure::Failure;
use crate::host::{Clock as _, Condition, Facts as _, Host, Request, StoreError};
use crate::{documents, json};

/// Maximum number of entries of the audit log: up to this number, the names of entries sort by their numbers.
const AUDIT_ENTRIES: u64 = 1_000_000_000_000;

/// The name of the metadata that contains the time of an entry.
pub(crate) const AT: &str = "at";

/// The request that changes the bucket that serves downloads.
const FAILOVER: &str = "PUT /admin/v1/failover";

/// The page size of the search for the newest entry
/// (<https://developers.cloudflare.com/r2/api/workers/workers-api-reference/#r2listoptions>).
const ENTRIES_PER_LISTING: u32 = 1_000;

/// The contents of an audit entry that are known before the change is made.
pub(crate) struct AuditedChange {
    by: String,
    provenance: Option<Provenance>,
    from: String,
    what: String,
    status: Option<StatusChange>,
    sent: Option<Sha256>,
}

impl AuditedChange {
    /// Returns the change that a request with this body makes.
    pub(crate) fn new<P: Host, R: Request>(
        ctx: &Context<'_, P>,
        caller: &Caller,
        request: &R,
        body: &[u8],
    ) -> Self {
        Self {
            by: ctx.config.access.audited_name(caller),
            provenance: caller.provenance(),
            from: ctx.client_address.clone(),
            what: format!("{} {}", request.method(), request.path()),
            status: None,
            sent: (!body.is_empty()).then(|| Sha256::of(body)),
        }
    }

    /// Returns the erasure of these archives by the repair, which completes an erasure that an operator requested.
    pub(crate) fn of_repair(names: &[String]) -> Self {
        Self::without_request(REPAIR, REPAIRS).erasing(names)
    }

    /// Returns the change of the bucket that serves downloads. The scheduled event may write its entry.
    pub(crate) fn of_failover(before: ServingBucket, state: &FailoverDocument) -> Self {
        Self::without_request(&state.by, FAILOVER).of_status(StatusChange {
            from: before.to_string(),
            to: state.serving.to_string(),
            reason: state.reason.clone(),
        })
    }

    fn without_request(by: &str, what: &str) -> Self {
        Self {
            by: by.to_owned(),
            provenance: None,
            from: String::new(),
            what: what.to_owned(),
            status: None,
            sent: None,
        }
    }

    /// Returns the change, attributed to a person who has just signed in.
    pub(crate) fn by(mut self, by: String) -> Self {
        self.by = by;
        self
    }

    /// Returns the change, as the creation of a resource with this path.
    pub(crate) fn making(mut self, path: &str) -> Self {
        self.what.push_str(" makes ");
        self.what.push_str(path);
        self
    }

    /// Returns the change, as that of a status.
    pub(crate) fn of_status(mut self, status: StatusChange) -> Self {
        self.status = Some(status);
        self
    }

    /// Returns the change, as the revocation of the token with this path by itself.
    pub(crate) fn revoking(mut self, path: &str) -> Self {
        self.what.push_str(REVOKES);
        self.what.push_str(path);
        self
    }

    /// Returns the change, as the erasure of a version and of archives.
    pub(crate) fn erasing(mut self, names: &[String]) -> Self {
        self.what.push_str(ERASES);
        self.what.push_str(&names.join(ERASED_SEPARATOR));
        self
    }

    /// Returns the change, as the upload of content with its own digest, and with the tags that now refer to
    /// it.
    pub(crate) fn of_content(mut self, digest: Digest, tags: &[Tag]) -> Self {
        for (at, tag) in tags.iter().enumerate() {
            self.what.push_str(if at == 0 { " tags " } else { ", " });
            self.what.push_str(tag.as_str());
        }
        if let Digest::Sha256(digest) = digest {
            self.sent = Some(digest);
        }
        self
    }
}

/// The newest entry of the log, read before the change that the next one records was complete.
struct NewestEntry {
    number: u64,
    digest: Sha256,
}

/// Reads the newest entry of the log for the entry that this request is going to append, while it still makes its change. If
/// this fails, or if another request is faster, [`record`] reads it again.
pub(crate) async fn read_ahead<P: Host>(ctx: &Context<'_, P>) {
    if let Ok(newest) = newest_entry(ctx).await {
        ctx.remember(newest);
    }
}

async fn newest_entry<P: Host>(ctx: &Context<'_, P>) -> Result<NewestEntry, Failure> {
    let number = newest_known(ctx).await?;
    let digest = digest_of(ctx, number).await?;
    Ok(NewestEntry { number, digest })
}

/// Returns the digest of an entry, to which the next one refers. If the entry was deleted, the chain breaks there, and the log
/// continues.
async fn digest_of<P: Host>(ctx: &Context<'_, P>, number: u64) -> Result<Sha256, Failure> {
    let entry = match number {
        0 => None,
        number => ctx.host.facts().get(&FactKey::Audit(number)).await?,
    };
    Ok(Sha256::of(
        &entry.map(|fact| fact.bytes).unwrap_or_default(),
    ))
}

/// Appends an entry for a change that was made. If this fails, the client receives a 503 and retries, and the
/// retry writes the entry.
pub(crate) async fn record<P: Host>(
    ctx: &Context<'_, P>,
    change: AuditedChange,
    status: u16,
) -> Result<(), Failure> {
    let facts = ctx.host.facts();
    let newest = match ctx.recall::<NewestEntry>() {
        Some(newest) => newest,
        None => Rc::new(newest_entry(ctx).await?),
    };
    let mut number = newest.number;
    let mut entry = AuditEntry {
        number,
        at: ctx.host.clock().now(),
        by: change.by,
        provenance: change.provenance,
        from: change.from,
        what: change.what,
        change: change.status,
        status,
        sent: change.sent,
        previous: newest.digest,
    };
    let mut tries = 1;
    loop {
        if number != newest.number {
            entry.previous = digest_of(ctx, number).await?;
        }
        entry.number = number + 1;
        let text = json::text(&entry)?;
        let key = FactKey::Audit(entry.number);
        let at = [(AT, entry.at.0.to_string())];
        match facts.put(&key, &text, &at, Condition::Absent).await {
            Ok(Some(_)) => break,
            // Another request was faster, or the head is outdated.
            Ok(None) => number = newest_after(ctx, number).await?,
            Err(StoreError::Busy(what)) => {
                // Another request has just written this entry, and the next number is free.
                if facts.revision(&key).await?.is_some() {
                    number = newest_after(ctx, number).await?;
                } else if tries >= BUSY_TRIES {
                    return Err(StoreError::Busy(what).into());
                } else {
                    tries += 1;
                    ctx.host.clock().sleep(1).await;
                }
            }
            Err(error) => return Err(error.into()),
        }
    }
    let head = AuditHead {
        number: entry.number,
    };
    let text = json::text(&head)?;
    match facts
        .put(&FactKey::AuditHead, &text, &[], Condition::Any)
        .await
    {
        // The head is a hint: without it, the next request lists a few more entries.
        Err(StoreError::Busy(_)) => Ok(()),
        written => Ok(written.map(drop)?),
    }
}

/// Returns the number of the newest entry according to the head, which may be outdated. An unreadable head
/// counts as absent.
pub(crate) async fn newest_known<P: Host>(ctx: &Context<'_, P>) -> Result<u64, Failure> {
    let read = documents::read::<_, AuditHead>(ctx, &FactKey::AuditHead).await;
    let head = documents::intact(ctx, read)?.flatten();
    let number = head.unwrap_or_default().number;
    // A number that no log reaches was not written by the registry.
    Ok(if number < AUDIT_ENTRIES { number } else { 0 })
}

/// Returns the number of the newest entry; at least one follows `number`.
async fn newest_after<P: Host>(ctx: &Context<'_, P>, number: u64) -> Result<u64, Failure> {
    let mut newest = number + 1;
    loop {
        let after = format!("{newest:012}");
        let facts = ctx.host.facts();
        let page = facts.list(AUDIT, Some(&after), ENTRIES_PER_LISTING).await?;
        let last = page.facts.last().and_then(|fact| fact.name.parse().ok());
        match last {
            Some(last) if last > newest => newest = last,
            _ => return Ok(newest),
        }
        if !page.is_truncated {
            return Ok(newest);
        }
    }
}
