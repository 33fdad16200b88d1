//! Refreshes the indices of published packages after a change: of a version, of the lists of a package, of the
//! releases that a key signed. `index_writer` has the loop that writes them.

use std::cell::{Cell, RefCell};

use futures_util::future::join;
use terrace_core::index::card::CardChange;
use terrace_core::model::name::Namespace;
use terrace_core::model::package::Package;
use terrace_core::publish::IndexScope;
use terrace_core::storage::key::{FactKey, IndexKey};
use terrace_core::storage::release::{Release, SigningKeyDocument};

use crate::access::{auth, rules};
use crate::concurrent::Boxed;
use crate::context::{Context, Task};
use crate::documents::{audit, releases};
use crate::failure::Failure;
use crate::host::{Facts as _, Host, StoreError};
use crate::index::catalog::cards::PreparedCard;
use crate::index::catalog::{cards, shards};
use crate::index::expected_indices::Indexed;
use crate::index::index_writer::Writing;
use crate::index::{expected_indices, index_writer};

/// Maximum number of releases processed per request when their signing key or its status changes. Each takes
/// about a dozen storage operations, and a request may make 1,000
/// (<https://developers.cloudflare.com/workers/platform/limits/#subrequests>).
const SIGNED_RELEASES_AT_ONCE: u32 = 40;

/// Number of storage operations after which a request processes no further release of a signing key.
const SIGNED_OPERATIONS: u32 = 400;

/// The last writes of a request that publishes a release.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LastWrite {
    /// The entry of the audit log: the newest one is read while the indices of the version are written.
    AuditEntry,
    /// The indices: the request is the read of a client, and is not audited.
    Indices,
}

/// Writes the indices of a release after its commit and the change of the marker: those of the version and, at the same time, the lists.
/// All of them are compared with the newest facts in the end, even if some cannot be written.
///
/// # Errors
/// If an index of a protocol may not be the newest one.
pub(crate) async fn publish_release<P: Host>(
    ctx: &Context<'_, P>,
    release: &Release,
    scope: IndexScope,
    last: LastWrite,
) -> Result<(), Failure> {
    let package = release.package();
    let version = write_version(ctx, release);
    let lists = async {
        if scope == IndexScope::Version {
            return Ok(());
        }
        let written = write_lists(ctx, &package).await?;
        publish_catalog(ctx, &package, written);
        if last == LastWrite::AuditEntry {
            audit::read_ahead(ctx).await;
        }
        Ok(())
    };
    let (version, lists) = join(version, lists).await;
    match (report_version(ctx, release, version), lists) {
        (Err(failure), Err(other)) => {
            ctx.report(other);
            Err(failure)
        }
        (version, lists) => version.and(lists),
    }
}

/// Writes the version lists and the card of a package after a commit, and the catalogue of its owner after the response. The
/// catalogue is written even if the card is unchanged: an earlier attempt may have been interrupted after it wrote the card.
///
/// # Errors
/// If a list of a protocol may not be the newest one. The overview, the card and the catalogue cause no error: a task after the
/// response writes them, or else the repair does.
pub(crate) async fn publish_lists<P: Host>(
    ctx: &Context<'_, P>,
    package: &Package,
) -> Result<(), Failure> {
    let written = write_lists(ctx, package).await?;
    publish_catalog(ctx, package, written);
    Ok(())
}

fn publish_catalog<P: Host>(
    ctx: &Context<'_, P>,
    package: &Package,
    written: Result<CardChange, Failure>,
) {
    match written {
        Ok(change) => shards::publish_later(ctx, package, change),
        Err(failure) => {
            ctx.report(failure);
            ctx.defer(Task::RefreshOverview(package.clone()));
        }
    }
}

/// Writes the version lists and the card of a package, and the catalogue of its owner if the card has changed.
///
/// # Errors
/// As [`publish_lists`].
pub(crate) async fn refresh_package<P: Host>(
    ctx: &Context<'_, P>,
    package: &Package,
) -> Result<(), Failure> {
    match write_lists(ctx, package).await? {
        Ok(CardChange::Unchanged) => {}
        written => publish_catalog(ctx, package, written),
    }
    Ok(())
}

