//! Reads, lists and writes documents. Writes are retried while the key is rate limited.

pub(crate) mod audit;
pub(crate) mod documentation;
pub(crate) mod failover;
pub(crate) mod failures;
pub(crate) mod fallback_requests;
pub(crate) mod format;
pub(crate) mod inventory;
pub(crate) mod keys;
pub(crate) mod lease;
pub(crate) mod origins;
pub(crate) mod releases;

use serde::de::DeserializeOwned;
use terrace_core::storage::key::FactKey;

use crate::context::Context;
use crate::failure::Failure;
use crate::host::{Clock as _, Condition, Facts as _, Host, ListedFact, Revision, StoreError};

/// How often a write to a rate-limited key is attempted, one second apart.
pub(crate) const BUSY_TRIES: u32 = 10;

/// The page size of a listing, as of R2
/// (<https://developers.cloudflare.com/r2/api/workers/workers-api-reference/#r2listoptions>).
const FACTS_PER_LISTING: u32 = 1_000;

/// Returns the parsed document of a key, if it exists.
pub(crate) async fn read<P: Host, T: DeserializeOwned>(
    ctx: &Context<'_, P>,
    key: &FactKey,
) -> Result<Option<T>, Failure> {
    let (document, _) = read_for_change(ctx, key).await?;
    Ok(document)
}

/// Returns the parsed document of a key, with the condition that it has not been changed since.
pub(crate) async fn read_for_change<P: Host, T: DeserializeOwned>(
    ctx: &Context<'_, P>,
    key: &FactKey,
) -> Result<(Option<T>, Condition), Failure> {
    let (bytes, condition) = stored(ctx, key).await?;
    let document = parsed(key, bytes).map_err(Failure::Corrupt)?;
    Ok((document, condition))
}

/// Does the same, and logs a document that cannot be read: the change replaces it.
pub(crate) async fn read_or_replace<P: Host, T: DeserializeOwned>(
    ctx: &Context<'_, P>,
    key: &FactKey,
) -> Result<(Option<T>, Condition), Failure> {
    let (bytes, condition) = stored(ctx, key).await?;
    let log = |what: String| ctx.host.log(&format!("corrupt: {what}"));
    let document = parsed(key, bytes).map_err(log).ok().flatten();
    Ok((document, condition))
}

/// Returns `None` for a damaged document, which the log names: it must not stop what others need.
pub(crate) fn intact<P: Host, T>(
    ctx: &Context<'_, P>,
    read: Result<T, Failure>,
) -> Result<Option<T>, Failure> {
    match read {
        Ok(read) => Ok(Some(read)),
        Err(Failure::Corrupt(what)) => {
            ctx.host.log(&format!("corrupt: {what}"));
            Ok(None)
        }
        Err(failure) => Err(failure),
    }
}

/// Returns the bytes of a document, if it exists, with the condition that it has not been changed since. It does not depend on the
/// type of the document: code for each would be large.
async fn stored<P: Host>(
    ctx: &Context<'_, P>,
    key: &FactKey,
) -> Result<(Option<Vec<u8>>, Condition), Failure> {
    Ok(match ctx.host.facts().get(key).await? {
        Some(fact) => (Some(fact.bytes), Condition::Unchanged(fact.etag)),
        None => (None, Condition::Absent),
    })
}

/// Parses a document.
///
/// # Errors
/// The reason why it cannot be read.
fn parsed<T: DeserializeOwned>(key: &FactKey, bytes: Option<Vec<u8>>) -> Result<Option<T>, String> {
    let parse = |bytes: Vec<u8>| serde_json::from_slice(&bytes);
    let document = bytes.map(parse).transpose();
    document.map_err(|error| format!("{key}: {error}"))
}

/// Returns all documents with keys that begin with `prefix`, read in pages.
pub(crate) async fn list<P: Host>(
    ctx: &Context<'_, P>,
    prefix: &str,
) -> Result<Vec<ListedFact>, Failure> {
    let mut all: Vec<ListedFact> = Vec::new();
    visit(ctx, prefix, async |fact| {
        all.push(fact);
        Ok(())
    })
    .await?;
    Ok(all)
}

/// Passes each document with a key that begins with `prefix` to `take`, and keeps one page at a time.
pub(crate) async fn visit<P: Host>(
    ctx: &Context<'_, P>,
    prefix: &str,
    mut take: impl AsyncFnMut(ListedFact) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut after: Option<String> = None;
    loop {
        let facts = ctx.host.facts();
        let page = facts.list(prefix, after.as_deref(), FACTS_PER_LISTING);
        let page = page.await?;
        if page.is_truncated && page.facts.is_empty() {
            return Err(Failure::Store(StoreError::Failed {
                operation: format!("list {prefix}"),
                cause: "storage returned an empty page that is marked as truncated".to_owned(),
            }));
        }
        after = page.facts.last().map(|fact| fact.name.clone());
        for fact in page.facts {
            take(fact).await?;
        }
        if !page.is_truncated {
            return Ok(());
        }
    }
}

/// Writes a document; `None` if the condition does not hold.
pub(crate) async fn put<P: Host>(
    ctx: &Context<'_, P>,
    key: &FactKey,
    document: &str,
    metadata: &[(&str, String)],
    condition: Condition,
) -> Result<Option<Revision>, Failure> {
    let facts = ctx.host.facts();
    let put = async || {
        let written = facts.put(key, document, metadata, condition.clone());
        Ok(written.await?)
    };
    retry_while_busy(ctx, put).await
}

/// Writes a document, and returns the condition that it has not been changed since; `None` if its own condition does not hold.
pub(crate) async fn put_for_change<P: Host>(
    ctx: &Context<'_, P>,
    key: &FactKey,
    document: &str,
    condition: Condition,
) -> Result<Option<Condition>, Failure> {
    match put(ctx, key, document, &[], condition).await? {
        Some(_) => Ok(Some(stored(ctx, key).await?.1)),
        None => Ok(None),
    }
}

/// Retries a write, one second later, while its key is rate limited.
pub(crate) async fn retry_while_busy<P: Host, T>(
    ctx: &Context<'_, P>,
    attempt: impl AsyncFn() -> Result<T, Failure>,
) -> Result<T, Failure> {
    for _ in 1..BUSY_TRIES {
        match attempt().await {
            Err(Failure::Store(StoreError::Busy(_))) => ctx.host.clock().sleep(1).await,
            done => return done,
        }
    }
    attempt().await
}
