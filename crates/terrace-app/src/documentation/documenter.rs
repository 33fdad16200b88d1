//! Adds, replaces and removes the documentation of versions.
//!
//! The document is written first, by compare-and-swap, and only then the release is looked up. A publish commits its
//! release before it reads the documentation for its indices. So of the two, at least the later one writes indices with
//! the documentation.

use terrace_base::digest::Sha256;
use terrace_base::time::UnixTime;
use terrace_core::http::problem::Problem;
use terrace_core::limits;
use terrace_core::model::package::Package;
use terrace_core::model::version::Version;
use terrace_core::publish::DocumentationPublication;
use terrace_core::storage::documentation::{
    DOCUMENTATION_REMOVAL_SECONDS, DocumentationArchive, DocumentationDocument,
};
use terrace_core::storage::key::{FactKey, StagedKey};
use terrace_core::storage::release::Release;

use crate::archives::{staging, stored_archives};
use crate::context::Context;
use crate::documentation::documentation_removal;
use crate::documents;
use crate::documents::documentation::UnusableHead;
use crate::documents::{documentation, releases};
use crate::failure::Failure;
use crate::host::{Clock as _, Condition, Host};
use crate::removal::garbage;
use crate::removal::garbage::GcFence;

/// The outcome of adding documentation.
pub(crate) enum Addition {
    /// The version has this documentation now.
    Stored(Change, DocumentationDocument),
    /// The archive is missing.
    ArchiveMissing,
}

/// The outcome of removing documentation.
pub(crate) enum Removal {
    /// It is removed: the archive, unless the document was damaged.
    Removed(Option<Sha256>),
    /// The version had none.
    Absent,
}

/// The difference that an addition made.
pub(crate) enum Change {
    /// The version had no documentation.
    Created,
    /// The version had other documentation.
    Changed,
    /// The version already had this documentation.
    Unchanged,
}

/// Adds documentation, or replaces it. If the caller must prove possession (`requires_possession`), only an archive that
/// was staged for this version counts.
pub(crate) async fn add<P: Host>(
    ctx: &Context<'_, P>,
    publication: &DocumentationPublication,
    by: &str,
    requires_possession: bool,
) -> Result<Addition, Failure> {
    let DocumentationPublication {
        package,
        version,
        archive,
    } = publication;
    let key = FactKey::Documentation(package.clone(), version.clone());
    let object = archive.archive_key().into();
    loop {
        let fence = garbage::fence(ctx).await?;
        let (stored, unchanged) = documentation::find_for_change(ctx, &key).await?;
        ensure_kept(ctx, stored.as_ref())?;
        let same = stored.as_ref().filter(|stored| stored.archive == *archive);
        let is_complete = same.is_some()
            && stored_archives::is_stored(ctx, object, Some(archive.size), &fence).await?;
        if !is_complete {
            if !is_available(ctx, publication, requires_possession, &fence).await? {
                return Ok(Addition::ArchiveMissing);
            }
            check_head(ctx, publication).await?;
        }
        if let Some(same) = same
            && !is_renewed(ctx, publication, same).await?
        {
            return Ok(Addition::Stored(Change::Unchanged, same.clone()));
        }
        garbage::ensure_fresh(ctx, &fence)?;
        let now = ctx.host.clock().now();
        let (change, document) = next_state(stored, archive, now, by.to_owned());
        // Otherwise another publisher has changed it.
        if documentation::put(ctx, &key, &document, unchanged).await? {
            return Ok(Addition::Stored(change, document));
        }
    }
}

/// Returns the state after `archive` was sent, and the difference that it makes.
fn next_state(
    stored: Option<DocumentationDocument>,
    archive: &DocumentationArchive,
    now: UnixTime,
    by: String,
) -> (Change, DocumentationDocument) {
    let change = match stored {
        Some(same) if same.archive == *archive => {
            return (Change::Unchanged, same.renewed(now, by));
        }
        Some(_) => Change::Changed,
        None => Change::Created,
    };
    let document = DocumentationDocument::after(stored, archive.clone(), now, by);
    (change, document)
}

