//! Which index answers a route.

use serde_json::json;

use super::oci::{no_catalog, plan_pushed, plan_virtual};
use super::{Asked, Checksum, IndexForm, Wanted};
use crate::api::route::{HandledRoute, MirrorRoute, OciRoute, Route, TerraformRoute};
use crate::http::method::Method;
use crate::http::reply::{CachePolicy, Reply};
use crate::limits;
use crate::model::name::Hostname;
use crate::model::own_hosts::OwnHosts;
use crate::model::package::Package;
use crate::model::version::Version;
use crate::oci::OciRequest;
use crate::oci::TagPage;
use crate::storage::key::IndexKey;

/// What has to be done for a request.
pub(super) enum Plan<S> {
    /// This is the answer to everybody.
    Answer(Reply<S>),
    /// This is the answer to whoever may read from the package's repository.
    AnswerFor(Package, Reply<S>),
    /// An index has to be read.
    Read(Index),
    /// It is not a read.
    Other(HandledRoute),
}

/// An index, and what for.
pub(super) struct Index {
    pub(super) key: IndexKey,
    /// See [`Lookup::others`](super::Lookup::others).
    pub(super) others: Vec<IndexKey>,
    pub(super) form: IndexForm,
    pub(super) cache_seconds: u32,
    pub(super) wanted: Wanted,
}

pub(super) fn plan<S>(
    route: Route,
    method: Method,
    asked: &Asked<'_>,
    own: &OwnHosts<'_>,
    has_login: bool,
) -> Plan<S> {
    match route {
        Route::Home => Plan::Answer(home()),
        Route::Terraform(route) => plan_terraform(route, asked, has_login),
        Route::Mirror(route) => plan_mirror(route, asked, own),
        Route::Oci(OciRoute::Catalog) => Plan::Answer(no_catalog()),
        Route::Oci(OciRoute::Generated(OciRequest { repository, path })) => {
            plan_virtual(repository.package(own), path, TagPage::parse(asked.query))
        }
        Route::Oci(OciRoute::Pushed(request)) => {
            plan_pushed(request, method, TagPage::parse(asked.query))
        }
        Route::Health => Plan::Other(HandledRoute::Health),
        Route::Oci(OciRoute::Base) => Plan::Other(HandledRoute::OciBase),
        Route::Oci(OciRoute::Token) => Plan::Other(HandledRoute::OciToken),
        Route::Bytes(route) => Plan::Other(HandledRoute::Bytes(route)),
        Route::OAuth(route) => Plan::Other(HandledRoute::OAuth(route)),
        Route::Admin(route) => Plan::Other(HandledRoute::Admin(route)),
    }
}

fn plan_terraform<S>(route: TerraformRoute, asked: &Asked<'_>, has_login: bool) -> Plan<S> {
    match route {
        TerraformRoute::Discovery => Plan::Answer(discovery(has_login)),
        TerraformRoute::ProviderVersions(address) => list(
            IndexKey::Versions(Package::Provider(address)),
            Wanted::Versions,
        ),
        TerraformRoute::ProviderVersion(address, version) => {
            let wanted = Wanted::ProviderVersion(address.clone(), version.clone());
            one(Package::Provider(address), version, wanted)
        }
        TerraformRoute::ProviderDownload(address, version, platform) => {
            let package = Package::Provider(address);
            let wanted = Wanted::ProviderDownload(package.clone(), version.clone(), platform);
            one(package, version, wanted)
        }
        TerraformRoute::ModuleVersions(address) => list(
            IndexKey::Versions(Package::Module(address)),
            Wanted::Versions,
        ),
        TerraformRoute::ModuleNewest(address) => parsed_list(
            IndexKey::Versions(Package::Module(address.clone())),
            Wanted::NewestModule(address),
        ),
        TerraformRoute::ModuleDownload(address, version) => {
            let wanted = Wanted::ModuleDownload(checksum_for(asked.user_agent));
            one(Package::Module(address), version, wanted)
        }
    }
}

fn plan_mirror<S>(route: MirrorRoute, asked: &Asked<'_>, own: &OwnHosts<'_>) -> Plan<S> {
    match route {
        MirrorRoute::Home => Plan::Answer(mirror_home()),
        MirrorRoute::Versions(address) => list(
            IndexKey::MirrorVersions(own.package(address)),
            Wanted::Versions,
        ),
        MirrorRoute::Packages(address, version) => {
            one(own.package(address), version, Wanted::MirrorPackages)
        }
        MirrorRoute::OriginDiscovery(hostname) => {
            Plan::Answer(origin_discovery(asked.origin, &hostname))
        }
        MirrorRoute::OriginVersions(address) => parsed_list(
            IndexKey::MirrorVersions(own.package(address)),
            Wanted::OriginVersions,
        ),
    }
}

