//! The bytes of a package that its origin offers: streamed to who asks first, while they are stored.

use std::pin::pin;

use futures_util::future::{Either, select};
use terrace_archive::ArchiveFormat;
use terrace_core::http::problem::Problem;
use terrace_core::http::reply::{Body, CachePolicy, Reply};
use terrace_core::limits;
use terrace_core::model::own_hosts::OwnHosts;
use terrace_core::model::package::Package;
use terrace_core::model::package::PulledPackage;
use terrace_core::publish::{ArchiveState, ExpectedArchive, ExpectedContents, Step};
use terrace_core::storage::key::{ArchiveKey, ArchiveKind, IndexKey, Lease};
use terrace_core::storage::release::{MirroredRelease, OfferedPackage, Release};
use terrace_core::storage::signed_path::PullPath;
use terrace_core::upstream::origin::Fetch;
use terrace_core::upstream::pull::blocked;

use crate::context::{Context, Pulled, Task};
use crate::failure::Failure;
use crate::host::{Archives as _, Clock as _, Download, Host, Payload, Stored, Upstream as _};
use crate::services::pull::lease::{RENEWAL_SECONDS, Turn};
use crate::services::pull::puller::NOT_NOW;
use crate::services::pull::upstream::failure;
use crate::services::pull::{lease, upstream};
use crate::services::{archives, garbage, publisher, releases};

/// How long a client waits for another one's fetch of bytes, in seconds. Then it gets them from the
/// origin itself: the other one may be slow.
const WAIT_SECONDS: u32 = 30;

/// The bytes of a package: from storage, or from its origin, while they are stored.
pub(crate) async fn answer<P: Host>(
    ctx: &Context<'_, P>,
    path: &PullPath,
    origin: &str,
) -> Result<Reply<P::Stream>, Failure> {
    let package = &path.package;
    check(ctx, path)?;
    let own = OwnHosts::new(origin, &ctx.config.hostnames);
    let address = &package.address;
    let may_ask = ctx.config.pull.pulls(address) && !own.include(&address.hostname);
    for second in 0..=WAIT_SECONDS {
        let offer = match find(ctx, package).await? {
            FoundPackage::Stored(key) => {
                // The index did not say so: whoever has stored it may have been stopped.
                let owner = Package::Mirrored(package.address.clone());
                let version = package.version.clone();
                ctx.defer(Task::Rebuild(IndexKey::Version(owner, version)));
                return redirect(ctx, key, origin);
            }
            FoundPackage::Offered(offer) if may_ask => offer,
            FoundPackage::Offered(_) => return Err(nothing(package).into()),
        };
        let lease = Lease::Package(Box::new(package.clone()));
        match lease::turn(ctx, &lease).await? {
            Turn::Ours => {
                let reply = take(ctx, package, &offer, origin).await;
                return lease::end_turn(ctx, &lease, reply).await;
            }
            Turn::Others if second < WAIT_SECONDS => ctx.host.clock().sleep(1).await,
            Turn::Others => {
                let (length, stream) = open_offer(ctx, package, &offer).await?;
                return Ok(zip(length, stream));
            }
            Turn::Paused => break,
        }
    }
    Err(failure(package, NOT_NOW))
}

fn check<P: Host>(ctx: &Context<'_, P>, path: &PullPath) -> Result<(), Problem> {
    let urls = ctx.config.archive_urls.as_ref();
    let signer = urls.and_then(|urls| urls.pull_signer());
    let signer = signer.ok_or_else(|| nothing(&path.package))?;
    signer
        .check_pull(path, ctx.host.clock().now())
        .map_err(|error| Problem::Forbidden(error.to_string()))?;
    let PulledPackage {
        address, version, ..
    } = &path.package;
    if ctx.config.pull.blocks(address, version) {
        return Err(blocked(address, version));
    }
    Ok(())
}

async fn find<P: Host>(
    ctx: &Context<'_, P>,
    package: &PulledPackage,
) -> Result<FoundPackage, Failure> {
    let release = mirrored(ctx, package).await?.map(|(release, _)| release);
    let release = release.ok_or_else(|| nothing(package))?;
    let mut stored = release.packages.iter();
    if let Some(stored) = stored.find(|stored| stored.platform == package.platform) {
        return Ok(FoundPackage::Stored(zip_key(stored.sha256)));
    }
    match release.offer(&package.platform) {
        Some(offer) => Ok(FoundPackage::Offered(offer.clone())),
        None => Err(nothing(package).into()),
    }
}

async fn mirrored<P: Host>(
    ctx: &Context<'_, P>,
    package: &PulledPackage,
) -> Result<Option<(MirroredRelease, String)>, Failure> {
    let owner = Package::Mirrored(package.address.clone());
    let stored = releases::stored(ctx, &owner, &package.version).await?;
    Ok(stored.and_then(|stored| match stored.release {
        Release::Mirrored(release) => Some((release, stored.etag)),
        Release::Provider(_) | Release::Module(_) => None,
    }))
}

fn redirect<P: Host>(
    ctx: &Context<'_, P>,
    key: ArchiveKey,
    origin: &str,
) -> Result<Reply<P::Stream>, Failure> {
    let Some(urls) = &ctx.config.archive_urls else {
        let message = "no secret is set that could sign download URLs".to_owned();
        return Err(Problem::Misconfigured(message).into());
    };
    let url = urls.download(origin, key, ctx.host.clock().now());
    Ok(Reply::new(302, CachePolicy::NoStore).with("location", url))
}

