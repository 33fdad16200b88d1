//! Erases versions, archives and pushed content: first the tombstones, then the bytes. Each step may be repeated, so the same request completes
//! an interrupted erasure.

pub(crate) mod erased_documentation;
pub(crate) mod handler;

use terrace_base::time::UnixTime;
use terrace_core::auth::access::Caller;
use terrace_core::http::problem::Problem;
use terrace_core::limits;
use terrace_core::maintenance::garbage::FENCE_SECONDS;
use terrace_core::maintenance::garbage::GarbageDocument;
use terrace_core::model::oci::{Digest, RepositoryName};
use terrace_core::model::package::Package;
use terrace_core::model::status::{Reason, ReleaseState, ReleaseStatus};
use terrace_core::model::version::Version;
use terrace_core::publish::{StoredRelease, release_metadata};
use terrace_core::storage::key::{ArchiveKey, BytesKey, FactKey, STAGED};
use terrace_core::storage::release::{ErasedRelease, Release};

use crate::access::status;
use crate::context::Context;
use crate::documentation::documenter;
use crate::documents::{documentation, releases};
use crate::failure::Failure;
use crate::host::{Archives as _, Condition, Host};
use crate::index::catalog::shards;
use crate::index::{index_refresh, index_writer};
use crate::oci::{blobs, manifests, pushed_index_refresh};
use crate::removal::garbage;
use crate::{documents, removal};

/// The page size of a listing of staged uploads.
const UPLOADS_PER_LISTING: u32 = 1_000;

/// Erases a version with its documentation, except for its archives: from now on it is revoked, and its tombstone takes the
/// place of its release. Adds its name to `done` as soon as it has its tombstone. Returns the tombstone, which may have existed
/// before.
pub(crate) async fn erase_release<P: Host>(
    ctx: &Context<'_, P>,
    caller: &Caller,
    (package, version): (&Package, &Version),
    (now, reason): (UnixTime, Reason),
    done: &mut Vec<String>,
) -> Result<ErasedRelease, Failure> {
    let release = releases::find(ctx, package, version).await?;
    let release = release.ok_or_else(|| absent(package, version))?;
    let reason = match release.erased() {
        Some(tombstone) => tombstone.reason.clone(),
        None => reason,
    };
    revoke(ctx, caller, (package, version), (now, &reason)).await?;
    if release.erased().is_none() {
        // From here on no index leads to the archives.
        refresh_version(ctx, &release).await?;
    }
    let tombstone = bury(ctx, (package, version), (now, &reason)).await?;
    done.push(release_name(package, version));
    // Another request may have restored the version before it was erased.
    revoke(ctx, caller, (package, version), (now, &tombstone.reason)).await?;
    documenter::discard(ctx, package, version).await?;
    Ok(tombstone)
}

/// Returns the name of a version in the audit log.
pub(crate) fn release_name(package: &Package, version: &Version) -> String {
    format!("{}@{version}", package.address())
}

/// Writes the indices of an erased version, the lists and the catalogue, after its archives are erased.
pub(crate) async fn refresh<P: Host>(
    ctx: &Context<'_, P>,
    tombstone: ErasedRelease,
) -> Result<(), Failure> {
    let (package, version) = (tombstone.package.clone(), tombstone.version.clone());
    refresh_version(ctx, &Release::Erased(tombstone)).await?;
    // What people see must not outlive the version either.
    let change = index_refresh::refresh_lists(ctx, &package).await?;
    shards::publish(ctx, &package, change).await;
    if let Package::Mirrored(address) = &package {
        pushed_index_refresh::refresh_versions(ctx, address, &version).await?;
    }
    Ok(())
}

/// Erases archives: nothing stores them or refers to them any more. Staged uploads with their bytes are removed, too. Adds the
/// name of each that has its tombstone to `done`. Returns the time of the newest tombstone; `None` without archives.
pub(crate) async fn erase_archives<P: Host>(
    ctx: &Context<'_, P>,
    archives: &[ArchiveKey],
    (now, reason): (UnixTime, &Reason),
    done: &mut Vec<String>,
) -> Result<Option<UnixTime>, Failure> {
    let mut newest = None;
    for archive in archives {
        let tombstone = GarbageDocument::erased(reason.clone(), now);
        let bytes = BytesKey::from(*archive);
        let since = garbage::bury(ctx, bytes, tombstone).await?;
        newest = newest.max(Some(since));
        done.push(archive.to_string());
        removal::discard_buried(ctx, bytes).await?;
    }
    if newest.is_some() {
        discard_staged(ctx, archives).await?;
    }
    Ok(newest)
}

/// Pushed content to erase: its digest, and the repositories that have it.
pub(crate) type PushedContent = (Digest, Vec<RepositoryName>);

