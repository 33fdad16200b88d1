//! Packages of other registries, at Worker-signed URLs.

use terrace_core::storage::signed_path::PullPath;

use crate::context::Context;
use crate::host::Host;
use crate::outcome::{Call, Handled};
use crate::pull::package;

/// Sends a package, from storage or from its origin.
pub(crate) async fn send<P: Host>(
    ctx: &Context<'_, P>,
    call: Call,
    path: PullPath,
) -> Handled<P::Stream> {
    Ok(package::answer(ctx, &path, &call.origin).await?.into())
}
