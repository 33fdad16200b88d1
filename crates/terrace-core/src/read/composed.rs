//! Answers that are composed for people, and the tools that show packages to them, from one index or several.
//!
//! Such an answer has an entity tag of its own, and shows revoked versions.

use serde::{Deserialize, Serialize};

use super::{FinishError, Lookup, StoredIndex, StoredIndices, parse};
use crate::api::details::{Navigation, PackageDetails, VersionDetails};
use crate::api::public::{module_details, provider_details};
use crate::api::route::ApiRoute;
use crate::documentation::{Contents, ModuleDetails};
use crate::http::problem::Problem;
use crate::http::reply::{CachePolicy, Reply};
use crate::index::about::About;
use crate::index::overview::{Overview, OverviewVersion};
use crate::model::address::{ModuleAddress, ProviderAddress};
use crate::model::package::Package;
use crate::model::status::ReleaseState;
use crate::model::version::{RequestedVersion, Version};
use crate::storage::index_document::short_etag;
use terrace_base::json;

/// A composed answer. The comments name its indices, the first of which decides whether there is anything to answer.
#[derive(Debug)]
pub(super) enum Composed {
    /// The details of a package, from its overview.
    Package(Package),
    /// The details of a version, from its description, the overview and, for a provider, the index of the version.
    Version(Package, Version),
    /// The documents of a version, from its description.
    Navigation(Package, Version),
    /// A redirect to the newest version, in place of `latest` in this route, from the overview.
    Latest(ApiRoute),
    /// A redirect to the path of the newest version below this one, from the overview.
    Newest(String),
    /// The details of a version of a module in the shape of the public registry, from its description and the overview.
    PublicModule(ModuleAddress, Version),
    /// The details of a version of a provider in the shape of the public registry, from its index, its description and
    /// the overview.
    PublicProvider(ProviderAddress, Version),
}

/// The field of a provider's version index that names its repository.
#[derive(Deserialize)]
struct BuiltFrom {
    source: Option<String>,
}

type Other<S> = Option<StoredIndex<S>>;

impl Lookup {
    /// Returns a composed answer.
    #[inline(never)]
    pub(super) fn finish_composed<S>(
        &self,
        composed: &Composed,
        found: &StoredIndices<S>,
    ) -> Result<Reply<S>, FinishError> {
        let reply = self.composed(composed, found)?;
        if composed.is_redirect() {
            return Ok(self.sent(reply));
        }
        let etag = composed_etag(found);
        let reply = match self.is_unchanged(&etag) {
            true => Reply::new(304, CachePolicy::Revalidate),
            false => reply,
        };
        Ok(self.sent(reply.with("etag", etag)))
    }

    fn composed<S>(
        &self,
        composed: &Composed,
        found: &StoredIndices<S>,
    ) -> Result<Reply<S>, FinishError> {
        let StoredIndices { first, others } = found;
        let other = |at: usize| others.get(at).unwrap_or(&None);
        let missing = || FinishError::Problem(self.missing());
        match composed {
            Composed::Package(package) => Ok(reply(&PackageDetails::of(package, &parse(first)?))),
            Composed::Version(package, version) => {
                let (overview, built) = (optional(other(0))?, optional(other(1))?);
                let details = VersionDetails::of(package, version, parse(first)?, &overview, built);
                Ok(reply(&details))
            }
            Composed::Navigation(package, version) => {
                Ok(reply(&Navigation::of(package, version, &parse(first)?)))
            }
            Composed::Latest(route) => latest(route, &parse(first)?).ok_or_else(missing),
            Composed::Newest(path) => newest(path, &parse(first)?).ok_or_else(missing),
            Composed::PublicModule(address, version) => {
                public_module(address, version, parse(first)?, &optional(other(0))?)
            }
            Composed::PublicProvider(address, version) => match &first.metadata.revoked {
                Some(reason) => Err(FinishError::Problem(self.refusal_problem(reason, false))),
                None => public_provider(address, version, first, [other(0), other(1)]),
            },
        }
    }
}

impl Composed {
    fn is_redirect(&self) -> bool {
        matches!(self, Self::Latest(_) | Self::Newest(_))
    }
}

