//! Deletes blobs.

use terrace_core::http::oci_error::{OciCode, OciError};
use terrace_core::http::reply::{CachePolicy, Reply};
use terrace_core::model::oci::{Digest, RepositoryName};
use terrace_core::storage::key::PushedIndex;

use crate::context::Context;
use crate::handlers::outcome::Handled;
use crate::host::{Facts as _, Host};
use crate::services::oci::error::oci_failure;
use crate::services::oci::{pushed_contents, pushed_index_refresh};

pub(crate) async fn delete<P: Host>(
    ctx: &Context<'_, P>,
    repository: RepositoryName,
    digest: Digest,
) -> Handled<P::Stream> {
    let was_there = pushed_contents::link(ctx, &repository, digest)
        .await?
        .is_some();
    let index = PushedIndex::Blob(repository, digest);
    // Also if the link is missing: a deletion that failed after removing the fact left its index.
    ctx.host.facts().delete(&index.fact()).await?;
    pushed_index_refresh::refresh(ctx, &index).await?;
    if !was_there {
        let message = format!("{} has no blob {digest}", index.repository());
        return Err(oci_failure(OciError::new(OciCode::BlobUnknown, message)));
    }
    Ok(Reply::new(202, CachePolicy::NoStore).into())
}
