//! Fetches versions and releases from other registries on demand.
//!
//! One request at a time fetches; the others wait for the stored result. Nothing is committed before it is verified as
//! a client would verify it: the signed documents when a version is first requested, and the bytes of a package, by
//! their digest, while they are stored.

use std::cell::RefCell;

use terrace_base::digest::Sha256;
use terrace_core::model::address::MirroredAddress;
use terrace_core::model::package::{Package, PulledPackage};
use terrace_core::model::platform::Platform as ProviderPlatform;
use terrace_core::model::version::Version;
use terrace_core::publish::{IndexScope, PublishStep, signed_documents};
use terrace_core::storage::key::Lease;
use terrace_core::storage::release::{OfferedPackage, Release};
use terrace_core::upstream::origin::{OriginError, OriginPackage, distinct, offered};
use terrace_core::upstream::pull::{KnownVersion, OriginDocument, PULL_CHECK_SECONDS};

use crate::access::status;
use crate::concurrent::{self, Boxed, CONCURRENT_ACTIONS};
use crate::context::Context;
use crate::documents::lease::LeaseState;
use crate::documents::{format, lease, origins, releases};
use crate::failure::Failure;
use crate::host::{Clock as _, Host};
use crate::index::index_refresh;
use crate::index::index_refresh::LastWrite;
use crate::publish::publisher;
use crate::pull::commit::mirrored;
use crate::pull::upstream;
use crate::pull::upstream::failure;
use crate::removal::garbage;

/// Time that a new list takes to become visible everywhere after its origin was checked, in seconds. A KV
/// write may take a minute (<https://developers.cloudflare.com/kv/concepts/how-kv-works/>).
const PULL_LISTED_SECONDS: u64 = 120;

/// Maximum number of requests to an origin for the packages of one version. The free plan allows a request 50 of its own
/// (<https://developers.cloudflare.com/workers/platform/limits/#subrequests>); the same one may have asked for the list, the dates of
/// its versions and three times for the services of the host, which takes nine.
const PULL_REQUESTS: usize = 41;

/// Number of requests for one package: its description, SHA256SUMS and the signature of that.
const PACKAGE_REQUESTS: usize = 3;

/// The reason why a missing package is not fetched.
pub(crate) const NOT_NOW: &str = "its origin failed recently, or another request is still fetching from it; try again in 30 seconds";

/// Refreshes the known state of a package's origin if it is due. Returns `false` if that state is still too old.
///
/// # Errors
/// As [`seen`].
pub(crate) async fn refresh_if_due<P: Host>(
    ctx: &Context<'_, P>,
    package: &Package,
) -> Result<bool, Failure> {
    let Package::Mirrored(address) = package else {
        return Ok(true);
    };
    let seen = seen(ctx, address).await?;
    let now = ctx.host.clock().now();
    Ok(seen.is_none_or(|document| !document.is_due(now)))
}

/// Fetches a release that is not stored, if its origin may be contacted.
pub(crate) async fn fetch<P: Host>(
    ctx: &Context<'_, P>,
    package: &Package,
    version: &Version,
) -> Result<Option<Release>, Failure> {
    match package {
        Package::Mirrored(address) => pull(ctx, address, version).await,
        Package::Provider(_) | Package::Module(_) => Ok(None),
    }
}

/// Asks the origin for versions that the mirror does not list yet, and lists them.
pub(crate) async fn refresh_list<P: Host>(
    ctx: &Context<'_, P>,
    address: MirroredAddress,
) -> Result<(), Failure> {
    let known = origins::document(ctx, &address).await?;
    let now = ctx.host.clock().now();
    let age = known.map(|(document, _)| now.since(document.checked_at));
    match age {
        // The new list has not reached every location yet.
        Some(age) if age < PULL_LISTED_SECONDS => return Ok(()),
        Some(age) if age < PULL_CHECK_SECONDS => {}
        _ if status::blocks_provider(ctx, &address).await? => {}
        _ => match refresh(ctx, &address).await {
            Ok(Some(_)) => {}
            Ok(None) => return Ok(()),
            Err(failure) => return stale(ctx, &address, failure).await.map(drop),
        },
    }
    index_refresh::refresh_package(ctx, &Package::Mirrored(address)).await
}

