//! The way of a block to all locations and stored versions.

use std::time::Duration;

use terrace_base::time::UnixTime;
use terrace_core::api::admin::ReindexBody;

use crate::clock;
use crate::commands::admin::reindex;
use crate::error::Failure;
use crate::output::Output;
use crate::registry::client::Client;

/// How long a location may still read what an index contained before a block, in seconds: KV's own time, and that of the
/// edge. Until then, a repair cannot see that the index was written.
const SETTLING_SECONDS: u64 = 60;

/// Waits until a block has reached every location.
pub(super) fn settle(blocked_at: UnixTime, output: &Output) {
    let age = clock::now().since(blocked_at);
    let seconds = SETTLING_SECONDS.saturating_sub(age);
    if seconds > 0 {
        output.progress(&format!(
            "the block is recent: waiting {seconds} s, until it has reached every location"
        ));
        std::thread::sleep(Duration::from_secs(seconds));
    }
}

/// Writes the indices of all stored versions, in steps. If this is interrupted, the periodic repair continues.
pub(super) fn rewrite_versions(
    client: &Client<'_>,
    address: &str,
    output: &Output,
) -> Result<(), Failure> {
    let body = ReindexBody {
        package: Some(address.to_owned()),
        ..ReindexBody::default()
    };
    output.progress(&format!("updating the stored versions of {address}"));
    let done = reindex::walk(client, body, output)?;
    if done.failed.is_empty() {
        return Ok(());
    }
    let failed = done.failed.join(", ");
    Err(Failure::Unexpected(format!(
        "the change is stored, but these indices were not written: {failed}; run the command again, or leave it to the periodic \
         repair. The registry's log contains the reason"
    )))
}
