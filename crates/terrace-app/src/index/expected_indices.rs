//! Computes the expected indices of published packages from the facts. It writes nothing.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::rc::Rc;

use futures_util::future::try_join;
use terrace_base::digest::Sha256;
use terrace_base::sort;
use terrace_core::api::admin::SigningKeysDocument;
use terrace_core::index::about::{About, AboutDocumentation};
use terrace_core::index::overview::Overview;
use terrace_core::index::{self, ListedRelease};
use terrace_core::model::address::MirroredAddress;
use terrace_core::model::package::Package;
use terrace_core::model::status::StatusDocument;
use terrace_core::model::version::Version;
use terrace_core::storage::index_document::IndexDocument;
use terrace_core::storage::key::{FactKey, IndexKey};
use terrace_core::storage::release::{Release, SigningKeyDocument};
use terrace_openpgp::SigningKey;

use crate::access::{rules, status};
use crate::context::Context;
use crate::documents;
use crate::documents::{documentation, origins, releases};
use crate::failure::Failure;
use crate::host::{Host, Revision};

/// Indices, each with its key.
pub(crate) type Indexed = Vec<(IndexKey, IndexDocument)>;

/// The document about the status of a package, and the keys of its namespace with their status.
type StoredStatus = (StatusDocument, SigningKeysDocument);

async fn stored_status<P: Host>(
    ctx: &Context<'_, P>,
    package: &Package,
) -> Result<StoredStatus, Failure> {
    let statuses = status::applied(ctx, package);
    try_join(statuses, status::signing_keys(ctx, package)).await
}

/// The status of a package's versions. Their indices follow from it and from the releases.
#[derive(Debug)]
pub(crate) struct PackageStatus {
    /// The status of versions, including the revocation of keys that signed those in `listed`.
    statuses: StatusDocument,
    signing_keys: SigningKeysDocument,
    /// Every release, lowest version first; empty if no version can be revoked.
    pub(crate) listed: Rc<[ListedRelease]>,
    /// The versions that have documentation, if they were listed.
    documented: Option<BTreeSet<Version>>,
}

impl PackageStatus {
    /// Lists the versions that have documentation, for a caller that needs the indices of many versions.
    pub(crate) async fn list_documented<P: Host>(
        &mut self,
        ctx: &Context<'_, P>,
        package: &Package,
    ) -> Result<(), Failure> {
        self.documented = Some(documented(ctx, package).await?);
        Ok(())
    }

    /// Adds the status that follows for a release from the key that signed it, or from its erasure.
    fn apply_revocation(&self, release: &Release, statuses: &mut StatusDocument) {
        if let Release::Provider(it) = release {
            let key_id = it.signing_key.key_id;
            if let Some(status) = self.signing_keys.statuses.get(&key_id) {
                statuses.apply_key_revocation(&it.version, key_id, status);
            }
        }
        status::apply_erasure(release, statuses);
    }

    /// Returns a release with its namespace's current copy of the key that signed it, unless a client would refuse the release
    /// with that copy.
    fn with_current_key<'r>(&self, release: &'r Release) -> Cow<'r, Release> {
        let Release::Provider(published) = release else {
            return Cow::Borrowed(release);
        };
        let own = &published.signing_key;
        let mut copies = self.signing_keys.keys.iter();
        let current = copies.find(|it| it.fingerprint == own.fingerprint);
        let supersedes = |current: &&SigningKeyDocument| {
            let read = |key: &SigningKeyDocument| SigningKey::from_stored(&key.ascii_armor).ok();
            let copies = read(current).zip(read(own));
            copies.is_some_and(|(current, own)| current.supersedes(&own))
        };
        let is_other = |it: &&SigningKeyDocument| it.ascii_armor != own.ascii_armor;
        match current.filter(is_other).filter(supersedes) {
            Some(current) => {
                let mut release = published.clone();
                release.signing_key = current.clone();
                Cow::Owned(Release::Provider(release))
            }
            None => Cow::Borrowed(release),
        }
    }

    /// Returns whether a version is revoked or blocked.
    pub(crate) fn is_revoked(&self, version: &Version) -> bool {
        self.statuses.refusal(version).is_some()
    }

    /// Returns the revoked and the blocked versions.
    pub(crate) fn revoked_versions(&self) -> Vec<Version> {
        let listed = self.listed.iter().map(|it| &it.version);
        listed.filter(|it| self.is_revoked(it)).cloned().collect()
    }

    /// Returns the other versions that may contain this digest, the installable ones first.
    fn may_contain(&self, digest: Sha256, besides: &Version) -> impl Iterator<Item = &Version> {
        let of_state = move |is_revoked: bool| {
            let listed = self.listed.iter();
            let listed = listed.filter(move |it| it.may_contain(digest) && it.version != *besides);
            let versions = listed.map(|it| &it.version);
            versions.filter(move |it| self.is_revoked(it) == is_revoked)
        };
        of_state(false).chain(of_state(true))
    }
}

