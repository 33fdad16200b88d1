//! Erases versions, archives and pushed content: first the tombstones, then the bytes. Each step may be repeated, so the same request completes
//! an interrupted erasure.

pub(crate) mod erased_documentation;
pub(crate) mod request;

use terrace_base::time::UnixTime;
use terrace_core::api::admin::ErasureAnswer;
use terrace_core::auth::access::Caller;
use terrace_core::http::problem::Problem;
use terrace_core::limits;
use terrace_core::maintenance::garbage::{FENCE_SECONDS, GarbageDocument};
use terrace_core::model::oci::Digest;
use terrace_core::model::package::Package;
use terrace_core::model::status::{Reason, ReleaseState, ReleaseStatus};
use terrace_core::model::version::Version;
use terrace_core::publish::{StoredRelease, release_metadata};
use terrace_core::storage::key::{ArchiveKey, BytesKey, FactKey, STAGED};
use terrace_core::storage::release::{ErasedRelease, Release};

use crate::access::status;
use crate::context::Context;
use crate::documentation::documentation_removal::Discarded;
use crate::documentation::documenter;
use crate::documents::{documentation, releases};
use crate::erasure::request::{PushedContent, Requested, release_name, requested};
use crate::failure::Failure;
use crate::host::{Archives as _, Clock as _, Condition, Host};
use crate::index::{index_refresh, index_writer};
use crate::oci::{blobs, manifests, pushed_index_refresh};
use crate::outcome::{AuditDetails, Call, Handled, Outcome};
use crate::removal::garbage;
use crate::{documents, json, removal};

/// The page size of a listing of staged uploads.
const UPLOADS_PER_LISTING: u32 = 1_000;

/// An erasure, with what it has done so far.
struct Erasure<'e, 'c, P: Host> {
    ctx: &'e Context<'c, P>,
    caller: &'e Caller,
    now: UnixTime,
    /// The reason, which becomes that of the version's tombstone, if there is one.
    reason: Reason,
    /// The names of everything that is erased.
    done: Vec<String>,
    /// The time of the newest tombstone.
    newest: Option<UnixTime>,
    /// The documentation that goes with the archives.
    texts: Discarded,
}

/// `POST /admin/v1/erasures`: the client has examined everything that refers to the archives and
/// to the content.
pub(crate) async fn erase<P: Host>(ctx: &Context<'_, P>, call: Call) -> Handled<P::Stream> {
    let began = ctx.operations();
    let requested = requested(json::parse(&call.body)?)?;
    let mut erasure = Erasure {
        ctx,
        caller: &call.caller,
        now: ctx.host.clock().now(),
        reason: requested.reason.clone(),
        done: Vec::new(),
        newest: None,
        texts: Discarded::since(began),
    };
    let kept = erasure.carry_out(&requested).await;
    let Erasure { done, newest, .. } = erasure;
    // Only the report waits for the second bucket.
    removal::remove_copies(ctx).await;
    let reply = match kept {
        Ok(kept) => json::reply(
            200,
            &ErasureAnswer {
                erased: requested.names(),
                release: requested.release_name(),
                kept,
                left_in_fallback: removal::left(ctx),
                uploads_end: newest.map(uploads_end),
            },
        )?,
        Err(failure) => {
            // The failure may name neither the version nor the archive.
            if failure.may_have_changed_state() {
                let names = requested
                    .release_name()
                    .into_iter()
                    .chain(requested.names());
                let names: Vec<String> = names.collect();
                ctx.host
                    .log(&format!("erasure: {} failed:", names.join(", ")));
            }
            if done.is_empty() {
                return Err(failure);
            }
            // This part is erased, and never returns. The log must not miss it.
            ctx.report(failure).reply()
        }
    };
    Ok(Outcome::new(reply, AuditDetails::Erases(done)))
}

