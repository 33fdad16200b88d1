//! Deletes blobs.

use terrace_core::http::oci_error::{OciCode, OciError};
use terrace_core::http::reply::{CachePolicy, Reply};
use terrace_core::model::oci::{Digest, RepositoryName};

use crate::context::Context;
use crate::host::Host;
use crate::oci::blobs;
use crate::oci::error::oci_failure;
use crate::outcome::Handled;

pub(crate) async fn delete<P: Host>(
    ctx: &Context<'_, P>,
    repository: RepositoryName,
    digest: Digest,
) -> Handled<P::Stream> {
    if !blobs::unlink(ctx, &repository, digest).await? {
        let message = format!("{repository} has no blob {digest}");
        return Err(oci_failure(OciError::new(OciCode::BlobUnknown, message)));
    }
    Ok(Reply::new(202, CachePolicy::NoStore).into())
}
