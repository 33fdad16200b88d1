//! The bytes of a package that its origin offers: streamed to the first client that asks, while they are
//! stored.

use terrace_core::http::problem::Problem;
use terrace_core::http::reply::{Body, CachePolicy, Reply};
use terrace_core::limits;
use terrace_core::model::own_hosts::OwnHosts;
use terrace_core::model::package::{Package, PulledPackage};
use terrace_core::storage::key::{ArchiveKey, IndexKey, Lease};
use terrace_core::storage::release::OfferedPackage;
use terrace_core::storage::signed_path::PullPath;
use terrace_core::upstream::origin::Fetch;
use terrace_core::upstream::pull::blocked;

use crate::access::status;
use crate::context::{Context, Pulled, Task};
use crate::documents::lease::LeaseState;
use crate::documents::{failover, format, lease};
use crate::failure::Failure;
use crate::host::{Clock as _, Download, Host, Upstream as _};
use crate::outcome::{Call, Handled};
use crate::pull::commit::{Committed, commit_stored, mirrored};
use crate::pull::puller::{self, NOT_NOW};
use crate::pull::upstream;
use crate::pull::upstream::failure;
use crate::removal::garbage;

/// How long a client waits for another client's fetch of the bytes, in seconds. Then it receives them from
/// the origin directly, because the other fetch may be slow.
const WAIT_SECONDS: u32 = 30;

/// Sends a package: from storage, or from its origin while it is stored.
pub(crate) async fn send<P: Host>(
    ctx: &Context<'_, P>,
    call: Call,
    path: PullPath,
) -> Handled<P::Stream> {
    Ok(answer(ctx, &path, &call.origin).await?.into())
}

async fn answer<P: Host>(
    ctx: &Context<'_, P>,
    path: &PullPath,
    origin: &str,
) -> Result<Reply<P::Stream>, Failure> {
    let package = &path.package;
    check(ctx, path)?;
    status::check_not_blocked(ctx, &package.address, &package.version).await?;
    let own = OwnHosts::new(origin, &ctx.config.hostnames);
    let address = &package.address;
    let may_ask = ctx.config.pull.pulls(address) && !own.include(&address.hostname);
    for second in 0..=WAIT_SECONDS {
        let offer = match find(ctx, package).await? {
            FoundPackage::Stored(key) => {
                // The index did not contain this package: the request that stored it may have been
                // interrupted.
                let owner = Package::Mirrored(package.address.clone());
                let version = package.version.clone();
                ctx.defer(Task::BackfillIndex(IndexKey::Version(owner, version)));
                return redirect(ctx, key, origin).await;
            }
            FoundPackage::Offered(offer) if may_ask => offer,
            FoundPackage::Offered(_) => return Err(nothing(package).into()),
        };
        if second == 0 {
            garbage::ensure_kept(ctx, ArchiveKey::zip(offer.sha256).into()).await?;
        }
        if !format::may_write(ctx).await? {
            return pass_on(ctx, package, &offer).await;
        }
        let lease = Lease::Package(Box::new(package.clone()));
        match lease::acquire(ctx, &lease).await? {
            LeaseState::Acquired => {
                let reply = take(ctx, package, &offer, origin).await;
                return lease::pause_after_failure(ctx, &lease, reply).await;
            }
            LeaseState::HeldByOther if second < WAIT_SECONDS => ctx.host.clock().sleep(1).await,
            LeaseState::HeldByOther => return pass_on(ctx, package, &offer).await,
            LeaseState::Paused => break,
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
        return Ok(FoundPackage::Stored(ArchiveKey::zip(stored.sha256)));
    }
    match release.offer(&package.platform) {
        Some(offer) => Ok(FoundPackage::Offered(offer.clone())),
        None => Err(nothing(package).into()),
    }
}

async fn redirect<P: Host>(
    ctx: &Context<'_, P>,
    key: ArchiveKey,
    origin: &str,
) -> Result<Reply<P::Stream>, Failure> {
    let Some(urls) = ctx.config.download_urls(failover::serving(ctx).await) else {
        let message = "download URLs cannot be signed: \
                       set TERRACE_ADMIN_TOKEN, TERRACE_URL_SECRET or the TERRACE_S3_… variables";
        return Err(Problem::Misconfigured(message.to_owned()).into());
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
    // An earlier request may have stored the zip, and been interrupted before the commit. In a private
    // registry, a digest alone grants no access: the origin may report the digest of an archive that it never
    // had.
    if !ctx.config.access.guards_reads() {
        match commit_stored(ctx, package, offer).await? {
            Committed::Yes => return redirect(ctx, ArchiveKey::zip(offer.sha256), origin).await,
            Committed::NotStored => {}
            // Clients decide for themselves whether to accept it: it is passed on, but not stored.
            Committed::Refused(_) => return pass_on(ctx, package, offer).await,
        }
    }
    let (length, stream) = open_offer(ctx, package, offer).await?;
    let fork = ctx.host.upstream().fork(stream, length);
    let (to_client, to_storage) = fork.map_err(|error| failure(package, error))?;
    ctx.defer(Task::StorePulled(Box::new(Pulled {
        package: package.clone(),
        offer: offer.clone(),
        stream: to_storage,
    })));
    Ok(zip(length, to_client))
}

/// Sends the bytes of the origin, which are not stored.
async fn pass_on<P: Host>(
    ctx: &Context<'_, P>,
    package: &PulledPackage,
    offer: &OfferedPackage,
) -> Result<Reply<P::Stream>, Failure> {
    let (length, stream) = open_offer(ctx, package, offer).await?;
    Ok(zip(length, stream))
}

/// Opens the zip at its origin, and returns its length.
async fn open_offer<P: Host>(
    ctx: &Context<'_, P>,
    package: &PulledPackage,
    offer: &OfferedPackage,
) -> Result<(u64, P::Stream), Failure> {
    let service = upstream::service(ctx, &package.address).await?;
    let found = upstream::package(ctx, &service, package, &[]).await?;
    match found {
        Ok(found) if found.sha256 == offer.sha256 => open(ctx, package, &found.download).await,
        Ok(found) => Err(puller::renew(ctx, package, offer, found.sha256).await?),
        Err(error) if error.is_no_package() => {
            let error = "its origin lists it, but has no package for it";
            Err(Problem::NotFound(format!("{package}: {error}")).into())
        }
        Err(error) => Err(failure(package, error)),
    }
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
            let error = format!("its zip is {length} bytes long: it must be from 1 to {max}");
            Err(failure(package, error))
        }
        (200, None, _) => Err(failure(package, "its origin does not report its length")),
        (status, ..) => Err(failure(
            package,
            format!("its origin answers the request for the zip with status {status}"),
        )),
    }
}

/// The location of a package.
enum FoundPackage {
    Stored(ArchiveKey),
    Offered(OfferedPackage),
}

fn zip<S>(length: u64, stream: S) -> Reply<S> {
    Reply::new(200, CachePolicy::NoStore)
        .with_stored_type("application/zip")
        .with("content-length", length.to_string())
        .with_body(Body::Stream(stream))
}

fn nothing(package: &PulledPackage) -> Problem {
    Problem::NotFound(format!("this registry has no package {package}"))
}