impl<P: Host> Erasure<'_, '_, P> {
    /// Erases the version, then archives with the documentation that follows from them, and then content. Returns the archives of
    /// the version that stay.
    async fn carry_out(&mut self, requested: &Requested) -> Result<Vec<String>, Failure> {
        let Requested {
            release,
            archives,
            contents,
            ..
        } = requested;
        let mut tombstone = None;
        if let Some((package, version)) = release {
            let buried = self.erase_release(package, version).await?;
            self.reason = buried.reason.clone();
            tombstone = Some(buried);
        }
        let erased = self.erase_archives(archives, tombstone.as_ref()).await;
        let texts = &self.texts.removed;
        // Copies of the registry follow the log.
        self.done.extend(texts.iter().map(ToString::to_string));
        let removed = archives.iter().chain(texts);
        let removed: Vec<Digest> = removed.map(|it| Digest::Sha256(it.digest)).collect();
        let withdrawn = self.withdraw_from_caches(&removed).await;
        self.ctx.both(erased, withdrawn)?;
        let consisted = tombstone.iter().flat_map(|it| &it.archives).map(|it| it.0);
        let texts = &self.texts.removed;
        let kept = consisted.filter(|it| !archives.contains(it) && !texts.contains(it));
        let kept = kept.map(|archive| archive.to_string()).collect();
        let erased = self.erase_contents(contents).await;
        let removed: Vec<Digest> = contents.iter().map(|(digest, _)| *digest).collect();
        let withdrawn = self.withdraw_from_caches(&removed).await;
        self.ctx.both(erased, withdrawn)?;
        if let Some(tombstone) = tombstone {
            self.refresh(tombstone).await?;
        }
        Ok(kept)
    }

    /// Erases a version with its documentation, except for its archives: from now on it is revoked, and its tombstone takes the
    /// place of its release. Returns the tombstone, which may have existed before.
    async fn erase_release(
        &mut self,
        package: &Package,
        version: &Version,
    ) -> Result<ErasedRelease, Failure> {
        let release = releases::find(self.ctx, package, version).await?;
        let release = release.ok_or_else(|| absent(package, version))?;
        if let Some(tombstone) = release.erased() {
            self.reason = tombstone.reason.clone();
        }
        self.revoke(package, version).await?;
        if release.erased().is_none() {
            // From here on no index leads to the archives.
            self.refresh_version(&release).await?;
        }
        let tombstone = self.bury(package, version).await?;
        self.done.push(release_name(package, version));
        self.reason = tombstone.reason.clone();
        // Another request may have restored the version before it was erased.
        self.revoke(package, version).await?;
        documenter::discard(self.ctx, package, version).await?;
        Ok(tombstone)
    }

    /// Sets the status of a version that is being erased.
    async fn revoke(&self, package: &Package, version: &Version) -> Result<(), Failure> {
        let status = ReleaseStatus {
            state: ReleaseState::Revoked,
            reason: self.reason.of_erasure(),
            at: self.now,
            by: self.caller.name(),
        };
        let change = (Some(version), Some(status));
        status::set_status(self.ctx, self.caller, package, change).await?;
        Ok(())
    }

    async fn refresh_version(&self, release: &Release) -> Result<(), Failure> {
        let change = FactKey::Change(release.package());
        index_writer::rewrite_change_marker(self.ctx, &change).await?;
        index_refresh::refresh_version(self.ctx, release).await
    }

    /// Replaces a release by its tombstone. A mirrored release may grow at the same time.
    async fn bury(&self, package: &Package, version: &Version) -> Result<ErasedRelease, Failure> {
        let key = FactKey::Release(package.clone(), version.clone());
        loop {
            let stored = releases::stored(self.ctx, package, version).await?;
            let StoredRelease { release, etag } = stored.ok_or_else(|| absent(package, version))?;
            if let Release::Erased(tombstone) = release {
                return Ok(tombstone);
            }
            let documented = documentation::find(self.ctx, package, version).await?;
            let documented = documented.iter().flat_map(documentation::archives);
            let tombstone = release.tombstone(documented, (self.now, self.reason.clone()));
            let release = Release::Erased(tombstone.clone());
            let (document, metadata) = (release.to_document(), release_metadata(&release));
            let unchanged = Condition::Unchanged(etag);
            let written = documents::put(self.ctx, &key, &document, &metadata, unchanged).await?;
            if written.is_some() {
                return Ok(tombstone);
            }
        }
    }

