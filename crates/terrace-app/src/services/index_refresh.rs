//! Refreshes the indices of published packages after a change: of a version, of the lists of a package, of the
//! releases that a key signed. `index_writer` has the loop that writes them.

use std::cell::{Cell, RefCell};

use terrace_core::index::card::CardChange;
use terrace_core::limits;
use terrace_core::model::name::Namespace;
use terrace_core::model::owner::Owner;
use terrace_core::model::package::Package;
use terrace_core::storage::key::{FactKey, IndexKey};
use terrace_core::storage::release::Release;
use terrace_openpgp::KeyId;

use crate::concurrent::Boxed;
use crate::context::Context;
use crate::failure::Failure;
use crate::host::{Facts as _, Host, Indices as _, StoreError};
use crate::services::catalog::{cards, shards};
use crate::services::expected_indices::Indexed;
use crate::services::index_writer::Coalesced;
use crate::services::{auth, expected_indices, index_writer, releases};

/// Writes the version lists and the card of a package after a commit, and then the catalogue of its owner. The catalogue
/// is written even if the card is unchanged: an earlier attempt may have been interrupted after it wrote the card.
///
/// # Errors
/// As [`refresh_lists`]. The catalogue causes none.
pub(crate) async fn publish_lists<P: Host>(
    ctx: &Context<'_, P>,
    package: &Package,
) -> Result<(), Failure> {
    let change = refresh_lists(ctx, package).await?;
    shards::publish(ctx, Owner::of(package), change).await;
    Ok(())
}

/// Writes the version lists and the card of a package, and the catalogue of its owner if the card has changed.
///
/// # Errors
/// As [`refresh_lists`]. The catalogue causes none.
pub(crate) async fn relist<P: Host>(
    ctx: &Context<'_, P>,
    package: &Package,
) -> Result<(), Failure> {
    let change = refresh_lists(ctx, package).await?;
    if change != CardChange::Unchanged {
        shards::publish(ctx, Owner::of(package), change).await;
    }
    Ok(())
}

/// Writes the version lists and then the card of a package, and again as long as other requests commit in the meantime.
/// [`terrace_core::index`] explains why this ends with the newest ones.
///
/// # Errors
/// If a list may not be the newest one. A retry of the same request fixes that.
pub(crate) async fn refresh_lists<P: Host>(
    ctx: &Context<'_, P>,
    package: &Package,
) -> Result<CardChange, Failure> {
    let shared = Coalesced::new(IndexKey::Tags(package.clone()));
    let change = Cell::new(CardChange::Unchanged);
    let write = || -> Boxed<'_> {
        Box::pin(async {
            let lists = expected_indices::package_lists(ctx, package).await?;
            index_writer::write(ctx, &lists.lists, &shared).await?;
            let written = cards::write(ctx, package, &lists.overview).await?;
            change.set(change.get().and(written));
            Ok(())
        })
    };
    catch_up(ctx, package, &shared, &write).await?;
    Ok(change.get())
}

/// Writes the card of a package whose lists are correct.
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
            let lists = expected_indices::package_lists(ctx, package).await?;
            let written = cards::write(ctx, package, &lists.overview).await?;
            change.set(change.get().and(written));
            Ok(())
        })
    };
    let marker = FactKey::Change(package.clone());
    match index_writer::until_current(ctx, &marker, &write).await? {
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
    let shared = Coalesced::new(key);
    let write = || -> Boxed<'_> {
        Box::pin(async {
            let about = expected_indices::about(ctx, release).await?;
            Ok(index_writer::write(ctx, &vec![about], &shared).await?)
        })
    };
    catch_up(ctx, &package, &shared, &write).await
}

/// Writes the indices of a version: its release may gain platforms, and its status may change.
///
/// # Errors
/// As [`refresh_lists`].
pub(crate) async fn refresh_version<P: Host>(
    ctx: &Context<'_, P>,
    release: &Release,
) -> Result<(), Failure> {
    let (package, version) = (release.package(), release.version());
    let shared = Coalesced::new(IndexKey::Version(package.clone(), version.clone()));
    let written: RefCell<Option<Indexed>> = RefCell::default();
    let write = || -> Boxed<'_> {
        Box::pin(async {
            let grown = match release.may_grow() {
                true => releases::find(ctx, &package, version).await?,
                false => None,
            };
            let indices =
                expected_indices::version_indices(ctx, grown.as_ref().unwrap_or(release)).await?;
            // Others may have changed the package without changing the status of this version.
            if written.borrow().as_ref() == Some(&indices) {
                return Ok(());
            }
            written.take();
            index_writer::write(ctx, &indices, &shared).await?;
            written.replace(Some(indices));
            Ok(())
        })
    };
    catch_up(ctx, &package, &shared, &write).await
}

async fn catch_up<'w, P: Host>(
    ctx: &Context<'_, P>,
    package: &Package,
    shared: &Coalesced,
    write: &dyn Fn() -> Boxed<'w>,
) -> Result<(), Failure> {
    let change = FactKey::Change(package.clone());
    match index_writer::coalesced(ctx, &change, Some(shared), write).await? {
        true => Ok(()),
        false => Err(Failure::Outrun(package.clone())),
    }
}

/// Refreshes the indices of the releases that a key signed. Returns the name of the last release examined, if
/// there are more.
pub(crate) async fn refresh_signed_by<P: Host>(
    ctx: &Context<'_, P>,
    namespace: &Namespace,
    key_id: KeyId,
    after: Option<&str>,
) -> Result<Option<String>, Failure> {
    let prefix = FactKey::releases_in(namespace);
    let limit = limits::SIGNED_RELEASES_AT_ONCE;
    let page = ctx.host.facts().list(&prefix, after, limit).await?;
    let mut packages: Vec<Package> = Vec::new();
    let began = ctx.operations();
    let (mut last, mut is_truncated) = (None, page.is_truncated);
    for fact in &page.facts {
        if ctx.operations() - began > limits::SIGNED_OPERATIONS {
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
        if !matches!(&release, Release::Provider(it) if it.signing_key.key_id == key_id) {
            continue;
        }
        if !packages.contains(&package) {
            let change = FactKey::Change(package.clone());
            index_writer::rewrite_change_marker(ctx, &change).await?;
            packages.push(package);
        }
        refresh_version(ctx, &release).await?;
    }
    let mut change = CardChange::Unchanged;
    for package in &packages {
        change = change.and(refresh_lists(ctx, package).await?);
    }
    if !packages.is_empty() {
        shards::publish(ctx, Owner::of_namespace(namespace.as_str()), change).await;
    }
    Ok(last.filter(|_| is_truncated))
}

/// Writes the list of revoked tokens, and again until it is current.
pub(crate) async fn refresh_revocations<P: Host>(ctx: &Context<'_, P>) -> Result<(), Failure> {
    let write = || -> Boxed<'_> {
        Box::pin(async {
            let revocations = auth::revocations(ctx).await?;
            let index = revocations.index();
            let key = IndexKey::Revocations;
            Ok(ctx.host.indices().put(&key, &index).await?)
        })
    };
    match index_writer::until_current(ctx, &FactKey::RevocationChange, &write).await? {
        true => Ok(()),
        false => Err(StoreError::Busy(IndexKey::Revocations.to_string()).into()),
    }
}
