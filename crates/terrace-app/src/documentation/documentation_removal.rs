//! Removes the documentation of versions with erased archives: the bytes first, then the text from the indices, and the
//! document last, which leads an interrupted request back to the version.

use std::collections::BTreeSet;

use terrace_base::digest::Sha256;
use terrace_base::time::UnixTime;
use terrace_core::http::problem::Problem;
use terrace_core::model::oci::Digest;
use terrace_core::model::package::Package;
use terrace_core::model::version::Version;
use terrace_core::storage::key::{ArchiveKey, ArchiveKind, BytesKey, DOCUMENTATION, FactKey};
use terrace_core::storage::release::Release;

use crate::context::Context;
use crate::documents::audit::AuditedChange;
use crate::documents::{audit, documentation, releases};
use crate::failure::Failure;
use crate::host::{Clock as _, Host};
use crate::index::{index_refresh, index_writer};
use crate::{documents, removal};

/// Number of storage operations after which a request for an erasure removes no further documentation, and is to be sent
/// again: the rest of the request, and the work that it has begun, fit into the 1,000 that it may make
/// (<https://developers.cloudflare.com/workers/platform/limits/#subrequests>).
const ERASURE_OPERATIONS: u32 = 500;

/// Number of storage operations that the removal of one version's documentation takes, with its share of the lists.
const DOCUMENTATION_ERASURE_OPERATIONS: u32 = 12;

/// Archives of documentation, after an erasure that did not name them.
#[derive(Debug)]
pub(crate) struct Discarded {
    /// Those that were removed with the erased archives.
    pub(crate) removed: Vec<ArchiveKey>,
    /// Those that stay, because another version has the same documentation.
    pub(crate) kept: Vec<ArchiveKey>,
    /// The number of operations before the erasure began.
    began: u32,
}

impl Discarded {
    /// Creates the state of an erasure that began after this number of operations, before any archive was removed.
    pub(crate) fn since(began: u32) -> Self {
        Self {
            removed: Vec::new(),
            kept: Vec::new(),
            began,
        }
    }
}

/// The removal of the documentation of a version.
#[derive(Debug)]
pub(crate) struct DocumentRemoval {
    pub(crate) package: Package,
    pub(crate) version: Version,
    /// The only documentation to remove; other documentation has replaced it by right.
    pub(crate) only: Option<Sha256>,
}

impl DocumentRemoval {
    /// Creates the removal of all documentation of a version.
    pub(crate) fn of(package: Package, version: Version) -> Self {
        Self {
            package,
            version,
            only: None,
        }
    }
}

/// The versions that documentation belongs to.
#[derive(Default)]
struct Documented {
    /// Those with documentation that was erased itself.
    named: Vec<DocumentRemoval>,
    /// Documentation that versions have that keep their archives.
    shared: BTreeSet<String>,
}

/// Removes the documentation of a version that was erased, or that consists of an erased archive, with its bytes unless
/// another version has the same text.
pub(crate) async fn discard<P: Host>(
    ctx: &Context<'_, P>,
    package: &Package,
    version: &Version,
) -> Result<(), Failure> {
    let broken = vec![DocumentRemoval::of(package.clone(), version.clone())];
    let mut discarded = Discarded::since(ctx.operations());
    let done = discard_all(ctx, &[], Vec::new(), broken, &mut discarded).await;
    withdraw(ctx, &discarded.removed).await;
    done
}

/// Removes copies of documentation from the second bucket and from the platform's cache.
async fn withdraw<P: Host>(ctx: &Context<'_, P>, removed: &[ArchiveKey]) {
    removal::remove_copies(ctx).await;
    let digests = removed.iter().map(|it| Digest::Sha256(it.digest));
    removal::purge_cached(ctx, &digests.collect::<Vec<_>>()).await;
}