/// Returns the state of a pulled provider at its origin, refreshed if that is due. `None` for a provider that is not
/// pulled, that only a newer version may store, or that is blocked and has an outdated state.
///
/// # Errors
/// If nothing is known and the origin cannot be reached.
async fn seen<P: Host>(
    ctx: &Context<'_, P>,
    address: &MirroredAddress,
) -> Result<Option<OriginDocument>, Failure> {
    if !ctx.config.pull.pulls(address) || !format::may_write(ctx).await? {
        return Ok(None);
    }
    loop {
        let known = origins::document(ctx, address).await?;
        let known = known.map(|(document, _)| document);
        let now = ctx.host.clock().now();
        if let Some(document) = known.as_ref().filter(|document| !document.is_due(now)) {
            return Ok(Some(document.clone()));
        }
        if status::blocks_provider(ctx, address).await? {
            return Ok(None);
        }
        match refresh(ctx, address).await {
            Ok(Some(document)) => return Ok(Some(document)),
            // An outdated answer is better than waiting.
            Ok(None) if known.as_ref().is_some_and(OriginDocument::was_asked) => {
                return Ok(known);
            }
            Ok(None) if upstream::seconds_left(ctx) > 0 => ctx.host.clock().sleep(1).await,
            Ok(None) => return Err(failure(address, NOT_NOW)),
            Err(failure) => return stale(ctx, address, failure).await.map(Some),
        }
    }
}

/// Returns the last known state, because the origin cannot be reached.
async fn stale<P: Host>(
    ctx: &Context<'_, P>,
    address: &MirroredAddress,
    failure: Failure,
) -> Result<OriginDocument, Failure> {
    match origins::document(ctx, address).await? {
        Some((document, _)) if document.was_asked() => {
            ctx.report(failure);
            let now = ctx.host.clock().now();
            let age = now.since(document.checked_at);
            let line = format!("stale: {address} was last listed by its origin {age} s ago");
            ctx.host.log(&line);
            Ok(document)
        }
        _ => Err(failure),
    }
}

/// Asks the origin for its versions. `None` if another request is doing so.
async fn refresh<P: Host>(
    ctx: &Context<'_, P>,
    address: &MirroredAddress,
) -> Result<Option<OriginDocument>, Failure> {
    let lease = Lease::Versions(address.clone());
    match lease::acquire(ctx, &lease).await? {
        LeaseState::Acquired => {}
        LeaseState::HeldByOther => return Ok(None),
        LeaseState::Paused => return Err(failure(address, NOT_NOW)),
    }
    let listed = upstream::versions(ctx, address).await;
    let listed = lease::pause_after_failure(ctx, &lease, listed).await?;
    for line in &listed.skipped {
        ctx.host.log(&format!("pull {address}: {line}"));
    }
    let mut dates = Vec::new();
    if let Some(newest_shown) = ctx.config.pull.newest_shown(ctx.host.clock().now()) {
        let known = origins::document(ctx, address).await?;
        // Later, the time at which a version was first seen says how old it is.
        if known.is_none_or(|(document, _)| !document.was_asked()) {
            dates = upstream::recent(ctx, address, &listed, newest_shown).await;
        }
    }
    origins::change(ctx, address, |before, now| {
        OriginDocument::after(before.as_ref(), &listed, now).with_dates(&dates)
    })
    .await
    .map(Some)
}

/// Returns the release of a version that the mirror lacks, as its origin signed it; `None` if that is not available.
///
/// # Errors
/// If the origin cannot be reached, or returns something that no client would accept.
async fn pull<P: Host>(
    ctx: &Context<'_, P>,
    address: &MirroredAddress,
    version: &Version,
) -> Result<Option<Release>, Failure> {
    let Some(document) = seen(ctx, address).await? else {
        if ctx.config.pull.pulls(address) {
            status::check_not_blocked(ctx, address, version).await?;
        }
        return Ok(None);
    };
    let now = ctx.host.clock().now();
    let admits = |seen: &&KnownVersion| ctx.config.pull.admits(address, seen, now);
    let Some(seen) = document.find(version).filter(admits) else {
        return Ok(None);
    };
    // The indices of a release that is committed after a later block follow the block.
    status::check_not_blocked(ctx, address, version).await?;
    let package = Package::Mirrored(address.clone());
    let lease = Lease::Release(address.clone(), version.clone());
    loop {
        if let Some(stored) = releases::stored(ctx, &package, version).await? {
            return Ok(Some(stored.release));
        }
        match lease::acquire(ctx, &lease).await? {
            LeaseState::Acquired => {
                let release = fetch_and_commit(ctx, address, seen).await;
                return lease::pause_after_failure(ctx, &lease, release)
                    .await
                    .map(Some);
            }
            LeaseState::HeldByOther if upstream::seconds_left(ctx) > 0 => {
                ctx.host.clock().sleep(1).await
            }
            LeaseState::HeldByOther | LeaseState::Paused => {
                return Err(failure(format_args!("{address} {version}"), NOT_NOW));
            }
        }
    }
}