/// A list, which is passed on as it is stored.
fn list<S>(key: IndexKey, wanted: Wanted) -> Plan<S> {
    Plan::Read(Index {
        key,
        others: Vec::new(),
        form: IndexForm::Stream,
        cache_seconds: limits::LIST_CACHE_SECONDS,
        wanted,
    })
}

/// A list that the answer is made of.
fn parsed_list<S>(key: IndexKey, wanted: Wanted) -> Plan<S> {
    Plan::Read(Index {
        key,
        others: Vec::new(),
        form: IndexForm::Text,
        cache_seconds: limits::LIST_CACHE_SECONDS,
        wanted,
    })
}

/// What is known of one version.
fn one<S>(package: Package, version: Version, wanted: Wanted) -> Plan<S> {
    let cache_seconds = match package {
        // It may gain platforms.
        Package::Mirrored(_) => limits::LIST_CACHE_SECONDS,
        Package::Provider(_) | Package::Module(_) => limits::VERSION_CACHE_SECONDS,
    };
    Plan::Read(Index {
        key: IndexKey::Version(package, version),
        others: Vec::new(),
        form: IndexForm::Text,
        cache_seconds,
        wanted,
    })
}

/// The products whose go-getter verifies `checksum=` and takes it off (clients.md 0.3, 4.7). Others, such as checkov,
/// request the location as it stands. A proxy that hides the product costs the check and nothing else.
const CHECKSUM_PRODUCTS: [&str; 3] = ["Terraform/", "OpenTofu/", "terragrunt/"];

fn checksum_for(user_agent: Option<&str>) -> Checksum {
    let user_agent = user_agent.unwrap_or_default();
    let mut products = CHECKSUM_PRODUCTS.iter();
    if products.any(|product| user_agent.starts_with(product)) {
        Checksum::Appended
    } else {
        Checksum::Omitted
    }
}

fn home<S>() -> Reply<S> {
    Reply::text(
        200,
        CachePolicy::Short,
        "This is a Terrace registry for Terraform and OpenTofu.\n\
         Use its hostname in a source address: <hostname>/<namespace>/<type> for a provider, \
         <hostname>/<namespace>/<name>/<system> for a module.\n"
            .to_owned(),
    )
}

fn mirror_home<S>() -> Reply<S> {
    Reply::text(
        200,
        CachePolicy::Short,
        "This is the provider network mirror of a Terrace registry. Name it in the CLI configuration \
         (.terraformrc or .tofurc), with https and the slash at its end:\n\n\
         provider_installation {\n  network_mirror {\n    url = \"https://<this registry>/mirror/\"\n  }\n}\n"
            .to_owned(),
    )
}

/// The services of this registry. Absolute paths with a final slash work for every client and are
/// the same under every hostname (clients.md 1.3, 1.4).
fn discovery<S>(has_login: bool) -> Reply<S> {
    let services = r#"{"providers.v1":"/v1/providers/","modules.v1":"/v1/modules/"}"#;
    let with_login = concat!(
        r#"{"providers.v1":"/v1/providers/","modules.v1":"/v1/modules/","#,
        // `client` and `ports` are those that `login` takes (clients.md 7.1 to 7.3).
        r#""login.v1":{"client":"terraform-cli","grant_types":["authz_code"],"#,
        r#""authz":"/oauth/authorize","token":"/oauth/token","ports":[10000,10010]}}"#
    );
    let text = if has_login { with_login } else { services };
    Reply::json(200, CachePolicy::Short, text.to_owned())
}

/// The service that lists the mirrored providers of another registry. The URL is absolute: Renovate appends a path to
/// its configured `registryUrls`, which has the origin's hostname in its path already.
fn origin_discovery<S>(origin: &str, hostname: &Hostname) -> Reply<S> {
    let services = json!({ "providers.v1": format!("{origin}/origins/{hostname}/v1/providers/") });
    Reply::json(200, CachePolicy::Short, services.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::route::OAuthRoute;
    use crate::auth::login::{CLIENT_ID, PORTS};
    use crate::http::reply::Body;

    #[test]
    fn what_discovery_tells_of_signing_in_is_what_signing_in_takes_7_1_7_2_7_3() {
        let reply: Reply<()> = discovery(true);
        let Body::Text(text) = reply.body else {
            panic!()
        };
        let json: serde_json::Value = serde_json::from_str(&text).unwrap();
        let login = &json["login.v1"];
        assert_eq!(login["client"], CLIENT_ID);
        assert_eq!(login["grant_types"], serde_json::json!(["authz_code"]));
        assert_eq!(
            login["ports"],
            serde_json::json!([PORTS.start(), PORTS.end()])
        );
        for (name, route) in [
            ("authz", Route::OAuth(OAuthRoute::Authorize)),
            ("token", Route::OAuth(OAuthRoute::Token)),
        ] {
            assert_eq!(Route::parse(login[name].as_str().unwrap()), Ok(route));
        }
    }
}