    /// Makes the tombstones of bytes.
    async fn bury_bytes(&mut self, bytes: BytesKey) -> Result<(), Failure> {
        let tombstone = GarbageDocument::erased(self.reason.clone(), self.now);
        let since = garbage::bury(self.ctx, bytes, tombstone).await?;
        self.newest = self.newest.max(Some(since));
        self.done.push(bytes.to_string());
        Ok(())
    }

    /// Erases archives: nothing stores them or refers to them any more. Staged uploads with their bytes are removed, too, and the
    /// documentation that follows from them.
    async fn erase_archives(
        &mut self,
        archives: &[ArchiveKey],
        tombstone: Option<&ErasedRelease>,
    ) -> Result<(), Failure> {
        for archive in archives {
            let bytes = BytesKey::from(*archive);
            self.bury_bytes(bytes).await?;
            removal::discard_buried(self.ctx, bytes).await?;
        }
        if !archives.is_empty() {
            self.discard_staged(archives).await?;
        }
        erased_documentation::discard(self.ctx, archives, tombstone, &mut self.texts).await
    }

    /// Removes the staged uploads of these archives, for whatever release.
    async fn discard_staged(&self, erased: &[ArchiveKey]) -> Result<(), Failure> {
        let archives = self.ctx.host.archives();
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

    /// Erases blobs and manifests: the repositories lose their links, manifests, tags and referrers with these digests, and nothing
    /// stores content with them any more.
    async fn erase_contents(&mut self, contents: &[PushedContent]) -> Result<(), Failure> {
        for (digest, _) in contents {
            self.bury_bytes(BytesKey::Blob(*digest)).await?;
        }
        for (digest, repositories) in contents {
            for repository in repositories {
                manifests::discard(self.ctx, repository, *digest).await?;
                blobs::unlink(self.ctx, repository, *digest).await?;
                self.done.push(format!("{repository}@{digest}"));
            }
        }
        // From here on no index leads to the blobs.
        for (digest, _) in contents {
            removal::discard_everywhere(self.ctx, BytesKey::Blob(*digest)).await?;
        }
        Ok(())
    }

    /// Keeps caches from serving bytes that were erased or removed: isolates learn the digests within a minute, and the
    /// platform's cache of archives loses its copies.
    async fn withdraw_from_caches(&self, removed: &[Digest]) -> Result<(), Failure> {
        if removed.is_empty() {
            return Ok(());
        }
        // Isolates keep this list.
        let listed = async {
            let marker = FactKey::RevocationChange;
            index_writer::rewrite_change_marker(self.ctx, &marker).await?;
            index_refresh::refresh_revocations(self.ctx).await
        };
        let listed = listed.await;
        // Also if the list could not be written: then the copies in the cache could be downloaded until the request is repeated.
        removal::purge_cached(self.ctx, removed).await;
        listed
    }

    /// Writes the indices of an erased version, the lists and the catalogue, after its archives are erased.
    async fn refresh(&self, tombstone: ErasedRelease) -> Result<(), Failure> {
        let (package, version) = (tombstone.package.clone(), tombstone.version.clone());
        self.refresh_version(&Release::Erased(tombstone)).await?;
        // What people see must not outlive the version either.
        index_refresh::publish_lists(self.ctx, &package).await?;
        if let Package::Mirrored(address) = &package {
            pushed_index_refresh::refresh_versions(self.ctx, address, &version).await?;
        }
        Ok(())
    }
}

/// Returns the time until which a URL that was signed before an erasure may upload the archive again. A request that has read
/// the marks before may sign one a little later.
fn uploads_end(since: UnixTime) -> UnixTime {
    let lifetime = u64::from(limits::UPLOAD_LIFETIME_SECONDS);
    UnixTime(since.0 + lifetime + FENCE_SECONDS)
}

fn absent(package: &Package, version: &Version) -> Problem {
    Problem::NotFound(format!("{} has no version {version}", package.address()))
}
