//! Refreshes indices after a change: of a version, of the lists of a package, of the releases that a key signed, of the rules and
//! revocations. `index_writer` has the loop that writes them. They differ in the catalogue of the owner: [`publish_lists`] always
//! leaves it to a task after the response, [`refresh_package`] if the card has changed, and [`refresh_lists`] to its caller.

use std::cell::{Cell, RefCell};

use futures_util::future::join;
use terrace_core::index::card::CardChange;
use terrace_core::model::name::Namespace;
use terrace_core::model::package::Package;
use terrace_core::publish::IndexScope;
use terrace_core::storage::index_document::IndexDocument;
use terrace_core::storage::key::{FactKey, IndexKey};
use terrace_core::storage::release::{Release, SigningKeyDocument};

use crate::access::{auth, rules};
use crate::concurrent::Boxed;
use crate::context::Context;
use crate::documents::{audit, releases};
use crate::failure::Failure;
use crate::host::{Facts as _, Host, StoreError};
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

/// Writes the indices of a release after its commit and the change of the marker: those of the version and, at the same time, unless
/// `scope` is the version alone, the lists. If one of both fails, the other is completed nevertheless.
///
/// # Errors
/// If an index may not be the newest one. A retry of the same request fixes that.
pub(crate) async fn publish_release<P: Host>(
    ctx: &Context<'_, P>,
    release: &Release,
    scope: IndexScope,
    last: LastWrite,
) -> Result<(), Failure> {
    let package = release.package();
    let version = refresh_version(ctx, release);
    let lists = async {
        if scope == IndexScope::Version {
            return Ok(());
        }
        publish_lists(ctx, &package).await?;
        if last == LastWrite::AuditEntry {
            audit::read_ahead(ctx).await;
        }
        Ok(())
    };
    let (version, lists) = join(version, lists).await;
    ctx.both(version, lists)
}

/// Writes the version lists and the card of a package after a commit, and the catalogue of its owner after the response. The
/// catalogue is written even if the card is unchanged: an earlier attempt may have been interrupted after it wrote the card.
///
/// # Errors
/// As [`refresh_lists`]. The catalogue causes no error: a task after the response writes it, or else the repair does.
pub(crate) async fn publish_lists<P: Host>(
    ctx: &Context<'_, P>,
    package: &Package,
) -> Result<(), Failure> {
    let change = Cell::new(CardChange::Unchanged);
    let written = refresh_lists(ctx, package, &change).await;
    publish_catalog(ctx, package, change.get(), written)
}

/// Has the catalogue of an owner written after the response, unless the lists have failed before the card was written.
fn publish_catalog<P: Host>(
    ctx: &Context<'_, P>,
    package: &Package,
    change: CardChange,
    written: Result<(), Failure>,
) -> Result<(), Failure> {
    if written.is_ok() || change != CardChange::Unchanged {
        shards::publish_later(ctx, package, change);
    }
    written
}

/// Writes the version lists and the card of a package, and after the response the catalogue of its owner, if the card may have changed.
///
/// # Errors
/// As [`refresh_lists`].
pub(crate) async fn refresh_package<P: Host>(
    ctx: &Context<'_, P>,
    package: &Package,
) -> Result<(), Failure> {
    let change = Cell::new(CardChange::Unchanged);
    let written = refresh_lists(ctx, package, &change).await;
    if change.get() != CardChange::Unchanged {
        shards::publish_later(ctx, package, change.get());
    }
    written
}

/// Writes the version lists and then the card of a package, and again as long as other requests commit in the meantime, but not
/// the catalogue of its owner. [`terrace_core::index`] explains why this ends with the newest ones. `change` gets what the card may
/// have changed by, also after an error: a write that failed may have taken effect, and its retry finds the card unchanged.
///
/// # Errors
/// If a list or the card may not be the newest one. A retry of the same request fixes that.
pub(crate) async fn refresh_lists<P: Host>(
    ctx: &Context<'_, P>,
    package: &Package,
    change: &Cell<CardChange>,
) -> Result<(), Failure> {
    let writing = Writing::coalesced(IndexKey::Tags(package.clone()));
    let write = || -> Boxed<'_> {
        Box::pin(async {
            rules::read_before_writing(ctx, package).await?;
            let lists = expected_indices::package_lists(ctx, package).await?;
            let written = index_writer::write(ctx, &lists.lists, &writing);
            let card = cards::prepare(ctx, package, &lists.overview);
            let (written, card) = join(written, card).await;
            written?;
            let written = cards::write(ctx, card?).await;
            note(change, &written);
            written.map(drop)
        })
    };
    catch_up(ctx, package, &writing, &write).await
}

