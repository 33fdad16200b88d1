//! The status of releases, which their publishers and the owners of their signing keys set after the publish.

use std::collections::BTreeMap;

use terrace_core::api::admin::SigningKeysDocument;
use terrace_core::auth::access::{Caller, Owner};
use terrace_core::http::problem::Problem;
use terrace_core::index::ListedRelease;
use terrace_core::model::address::MirroredAddress;
use terrace_core::model::package::Package;
use terrace_core::model::status::{
    KeyState, KeyStatus, ReleaseState, ReleaseStatus, StatusDocument,
};
use terrace_core::model::version::Version;
use terrace_core::storage::key::FactKey;
use terrace_core::storage::release::Release;
use terrace_core::upstream::pull::blocked_because;
use terrace_openpgp::KeyId;

use crate::access::rules;
use crate::context::Context;
use crate::documents::{keys, releases};
use crate::failure::Failure;
use crate::host::Host;
use crate::{documents, json};

/// Maximum number of versions of a package that have a status: the document that contains them is read for
/// each list.
const VERSION_STATUSES: usize = 1_000;

/// Sets the status of a package or of one of its versions, or lifts it. Returns the document with the previous state.
pub(crate) async fn set_status<P: Host>(
    ctx: &Context<'_, P>,
    caller: &Caller,
    package: &Package,
    (version, status): (Option<&Version>, Option<ReleaseStatus>),
) -> Result<(StatusDocument, Option<ReleaseState>), Failure> {
    let (statuses, before) = change_document(ctx, package, status.as_ref(), |statuses| {
        let before = replace(statuses, version, status.clone())?;
        let is_revoked = |it: &ReleaseStatus| it.state == ReleaseState::Revoked;
        let of_security = before.iter().any(is_revoked) || status.iter().any(is_revoked);
        let owner = Owner::of(package);
        if of_security && !caller.may_administer(&owner) {
            let message = format!(
                "revoking a version or restoring it requires the scope admin:{owner} or admin"
            );
            return Err(Problem::Forbidden(message));
        }
        Ok(before)
    })
    .await?;
    Ok((statuses, before.map(|it| it.state)))
}

/// Sets the block of a mirrored package, or of one of its versions, or lifts it. Returns the document, and whether a block
/// applied before and applies now: that of the package applies to all versions.
pub(crate) async fn set_block<P: Host>(
    ctx: &Context<'_, P>,
    package: &Package,
    (version, block): (Option<&Version>, Option<ReleaseStatus>),
) -> Result<(StatusDocument, [bool; 2]), Failure> {
    let (statuses, before) = change_document(ctx, package, block.as_ref(), |statuses| {
        let before = match version {
            None => std::mem::replace(&mut statuses.blocked, block.clone()),
            Some(version) => set(&mut statuses.blocked_versions, version, block.clone()),
        };
        if statuses.blocked_versions.len() > VERSION_STATUSES {
            let limit = VERSION_STATUSES;
            let message = format!(
                "{limit} versions are blocked already, the maximum: block the whole package instead"
            );
            return Err(Problem::Invalid(vec![message]));
        }
        Ok(before)
    })
    .await?;
    let of_package = version.is_some() && statuses.blocked.is_some();
    let applies = [before, block].map(|own| own.is_some() || of_package);
    Ok((statuses, applies))
}

/// Reads, changes and writes the document of a package, until no other write comes in between. `replace` puts `after` into it and
/// returns the status before, which is returned with the document: a repeated request leaves the document, with its times, as
/// it is, and only its indices may be missing.
async fn change_document<P: Host>(
    ctx: &Context<'_, P>,
    package: &Package,
    after: Option<&ReleaseStatus>,
    replace: impl Fn(&mut StatusDocument) -> Result<Option<ReleaseStatus>, Problem>,
) -> Result<(StatusDocument, Option<ReleaseStatus>), Failure> {
    let key = FactKey::Status(package.clone());
    loop {
        let (stored, unchanged) =
            documents::read_for_change::<_, StatusDocument>(ctx, &key).await?;
        let mut statuses = stored.clone().unwrap_or_default();
        let before = replace(&mut statuses)?;
        // A document of which the audit log records a change must exist, or its absence looks like a loss.
        if let (Some(stored), false) = (stored, is_change(before.as_ref(), after)) {
            return Ok((stored, before));
        }
        let text = json::text(&statuses)?;
        let written = documents::put(ctx, &key, &text, &[], unchanged).await?;
        if written.is_some() {
            return Ok((statuses, before));
        }
    }
}

/// Returns whether two statuses differ in more than their time and caller.
fn is_change(before: Option<&ReleaseStatus>, after: Option<&ReleaseStatus>) -> bool {
    let essence = |it: &ReleaseStatus| (it.state, it.reason.clone());
    before.map(essence) != after.map(essence)
}

/// Returns whether the operator blocks a whole mirrored provider.
pub(crate) async fn blocks_provider<P: Host>(
    ctx: &Context<'_, P>,
    address: &MirroredAddress,
) -> Result<bool, Failure> {
    let package = Package::Mirrored(address.clone());
    Ok(applied(ctx, &package).await?.blocked.is_some())
}

