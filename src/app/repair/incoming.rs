//! What was brought to be published and never was.

use terrace_core::limits;
use terrace_core::storage::key::{BytesKey, INCOMING};

use super::{AT_LEAST, Going, Step};
use crate::app::{App, Failure};
use crate::store::{Archives as _, Clock as _, Platform};

/// How many objects are listed at once.
const PAGE: u32 = 200;

impl<P: Platform> App<'_, P> {
    /// Removes what nobody will publish any more. Nothing ever refers to it, and whoever would have
    /// published it after all is asked to bring it again.
    pub(super) async fn sweep_incoming(&self, step: &mut Step) -> Result<Going, Failure> {
        let archives = self.platform.archives();
        let now = self.platform.clock().now();
        loop {
            let behind = Some(step.position.behind.as_str()).filter(|behind| !behind.is_empty());
            let page = archives.list_bytes(INCOMING, behind, PAGE).await?;
            step.spend(1);
            for object in page.objects {
                if step.names() >= limits::REPAIRED_NAMES || !step.affords(AT_LEAST) {
                    return Ok(Going::Pausing);
                }
                step.report.looked_at += 1;
                let age = now.0.saturating_sub(object.stored_at.0);
                if age > limits::UPLOAD_ABANDONED_SECONDS
                    && let Ok(key @ BytesKey::Incoming(_)) = object.name.parse()
                {
                    step.spend(1);
                    match archives.discard(key).await {
                        Ok(()) => step.report.removed.push(key.to_string()),
                        Err(error) => self.note(step, key.to_string(), Err(error.into())),
                    }
                }
                step.position.behind = object.name;
            }
            if !page.is_cut {
                return Ok(Going::On);
            }
        }
    }
}