/// Ensures that no other request or repair is about to remove the documentation, which would also remove a newer state.
fn ensure_kept<P: Host>(
    ctx: &Context<'_, P>,
    stored: Option<&DocumentationDocument>,
) -> Result<(), Problem> {
    let now = ctx.host.clock().now();
    match stored.is_some_and(|stored| stored.is_being_removed(now)) {
        false => Ok(()),
        true => Err(Problem::Unavailable(format!(
            "the documentation of this version is being removed: send the same request again in {} s",
            DOCUMENTATION_REMOVAL_SECONDS
        ))),
    }
}

/// Returns whether documentation that waits for its release is stored again, so that it does not count as abandoned while
/// the publish goes on.
async fn is_renewed<P: Host>(
    ctx: &Context<'_, P>,
    publication: &DocumentationPublication,
    stored: &DocumentationDocument,
) -> Result<bool, Failure> {
    if stored.is_in_removal() {
        return Ok(true);
    }
    let age = ctx.host.clock().now().since(stored.changed_at());
    if age < limits::DOCUMENTATION_ABANDONED_SECONDS / 2 {
        return Ok(false);
    }
    let found = releases::find(ctx, &publication.package, &publication.version);
    Ok(found.await?.is_none())
}

/// Returns whether the archive is stored, with its digest and its length.
async fn is_available<P: Host>(
    ctx: &Context<'_, P>,
    publication: &DocumentationPublication,
    requires_possession: bool,
    fence: &GcFence,
) -> Result<bool, Failure> {
    let archive = &publication.archive;
    let staged = staged_key(publication);
    garbage::ensure_not_erased(ctx, staged.archive.into(), fence).await?;
    let object = archive.archive_key().into();
    if !garbage::claim(ctx, object, fence).await? {
        return Err(garbage::being_removed(object).into());
    }
    if requires_possession && !staging::promote_archive(ctx, staged).await? {
        return Ok(false);
    }
    if stored_archives::is_stored(ctx, object, Some(archive.size), fence).await? {
        return Ok(true);
    }
    if !stored_archives::is_stored(ctx, object, None, fence).await? {
        return Ok(false);
    }
    let reason = format!(
        "size is {}: the stored archive with this digest has another length",
        archive.size
    );
    Err(Problem::Invalid(vec![reason]).into())
}

/// Checks that the head of the archive describes this package.
async fn check_head<P: Host>(
    ctx: &Context<'_, P>,
    publication: &DocumentationPublication,
) -> Result<(), Failure> {
    let archive = &publication.archive;
    match documentation::read_head(ctx, &publication.package, archive).await? {
        Ok(_) => Ok(()),
        Err(UnusableHead::Missing) => {
            let message = format!(
                "{} was removed: send the same request again",
                archive.archive_key()
            );
            Err(Problem::Unavailable(message).into())
        }
        Err(reason) => Err(Problem::Invalid(vec![reason.to_string()]).into()),
    }
}

/// Removes the documentation of a version, only that with the archive `expected` if it is given. Refreshes the indices even
/// if there is none: an interrupted request is repeated.
pub(crate) async fn remove<P: Host>(
    ctx: &Context<'_, P>,
    package: &Package,
    version: &Version,
    expected: Option<Sha256>,
) -> Result<Removal, Failure> {
    let key = FactKey::Documentation(package.clone(), version.clone());
    let found = documentation::find_for_change(ctx, &key).await;
    let removal = match documents::intact(ctx, found)? {
        Some((None, _)) => Removal::Absent,
        Some((Some(stored), unchanged)) => {
            let archive = stored.archive.sha256;
            ensure_expected(Some(archive), expected)?;
            remove_unchanged(ctx, &key, stored, unchanged).await?;
            Removal::Removed(Some(archive))
        }
        // No publisher replaces a damaged document.
        None => {
            ensure_expected(None, expected)?;
            documentation::remove(ctx, &key, None).await?;
            Removal::Removed(None)
        }
    };
    refresh(ctx, package, version).await?;
    Ok(removal)
}

