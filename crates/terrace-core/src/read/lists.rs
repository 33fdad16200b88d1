//! Answers that are built from a version list instead of streaming it. No request of terraform or tofu leads
//! here.

use std::collections::BTreeMap;

use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};

use super::{FinishError, StoredIndex, parse};
use crate::http::reply::{CachePolicy, Reply};
use crate::model::address::ModuleAddress;
use crate::model::version::Version;
use terrace_base::json;

/// A module's version list, as `index` writes it.
#[derive(Deserialize)]
struct ModuleList {
    modules: [ModuleVersions; 1],
}

#[derive(Deserialize)]
struct ModuleVersions {
    versions: Vec<Listed>,
}

#[derive(Serialize, Deserialize)]
struct Listed {
    version: Version,
}

/// A provider's list in the mirror, as `index` writes it.
#[derive(Deserialize)]
struct MirrorList {
    versions: BTreeMap<Version, IgnoredAny>,
}

/// A provider's list in the registry protocol, without the fields that the mirror's list lacks.
#[derive(Serialize)]
struct ProviderList {
    versions: Vec<ListedProvider>,
}

#[derive(Serialize)]
struct ListedProvider {
    version: Version,
    protocols: [(); 0],
    platforms: [(); 0],
}

/// Redirects to the download of a module's newest version, as the public registry does. A prerelease counts
/// only if there is no other version. `None` if the list is empty.
#[inline(never)]
pub(super) fn newest_module<S>(
    address: &ModuleAddress,
    found: &StoredIndex<S>,
) -> Result<Option<Reply<S>>, FinishError> {
    let ModuleList {
        modules: [ModuleVersions { versions }],
    } = parse(found)?;
    let mut newest_first = versions.iter().rev().map(|listed| &listed.version);
    let stable = newest_first
        .clone()
        .find(|version| !version.is_prerelease());
    let newest = stable.or_else(|| newest_first.next());
    Ok(newest.map(|version| {
        let below = address.hostname.as_ref();
        let below = below.map_or_else(String::new, |it| format!("/origins/{it}"));
        let address = address.clone().without_hostname();
        let location = format!("{below}/v1/modules/{address}/{version}/download");
        Reply::new(302, CachePolicy::NoStore).with("location", location)
    }))
}

/// The versions of the network mirror in the shape of the provider registry protocol.
#[inline(never)]
pub(super) fn origin_versions<S>(found: &StoredIndex<S>) -> Result<Reply<S>, FinishError> {
    let MirrorList { versions } = parse(found)?;
    let versions = versions.into_keys().map(|version| ListedProvider {
        version,
        protocols: [],
        platforms: [],
    });
    let list = ProviderList {
        versions: versions.collect(),
    };
    let text = json::to_string(&list);
    Ok(Reply::json(200, CachePolicy::NoStore, text))
}
