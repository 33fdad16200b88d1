//! Reads of providers that other registries publish: blocked versions, and lists that may be outdated.

use super::{FinishError, Lookup, StoredIndices};
use crate::http::reply::Reply;
use crate::model::address::MirroredAddress;
use crate::model::package::Package;
use crate::model::version::Version;
use crate::storage::index_document::IndexMetadata;
use crate::storage::key::IndexKey;
use crate::upstream::pull::{
    PULL_CHECK_SECONDS, PULL_STALE_SECONDS, PullPolicy, blocked, blocked_because,
};
use terrace_base::time::UnixTime;

/// The freshness of a list, which decides whether it may be served.
#[derive(Debug, PartialEq, Eq)]
pub enum Freshness {
    /// It may.
    Fresh,
    /// It may. After the answer, its origin should be asked for newer versions.
    Stale(MirroredAddress),
    /// It may not: it is too old, or was made under other rules than those of this deployment.
    Unfit,
}

impl Lookup {
    /// Returns the answer for a mirrored version that the operator blocks; `None` for any other. The version
    /// of content that is named by its digest is only in its `metadata`.
    pub fn blocked<S>(
        &self,
        policy: &PullPolicy,
        metadata: Option<&IndexMetadata>,
    ) -> Option<Reply<S>> {
        let (address, version) = match &self.key {
            IndexKey::Version(Package::Mirrored(address), version)
            | IndexKey::About(Package::Mirrored(address), version)
            | IndexKey::Tag(Package::Mirrored(address), version) => (address, version),
            IndexKey::Content(Package::Mirrored(address), _) => {
                (address, metadata?.content.as_ref()?.version.as_ref()?)
            }
            _ => return None,
        };
        let is_blocked = policy.blocks(address, version);
        is_blocked.then(|| self.problem(&blocked(address, version)))
    }

    /// Checks that the operator does not block the whole provider that people look at. Of one blocked version they see
    /// that it is blocked, like a revoked one.
    pub(super) fn check_provider<S>(&self, found: &StoredIndices<S>) -> Result<(), FinishError> {
        let others = found.others.iter().map(Option::as_ref);
        let found = std::iter::once(Some(&found.first)).chain(others);
        for (key, found) in self.keys().zip(found) {
            if let IndexKey::Overview(package) = key
                && let Some(metadata) = found.map(|it| &it.metadata)
                && metadata.is_blocked
            {
                let reason = metadata.revoked.as_deref().unwrap_or_default();
                let problem = blocked_because(&package.address(), reason);
                return Err(FinishError::Problem(problem));
            }
        }
        Ok(())
    }

    /// Returns whether the list that was found may be served. A list that depends on releases alone always
    /// may.
    pub(super) fn freshness(
        &self,
        metadata: &IndexMetadata,
        policy: &PullPolicy,
        now: UnixTime,
    ) -> Freshness {
        let (IndexKey::MirrorVersions(Package::Mirrored(address))
        | IndexKey::Overview(Package::Mirrored(address))
        | IndexKey::Tags(Package::Mirrored(address))) = &self.key
        else {
            return Freshness::Fresh;
        };
        if metadata.is_outdated_block() {
            return Freshness::Unfit;
        }
        if metadata.is_blocked {
            // It depends neither on this deployment's rules nor on the origin.
            return Freshness::Fresh;
        }
        let made_by = metadata.pull.as_ref();
        if !policy.has_made(made_by) {
            return Freshness::Unfit;
        }
        let checked_at = match made_by {
            Some(made_by) if policy.pulls(address) => made_by.checked_at,
            _ => return Freshness::Fresh,
        };
        match now.since(checked_at) {
            age if age < PULL_CHECK_SECONDS => Freshness::Fresh,
            age if age < PULL_STALE_SECONDS => Freshness::Stale(address.clone()),
            _ => Freshness::Unfit,
        }
    }

    /// Returns the version of the offers that are served, with its provider.
    pub(super) fn offerer(&self, policy: &PullPolicy) -> Option<(&MirroredAddress, &Version)> {
        match &self.key {
            IndexKey::Version(Package::Mirrored(address), version) if policy.pulls(address) => {
                Some((address, version))
            }
            _ => None,
        }
    }
}