/// Writes the overview and the card of a package, after a response that could not wait for them. The lists are written.
pub(crate) async fn complete_overview<P: Host>(
    ctx: &Context<'_, P>,
    package: &Package,
) -> Result<(), Failure> {
    refresh_people(ctx, package).await?;
    // The failed attempt may have changed the card in any way.
    shards::publish_later(ctx, package, CardChange::Shrunk);
    Ok(())
}

async fn refresh_people<P: Host>(
    ctx: &Context<'_, P>,
    package: &Package,
) -> Result<CardChange, Failure> {
    refresh_overview(ctx, package).await?;
    refresh_card(ctx, package).await
}

/// Writes the version lists and the card of a package, like [`publish_lists`], but not the catalogue of its owner.
///
/// # Errors
/// If a list or the card may not be the newest one. A retry of the same request fixes that.
pub(crate) async fn refresh_lists<P: Host>(
    ctx: &Context<'_, P>,
    package: &Package,
) -> Result<CardChange, Failure> {
    match write_lists(ctx, package).await? {
        Err(Failure::Store(StoreError::Busy(_))) => refresh_people(ctx, package).await,
        written => written,
    }
}

/// Writes the version lists and then the card of a package, and again as long as other requests commit in the meantime. The inner
/// error is that of the overview or the card, which only people read.
/// [`terrace_core::index`] explains why this ends with the newest ones.
async fn write_lists<P: Host>(
    ctx: &Context<'_, P>,
    package: &Package,
) -> Result<Result<CardChange, Failure>, Failure> {
    let writing = Writing::coalesced(IndexKey::Tags(package.clone()));
    let change = Cell::new(CardChange::Unchanged);
    let unwritten = RefCell::new(None);
    let write = || -> Boxed<'_> {
        Box::pin(async {
            rules::read_before_writing(ctx, package).await?;
            let lists = expected_indices::package_lists_for_clients(ctx, package).await?;
            let written = index_writer::write_for_clients(ctx, &lists.lists, &writing);
            let card = cards::prepare(ctx, package, &lists.overview);
            let (failed, card) = join(written, card).await;
            let failed = lists.failure.or(failed?.map(Failure::from));
            let card = match failed {
                Some(failure) => Err(failure),
                None => write_card(ctx, card).await,
            };
            let card = card.map(|written| change.set(change.get().and(written)));
            unwritten.replace(card.err());
            Ok(())
        })
    };
    catch_up(ctx, package, &writing, &write).await?;
    Ok(unwritten.into_inner().map_or(Ok(change.get()), Err))
}

async fn write_card<P: Host>(
    ctx: &Context<'_, P>,
    prepared: Result<PreparedCard, Failure>,
) -> Result<CardChange, Failure> {
    cards::write_prepared(ctx, prepared?).await
}

/// Writes the overview of a package, if its other lists are correct.
async fn refresh_overview<P: Host>(ctx: &Context<'_, P>, package: &Package) -> Result<(), Failure> {
    let writing = Writing::coalesced(IndexKey::Overview(package.clone()));
    let write = || -> Boxed<'_> {
        Box::pin(async {
            rules::read_before_writing(ctx, package).await?;
            let mut indices = expected_indices::version_lists(ctx, package).await?;
            indices.retain(|(key, _)| matches!(key, IndexKey::Overview(_)));
            Ok(index_writer::write(ctx, &indices, &writing).await?)
        })
    };
    catch_up(ctx, package, &writing, &write).await
}

/// Writes the card of a package, if its lists are correct.
///
/// # Errors
/// As [`refresh_lists`].
pub(crate) async fn refresh_card<P: Host>(
    ctx: &Context<'_, P>,
    package: &Package,
) -> Result<CardChange, Failure> {
    let change = Cell::new(CardChange::Unchanged);
    let write = || -> Boxed<'_> {
        Box::pin(async {
            rules::read_before_writing(ctx, package).await?;
            let lists = expected_indices::package_lists(ctx, package).await?;
            let written = cards::write(ctx, package, &lists.overview).await?;
            change.set(change.get().and(written));
            Ok(())
        })
    };
    let marker = FactKey::Change(package.clone());
    match index_writer::until_current(ctx, &marker, &Writing::alone(), &write).await? {
        true => Ok(change.get()),
        false => Err(Failure::Outrun(package.clone())),
    }
}

