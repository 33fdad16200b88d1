//! Descriptions of one version, for update tools.

use serde::Serialize;
use serde_json::value::RawValue;

use super::FinishError;
use super::view::SourceView;
use crate::http::reply::{CachePolicy, Reply};
use crate::model::address::ProviderAddress;
use crate::model::version::Version;
use terrace_base::json;

/// A version of a provider, in the shape of the public registry's API: the fields that Dependabot reads. The
/// public registry does not have the last two.
#[derive(Serialize)]
struct ProviderVersion<'a> {
    id: String,
    namespace: &'a str,
    name: &'a str,
    version: String,
    /// Always present: Dependabot fails if it is absent (clients.md 15.2).
    source: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    commit: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    provenance: Option<&'a RawValue>,
}

/// Describes a version of a provider.
pub(super) fn provider_version<S>(
    index: &SourceView<'_>,
    address: &ProviderAddress,
    version: &Version,
) -> Result<Reply<S>, FinishError> {
    let description = ProviderVersion {
        id: format!("{address}/{version}"),
        namespace: address.namespace.as_str(),
        name: address.provider_type.as_str(),
        version: version.to_string(),
        source: index.source,
        commit: index.commit,
        provenance: index.provenance,
    };
    let text = json::to_string(&description);
    Ok(Reply::json(200, CachePolicy::NoStore, text))
}