/// Does the same for the repair, and adds an entry with the removed archives to the audit log, which copies of the registry
/// follow. The entry comes before the documents go, so a repair that ends here is repeated.
pub(crate) async fn discard_in_repair<P: Host>(
    ctx: &Context<'_, P>,
    package: &Package,
    version: &Version,
) -> Result<(), Failure> {
    let mut discarded = Discarded::since(ctx.operations());
    let broken = DocumentRemoval::of(package.clone(), version.clone());
    let done = discard_and_audit(ctx, broken, &mut discarded).await;
    withdraw(ctx, &discarded.removed).await;
    done
}

async fn discard_and_audit<P: Host>(
    ctx: &Context<'_, P>,
    broken: DocumentRemoval,
    discarded: &mut Discarded,
) -> Result<(), Failure> {
    let removals = discard_bytes(ctx, &[], Vec::new(), vec![broken], discarded).await?;
    let removed: Vec<String> = discarded.removed.iter().map(ToString::to_string).collect();
    if !removed.is_empty() {
        audit::record(ctx, AuditedChange::of_repair(&removed), 200).await?;
    }
    remove(ctx, &removals, discarded.began).await
}

/// Removes the documentation of `broken` versions, and that in `erased` from every version. Of the texts of the former and
/// of `texts`, the bytes stay that a version which keeps its archives has as well. Adds the archives to `discarded`.
///
/// # Errors
/// Also [`Problem::Unavailable`], if the request has made so many operations that it must be sent again.
pub(crate) async fn discard_all<P: Host>(
    ctx: &Context<'_, P>,
    erased: &[ArchiveKey],
    texts: Vec<ArchiveKey>,
    broken: Vec<DocumentRemoval>,
    discarded: &mut Discarded,
) -> Result<(), Failure> {
    let removals = discard_bytes(ctx, erased, texts, broken, discarded).await?;
    remove(ctx, &removals, discarded.began).await
}

/// Removes the bytes for [`discard_all`], and returns the documents to remove after them.
async fn discard_bytes<P: Host>(
    ctx: &Context<'_, P>,
    erased: &[ArchiveKey],
    mut texts: Vec<ArchiveKey>,
    broken: Vec<DocumentRemoval>,
    discarded: &mut Discarded,
) -> Result<Vec<DocumentRemoval>, Failure> {
    for DocumentRemoval {
        package, version, ..
    } in &broken
    {
        let document = documentation::find(ctx, package, version).await?;
        texts.extend(document.iter().flat_map(documentation::archives));
    }
    texts.retain(|text| !erased.contains(text));
    let documented = documented_with(ctx, erased, &texts, &broken).await?;
    for text in texts {
        let is_shared = documented.shared.contains(&text.to_string());
        let list = match is_shared {
            true => &mut discarded.kept,
            false => &mut discarded.removed,
        };
        if list.contains(&text) {
            continue;
        }
        list.push(text);
        if !is_shared {
            removal::discard_unburied(ctx, BytesKey::from(text)).await?;
        }
    }
    Ok(broken.into_iter().chain(documented.named).collect())
}

/// Returns the other versions with documentation that was erased, and the documentation in `texts` that versions have which
/// keep their archives.
async fn documented_with<P: Host>(
    ctx: &Context<'_, P>,
    erased: &[ArchiveKey],
    texts: &[ArchiveKey],
    broken: &[DocumentRemoval],
) -> Result<Documented, Failure> {
    let mut documented = Documented::default();
    if texts.is_empty() && !erased.iter().any(is_documentation) {
        return Ok(documented);
    }
    documents::visit(ctx, DOCUMENTATION, async |fact| {
        let Some(archive) = documentation::archive_of(ctx, &fact).await? else {
            return Ok(());
        };
        let key = FactKey::parse(&format!("{DOCUMENTATION}{}", fact.name));
        let Some(FactKey::Documentation(package, version)) = key else {
            return Ok(());
        };
        let mut broken = broken.iter();
        if broken.any(|it| it.package == package && it.version == version) {
            return Ok(());
        }
        if erased.contains(&archive) {
            documented.named.push(DocumentRemoval {
                package,
                version,
                only: Some(archive.digest),
            });
        } else if texts.contains(&archive) {
            documented.shared.insert(archive.to_string());
        }
        Ok(())
    })
    .await?;
    Ok(documented)
}