/// Writes the index that describes a version, and none of its other indices.
///
/// # Errors
/// As [`refresh_lists`].
pub(crate) async fn refresh_about<P: Host>(
    ctx: &Context<'_, P>,
    release: &Release,
) -> Result<(), Failure> {
    let package = release.package();
    let key = IndexKey::About(package.clone(), release.version().clone());
    let writing = Writing::coalesced(key);
    let write = || -> Boxed<'_> {
        Box::pin(async {
            // Its documentation changes, and it may be erased.
            let stored = releases::find(ctx, &package, release.version()).await?;
            let about = expected_indices::about(ctx, stored.as_ref().unwrap_or(release)).await?;
            Ok(index_writer::write(ctx, &vec![about], &writing).await?)
        })
    };
    catch_up(ctx, &package, &writing, &write).await
}

/// Writes the indices of a version after a commit: its release may gain platforms, and its status may change.
///
/// # Errors
/// If an index of a protocol may not be the newest one. The one that describes the version causes no error.
pub(crate) async fn publish_version<P: Host>(
    ctx: &Context<'_, P>,
    release: &Release,
) -> Result<(), Failure> {
    let written = write_version(ctx, release).await;
    report_version(ctx, release, written)
}

/// Reports that the index that describes a version could not be written, and leaves it to a task.
fn report_version<P: Host>(
    ctx: &Context<'_, P>,
    release: &Release,
    written: Result<Result<(), Failure>, Failure>,
) -> Result<(), Failure> {
    if let Err(failure) = written? {
        ctx.report(failure);
        let about = IndexKey::About(release.package(), release.version().clone());
        ctx.defer(Task::BackfillIndex(about));
    }
    Ok(())
}

/// Writes the indices of a version.
///
/// # Errors
/// If an index may not be the newest one. A retry of the same request fixes that.
pub(crate) async fn refresh_version<P: Host>(
    ctx: &Context<'_, P>,
    release: &Release,
) -> Result<(), Failure> {
    match write_version(ctx, release).await? {
        Err(Failure::Store(StoreError::Busy(_))) => refresh_about(ctx, release).await,
        written => written,
    }
}

/// Writes the indices of a version. The inner error is that of the one that describes the version.
async fn write_version<P: Host>(
    ctx: &Context<'_, P>,
    release: &Release,
) -> Result<Result<(), Failure>, Failure> {
    let (package, version) = (release.package(), release.version());
    let key = IndexKey::Version(package.clone(), version.clone());
    let writing = Writing::coalesced(key);
    let written: RefCell<Option<Indexed>> = RefCell::default();
    let unwritten: RefCell<Option<Failure>> = RefCell::default();
    let write = || -> Boxed<'_> {
        Box::pin(async {
            rules::read_before_writing(ctx, &package).await?;
            let status = expected_indices::package_status(ctx, &package).await?;
            // A version is revoked before it is erased.
            let stored = match release.may_grow() || status.is_revoked(version) {
                true => releases::find(ctx, &package, version).await?,
                false => None,
            };
            let release = stored.as_ref().unwrap_or(release);
            let indices = expected_indices::protocol_indices_with(ctx, &status, release);
            let (indices, about) = join(indices, expected_indices::about(ctx, release)).await;
            let mut indices = indices?;
            let about = about.map(|about| indices.push(about));
            let mut left = about.err();
            // Others may have changed the package without changing the status of this version.
            if left.is_none() && written.borrow().as_ref() == Some(&indices) {
                writing.note_repetition();
                return Ok(());
            }
            written.take();
            let failed = index_writer::write_for_clients(ctx, &indices, &writing).await?;
            left = left.or(failed.map(Failure::from));
            if left.is_none() {
                written.replace(Some(indices));
            }
            unwritten.replace(left);
            Ok(())
        })
    };
    catch_up(ctx, &package, &writing, &write).await?;
    Ok(unwritten.into_inner().map_or(Ok(()), Err))
}

