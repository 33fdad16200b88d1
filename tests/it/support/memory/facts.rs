//! Documents in the bucket.

use terrace_app::host::{
    Condition, Fact, FactPage, Facts, ListedFact, ReleasePage, Revision, StoreError,
};
use terrace_base::digest::Sha256;
use terrace_base::time::UnixTime;
use terrace_core::model::package::Package;
use terrace_core::storage::key::FactKey;

use super::Memory;
use crate::support::faults::Operation;

impl Facts for Memory {
    async fn get(&self, key: &FactKey) -> Result<Option<Fact>, StoreError> {
        let key = key.to_string();
        self.operation(Operation::new("R2 get", &key), || {
            Ok(self.world.bucket.get(&key).map(|object| Fact {
                etag: object.etag(),
                bytes: object.bytes,
            }))
        })
        .await
    }

    async fn revision(&self, key: &FactKey) -> Result<Option<Revision>, StoreError> {
        let key = key.to_string();
        self.operation(Operation::new("R2 head", &key), || {
            let object = self.world.bucket.get(&key);
            Ok(object.map(|object| Revision(object.revision.to_string())))
        })
        .await
    }

    async fn put(
        &self,
        key: &FactKey,
        document: &str,
        metadata: &[(&str, String)],
        condition: Condition,
    ) -> Result<Option<Revision>, StoreError> {
        let key = key.to_string();
        let operation = Operation::new("R2 put", &key).conditional(condition != Condition::Any);
        self.operation(operation, || {
            self.refuse_frequent_object(&key)?;
            let there = self.world.bucket.get(&key);
            let holds = match condition {
                Condition::Any => true,
                Condition::Absent => there.is_none(),
                Condition::Unchanged(etag) => there.is_some_and(|object| object.etag() == etag),
            };
            let bytes = document.as_bytes();
            let checksum = Some(Sha256::of(bytes));
            Ok(holds.then(|| self.insert(&key, bytes, metadata, checksum)))
        })
        .await
    }

    async fn releases(
        &self,
        package: &Package,
        cursor: Option<String>,
    ) -> Result<ReleasePage, StoreError> {
        let prefix = FactKey::releases_of(package);
        self.operation(Operation::new("R2 list", &prefix), || {
            Ok(self.world.bucket.releases(package, cursor))
        })
        .await
    }

    async fn list(
        &self,
        prefix: &str,
        after: Option<&str>,
        limit: u32,
    ) -> Result<FactPage, StoreError> {
        self.operation(Operation::new("R2 list", prefix), || {
            let bucket = &self.world.bucket;
            let (facts, is_truncated) = if bucket.is_page_empty() {
                (Vec::new(), true)
            } else {
                bucket.page(prefix, after, limit, |name, object| ListedFact {
                    name,
                    metadata: object.metadata.clone(),
                    stored_at: UnixTime(object.written_ms / 1_000),
                    etag: object.etag(),
                })
            };
            Ok(FactPage {
                facts,
                is_truncated,
            })
        })
        .await
    }

    async fn delete(&self, key: &FactKey) -> Result<(), StoreError> {
        let key = key.to_string();
        self.operation(Operation::new("R2 delete", &key), || {
            self.world.bucket.remove(&key);
            Ok(())
        })
        .await
    }
}