/// The releases of a package, as of one state of its change marker. They need not be listed again until the
/// marker changes: a publish changes it after committing a release, and before writing the indices.
#[derive(Debug)]
struct ReleaseListing {
    package: Package,
    change: Option<Revision>,
    releases: Rc<[ListedRelease]>,
}

/// The indices of a package that follow from a listing of its releases, without reading any of them.
#[derive(Debug, Default)]
pub(crate) struct PackageIndices {
    /// The version lists: one for each protocol that lists versions, and then the overview; none if there is nothing to
    /// list. The first one changes whenever a version is added, revoked or restored.
    pub(crate) lists: Indexed,
    /// The indices of revoked and of blocked versions, which tell clients about the revocation or the block.
    pub(crate) revoked: Indexed,
    /// The overview, without versions if there is nothing to list.
    pub(crate) overview: Overview,
}

impl PackageIndices {
    /// Creates the indices of these releases.
    fn of(
        package: &Package,
        releases: Vec<ListedRelease>,
        statuses: &StatusDocument,
        documented: &BTreeSet<Version>,
    ) -> Self {
        let revoked = index::revoked_versions(package, &releases, statuses);
        let overview = Overview::of(&releases, statuses, documented);
        let mut lists = index::lists(package, releases, statuses);
        if !lists.is_empty() {
            lists.push(overview.index(package));
        }
        Self {
            lists,
            revoked,
            overview,
        }
    }
}

/// Returns the version lists of a package.
pub(crate) async fn version_lists<P: Host>(
    ctx: &Context<'_, P>,
    package: &Package,
) -> Result<Indexed, Failure> {
    Ok(package_lists(ctx, package).await?.lists)
}

/// Returns the version lists of a package, and its overview.
pub(crate) async fn package_lists<P: Host>(
    ctx: &Context<'_, P>,
    package: &Package,
) -> Result<PackageIndices, Failure> {
    let releases = releases::list(ctx, package).await?;
    package_indices(ctx, package, releases).await
}

/// Returns the indices that follow from these releases, all those of the package.
pub(crate) async fn package_indices<P: Host>(
    ctx: &Context<'_, P>,
    package: &Package,
    releases: Vec<ListedRelease>,
) -> Result<PackageIndices, Failure> {
    match package {
        Package::Mirrored(address) => mirrored_indices(ctx, address, releases).await,
        Package::Provider(_) | Package::Module(_) if releases.is_empty() => {
            Ok(PackageIndices::default())
        }
        Package::Provider(_) | Package::Module(_) => {
            let read = try_join(stored_status(ctx, package), documented(ctx, package));
            let ((mut statuses, signing_keys), documented) = read.await?;
            let keys = &signing_keys.statuses;
            status::apply_key_statuses(ctx, keys, package, &releases, &mut statuses).await?;
            status::apply_erasures(ctx, package, &releases, &mut statuses).await?;
            if let Some(block) = &statuses.blocked {
                return Ok(PackageIndices {
                    lists: index::blocked_lists(package, block),
                    revoked: index::revoked_versions(package, &releases, &statuses),
                    ..PackageIndices::default()
                });
            }
            Ok(PackageIndices::of(
                package,
                releases,
                &statuses,
                &documented,
            ))
        }
    }
}

/// Returns the versions of a package that have documentation. Documentation may be stored before its release.
async fn documented<P: Host>(
    ctx: &Context<'_, P>,
    package: &Package,
) -> Result<BTreeSet<Version>, Failure> {
    let prefix = FactKey::documentation_of(package);
    let listed = documents::list(ctx, &prefix).await?;
    let versions = listed.iter().filter_map(|fact| fact.name.parse().ok());
    Ok(sort::set(versions))
}