async fn fetch_and_commit<P: Host>(
    ctx: &Context<'_, P>,
    address: &MirroredAddress,
    seen: &KnownVersion,
) -> Result<Release, Failure> {
    let version = &seen.version;
    let fence = garbage::fence(ctx).await?;
    let (release, mut steps) = fetch_offer(ctx, address, seen).await?;
    steps.push(PublishStep::CreateRelease(Box::new(release.clone())));
    // Its index is written after the response, and lists have contained it before. If another request was
    // faster, its document counts.
    publisher::execute(ctx, steps, &fence, LastWrite::Indices).await?;
    let stored = releases::stored(ctx, &release.package(), version).await?;
    Ok(stored.map_or(release, |stored| stored.release))
}

/// Returns a version as its origin offers it, and the steps that store its signed documents.
async fn fetch_offer<P: Host>(
    ctx: &Context<'_, P>,
    address: &MirroredAddress,
    seen: &KnownVersion,
) -> Result<(Release, Vec<PublishStep>), Failure> {
    let version = &seen.version;
    let packages = inquire(ctx, address, seen).await?;
    pin(ctx, address, version, &packages).await?;
    let now = ctx.host.clock().now();
    let release = offered(&packages, address.clone(), version.clone(), now);
    let documents = distinct(&packages).filter_map(|package| {
        let signed = package.signed.as_ref()?;
        Some(signed_documents(&package.shasums, &signed.signature))
    });
    Ok((Release::Mirrored(release), documents.flatten().collect()))
}

/// Takes the new offer of an origin that has created a version anew, as long as no package of the version is stored: nobody has
/// got one from here. Returns the failure for the client, which asks for the earlier one.
///
/// # Errors
/// If the new offer cannot be taken.
pub(crate) async fn renew<P: Host>(
    ctx: &Context<'_, P>,
    package: &PulledPackage,
    offer: &OfferedPackage,
    offered: Sha256,
) -> Result<Failure, Failure> {
    let PulledPackage {
        address, version, ..
    } = package;
    let Some((before, etag)) = mirrored(ctx, package).await? else {
        return Err(failure(package, NOT_NOW));
    };
    let (then, at) = (offer.sha256, before.published_at);
    let about = |advice: &str| {
        let error = format!(
            "the sha256 is {then}, as its origin offered it on {at}; now it offers {offered}. {advice}"
        );
        failure(package, error)
    };
    if !before.packages.is_empty() {
        return Ok(about(
            "Another package of the version is stored, so an administrator has to decide: terrace mirror add --replace",
        ));
    }
    let seen = seen(ctx, address).await?;
    let seen = seen.as_ref().and_then(|document| document.find(version));
    let Some(seen) = seen.filter(|_| before.offer(&offer.platform) == Some(offer)) else {
        return Ok(about("Try again later"));
    };
    let fence = garbage::fence(ctx).await?;
    let (release, mut steps) = fetch_offer(ctx, address, seen).await?;
    steps.push(PublishStep::GrowRelease(Box::new(release.clone()), etag));
    steps.push(PublishStep::RefreshIndices(
        Box::new(release),
        IndexScope::Version,
    ));
    publisher::execute(ctx, steps, &fence, LastWrite::Indices).await?;
    Ok(about(
        "The new offer is taken over within a minute: try again then",
    ))
}

