//! Indices that follow a fact: each is written until it is known to be the newest.

use terrace_core::key::FactKey;
use terrace_core::limits;

use super::{App, Boxed, Failure};
use crate::store::{Clock as _, Facts as _, Platform, StoreError};

impl<P: Platform> App<'_, P> {
    /// Writes what follows a fact, and again as long as that changes meanwhile; why this ends with the
    /// newest is told in [`terrace_core::index`]. Tells whether it did.
    pub(super) async fn follow<'w>(
        &self,
        fact: &FactKey,
        write: &dyn Fn() -> Boxed<'w>,
    ) -> Result<bool, Failure> {
        let facts = self.platform.facts();
        for _ in 0..limits::REFRESH_ROUNDS {
            let before = facts.revision(fact).await?;
            match write().await {
                // Waiting coalesces: what others commit meanwhile is in the next one.
                Err(Failure::Store(StoreError::Busy(_))) => {
                    self.platform.clock().sleep(1).await;
                }
                Err(failure) => return Err(failure),
                Ok(()) => {
                    if facts.revision(fact).await? == before {
                        return Ok(true);
                    }
                }
            }
        }
        Ok(false)
    }
}