/// Returns the indices of a mirrored provider, under the pull rules of this deployment.
async fn mirrored_indices<P: Host>(
    ctx: &Context<'_, P>,
    address: &MirroredAddress,
    stored: Vec<ListedRelease>,
) -> Result<PackageIndices, Failure> {
    let policy = &ctx.config.pull;
    let package = Package::Mirrored(address.clone());
    let mut statuses = StatusDocument::default();
    let mut is_blocked_by_rule = false;
    if policy.pulls(address) || !stored.is_empty() {
        statuses = status::document(ctx, &package).await?;
        if statuses.blocked.is_none() {
            statuses.blocked = rules::block_of(ctx, &package).await?;
            is_blocked_by_rule = statuses.blocked.is_some();
        }
    }
    if let Some(block) = &statuses.blocked {
        let mut lists = index::blocked_lists(&package, block);
        // A repair may never visit a provider of which nothing is stored: its lists are made again by each read, until the
        // rule ends.
        if is_blocked_by_rule && stored.is_empty() {
            let outdated = policy.metadata(None, false);
            for (_, list) in &mut lists {
                list.metadata.pull.clone_from(&outdated);
            }
        }
        return Ok(PackageIndices {
            lists,
            revoked: index::revoked_versions(&package, &stored, &statuses),
            ..PackageIndices::default()
        });
    }
    let seen = if policy.pulls(address) {
        origins::document(ctx, address).await?
    } else {
        None
    };
    let seen = seen.as_ref().map(|(document, _)| document);
    let mut listed = policy.listed(address, stored, seen);
    // A stored version that is blocked stays, because its indices tell clients about the block.
    listed.retain(|it| it.published.is_some() || statuses.block(&it.version).is_none());
    let metadata = policy.metadata(seen, listed.is_empty());
    let mut indices = if listed.is_empty() {
        let mut lists = match &metadata {
            Some(_) => index::empty_versions(&package),
            None => Vec::new(),
        };
        let overview = Overview::default();
        if !lists.is_empty() {
            lists.push(overview.index(&package));
        }
        PackageIndices {
            lists,
            revoked: Vec::new(),
            overview,
        }
    } else {
        status::apply_erasures(ctx, &package, &listed, &mut statuses).await?;
        let documented = documented(ctx, &package).await?;
        PackageIndices::of(&package, listed, &statuses, &documented)
    };
    for (_, list) in &mut indices.lists {
        list.metadata.pull.clone_from(&metadata);
    }
    Ok(indices)
}

/// Returns every index of one version, with a status that was read before.
pub(crate) async fn version_indices_with<P: Host>(
    ctx: &Context<'_, P>,
    status: &PackageStatus,
    release: &Release,
) -> Result<Indexed, Failure> {
    let about = async {
        Ok(match &status.documented {
            Some(documented) if !documented.contains(release.version()) => {
                About::of(release, None).index(release)
            }
            _ => about(ctx, release).await?,
        })
    };
    let indices = protocol_indices_with(ctx, status, release);
    let (mut indices, about) = try_join(indices, about).await?;
    indices.push(about);
    Ok(indices)
}

/// Returns the indices of one version that the protocols read. They do not depend on its documentation.
pub(crate) async fn protocol_indices<P: Host>(
    ctx: &Context<'_, P>,
    release: &Release,
) -> Result<Indexed, Failure> {
    let package = release.package();
    // A version that was erased may be missing in the document about statuses.
    let status = package_status_with(ctx, &package, release.erased().is_some()).await?;
    protocol_indices_with(ctx, &status, release).await
}

/// Returns the indices of one version that the protocols read, with a status that was read before.
pub(crate) async fn protocol_indices_with<P: Host>(
    ctx: &Context<'_, P>,
    status: &PackageStatus,
    release: &Release,
) -> Result<Indexed, Failure> {
    let mut statuses = status.statuses.clone();
    status.apply_revocation(release, &mut statuses);
    let mut others = Vec::new();
    if statuses.refusal(release.version()).is_some() {
        others = sharing(ctx, status, release).await?;
        for other in &others {
            status.apply_revocation(other, &mut statuses);
        }
    }
    let release = status.with_current_key(release);
    Ok(index::of_version(&release, &others, &statuses))
}

/// Returns the index that describes one version, whatever its status.
pub(crate) async fn about<P: Host>(
    ctx: &Context<'_, P>,
    release: &Release,
) -> Result<(IndexKey, IndexDocument), Failure> {
    let documentation = match release.erased() {
        Some(_) => None,
        None => documentation::head(ctx, &release.package(), release.version()).await?,
    };
    let documentation =
        documentation.map(|(document, head)| AboutDocumentation::of(document, head));
    Ok(About::of(release, documentation).index(release))
}

/// Returns another release for each content of a revoked release that other releases share: the lowest
/// installable one, if there is one.
async fn sharing<P: Host>(
    ctx: &Context<'_, P>,
    status: &PackageStatus,
    release: &Release,
) -> Result<Vec<Release>, Failure> {
    let package = release.package();
    let mut found: Vec<(Release, Vec<Sha256>)> = Vec::new();
    for digest in index::digests(release) {
        for version in status.may_contain(digest, release.version()) {
            let at = found.iter().position(|(it, _)| it.version() == version);
            if at.is_none()
                && let Some(other) = releases::find(ctx, &package, version).await?
            {
                let digests = index::digests(&other);
                found.push((other, digests));
            }
            // A digest may match by its prefix only.
            let read = found.iter().find(|(it, _)| it.version() == version);
            if read.is_some_and(|(_, digests)| digests.contains(&digest)) {
                break;
            }
        }
    }
    Ok(found.into_iter().map(|(other, _)| other).collect())
}

