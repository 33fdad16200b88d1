//! Whether versions in use may still be used.

use terrace_core::api::check::{
    BODY_BYTES, CheckAnswer, CheckBody, CheckedPackage, MISSES, PACKAGES_A_SEARCH,
    PACKAGES_AT_ONCE, UseState, UsedPackage, statuses_in,
};
use terrace_core::auth::access::Owner;
use terrace_core::http::problem::Problem;
use terrace_core::index::overview::{Overview, OverviewVersion};
use terrace_core::model::own_hosts::OwnHosts;
use terrace_core::model::package::Package;
use terrace_core::model::version::Version;
use terrace_core::storage::key::IndexKey;

use crate::context::Context;
use crate::failure::Failure;
use crate::host::{Host, Request};
use crate::index::expected_indices;
use crate::outcome::{Call, Handled};
use crate::read::reader;
use crate::{body, json, listings};

/// Judges the packages of a request.
pub(crate) async fn check<P: Host, R: Request<Stream = P::Stream>>(
    ctx: &Context<'_, P>,
    call: Call,
    mut request: R,
) -> Handled<P::Stream> {
    listings::ensure_may_search(ctx, &call.caller)?;
    let bytes = body::whole(&mut request, BODY_BYTES).await?;
    let body: CheckBody = json::parse(&bytes)?;
    let packages = checked(ctx, &call, body.packages).await?;
    Ok(json::reply(200, &CheckAnswer { packages })?.into())
}

/// Judges packages by one bulk read. A package that the caller may not see is unknown, and is not read.
///
/// # Errors
/// There are too many packages, or an address is none; an anonymous caller made too many searches, as which the packages
/// count.
pub(crate) async fn checked<P: Host>(
    ctx: &Context<'_, P>,
    call: &Call,
    used: Vec<UsedPackage>,
) -> Result<Vec<CheckedPackage>, Failure> {
    body::check_count(used.len(), PACKAGES_AT_ONCE)?;
    for _ in 0..used.len().div_ceil(PACKAGES_A_SEARCH) {
        listings::check_rate(ctx, &call.caller).await?;
    }
    let packages: Vec<Option<Package>> = used
        .iter()
        .map(|used| visible(ctx, call, used))
        .collect::<Result<_, _>>()?;
    let keys: Vec<IndexKey> = packages
        .iter()
        .flatten()
        .map(|package| IndexKey::Overview(package.clone()))
        .collect();
    let found = match keys.is_empty() {
        true => Ok(Vec::new()),
        false => reader::all_stored(ctx, &keys.iter().collect::<Vec<_>>()).await,
    };
    let mut found = found
        .unwrap_or_else(|error| {
            ctx.host.log(&format!("storage: {error}"));
            vec![None; keys.len()]
        })
        .into_iter();
    let mut misses = 0;
    let mut checked = Vec::new();
    for (used, package) in used.into_iter().zip(packages) {
        let Some(package) = package else {
            checked.push(CheckedPackage::without_versions(used, UseState::Unknown));
            continue;
        };
        let stored = found.next().flatten();
        let stored = stored.and_then(|it| statuses_in(&it.text, used.version.as_ref()));
        misses += usize::from(stored.is_none());
        let overview = match stored {
            Some(overview) => Some(overview),
            None if misses > MISSES => {
                checked.push(CheckedPackage::without_versions(used, UseState::Unchecked));
                continue;
            }
            None => of_facts(ctx, &package).await?,
        };
        checked.push(match overview {
            Some(_) if is_blocked(ctx, &package, used.version.as_ref()) => {
                CheckedPackage::without_versions(used, UseState::Blocked)
            }
            Some(mut overview) => {
                let is_blocked =
                    |it: &OverviewVersion| is_blocked(ctx, &package, Some(&it.version));
                overview.versions.retain(|it| !is_blocked(it));
                CheckedPackage::of(used, &overview)
            }
            None => CheckedPackage::without_versions(used, UseState::Unknown),
        });
    }
    Ok(checked)
}

/// Returns the package of an address, if the caller may see it.
///
/// # Errors
/// The address or the constraint is none.
fn visible<P: Host>(
    ctx: &Context<'_, P>,
    call: &Call,
    used: &UsedPackage,
) -> Result<Option<Package>, Problem> {
    used.constraints()
        .map_err(|error| Problem::BadRequest(error.to_string()))?;
    let own = OwnHosts::new(&call.origin, &ctx.config.hostnames);
    let package = own.hosted(body::package(&used.address)?);
    let is_visible = listings::sees(ctx, &call.caller, &Owner::of(&package));
    Ok(is_visible.then_some(package))
}

/// Returns whether the configuration blocks a version of a mirrored provider.
fn is_blocked<P: Host>(ctx: &Context<'_, P>, package: &Package, version: Option<&Version>) -> bool {
    match (package, version) {
        (Package::Mirrored(address), Some(version)) => ctx.config.pull.blocks(address, version),
        _ => false,
    }
}

/// Returns the versions of a package that KV does not have. Origins are not asked.
async fn of_facts<P: Host>(
    ctx: &Context<'_, P>,
    package: &Package,
) -> Result<Option<Overview>, Failure> {
    let lists = expected_indices::version_lists(ctx, package).await?;
    let is_overview = |(key, _): &&(IndexKey, _)| matches!(key, IndexKey::Overview(_));
    let overview = lists.iter().find(is_overview);
    Ok(overview.and_then(|(_, document)| statuses_in(&document.text, None)))
}