/// Removes documents if their bytes are removed, or stay with another version, as long as the erasure, which began
/// after `began` operations, may make more. At least one is removed, so that each repetition of a request makes progress.
pub(crate) async fn remove<P: Host>(
    ctx: &Context<'_, P>,
    removals: &[DocumentRemoval],
    began: u32,
) -> Result<(), Failure> {
    let mut left = removals;
    let mut least = 1;
    while let Some(first) = left.first() {
        let of_package = left.iter().take_while(|it| it.package == first.package);
        let made = ctx.operations().saturating_sub(began);
        let room = ERASURE_OPERATIONS.saturating_sub(made);
        let room = room / DOCUMENTATION_ERASURE_OPERATIONS;
        let room = usize::try_from(room).unwrap_or(usize::MAX).max(least);
        let (now, later) = match left.split_at_checked(of_package.count().min(room)) {
            Some((now, later)) if !now.is_empty() => (now, later),
            _ => return Err(unfinished().into()),
        };
        remove_of_package(ctx, &first.package, now).await?;
        left = later;
        least = 0;
    }
    Ok(())
}

/// Returns the error for an erasure that removes more documentation than fits into one request.
pub(crate) fn unfinished() -> Problem {
    Problem::Unavailable(
        "the erased archives have the documentation of more versions than one request can remove: send the same request again to \
         remove the rest"
            .to_owned(),
    )
}

/// Removes documents of one package: they are hidden first, so that the indices follow without their text, and a publisher
/// does not replace them.
async fn remove_of_package<P: Host>(
    ctx: &Context<'_, P>,
    package: &Package,
    removals: &[DocumentRemoval],
) -> Result<(), Failure> {
    let began = ctx.host.clock().now();
    let mut hidden = Vec::new();
    for removal in removals {
        let key = FactKey::Documentation(package.clone(), removal.version.clone());
        if hide(ctx, &key, removal.only, began).await? {
            hidden.push((key, removal));
        }
    }
    let mut published = Vec::new();
    for removal in removals {
        let release = releases::find(ctx, package, &removal.version).await?;
        published.extend(release.filter(|release| release.erased().is_none()));
    }
    refresh_releases(ctx, package, &published).await?;
    for (key, removal) in hidden {
        if !documentation::remove(ctx, &key, removal.only.map(|_| began)).await? {
            let reason = "the removal of documentation took too long: send the same request again in a minute";
            return Err(Problem::Unavailable(reason.to_owned()).into());
        }
    }
    Ok(())
}

/// Hides a document. Returns `false` if there is none, or only documentation that is to stay.
async fn hide<P: Host>(
    ctx: &Context<'_, P>,
    key: &FactKey,
    only: Option<Sha256>,
    now: UnixTime,
) -> Result<bool, Failure> {
    loop {
        let found = documentation::find_for_change(ctx, key).await;
        // Nothing can be read of a damaged document.
        let Some((document, unchanged)) = documents::intact(ctx, found)? else {
            return Ok(true);
        };
        let is_meant = |archive: Sha256| only.is_none_or(|only| only == archive);
        let Some(document) = document.filter(|it| is_meant(it.archive.sha256)) else {
            return Ok(false);
        };
        if documentation::put(ctx, key, &document.hidden(now), unchanged).await? {
            return Ok(true);
        }
    }
}

/// Refreshes everything that follows from the documentation of releases of one package.
pub(crate) async fn refresh_releases<P: Host>(
    ctx: &Context<'_, P>,
    package: &Package,
    published: &[Release],
) -> Result<(), Failure> {
    if published.is_empty() {
        return Ok(());
    }
    index_writer::rewrite_change_marker(ctx, &FactKey::Change(package.clone())).await?;
    for release in published {
        index_refresh::refresh_about(ctx, release).await?;
    }
    index_refresh::publish_lists(ctx, package).await
}

pub(crate) fn is_documentation(archive: &ArchiveKey) -> bool {
    archive.kind == ArchiveKind::Documentation
}