/// Redirects to the newest version that can be installed; `None` if there is none. A new route of a version needs an arm: without one
/// it would redirect to itself.
fn latest<S>(route: &ApiRoute, overview: &Overview) -> Option<Reply<S>> {
    let version = RequestedVersion::Exact(overview.newest()?.version.clone());
    Some(redirect(match route.clone() {
        ApiRoute::Version(package, _) => ApiRoute::Version(package, version).to_string(),
        ApiRoute::Navigation(package, _) => ApiRoute::Navigation(package, version).to_string(),
        ApiRoute::Document(package, _, document) => {
            ApiRoute::Document(package, version, document).to_string()
        }
        other => other.to_string(),
    }))
}

/// Redirects to the details of the newest version in the shape of the public registry; `None` if there is none.
fn newest<S>(path: &str, overview: &Overview) -> Option<Reply<S>> {
    let newest = overview.newest()?;
    Some(redirect(format!("{path}/{}", newest.version)))
}

fn redirect<S>(location: String) -> Reply<S> {
    Reply::new(302, CachePolicy::NoStore).with("location", location)
}

/// Describes a version of a module in the shape of the public registry.
fn public_module<S>(
    address: &ModuleAddress,
    version: &Version,
    about: About,
    overview: &Overview,
) -> Result<Reply<S>, FinishError> {
    check_not_revoked(&Package::Module(address.clone()), version, overview)?;
    let details = match about.documentation.clone() {
        Some(documentation) => match documentation.head.contents {
            Contents::Module(details) => details,
            Contents::Provider(_) => return Err(FinishError::Corrupt),
        },
        None => ModuleDetails::default(),
    };
    let versions = installable(overview);
    let details = module_details(address, version, &about, &details, &versions);
    Ok(reply(&details))
}

/// Describes a version of a provider in the shape of the public registry. `about` and `overview` are `None` if the facts
/// hold nothing for them.
fn public_provider<S>(
    address: &ProviderAddress,
    version: &Version,
    built: &StoredIndex<S>,
    [about, overview]: [&Other<S>; 2],
) -> Result<Reply<S>, FinishError> {
    let BuiltFrom { source } = parse(built)?;
    let about: Option<About> = about.as_ref().map(parse).transpose()?;
    let overview: Overview = optional(overview)?;
    let published_at = about.as_ref().map(|about| about.published_at);
    let contents = about.and_then(|about| about.documentation.map(|it| it.head.contents));
    let details = match &contents {
        Some(Contents::Provider(details)) => Some(details),
        Some(Contents::Module(_)) => return Err(FinishError::Corrupt),
        None => None,
    };
    let origin = (source.as_deref(), published_at);
    let versions = installable(&overview);
    Ok(reply(&provider_details(
        address, version, origin, &versions, details,
    )))
}

/// Returns the versions that can be installed, ascending.
fn installable(overview: &Overview) -> Vec<String> {
    let versions = overview.versions.iter().rev();
    let installable = versions.filter(|listed| revocation(listed).is_none());
    installable.map(|it| it.version.to_string()).collect()
}

fn revocation(listed: &OverviewVersion) -> Option<String> {
    let status = listed.status.as_ref();
    let status = status.filter(|status| status.state == ReleaseState::Revoked);
    status.map(|status| status.reason.to_string())
}

fn check_not_revoked(
    package: &Package,
    version: &Version,
    overview: &Overview,
) -> Result<(), FinishError> {
    match overview.version(version).and_then(revocation) {
        None => Ok(()),
        Some(reason) => Err(FinishError::Problem(Problem::Gone(format!(
            "{} {version} is revoked: {reason}",
            package.address()
        )))),
    }
}

/// Parses an index; the default if it is absent, or that of a revoked version, which holds no data.
pub(super) fn optional<'f, S, T>(found: &'f Other<S>) -> Result<T, FinishError>
where
    T: Default + Deserialize<'f>,
{
    match found {
        Some(found) if found.metadata.revoked.is_none() => parse(found),
        _ => Ok(T::default()),
    }
}

fn reply<S>(document: &impl Serialize) -> Reply<S> {
    Reply::json(200, CachePolicy::Revalidate, json::to_string(document))
}

/// Returns the entity tag of an answer that is composed from these indices by this version of Terrace.
fn composed_etag<S>(found: &StoredIndices<S>) -> String {
    let mut text = env!("CARGO_PKG_VERSION").to_owned();
    let others = found.others.iter().map(Option::as_ref);
    for index in std::iter::once(Some(&found.first)).chain(others) {
        text.push(' ');
        text.push_str(index.map_or("", |index| index.metadata.etag.as_str()));
    }
    short_etag(&text)
}