/// Adds what the card may have changed by.
fn note<E>(change: &Cell<CardChange>, written: &Result<CardChange, E>) {
    let written = written.as_ref().copied();
    change.set(change.get().max(written.unwrap_or(CardChange::Shrunk)));
}

/// Writes the card of a package that has correct lists.
///
/// # Errors
/// As [`refresh_lists`].
pub(crate) async fn refresh_card<P: Host>(
    ctx: &Context<'_, P>,
    package: &Package,
    change: &Cell<CardChange>,
) -> Result<(), Failure> {
    let write = || -> Boxed<'_> {
        Box::pin(async {
            rules::read_before_writing(ctx, package).await?;
            let lists = expected_indices::package_lists(ctx, package).await?;
            let card = cards::prepare(ctx, package, &lists.overview).await?;
            let written = cards::write(ctx, card).await;
            note(change, &written);
            written.map(drop)
        })
    };
    catch_up(ctx, package, &Writing::alone(), &write).await
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
/// If an index may not be the newest one. A retry of the same request fixes that.
pub(crate) async fn refresh_version<P: Host>(
    ctx: &Context<'_, P>,
    release: &Release,
) -> Result<(), Failure> {
    let (package, version) = (release.package(), release.version());
    let key = IndexKey::Version(package.clone(), version.clone());
    let writing = Writing::coalesced(key);
    let written: RefCell<Option<Indexed>> = RefCell::default();
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
            let indices = expected_indices::version_indices_with(ctx, &status, release).await?;
            // Others may have changed the package without changing the status of this version.
            if written.borrow().as_ref() == Some(&indices) {
                writing.note_repetition();
                return Ok(());
            }
            written.take();
            index_writer::write(ctx, &indices, &writing).await?;
            written.replace(Some(indices));
            Ok(())
        })
    };
    catch_up(ctx, &package, &writing, &write).await
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
        refresh_version(ctx, &release).await?;
    }
    let change = Cell::new(CardChange::Unchanged);
    let written = async {
        for package in &packages {
            refresh_lists(ctx, package, &change).await?;
        }
        Ok(())
    };
    let written = written.await;
    // They have one owner.
    if let Some(package) = packages.first() {
        publish_catalog(ctx, package, change.get(), written)?;
    }
    Ok(last.filter(|_| is_truncated))
}

/// Writes the list of revoked tokens and erased digests, and again until it is current.
pub(crate) async fn refresh_revocations<P: Host>(ctx: &Context<'_, P>) -> Result<(), Failure> {
    let expected = async || Ok(auth::revocations(ctx).await?.index());
    let marker = FactKey::RevocationChange;
    refresh_list(ctx, IndexKey::Revocations, marker, expected).await
}

/// Writes the list of active rules, and again until it is current.
pub(crate) async fn refresh_rules<P: Host>(ctx: &Context<'_, P>) -> Result<(), Failure> {
    let expected = async || Ok(rules::index(ctx).await?.document());
    refresh_list(ctx, IndexKey::Rules, FactKey::RuleChange, expected).await
}

async fn refresh_list<P: Host>(
    ctx: &Context<'_, P>,
    key: IndexKey,
    marker: FactKey,
    expected: impl AsyncFn() -> Result<IndexDocument, Failure>,
) -> Result<(), Failure> {
    let writing = Writing::alone();
    let write = || -> Boxed<'_> {
        Box::pin(async { Ok(writing.put(ctx, &key, &expected().await?).await?) })
    };
    match index_writer::until_current(ctx, &marker, &writing, &write).await? {
        true => Ok(()),
        false => Err(StoreError::Busy(key.to_string()).into()),
    }
}