async fn take<P: Host>(
    ctx: &Context<'_, P>,
    package: &PulledPackage,
    offer: &OfferedPackage,
    origin: &str,
) -> Result<Reply<P::Stream>, Failure> {
    // Whoever has stored it may have been stopped before it was committed. But where there is something
    // private a digest alone opens nothing: its origin may name that of an archive it never had.
    if !ctx.config.access.guards_reads() {
        match commit_stored(ctx, package, offer).await? {
            Committed::Yes => return redirect(ctx, zip_key(offer.sha256), origin),
            Committed::NotStored => {}
            // What clients may take is theirs to judge; it is passed on, and not kept.
            Committed::Refused(_) => {
                let (length, stream) = open_offer(ctx, package, offer).await?;
                return Ok(zip(length, stream));
            }
        }
    }
    let (length, stream) = open_offer(ctx, package, offer).await?;
    let fork = ctx.host.upstream().fork(stream, length);
    let (to_client, to_storage) = fork.map_err(|error| failure(package, error))?;
    ctx.defer(Task::Store(Box::new(Pulled {
        package: package.clone(),
        offer: offer.clone(),
        stream: to_storage,
    })));
    Ok(zip(length, to_client))
}

/// The zip at its origin, and its length.
async fn open_offer<P: Host>(
    ctx: &Context<'_, P>,
    package: &PulledPackage,
    offer: &OfferedPackage,
) -> Result<(u64, P::Stream), Failure> {
    let PulledPackage {
        address,
        version,
        platform,
    } = package;
    let found = upstream::package(ctx, address, version, platform).await?;
    let found = found.ok_or_else(|| failure(package, "its origin has it no more"))?;
    if found.sha256 != offer.sha256 {
        let (now, then) = (found.sha256, offer.sha256);
        let error = format!("its origin says it is {now}, and has signed {then} before");
        return Err(failure(package, error));
    }
    open(ctx, package, &found.download).await
}

async fn open<P: Host>(
    ctx: &Context<'_, P>,
    package: &PulledPackage,
    fetch: &Fetch,
) -> Result<(u64, P::Stream), Failure> {
    let guard = ctx.config.pull.guard(&package.address.hostname);
    let opened = ctx.host.upstream().open(fetch, &guard).await;
    let Download {
        status,
        length,
        stream,
    } = opened.map_err(|error| failure(package, error))?;
    match (status, length, stream) {
        (200, Some(length), Some(stream)) if (1..=fetch.max_bytes).contains(&length) => {
            Ok((length, stream))
        }
        (200, Some(length), _) => {
            let max = limits::ARCHIVE_BYTES;
            let error = format!("its zip is {length} bytes long, and may be 1 to {max}");
            Err(failure(package, error))
        }
        (200, None, _) => Err(failure(package, "its origin does not tell its length")),
        (status, ..) => Err(failure(
            package,
            format!("its zip is answered with {status}"),
        )),
    }
}

/// Stores what a client is being sent, and commits it if it is what its origin has signed.
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
    let mut storing = pin!(archives.store(zip_key(offer.sha256).into(), Payload::Stream(stream)));
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
                let line = format!("pull {package}: passed on, and not kept: {reasons}");
                ctx.host.log(&line);
                Ok(())
            }
            committed => committed.map(drop),
        },
        Ok(Stored::DigestMismatch) => Err(failure(
            &package,
            "its origin sent other bytes than it has signed; nothing was stored",
        )),
        Err(error) => Err(error.into()),
    };
    lease::end_turn(ctx, &lease, committed).await
}

/// Commits a package whose bytes are stored.
async fn commit_stored<P: Host>(
    ctx: &Context<'_, P>,
    package: &PulledPackage,
    offer: &OfferedPackage,
) -> Result<Committed, Failure> {
    let key = zip_key(offer.sha256);
    let look = garbage::fence(ctx).await?;
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
    let size = match archives::state(ctx, &expected, &look).await? {
        ArchiveState::Missing => return Ok(Committed::NotStored),
        ArchiveState::Stored { size, reasons, .. } if reasons.is_empty() => size,
        ArchiveState::Stored { reasons, .. } => {
            return Ok(Committed::Refused(reasons.join("; ")));
        }
    };
    while let Some((release, etag)) = mirrored(ctx, package).await? {
        let grown = match release.with_stored(&package.platform, size) {
            Ok(Some(grown)) => grown,
            Ok(None) => return Ok(Committed::Yes),
            Err(reason) => return Ok(Committed::Refused(reason)),
        };
        let is_first = release.packages.is_empty();
        let grown = Box::new(Release::Mirrored(grown));
        let mut steps = vec![
            Step::GrowRelease(grown.clone(), etag),
            Step::MarkChanged(grown.package()),
            Step::IndexVersion(grown.clone()),
        ];
        if is_first {
            // A version without a package has no tag.
            steps.push(Step::IndexVersions(grown.package()));
        }
        // A release never loses anything, so this ends.
        if publisher::execute(ctx, steps, &look).await?.is_all() {
            return Ok(Committed::Yes);
        }
    }
    Ok(Committed::NotStored)
}

/// What became of bytes that may be stored.
enum Committed {
    /// They are a package of the release.
    Yes,
    /// There are none.
    NotStored,
    /// They are nothing to keep, for these reasons.
    Refused(String),
}

/// Where a package is.
enum FoundPackage {
    Stored(ArchiveKey),
    Offered(OfferedPackage),
}

fn zip_key(digest: terrace_base::digest::Sha256) -> ArchiveKey {
    ArchiveKey {
        digest,
        kind: ArchiveKind::Archive(ArchiveFormat::Zip),
    }
}

fn zip<S>(length: u64, stream: S) -> Reply<S> {
    Reply::new(200, CachePolicy::NoStore)
        .with("content-type", "application/zip")
        .with("content-length", length.to_string())
        .with_body(Body::Stream(stream))
}

fn nothing(package: &PulledPackage) -> Problem {
    Problem::NotFound(format!("this registry has no package {package}"))
}
