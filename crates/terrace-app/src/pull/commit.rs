//! Stores the bytes of a pulled package, and commits it if they match the digest that its origin signed.

use std::pin::pin;

use futures_util::future::{Either, select};
use terrace_core::http::problem::Problem;
use terrace_core::model::package::{Package, PulledPackage};
use terrace_core::publish::{
    ArchiveState, ExpectedArchive, ExpectedContents, IndexScope, PublishStep,
};
use terrace_core::storage::key::{ArchiveKey, Lease};
use terrace_core::storage::release::{MirroredRelease, OfferedPackage, Release};

use crate::archives::stored_archives;
use crate::context::{Context, Pulled};
use crate::documents::lease::RENEWAL_SECONDS;
use crate::documents::{lease, releases};
use crate::failure::Failure;
use crate::host::{Archives as _, Clock as _, Host, Payload, Stored};
use crate::index::index_refresh::LastWrite;
use crate::publish::publisher;
use crate::pull::upstream::failure;
use crate::removal::garbage;

/// Stores a package while it is sent to a client, and commits it if it matches the digest that its origin
/// signed.
pub(crate) async fn store<P: Host>(
    ctx: &Context<'_, P>,
    pulled: Pulled<P::Stream>,
) -> Result<(), Failure> {
    let Pulled {
        package,
        offer,
        stream,
    } = pulled;
    let lease = Lease::Package(Box::new(package.clone()));
    lease::renew(ctx, &lease).await;
    let archives = ctx.host.archives();
    let mut storing = pin!(archives.store(
        ArchiveKey::zip(offer.sha256).into(),
        Payload::Stream(stream)
    ));
    let stored = loop {
        let pause = pin!(ctx.host.clock().sleep(RENEWAL_SECONDS));
        match select(storing.as_mut(), pause).await {
            Either::Left((stored, _)) => break stored,
            Either::Right(_) => lease::renew(ctx, &lease).await,
        }
    };
    let committed = match stored {
        Ok(Stored::Yes) => match commit_stored(ctx, &package, &offer).await {
            Ok(Committed::Refused(reasons)) => {
                let line = format!("pull {package}: sent to the client, but not stored: {reasons}");
                ctx.host.log(&line);
                Ok(())
            }
            committed => committed.map(drop),
        },
        Ok(Stored::DigestMismatch) => Err(failure(
            &package,
            "its origin sent bytes that do not match the signed digest; nothing was stored",
        )),
        Err(error) => Err(error.into()),
    };
    lease::pause_after_failure(ctx, &lease, committed).await
}

/// Commits a package after its bytes have been stored.
pub(crate) async fn commit_stored<P: Host>(
    ctx: &Context<'_, P>,
    package: &PulledPackage,
    offer: &OfferedPackage,
) -> Result<Committed, Failure> {
    let key = ArchiveKey::zip(offer.sha256);
    let fence = garbage::fence(ctx).await?;
    let Some(head) = ctx.host.archives().head(key.into()).await? else {
        return Ok(Committed::NotStored);
    };
    let PulledPackage {
        address, platform, ..
    } = package;
    let provider_type = address.provider.provider_type.clone();
    let expected = ExpectedArchive {
        key,
        size: head.size,
        filename: offer.filename.clone(),
        contents: ExpectedContents::Provider(provider_type, platform.clone()),
    };
    let size = match stored_archives::state(ctx, &expected, &fence).await? {
        ArchiveState::Missing => return Ok(Committed::NotStored),
        ArchiveState::Stored { size, reasons, .. } if reasons.is_empty() => size,
        ArchiveState::Stored { reasons, .. } => {
            return Ok(Committed::Refused(reasons.join("; ")));
        }
    };
    while let Some((release, etag)) = mirrored(ctx, package).await? {
        let grown = match release.with_stored(offer, size) {
            Ok(Some(grown)) => grown,
            Ok(None) => return Ok(Committed::Yes),
            Err(reason) => return Ok(Committed::Refused(reason)),
        };
        let is_first = release.packages.is_empty();
        let grown = Box::new(Release::Mirrored(grown));
        // A version without packages has no tag.
        let scope = match is_first {
            true => IndexScope::VersionAndLists,
            false => IndexScope::Version,
        };
        let steps = vec![
            PublishStep::GrowRelease(grown.clone(), etag),
            PublishStep::RefreshIndices(grown, scope),
        ];
        // Each iteration means that another request has changed the release.
        if publisher::execute(ctx, steps, &fence, LastWrite::Indices).await? {
            return Ok(Committed::Yes);
        }
    }
    Ok(Committed::NotStored)
}

pub(crate) async fn mirrored<P: Host>(
    ctx: &Context<'_, P>,
    package: &PulledPackage,
) -> Result<Option<(MirroredRelease, String)>, Failure> {
    let owner = Package::Mirrored(package.address.clone());
    let stored = releases::stored(ctx, &owner, &package.version).await?;
    match stored.map(|stored| (stored.release, stored.etag)) {
        Some((Release::Mirrored(release), etag)) => Ok(Some((release, etag))),
        Some((Release::Erased(tombstone), _)) => Err(Problem::Gone(tombstone.message()).into()),
        Some((Release::Provider(_) | Release::Module(_), _)) | None => Ok(None),
    }
}

/// The outcome of committing stored bytes.
pub(crate) enum Committed {
    /// They are a package of the release.
    Yes,
    /// Nothing is stored.
    NotStored,
    /// They are rejected, for these reasons.
    Refused(String),
}
