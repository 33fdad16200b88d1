//! Documents, read, listed and written: patiently where a key is written too often.

use serde::de::DeserializeOwned;
use terrace_core::storage::key::FactKey;

use super::{App, Failure};
use crate::store::{Clock as _, Condition, Facts as _, ListedFact, Platform, Revision, StoreError};

/// How often a write is tried while its key is written too often, a second apart.
pub(super) const BUSY_TRIES: u32 = 10;

/// How many documents a page of a listing has.
const PAGE: u32 = 1_000;

impl<P: Platform> App<'_, P> {
    /// What a document says, if it is there.
    pub(super) async fn document<T: DeserializeOwned>(
        &self,
        key: &FactKey,
    ) -> Result<Option<T>, Failure> {
        let (document, _) = self.seen_document(key).await?;
        Ok(document)
    }

    /// The same, with the condition under which nobody has changed it meanwhile.
    pub(super) async fn seen_document<T: DeserializeOwned>(
        &self,
        key: &FactKey,
    ) -> Result<(Option<T>, Condition), Failure> {
        let Some(fact) = self.platform.facts().get(key).await? else {
            return Ok((None, Condition::Absent));
        };
        let read = serde_json::from_slice(&fact.bytes);
        let read = read.map_err(|error| Failure::Corrupt(format!("{key}: {error}")))?;
        Ok((Some(read), Condition::Unchanged(fact.etag)))
    }

    /// All documents whose keys begin with `prefix`, page by page.
    pub(super) async fn list_all(&self, prefix: &str) -> Result<Vec<ListedFact>, Failure> {
        let mut all: Vec<ListedFact> = Vec::new();
        loop {
            let behind = all.last().map(|fact| fact.name.as_str());
            let page = self.platform.facts().list(prefix, behind, PAGE).await?;
            if page.is_cut && page.facts.is_empty() {
                return Err(Failure::Store(StoreError::Failed {
                    operation: format!("list {prefix}"),
                    cause: "there is more, and it is not told".to_owned(),
                }));
            }
            all.extend(page.facts);
            if !page.is_cut {
                return Ok(all);
            }
        }
    }

    /// Writes a document; `None` when the condition does not hold.
    pub(super) async fn put_document(
        &self,
        key: &FactKey,
        document: &str,
        metadata: &[(&str, String)],
        condition: Condition,
    ) -> Result<Option<Revision>, Failure> {
        let facts = self.platform.facts();
        let put = async || {
            let written = facts.put(key, document, metadata, condition.clone());
            Ok(written.await?)
        };
        self.patiently(put).await
    }

    /// Tries again a second later what writes a key that is written too often.
    pub(super) async fn patiently<T>(
        &self,
        attempt: impl AsyncFn() -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        for _ in 1..BUSY_TRIES {
            match attempt().await {
                Err(Failure::Store(StoreError::Busy(_))) => self.platform.clock().sleep(1).await,
                done => return done,
            }
        }
        attempt().await
    }
}
