//! Releases as they are stored, and as KV still describes them.

use terrace_core::http::reply::Body;
use terrace_core::index::{ERASED, ListedRelease, PublishedDigests};
use terrace_core::limits;
use terrace_core::model::package::Package;
use terrace_core::model::version::Version;
use terrace_core::publish::StoredRelease;
use terrace_core::read::IndexForm;
use terrace_core::storage::key::{FactKey, IndexKey};
use terrace_core::storage::release::Release;

use crate::context::Context;
use crate::documents;
use crate::failure::Failure;
use crate::host::{Fact, Facts as _, Host, Indices as _, ListedFact, Revision, StoreError};

/// Returns the release of a version, if it was published.
pub(crate) async fn find<P: Host>(
    ctx: &Context<'_, P>,
    package: &Package,
    version: &Version,
) -> Result<Option<Release>, Failure> {
    let stored = stored(ctx, package, version).await?;
    Ok(stored.map(|stored| stored.release))
}

/// Returns the release of a version with its etag, if it was published.
pub(crate) async fn stored<P: Host>(
    ctx: &Context<'_, P>,
    package: &Package,
    version: &Version,
) -> Result<Option<StoredRelease>, Failure> {
    let key = FactKey::Release(package.clone(), version.clone());
    let Some(Fact { bytes, etag }) = ctx.host.facts().get(&key).await? else {
        return Ok(None);
    };
    let release = Release::from_document(&bytes)
        .map_err(|error| Failure::Corrupt(format!("{key}: {error}")))?;
    Ok(Some(StoredRelease { release, etag }))
}

/// Lists the releases of a package, as version lists describe them. If a copy of the bucket has lost an
/// object's metadata, its document is read.
pub(crate) async fn list<P: Host>(
    ctx: &Context<'_, P>,
    package: &Package,
) -> Result<Vec<ListedRelease>, Failure> {
    let prefix = FactKey::releases_of(package);
    let mut releases = Vec::new();
    documents::visit(ctx, &prefix, async |fact| {
        if let Some(version) = FactKey::version_in(&fact.name) {
            releases.extend(listed(ctx, package, version, &fact).await?);
        }
        Ok(())
    })
    .await?;
    Ok(releases)
}

/// Returns whether a package has releases.
pub(crate) async fn has_any<P: Host>(
    ctx: &Context<'_, P>,
    package: &Package,
) -> Result<bool, StoreError> {
    let prefix = FactKey::releases_of(package);
    let page = ctx.host.facts().list(&prefix, None, 1).await?;
    Ok(!page.facts.is_empty())
}

/// Returns the entry of a release in version lists, from the metadata of its object, or from its document if
/// that has lost them.
pub(crate) async fn listed<P: Host>(
    ctx: &Context<'_, P>,
    package: &Package,
    version: Version,
    fact: &ListedFact,
) -> Result<Option<ListedRelease>, Failure> {
    let value = |name: &str| fact.value(name);
    if let Some(listed) =
        ListedRelease::from_metadata(package, version.clone(), fact.stored_at, value)
    {
        return Ok(Some(listed));
    }
    let release = find(ctx, package, &version).await?;
    Ok(release.as_ref().map(ListedRelease::of))
}

/// Returns whether a listed release was erased.
pub(crate) fn is_erased(fact: &ListedFact) -> bool {
    fact.value(ERASED).is_some()
}

/// Returns the revision of a package's change marker; `None` if it has none.
pub(crate) async fn change_revision<P: Host>(
    ctx: &Context<'_, P>,
    package: &Package,
) -> Result<Option<Revision>, StoreError> {
    let key = FactKey::Change(package.clone());
    ctx.host.facts().revision(&key).await
}

/// Returns the same as [`published_digests`], for a version that may have no index. A read of the missing key would
/// make KV cache its absence for a while, for the readers of the index that is about to be written. A listing
/// is not cached.
pub(crate) async fn published_digests_if_listed<P: Host>(
    ctx: &Context<'_, P>,
    package: &Package,
    version: &Version,
) -> Result<Option<PublishedDigests>, Failure> {
    let name = IndexKey::Version(package.clone(), version.clone()).to_string();
    // Longer names with this prefix, such as those of prereleases, come later.
    let page = ctx.host.indices().list_keys(&name, None).await?;
    match page.keys.contains(&name) {
        true => published_digests(ctx, package, version).await,
        false => Ok(None),
    }
}

/// Returns the digests of a version that its index contains, when its release is missing. KV may return nothing, or
/// something older, but never a release that was not committed.
pub(crate) async fn published_digests<P: Host>(
    ctx: &Context<'_, P>,
    package: &Package,
    version: &Version,
) -> Result<Option<PublishedDigests>, Failure> {
    let key = IndexKey::Version(package.clone(), version.clone());
    let indices = ctx.host.indices();
    let found = indices.get(&key, IndexForm::Text, limits::LIST_CACHE_SECONDS);
    Ok(found.await?.and_then(|found| match found.body {
        Body::Text(text) => PublishedDigests::parse(&found.metadata, &text),
        _ => None,
    }))
}
