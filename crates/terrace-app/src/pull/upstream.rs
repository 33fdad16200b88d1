//! Reads the documents of a provider's origin.

use terrace_base::time::UnixTime;
use terrace_core::model::address::MirroredAddress;
use terrace_core::model::package::PulledPackage;
use terrace_core::upstream::origin::{
    Fetch, Fetched, OriginError, OriginPackage, OriginVersions, PackageInquiry, PublishedVersion,
    Service,
};
use terrace_core::upstream::pull::PULL_SECONDS;

use crate::context::Context;
use crate::failure::Failure;
use crate::host::{Clock as _, Host, Upstream as _};

/// Maximum number of versions for which dates are requested when a provider is looked up for the first time: each may
/// take a part of `PULL_SECONDS`, and the free plan allows a request 50 of its own.
const PULL_DATES: usize = 5;

/// Returns the versions that an origin lists; none if it does not have the provider.
pub(crate) async fn versions<P: Host>(
    ctx: &Context<'_, P>,
    address: &MirroredAddress,
) -> Result<OriginVersions, Failure> {
    let service = service(ctx, address).await?;
    let fetch = OriginVersions::ask(&service, address);
    let fetched = read(ctx, address, &fetch).await?;
    if fetched.status == 404 {
        return Ok(OriginVersions::default());
    }
    OriginVersions::read(&fetch, &fetched).map_err(|error| failure(address, error))
}

/// Returns everything that is signed about a package, verified as a client would, or the reason why no client would accept it.
/// `known` are other packages of the version.
///
/// # Errors
/// If the origin cannot be reached.
pub(crate) async fn package<P: Host>(
    ctx: &Context<'_, P>,
    service: &Service,
    PulledPackage {
        address,
        version,
        platform,
    }: &PulledPackage,
    known: &[OriginPackage],
) -> Result<Result<OriginPackage, OriginError>, Failure> {
    let now = ctx.host.clock().now();
    let (of, platform) = (address.clone(), platform.clone());
    let inquiry = PackageInquiry::new(service, of, version, platform, now);
    let mut inquiry = inquiry.knowing(known);
    loop {
        let fetched = read(ctx, address, &inquiry.next()).await?;
        match inquiry.feed(&fetched).transpose() {
            None => {}
            Some(Err(error)) if error.is_temporary() => return Err(failure(address, error)),
            Some(done) => return Ok(done),
        }
    }
}

/// Returns the times of the newest versions that their origin published after `newest_shown`. The newest version is asked
/// for first, until one is older or the origin gives no time.
pub(crate) async fn recent<P: Host>(
    ctx: &Context<'_, P>,
    address: &MirroredAddress,
    listed: &OriginVersions,
    newest_shown: UnixTime,
) -> Vec<PublishedVersion> {
    let mut recent = Vec::new();
    // The list has just come from there, so a failure says that the origin gives no times.
    let Ok(service) = service(ctx, address).await else {
        return recent;
    };
    for listed in listed.versions.iter().rev().take(PULL_DATES) {
        let version = &listed.version;
        let fetch = PublishedVersion::ask(&service, &address.provider, version);
        let found = match read(ctx, address, &fetch).await {
            Ok(fetched) => PublishedVersion::read(&fetch, &fetched, version),
            Err(_) => None,
        };
        match found {
            Some(found) if found.published_at > newest_shown => recent.push(found),
            _ => break,
        }
    }
    recent
}

/// Returns the provider service of an address.
pub(crate) async fn service<P: Host>(
    ctx: &Context<'_, P>,
    address: &MirroredAddress,
) -> Result<Service, Failure> {
    let origin = ctx.config.pull.origin_of(&address.hostname);
    let fetched = read(ctx, address, &Service::discover_at(&origin)).await?;
    Service::read(&fetched).map_err(|error| failure(address, error))
}

async fn read<P: Host>(
    ctx: &Context<'_, P>,
    address: &MirroredAddress,
    fetch: &Fetch,
) -> Result<Fetched, Failure> {
    let guard = ctx.config.pull.guard(&address.hostname);
    let seconds = seconds_left(ctx);
    let fetched = ctx.host.upstream().fetch(fetch, &guard, seconds).await;
    fetched.map_err(|error| failure(format_args!("{address}: {}", fetch.what), error))
}

/// Returns how long this request may continue to fetch documents from other registries, in seconds.
pub(crate) fn seconds_left<P: Host>(ctx: &Context<'_, P>) -> u32 {
    let now = ctx.host.clock().now();
    let since = ctx.asking_since.get().unwrap_or(now);
    ctx.asking_since.set(Some(since));
    let spent = u32::try_from(now.0.saturating_sub(since.0)).unwrap_or(u32::MAX);
    PULL_SECONDS.saturating_sub(spent)
}

/// Returns a failure of an origin, prefixed with its subject.
pub(crate) fn failure(what: impl ToString, error: impl ToString) -> Failure {
    Failure::Origin(format!("{}: {}", what.to_string(), error.to_string()))
}
