//! The documentation of versions with erased archives: its text must not outlive theirs.
//!
//! Documentation that was named for the erasure itself is removed from every version that has it. Documentation that goes
//! with an erased package or module leaves no tombstone, because a later version may have the same text by right; its bytes
//! stay if a version that keeps its archives has them as well, and so publishes this text itself.
//!
//! The bytes go first, and the documents last. The versions are found by their documents and releases, so the same request
//! finds those that are left after an interruption, or if they are too many for one request.
//! A publisher adds documentation before the marks are read, and the tombstones are made before the documentation is
//! listed. So of the two, at least the later one sees the other ([`crate::documentation::documenter`]).

use std::collections::BTreeMap;

use terrace_core::index::ListedRelease;
use terrace_core::model::package::Package;
use terrace_core::model::version::Version;
use terrace_core::storage::key::{ArchiveKey, BytesKey, DOCUMENTATION, FactKey, RELEASES};
use terrace_core::storage::release::{ErasedRelease, Release};

use crate::context::Context;
use crate::documentation::documentation_removal::{
    Discarded, DocumentRemoval, discard_all, is_documentation, unfinished,
};
use crate::documents;
use crate::documents::releases;
use crate::failure::Failure;
use crate::host::{Host, ListedFact};

/// Maximum number of versions for which one request for an erasure removes the documentation with the archives.
const DOCUMENTATION_ERASED_AT_ONCE: usize = 30;

/// The versions that a search has found.
#[derive(Default)]
struct Found {
    versions: Vec<DocumentRemoval>,
    /// Whether there may be more than one request can handle.
    is_truncated: bool,
}

/// Removes the documentation that follows from erased archives, after their tombstones were made: that of the versions which
/// consist of them, that of an erased version, and documentation that is erased itself. Adds the archives to `discarded`.
///
/// # Errors
/// Also if the request must be sent again, because there is too much for one.
pub(crate) async fn discard<P: Host>(
    ctx: &Context<'_, P>,
    erased: &[ArchiveKey],
    tombstone: Option<&ErasedRelease>,
    discarded: &mut Discarded,
) -> Result<(), Failure> {
    let found = consisting_of(ctx, erased).await?;
    let of_tombstone = tombstone.iter().flat_map(|it| &it.archives);
    let texts = of_tombstone.map(|it| it.0).filter(is_documentation);
    discard_all(ctx, erased, texts.collect(), found.versions, discarded).await?;
    match found.is_truncated {
        true => Err(unfinished().into()),
        false => Ok(()),
    }
}

/// Returns the documented versions that consist of these archives. Each listing covers a thousand versions, and only those
/// that may have one of the archives are read.
async fn consisting_of<P: Host>(
    ctx: &Context<'_, P>,
    archives: &[ArchiveKey],
) -> Result<Found, Failure> {
    let mut found = Found::default();
    let mut possible = BTreeMap::new();
    if archives.iter().all(is_documentation) {
        return Ok(found);
    }
    documents::visit(ctx, RELEASES, async |fact| {
        let candidate = candidate(ctx, archives, &fact).await?;
        possible.extend(candidate.map(|candidate| (fact.name, candidate)));
        Ok(())
    })
    .await?;
    if possible.is_empty() {
        return Ok(found);
    }
    documents::visit(ctx, DOCUMENTATION, async |fact| {
        let Some((package, version)) = possible.remove(&fact.name) else {
            return Ok(());
        };
        if found.versions.len() >= DOCUMENTATION_ERASED_AT_ONCE {
            found.is_truncated = true;
            return Ok(());
        }
        let release = releases::find(ctx, &package, &version).await;
        if let Some(release) = documents::intact(ctx, release)?.flatten()
            && has_one_of(&release, archives)
        {
            found.versions.push(DocumentRemoval::of(package, version));
        }
        Ok(())
    })
    .await?;
    Ok(found)
}

/// Returns the version of a listed release if it may consist of these archives.
async fn candidate<P: Host>(
    ctx: &Context<'_, P>,
    archives: &[ArchiveKey],
    fact: &ListedFact,
) -> Result<Option<(Package, Version)>, Failure> {
    let key = FactKey::parse(&format!("{RELEASES}{}", fact.name));
    let Some(FactKey::Release(package, version)) = key else {
        return Ok(None);
    };
    let listed = releases::listed(ctx, &package, version.clone(), fact).await;
    let may_consist = |listed: &ListedRelease| {
        let mut archives = archives.iter();
        !listed.is_erased && archives.any(|archive| listed.may_consist_of(archive))
    };
    let listed = documents::intact(ctx, listed)?
        .flatten()
        .filter(may_consist);
    Ok(listed.map(|_| (package, version)))
}

fn has_one_of(release: &Release, archives: &[ArchiveKey]) -> bool {
    let is_erased = |key: BytesKey| archives.iter().any(|it| BytesKey::from(*it) == key);
    let mut stored = release.stored().into_iter();
    release.erased().is_none() && stored.any(|reference| is_erased(reference.key))
}