fn ensure_expected(stored: Option<Sha256>, expected: Option<Sha256>) -> Result<(), Problem> {
    match expected.is_none() || stored == expected {
        true => Ok(()),
        false => Err(Problem::Conflict(vec![
            "the version has other documentation than sha256 states, and it was kept: to remove that, send the request with its \
             digest"
                .to_owned(),
        ])),
    }
}

/// Removes a document unless it has changed.
async fn remove_unchanged<P: Host>(
    ctx: &Context<'_, P>,
    key: &FactKey,
    stored: DocumentationDocument,
    unchanged: Condition,
) -> Result<(), Failure> {
    ensure_kept(ctx, Some(&stored))?;
    let marked_at = ctx.host.clock().now();
    if !documentation::put(ctx, key, &stored.in_removal(marked_at), unchanged).await? {
        let reason = "another request has changed the documentation in the meantime, and it was kept: to remove it, send the same \
                      request again";
        return Err(Problem::Conflict(vec![reason.to_owned()]).into());
    }
    if documentation::remove(ctx, key, Some(marked_at)).await? {
        return Ok(());
    }
    let reason = "the removal took too long, and the documentation was kept: send the same request again in a minute";
    Err(Problem::Unavailable(reason.to_owned()).into())
}

/// Removes the documentation of a version that was erased, whatever its state: none may be added.
pub(crate) async fn discard<P: Host>(
    ctx: &Context<'_, P>,
    package: &Package,
    version: &Version,
) -> Result<(), Failure> {
    let key = FactKey::Documentation(package.clone(), version.clone());
    documentation::remove(ctx, &key, None).await?;
    Ok(())
}

/// Refreshes everything that follows from the documentation of a version, after it was added. Returns whether the version is
/// published; until then nothing follows.
pub(crate) async fn refresh_added<P: Host>(
    ctx: &Context<'_, P>,
    package: &Package,
    version: &Version,
) -> Result<bool, Failure> {
    let Some(release) = live_release(ctx, package, version).await? else {
        return Ok(false);
    };
    // An erasure lists the documentation after it has made the tombstones.
    let fence = garbage::fence(ctx).await?;
    let kept = garbage::ensure_release_kept(ctx, &release, &fence).await;
    if let Err(Failure::Problem(Problem::Gone(_))) = kept {
        documentation_removal::discard(ctx, package, version).await?;
    }
    kept?;
    refresh_release(ctx, &release).await?;
    Ok(true)
}

/// Refreshes everything that follows from the documentation of a version, after it was removed. Nothing follows before the
/// version is published.
pub(crate) async fn refresh<P: Host>(
    ctx: &Context<'_, P>,
    package: &Package,
    version: &Version,
) -> Result<(), Failure> {
    match live_release(ctx, package, version).await? {
        Some(release) => refresh_release(ctx, &release).await,
        None => Ok(()),
    }
}

/// Refreshes everything that follows from the documentation of a release.
async fn refresh_release<P: Host>(ctx: &Context<'_, P>, release: &Release) -> Result<(), Failure> {
    let package = release.package();
    let published = std::slice::from_ref(release);
    documentation_removal::refresh_releases(ctx, &package, published).await
}

/// Returns the release of a version, if it is published.
///
/// # Errors
/// [`Problem::Gone`] for one that was erased; documentation that was stored after the erasure is removed.
async fn live_release<P: Host>(
    ctx: &Context<'_, P>,
    package: &Package,
    version: &Version,
) -> Result<Option<Release>, Failure> {
    let release = releases::find(ctx, package, version).await?;
    if let Some(tombstone) = release.as_ref().and_then(Release::erased) {
        // No index shows it.
        documentation_removal::discard(ctx, package, version).await?;
        return Err(Problem::Gone(tombstone.message()).into());
    }
    Ok(release)
}

/// Returns the key under which the archive is staged.
pub(crate) fn staged_key(publication: &DocumentationPublication) -> StagedKey {
    let key = publication.archive.archive_key();
    key.staged_for(&publication.package, &publication.version)
}