/// Returns the index of a digest in a package's repository.
pub(crate) async fn content<P: Host>(
    ctx: &Context<'_, P>,
    package: &Package,
    digest: Sha256,
) -> Result<Option<IndexDocument>, Failure> {
    let Some(release) = release_with(ctx, package, digest).await? else {
        return Ok(None);
    };
    let key = IndexKey::Content(package.clone(), digest);
    Ok(pick(&key, protocol_indices(ctx, &release).await?))
}

/// Returns the index of the first of these digests that occur only in revoked or blocked versions of a package.
pub(crate) async fn revoked_content<P: Host>(
    ctx: &Context<'_, P>,
    package: &Package,
    digests: impl IntoIterator<Item = Sha256>,
) -> Result<Option<IndexDocument>, Failure> {
    let status = package_status(ctx, package).await?;
    for digest in digests {
        let Some(release) = release_among(ctx, &status.listed, package, digest).await? else {
            continue;
        };
        let key = IndexKey::Content(package.clone(), digest);
        let document = pick(&key, protocol_indices_with(ctx, &status, &release).await?);
        if document
            .as_ref()
            .is_some_and(|it| it.metadata.revoked.is_some())
        {
            return Ok(document);
        }
    }
    Ok(None)
}

/// Returns a release with an artifact that contains this digest.
pub(crate) async fn release_with<P: Host>(
    ctx: &Context<'_, P>,
    package: &Package,
    digest: Sha256,
) -> Result<Option<Release>, Failure> {
    let listed = releases::list(ctx, package).await?;
    release_among(ctx, &listed, package, digest).await
}

/// Returns a listed release that contains this digest.
async fn release_among<P: Host>(
    ctx: &Context<'_, P>,
    listed: &[ListedRelease],
    package: &Package,
    digest: Sha256,
) -> Result<Option<Release>, Failure> {
    for listed in listed.iter().filter(|it| it.may_contain(digest)) {
        let Some(release) = releases::find(ctx, package, &listed.version).await? else {
            continue;
        };
        // A digest may match by its prefix only.
        let digests = index::digests(&release);
        if digests.contains(&digest) {
            return Ok(Some(release));
        }
    }
    Ok(None)
}

/// Reads the status of a package and of the keys that signed it and, if any version may be revoked, its
/// releases.
pub(crate) async fn package_status<P: Host>(
    ctx: &Context<'_, P>,
    package: &Package,
) -> Result<PackageStatus, Failure> {
    package_status_with(ctx, package, false).await
}

/// Does the same as [`package_status`], and reads the releases in any case if `lists`.
async fn package_status_with<P: Host>(
    ctx: &Context<'_, P>,
    package: &Package,
    lists: bool,
) -> Result<PackageStatus, Failure> {
    let (mut statuses, signing_keys) = stored_status(ctx, package).await?;
    let mut listed = Rc::default();
    let key_statuses = &signing_keys.statuses;
    if lists || statuses.refuses_any() || !key_statuses.is_empty() {
        listed = listed_releases(ctx, package).await?;
        status::apply_key_statuses(ctx, key_statuses, package, &listed, &mut statuses).await?;
        status::apply_erasures(ctx, package, &listed, &mut statuses).await?;
    }
    Ok(PackageStatus {
        statuses,
        signing_keys,
        listed,
        documented: None,
    })
}

/// Lists the releases of a package, lowest version first, unless this request has done so since the last change.
async fn listed_releases<P: Host>(
    ctx: &Context<'_, P>,
    package: &Package,
) -> Result<Rc<[ListedRelease]>, Failure> {
    let change = releases::change_revision(ctx, package).await?;
    if let Some(known) = ctx.recall::<ReleaseListing>()
        && known.package == *package
        && known.change == change
    {
        return Ok(Rc::clone(&known.releases));
    }
    let mut releases = releases::list(ctx, package).await?;
    sort::sort_by(&mut releases, |one, other| one.version.cmp(&other.version));
    let releases: Rc<[ListedRelease]> = releases.into();
    ctx.remember(ReleaseListing {
        package: package.clone(),
        change,
        releases: Rc::clone(&releases),
    });
    Ok(releases)
}

/// Returns the index with this key, if it is among them.
pub(crate) fn pick(key: &IndexKey, indices: Indexed) -> Option<IndexDocument> {
    let found = indices.into_iter().find(|(known, _)| known == key);
    found.map(|(_, document)| document)
}