/// Returns the packages of a version, each with everything that is signed about it. Platforms that SHA256SUMS lists under their
/// usual names are not asked for. One whose package no client would accept is left out, and so are those for which
/// [`PULL_REQUESTS`] do not suffice. An origin need not list the platforms of a version.
async fn inquire<P: Host>(
    ctx: &Context<'_, P>,
    address: &MirroredAddress,
    seen: &KnownVersion,
) -> Result<Vec<OriginPackage>, Failure> {
    let service = upstream::service(ctx, address).await?;
    let found = RefCell::new(Vec::new());
    let refusal = RefCell::new(None);
    let (service, found, refusal) = (&service, &found, &refusal);
    let ask = |platform: &ProviderPlatform, known: Vec<OriginPackage>| {
        let package = PulledPackage {
            address: address.clone(),
            version: seen.version.clone(),
            platform: platform.clone(),
        };
        async move {
            match upstream::package(ctx, service, &package, &known).await? {
                Ok(package) => found.borrow_mut().push(package),
                Err(error) => {
                    let line = format!("pull {package}: not available from its origin: {error}");
                    ctx.host.log(&line);
                    refusal.borrow_mut().get_or_insert(error);
                }
            }
            Ok::<(), Failure>(())
        }
    };
    let usual = ProviderPlatform::new("linux", "amd64").ok();
    let usual = usual.filter(|it| !seen.platforms.contains(it));
    let mut platforms = seen.platforms.iter().chain(&usual);
    let mut asked = 0;
    while found.borrow().is_empty()
        && (asked + 1) * PACKAGE_REQUESTS <= PULL_REQUESTS
        && let Some(platform) = platforms.next()
    {
        ask(platform, Vec::new()).await?;
        asked += 1;
    }
    let first = found.borrow().first().cloned();
    let Some(first) = first else {
        let what = format_args!("{address} {}", seen.version);
        let refusal = refusal
            .take()
            .filter(|error: &OriginError| !error.is_no_package());
        return Err(match refusal {
            Some(error) => failure(what, error),
            None => failure(
                what,
                "its origin lists this version, but has no package of it for any platform",
            ),
        });
    };
    let usual = first.usual_offers(&address.provider, &seen.version);
    let offered: Vec<ProviderPlatform> = usual.map(|offer| offer.platform).collect();
    let others = platforms.filter(|it| seen.platforms.contains(it) && !offered.contains(it));
    let others: Vec<&ProviderPlatform> = others.collect();
    let mut left = others.as_slice();
    let mut spent = asked * PACKAGE_REQUESTS;
    while !left.is_empty() && spent + CONCURRENT_ACTIONS * PACKAGE_REQUESTS <= PULL_REQUESTS {
        let (batch, later) = left.split_at(left.len().min(CONCURRENT_ACTIONS));
        let asking = batch
            .iter()
            .map(|platform| -> Boxed<'_> { Box::pin(ask(platform, vec![first.clone()])) });
        concurrent::all(asking.collect()).await?;
        left = later;
        asked += batch.len();
        // Those that the first SHA256SUMS lists take one request each.
        let is_listed = |it: &&OriginPackage| it.shasums == first.shasums;
        let listed = found.borrow().iter().filter(is_listed).count() - 1;
        spent = asked * PACKAGE_REQUESTS - listed * (PACKAGE_REQUESTS - 1);
    }
    if !left.is_empty() {
        let left: Vec<String> = left.iter().map(ToString::to_string).collect();
        let (version, left) = (&seen.version, left.join(", "));
        let line = format!(
            "pull {address} {version}: left out, since their packages take too many requests to its origin: {left}"
        );
        ctx.host.log(&line);
    }
    Ok(found.take())
}

/// Rejects packages that are signed by another key than earlier ones. Pins the first key.
async fn pin<P: Host>(
    ctx: &Context<'_, P>,
    address: &MirroredAddress,
    version: &Version,
    packages: &[OriginPackage],
) -> Result<(), Failure> {
    let mut signed = packages
        .iter()
        .filter_map(|package| package.signed.as_ref());
    let first = signed.next().map(|signed| &signed.key);
    let pinned = origins::change(ctx, address, |before, _| {
        let document = before.unwrap_or_default();
        match first {
            Some(key) if document.keys.is_empty() => document.with_key(key),
            _ => document,
        }
    });
    let keys = pinned.await?.keys;
    let mut checks = packages.iter().map(|package| package.check_pin(&keys));
    let checked: Result<(), OriginError> = checks.try_for_each(|checked| checked);
    checked.map_err(|error| failure(format_args!("{address} {version}"), error))
}