/// Rejects a mirrored version that the operator blocks.
pub(crate) async fn check_not_blocked<P: Host>(
    ctx: &Context<'_, P>,
    address: &MirroredAddress,
    version: &Version,
) -> Result<(), Failure> {
    let package = Package::Mirrored(address.clone());
    match applied(ctx, &package).await?.block(version) {
        Some(block) => {
            let what = format!("{address} {version}");
            Err(blocked_because(&what, &block.reason).into())
        }
        None => Ok(()),
    }
}

/// Returns the status of a package: its document and, for a mirrored package that is not blocked itself, the block of its
/// namespace or host.
pub(crate) async fn applied<P: Host>(
    ctx: &Context<'_, P>,
    package: &Package,
) -> Result<StatusDocument, Failure> {
    let mut statuses = document(ctx, package).await?;
    if package.origin().is_some() && statuses.blocked.is_none() {
        statuses.blocked = rules::block_of(ctx, package).await?;
    }
    Ok(statuses)
}

/// Returns the status document of a package.
pub(crate) async fn document<P: Host>(
    ctx: &Context<'_, P>,
    package: &Package,
) -> Result<StatusDocument, Failure> {
    let key = FactKey::Status(package.clone());
    let statuses = documents::read(ctx, &key).await?;
    Ok(statuses.unwrap_or_default())
}

/// Adds the status of erased versions that the document lacks: they stay revoked, whatever happens to it.
pub(crate) async fn apply_erasures<P: Host>(
    ctx: &Context<'_, P>,
    package: &Package,
    releases: &[ListedRelease],
    statuses: &mut StatusDocument,
) -> Result<(), Failure> {
    for listed in releases.iter().filter(|it| it.is_erased) {
        if statuses.revocation_reason(&listed.version).is_none() {
            let release = releases::find(ctx, package, &listed.version).await?;
            release.iter().for_each(|it| apply_erasure(it, statuses));
        }
    }
    Ok(())
}

/// Adds the status of a release that was erased.
pub(crate) fn apply_erasure(release: &Release, statuses: &mut StatusDocument) {
    if let Some(tombstone) = release.erased() {
        statuses.apply_erasure(&tombstone.version, &tombstone.reason, tombstone.erased_at);
    }
}

/// Adds the status of a hosted provider's versions that follows from the keys that signed them.
pub(crate) async fn apply_key_statuses<P: Host>(
    ctx: &Context<'_, P>,
    key_statuses: &BTreeMap<KeyId, KeyStatus>,
    package: &Package,
    releases: &[ListedRelease],
    statuses: &mut StatusDocument,
) -> Result<(), Failure> {
    if key_statuses.is_empty() {
        return Ok(());
    }
    for listed in releases.iter().filter(|it| !it.is_erased) {
        let key_id = match listed.signing_key {
            Some(key_id) => Some(key_id),
            // It was published before objects had this metadata.
            None => match releases::find(ctx, package, &listed.version).await? {
                Some(Release::Provider(it)) => Some(it.signing_key.key_id),
                _ => None,
            },
        };
        let key_status = key_id.as_ref().and_then(|id| key_statuses.get(id));
        if let (Some(key_id), Some(key_status)) = (key_id, key_status) {
            statuses.apply_key_revocation(&listed.version, key_id, key_status);
        }
    }
    Ok(())
}

/// Returns the keys of a hosted provider's namespace, the removed ones last, and their status; no status if none of them is revoked.
pub(crate) async fn signing_keys<P: Host>(
    ctx: &Context<'_, P>,
    package: &Package,
) -> Result<SigningKeysDocument, Failure> {
    let Package::Provider(address) = package else {
        return Ok(SigningKeysDocument::default());
    };
    let (mut document, _) = keys::document(ctx, &address.namespace).await?;
    let mut statuses = document.statuses.values();
    if statuses.all(|it| it.state != KeyState::Revoked) {
        document.statuses.clear();
    }
    document.keys.append(&mut document.removed);
    Ok(document)
}

/// Sets a status, and returns the previous one.
fn replace(
    statuses: &mut StatusDocument,
    version: Option<&Version>,
    status: Option<ReleaseStatus>,
) -> Result<Option<ReleaseStatus>, Problem> {
    let Some(version) = version else {
        return Ok(std::mem::replace(&mut statuses.package, status));
    };
    let revokes = status
        .as_ref()
        .is_none_or(|it| it.state == ReleaseState::Revoked);
    let before = set(&mut statuses.versions, version, status);
    // Revocations are always allowed.
    let is_revoked = |it: &ReleaseStatus| it.state == ReleaseState::Revoked;
    let unrevoked = statuses.versions.values().filter(|it| !is_revoked(it));
    if !revokes && unrevoked.count() > VERSION_STATUSES {
        let limit = VERSION_STATUSES;
        let message = format!(
            "{limit} versions already have a status, the maximum: deprecate the package instead"
        );
        return Err(Problem::Invalid(vec![message]));
    }
    Ok(before)
}

/// Sets or removes the status of a version in a map, and returns the previous one.
fn set(
    statuses: &mut BTreeMap<String, ReleaseStatus>,
    version: &Version,
    status: Option<ReleaseStatus>,
) -> Option<ReleaseStatus> {
    let version = version.to_string();
    match status {
        Some(status) => statuses.insert(version, status),
        None => statuses.remove(&version),
    }
}