async fn catch_up<'w, P: Host>(
    ctx: &Context<'_, P>,
    package: &Package,
    writing: &Writing,
    write: &dyn Fn() -> Boxed<'w>,
) -> Result<(), Failure> {
    let change = FactKey::Change(package.clone());
    match index_writer::until_current(ctx, &change, writing, write).await? {
        true => Ok(()),
        false => Err(Failure::Outrun(package.clone())),
    }
}

/// Refreshes the indices of the releases that a key signed, chosen by the copy of it that they have. Returns the name of the last
/// release examined, if there are more.
pub(crate) async fn refresh_signed_by<P: Host>(
    ctx: &Context<'_, P>,
    namespace: &Namespace,
    is_signed_by: &dyn Fn(&SigningKeyDocument) -> bool,
    after: Option<&str>,
) -> Result<Option<String>, Failure> {
    let prefix = FactKey::releases_in(namespace);
    let limit = SIGNED_RELEASES_AT_ONCE;
    let page = ctx.host.facts().list(&prefix, after, limit).await?;
    let mut packages: Vec<Package> = Vec::new();
    let began = ctx.operations();
    let (mut last, mut is_truncated) = (None, page.is_truncated);
    for fact in &page.facts {
        if ctx.operations() - began > SIGNED_OPERATIONS {
            is_truncated = true;
            break;
        }
        last = Some(fact.name.clone());
        let named = fact.name.split_once('/');
        let named = named.and_then(|(provider_type, version)| {
            let address = format!("{namespace}/{provider_type}").parse().ok()?;
            Some((Package::Provider(address), version.parse().ok()?))
        });
        let Some((package, version)) = named else {
            continue;
        };
        let Some(release) = releases::find(ctx, &package, &version).await? else {
            continue;
        };
        if !matches!(&release, Release::Provider(it) if is_signed_by(&it.signing_key)) {
            continue;
        }
        if !packages.contains(&package) {
            let change = FactKey::Change(package.clone());
            index_writer::rewrite_change_marker(ctx, &change).await?;
            packages.push(package);
        }
        publish_version(ctx, &release).await?;
    }
    let mut change = CardChange::Unchanged;
    for package in &packages {
        match write_lists(ctx, package).await? {
            Ok(written) => change = change.and(written),
            unwritten => publish_catalog(ctx, package, unwritten),
        }
    }
    // They have one owner.
    if let Some(package) = packages.first() {
        shards::publish_later(ctx, package, change);
    }
    Ok(last.filter(|_| is_truncated))
}

/// Writes the list of revoked tokens and erased digests, and again until it is current.
pub(crate) async fn refresh_revocations<P: Host>(ctx: &Context<'_, P>) -> Result<(), Failure> {
    let writing = Writing::alone();
    let write = || -> Boxed<'_> {
        Box::pin(async {
            let index = auth::revocations(ctx).await?.index();
            Ok(writing.put(ctx, &IndexKey::Revocations, &index).await?)
        })
    };
    let marker = FactKey::RevocationChange;
    until_current(ctx, IndexKey::Revocations, marker, &writing, &write).await
}

/// Writes the list of active rules, and again until it is current.
pub(crate) async fn refresh_rules<P: Host>(ctx: &Context<'_, P>) -> Result<(), Failure> {
    let writing = Writing::alone();
    let write = || -> Boxed<'_> {
        Box::pin(async {
            let index = rules::index(ctx).await?.document();
            Ok(writing.put(ctx, &IndexKey::Rules, &index).await?)
        })
    };
    until_current(ctx, IndexKey::Rules, FactKey::RuleChange, &writing, &write).await
}

async fn until_current<'w, P: Host>(
    ctx: &Context<'_, P>,
    key: IndexKey,
    marker: FactKey,
    writing: &Writing,
    write: &dyn Fn() -> Boxed<'w>,
) -> Result<(), Failure> {
    match index_writer::until_current(ctx, &marker, writing, write).await? {
        true => Ok(()),
        false => Err(StoreError::Busy(key.to_string()).into()),
    }
}