/// Erases blobs and manifests: the repositories lose their links, manifests, tags and referrers with these digests, and nothing
/// stores content with them any more. Adds the names of the blobs that have a tombstone to `done`, and those of the places that
/// lost them. Returns the time of the newest tombstone; `None` without content.
pub(crate) async fn erase_contents<P: Host>(
    ctx: &Context<'_, P>,
    contents: &[PushedContent],
    (now, reason): (UnixTime, &Reason),
    done: &mut Vec<String>,
) -> Result<Option<UnixTime>, Failure> {
    let mut newest = None;
    for (digest, _) in contents {
        let tombstone = GarbageDocument::erased(reason.clone(), now);
        let blob = BytesKey::Blob(*digest);
        let since = garbage::bury(ctx, blob, tombstone).await?;
        newest = newest.max(Some(since));
        done.push(blob.to_string());
    }
    for (digest, repositories) in contents {
        for repository in repositories {
            manifests::discard(ctx, repository, *digest).await?;
            blobs::unlink(ctx, repository, *digest).await?;
            done.push(format!("{repository}@{digest}"));
        }
    }
    // From here on no index leads to the blobs.
    for (digest, _) in contents {
        let blob = BytesKey::Blob(*digest);
        removal::discard_everywhere(ctx, blob).await?;
    }
    Ok(newest)
}

/// Keeps caches from serving bytes that were erased or removed: isolates learn the digests within a minute, and the
/// platform's cache of archives loses its copies.
pub(crate) async fn withdraw_from_caches<P: Host>(
    ctx: &Context<'_, P>,
    removed: &[Digest],
) -> Result<(), Failure> {
    if removed.is_empty() {
        return Ok(());
    }
    let listed = list_erased(ctx).await;
    // Also if the list could not be written: then the copies in the cache could be downloaded until the request is repeated.
    removal::purge_cached(ctx, removed).await;
    listed
}

/// Writes the list of erased digests, which isolates keep.
async fn list_erased<P: Host>(ctx: &Context<'_, P>) -> Result<(), Failure> {
    index_writer::rewrite_change_marker(ctx, &FactKey::RevocationChange).await?;
    index_refresh::refresh_revocations(ctx).await
}

/// Returns the time until which a URL that was signed before an erasure may upload the archive again. A request that has read
/// the marks before may sign one a little later.
pub(crate) fn uploads_end(since: UnixTime) -> UnixTime {
    let lifetime = u64::from(limits::UPLOAD_LIFETIME_SECONDS);
    UnixTime(since.0 + lifetime + FENCE_SECONDS)
}

/// Sets the status of a version that is being erased.
async fn revoke<P: Host>(
    ctx: &Context<'_, P>,
    caller: &Caller,
    (package, version): (&Package, &Version),
    (now, reason): (UnixTime, &Reason),
) -> Result<(), Failure> {
    let status = ReleaseStatus {
        state: ReleaseState::Revoked,
        reason: reason.of_erasure(),
        at: now,
        by: caller.name(),
    };
    let change = (Some(version), Some(status));
    status::set_status(ctx, caller, package, change).await?;
    Ok(())
}

async fn refresh_version<P: Host>(ctx: &Context<'_, P>, release: &Release) -> Result<(), Failure> {
    let change = FactKey::Change(release.package());
    index_writer::rewrite_change_marker(ctx, &change).await?;
    index_refresh::refresh_version(ctx, release).await
}

/// Replaces a release by its tombstone. A mirrored release may grow at the same time.
async fn bury<P: Host>(
    ctx: &Context<'_, P>,
    (package, version): (&Package, &Version),
    (now, reason): (UnixTime, &Reason),
) -> Result<ErasedRelease, Failure> {
    let key = FactKey::Release(package.clone(), version.clone());
    loop {
        let stored = releases::stored(ctx, package, version).await?;
        let StoredRelease { release, etag } = stored.ok_or_else(|| absent(package, version))?;
        if let Release::Erased(tombstone) = release {
            return Ok(tombstone);
        }
        let documented = documentation::find(ctx, package, version).await?;
        let documented = documented.iter().flat_map(documentation::archives);
        let tombstone = release.tombstone(documented, (now, reason.clone()));
        let release = Release::Erased(tombstone.clone());
        let (document, metadata) = (release.to_document(), release_metadata(&release));
        let unchanged = Condition::Unchanged(etag);
        let written = documents::put(ctx, &key, &document, &metadata, unchanged).await?;
        if written.is_some() {
            return Ok(tombstone);
        }
    }
}

/// Removes the staged uploads of these archives, for whatever release.
async fn discard_staged<P: Host>(
    ctx: &Context<'_, P>,
    erased: &[ArchiveKey],
) -> Result<(), Failure> {
    let archives = ctx.host.archives();
    let mut after: Option<String> = None;
    loop {
        let page = archives.list_bytes(STAGED, after.as_deref(), UPLOADS_PER_LISTING);
        let page = page.await?;
        for object in &page.objects {
            if let Ok(key @ BytesKey::Staged(staged)) = object.name.parse()
                && erased.contains(&staged.archive)
            {
                archives.discard(key).await?;
            }
        }
        after = page.objects.into_iter().next_back().map(|last| last.name);
        if !page.is_truncated || after.is_none() {
            return Ok(());
        }
    }
}

fn absent(package: &Package, version: &Version) -> Problem {
    Problem::NotFound(format!("{} has no version {version}", package.address()))
}
