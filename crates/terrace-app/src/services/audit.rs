//! Writes down every change that was let through.

use terrace_base::digest::Sha256;
use terrace_core::limits;
use terrace_core::maintenance::audit::{AuditEntry, AuditHead};
use terrace_core::model::oci::{Digest, Tag};
use terrace_core::storage::key::{AUDIT, FactKey};

use crate::context::Context;
use crate::failure::Failure;
use crate::host::{Clock as _, Condition, Facts as _, Host, Request, StoreError};
use crate::json;
use crate::services::documents;
use crate::services::documents::BUSY_TRIES;

/// The name of the metadata that tells when an entry was written.
pub(crate) const AT: &str = "at";

/// How many entries a page has where the newest is looked for
/// (<https://developers.cloudflare.com/r2/api/workers/workers-api-reference/#r2listoptions>).
const AT_ONCE: u32 = 1_000;

/// A change, as far as it is known before it is made.
pub(crate) struct Change {
    by: String,
    from: String,
    what: String,
    sent: Option<Sha256>,
}

impl Change {
    /// The one that a request makes with this body.
    pub(crate) fn new<P: Host, R: Request>(
        ctx: &Context<'_, P>,
        by: String,
        request: &R,
        body: &[u8],
    ) -> Self {
        Self {
            by,
            from: ctx.client_address.clone(),
            what: format!("{} {}", request.method(), request.path()),
            sent: (!body.is_empty()).then(|| Sha256::of(body)),
        }
    }

    /// Returns the change of a person who has just said who they are.
    pub(crate) fn by(mut self, by: String) -> Self {
        self.by = by;
        self
    }

    /// Returns the change that makes something of this path.
    pub(crate) fn making(mut self, path: &str) -> Self {
        self.what.push_str(" makes ");
        self.what.push_str(path);
        self
    }

    /// Returns the change of content with a digest of its own, with the tags that name it now.
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

/// Appends an entry for a change that was made. Whoever is answered 503 because this fails sends the
/// same again, and then it is written.
pub(crate) async fn record<P: Host>(
    ctx: &Context<'_, P>,
    change: Change,
    status: u16,
) -> Result<(), Failure> {
    let facts = ctx.host.facts();
    let mut number = newest_known(ctx).await?;
    let mut entry = AuditEntry {
        number,
        at: ctx.host.clock().now(),
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
        let text = json::text(&entry)?;
        let key = FactKey::Audit(entry.number);
        let at = [(AT, entry.at.0.to_string())];
        match facts.put(&key, &text, &at, Condition::Absent).await {
            Ok(Some(_)) => break,
            // Somebody else was faster, or the head is behind.
            Ok(None) => number = newest_behind(ctx, number).await?,
            Err(StoreError::Busy(what)) => {
                // Somebody else has just written it, and the next one is free.
                if facts.revision(&key).await?.is_some() {
                    number = newest_behind(ctx, number).await?;
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
        // It is a hint: the next walks a few steps more.
        Err(StoreError::Busy(_)) => Ok(()),
        written => Ok(written.map(drop)?),
    }
}

/// The number of an entry that is about the newest: one that cannot be read tells nothing.
pub(crate) async fn newest_known<P: Host>(ctx: &Context<'_, P>) -> Result<u64, Failure> {
    match documents::read::<_, AuditHead>(ctx, &FactKey::AuditHead).await {
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
            ctx.host.log(&format!("corrupt: {what}"));
            Ok(0)
        }
        Err(failure) => Err(failure),
    }
}

/// The number of the newest entry, of which there are some behind this one.
async fn newest_behind<P: Host>(ctx: &Context<'_, P>, number: u64) -> Result<u64, Failure> {
    let mut newest = number + 1;
    loop {
        let behind = format!("{newest:012}");
        let facts = ctx.host.facts();
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
