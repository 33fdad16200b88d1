//! The documentation of versions whose archives were erased: its text must not outlive theirs.
//!
//! Documentation that was named for the erasure itself is removed from every version that has it. Documentation that goes
//! with an erased package or module leaves no tombstone, because a later version may have the same text by right; its bytes
//! stay if a version that keeps its archives has them as well, and so publishes this text itself.
//!
//! The bytes go first. The versions are found by their releases, so the same request finds them again after an interruption.
//! A publisher adds documentation before the marks are read, and the tombstones are made before the documentation is
//! listed. So of the two, at least the later one sees the other ([`crate::services::documenter`]).

use std::collections::BTreeSet;

use terrace_core::http::problem::Problem;
use terrace_core::model::package::Package;
use terrace_core::model::version::Version;
use terrace_core::storage::key::{
    ArchiveKey, ArchiveKind, BytesKey, DOCUMENTATION, FactKey, RELEASES,
};
use terrace_core::storage::release::{ErasedRelease, Release};

use crate::context::Context;
use crate::failure::Failure;
use crate::host::{Archives as _, Host};
use crate::services::{documentation, documenter, documents, releases};

/// Archives of documentation, after an erasure that did not name them.
#[derive(Debug, Default)]
pub(crate) struct Discarded {
    /// Those that were removed with the erased archives.
    pub(crate) removed: Vec<ArchiveKey>,
    /// Those that stay, because another version has the same documentation.
    pub(crate) kept: Vec<ArchiveKey>,
}

/// The versions that documentation belongs to.
#[derive(Default)]
struct Documented {
    /// Those whose documentation was named for the erasure, with its archive.
    named: Vec<(Package, Version, ArchiveKey)>,
    /// Documentation that versions have that keep their archives.
    shared: BTreeSet<String>,
}

/// Removes the documentation that follows from erased archives, after their tombstones were made: that of the versions which
/// consist of them, that of an erased version, and documentation that is erased itself.
pub(crate) async fn discard<P: Host>(
    ctx: &Context<'_, P>,
    erased: &[ArchiveKey],
    tombstone: Option<&ErasedRelease>,
) -> Result<Discarded, Failure> {
    let broken = consisting_of(ctx, erased).await?;
    let mut texts: Vec<ArchiveKey> = Vec::new();
    let of_tombstone = tombstone.iter().flat_map(|it| &it.archives);
    texts.extend(of_tombstone.map(|it| it.0).filter(is_documentation));
    for release in &broken {
        let (package, version) = (release.package(), release.version());
        let document = documentation::find(ctx, &package, version).await?;
        texts.extend(document.iter().flat_map(documentation::archives));
    }
    texts.retain(|text| !erased.contains(text));
    let documented = documented_with(ctx, erased, &texts, &broken).await?;
    let mut discarded = Discarded::default();
    for text in texts {
        let list = match documented.shared.contains(&text.to_string()) {
            true => &mut discarded.kept,
            false => &mut discarded.removed,
        };
        if !list.contains(&text) {
            list.push(text);
        }
    }
    for text in &discarded.removed {
        ctx.host.archives().discard(BytesKey::from(*text)).await?;
    }
    for release in &broken {
        documenter::discard(ctx, &release.package(), release.version()).await?;
        // Also without a document: an interrupted request may have removed it.
        documenter::refresh_release(ctx, release).await?;
    }
    for (package, version, archive) in documented.named {
        remove_named(ctx, &package, &version, archive).await?;
    }
    Ok(discarded)
}

/// Returns the releases that consist of these archives. Each listing covers a thousand releases, and only those that may have
/// one of the archives are read.
async fn consisting_of<P: Host>(
    ctx: &Context<'_, P>,
    archives: &[ArchiveKey],
) -> Result<Vec<Release>, Failure> {
    let mut found = Vec::new();
    if archives.iter().all(is_documentation) {
        return Ok(found);
    }
    documents::visit(ctx, RELEASES, async |fact| {
        let key = FactKey::parse(&format!("{RELEASES}{}", fact.name));
        let Some(FactKey::Release(package, version)) = key else {
            return Ok(());
        };
        let listed = releases::listed(ctx, &package, version.clone(), &fact).await?;
        let may_consist = listed.is_some_and(|listed| {
            let mut archives = archives.iter();
            !listed.is_erased && archives.any(|archive| listed.may_consist_of(archive))
        });
        if may_consist && let Some(release) = releases::find(ctx, &package, &version).await? {
            let mut stored = release.stored().into_iter();
            let is_erased = |key: BytesKey| archives.iter().any(|it| BytesKey::from(*it) == key);
            if stored.any(|reference| is_erased(reference.key)) {
                found.push(release);
            }
        }
        Ok(())
    })
    .await?;
    Ok(found)
}

/// Returns the other versions with documentation that was erased, and the documentation in `texts` that versions have which
/// keep their archives.
async fn documented_with<P: Host>(
    ctx: &Context<'_, P>,
    erased: &[ArchiveKey],
    texts: &[ArchiveKey],
    broken: &[Release],
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
        if broken.any(|it| it.package() == package && *it.version() == version) {
            return Ok(());
        }
        if erased.contains(&archive) {
            documented.named.push((package, version, archive));
        } else if texts.contains(&archive) {
            documented.shared.insert(archive.to_string());
        }
        Ok(())
    })
    .await?;
    Ok(documented)
}

/// Removes documentation whose archive was erased. The indices follow first, without the text: the document leads an
/// interrupted request back to the version.
pub(crate) async fn remove_named<P: Host>(
    ctx: &Context<'_, P>,
    package: &Package,
    version: &Version,
    archive: ArchiveKey,
) -> Result<(), Failure> {
    let release = releases::find(ctx, package, version).await?;
    if let Some(release) = release.filter(|release| release.erased().is_none()) {
        documenter::refresh_release(ctx, &release).await?;
    }
    match documenter::remove(ctx, package, version, Some(archive.digest)).await {
        // A publisher has replaced it, or the version has been erased as well, in the meantime.
        Err(Failure::Problem(Problem::Conflict(_) | Problem::Gone(_))) => Ok(()),
        removed => removed.map(drop),
    }
}

fn is_documentation(archive: &ArchiveKey) -> bool {
    archive.kind == ArchiveKind::Documentation
}
