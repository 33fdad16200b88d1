//! Documents in the bucket.

use terrace_app::host::{Condition, Fact, FactPage, Facts, Revision, StoreError};
use terrace_core::storage::key::FactKey;

use super::Memory;
use crate::support::faults::Operation;

impl Facts for Memory {
    async fn get(&self, key: &FactKey) -> Result<Option<Fact>, StoreError> {
        let operation = Operation::new("R2 get", &key.to_string());
        self.operation(operation, || Ok(self.bucket().fact(key)))
            .await
    }

    async fn revision(&self, key: &FactKey) -> Result<Option<Revision>, StoreError> {
        let operation = Operation::new("R2 head", &key.to_string());
        self.operation(operation, || Ok(self.bucket().revision(key)))
            .await
    }

    async fn put(
        &self,
        key: &FactKey,
        document: &str,
        metadata: &[(&str, String)],
        condition: Condition,
    ) -> Result<Option<Revision>, StoreError> {
        let name = key.to_string();
        let operation = Operation::new("R2 put", &name).conditional(condition != Condition::Any);
        self.operation(operation, || {
            self.refuse_frequent_object(&name)?;
            let mut objects = self.bucket_mut();
            Ok(objects.put(key, document, metadata, &condition, self.now_ms()))
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
            let is_empty = self.world.lists_nothing.take();
            Ok(match is_empty {
                true => FactPage {
                    facts: Vec::new(),
                    is_truncated: true,
                },
                false => self.bucket().list(prefix, after, limit),
            })
        })
        .await
    }

    async fn delete(&self, key: &FactKey) -> Result<(), StoreError> {
        self.delete_object(&key.to_string()).await
    }
}
