//! The index that answers each route. The plans of all but the registry protocol are never inlined, so that its first requests
//! do not compile them.

use serde_json::json;

use super::oci::{no_catalog, plan_generated, plan_pushed};
use super::{
    Checksum, Composed, IndexForm, IndexRequest, PageSubject, Projection, ReadPlan, RequestHead,
};
use crate::api::route::{ApiRoute, MirrorRoute, OciRoute, Route, TerraformRoute};
use crate::http::method::Method;
use crate::http::reply::{CachePolicy, Reply};
use crate::limits;
use crate::model::address::{ModuleAddress, ProviderAddress};
use crate::model::name::Hostname;
use crate::model::own_hosts::OwnHosts;
use crate::model::package::Package;
use crate::model::version::{RequestedVersion, Version};
use crate::oci::GeneratedRequest;
use crate::read::VERSION_CACHE_SECONDS;
use crate::storage::key::IndexKey;

pub(super) fn plan<S>(
    route: Route,
    method: Method,
    head: &RequestHead<'_>,
    own: &OwnHosts<'_>,
    has_login: bool,
) -> ReadPlan<S> {
    match route {
        Route::Terraform(route) => plan_terraform(route, head, own, has_login),
        Route::Mirror(route) => plan_mirror(route, head, own),
        Route::Oci(OciRoute::Catalog) => ReadPlan::Answer(no_catalog()),
        Route::Oci(OciRoute::Generated(GeneratedRequest { package, path })) => {
            plan_generated(own.hosted(package), path, head.query)
        }
        Route::Oci(OciRoute::Pushed(request)) => plan_pushed(request, method, head.query),
        Route::Api(mut route) => {
            if let Some(package) = route.package_mut() {
                *package = own.hosted(package.clone());
            }
            plan_api(route)
        }
        Route::Page(mut route) => {
            if let Some(package) = route.package_mut() {
                *package = own.hosted(package.clone());
            }
            ReadPlan::Handle(Route::Page(route))
        }
        route @ (Route::Health
        | Route::Oci(OciRoute::Base | OciRoute::Token)
        | Route::Bytes(_)
        | Route::OAuth(_)
        | Route::Mcp(_)
        | Route::Admin(_)) => ReadPlan::Handle(route),
    }
}

fn plan_terraform<S>(
    route: TerraformRoute,
    head: &RequestHead<'_>,
    own: &OwnHosts<'_>,
    has_login: bool,
) -> ReadPlan<S> {
    match route {
        TerraformRoute::Discovery => ReadPlan::Answer(discovery(has_login)),
        TerraformRoute::ProviderVersions(address) => list(
            IndexKey::Versions(Package::Provider(address)),
            Projection::Versions,
        ),
        TerraformRoute::ProviderDownload(address, version, platform) => {
            let package = Package::Provider(address);
            let projection =
                Projection::ProviderDownload(package.clone(), version.clone(), platform);
            version_document(package, version, projection)
        }
        TerraformRoute::ModuleVersions(address) => list(
            IndexKey::Versions(own.hosted(Package::Module(address))),
            Projection::Versions,
        ),
        TerraformRoute::ModuleNewest(address) => parsed_list(
            IndexKey::Versions(own.hosted(Package::Module(address.clone()))),
            Projection::NewestModule(address),
        ),
        TerraformRoute::ModuleDownload(address, version) => {
            let projection = Projection::ModuleDownload(checksum_for(head.user_agent));
            version_document(own.hosted(Package::Module(address)), version, projection)
        }
        TerraformRoute::ProviderVersion(address, version) => plan_public_provider(address, version),
        TerraformRoute::ModuleVersion(address, version) => plan_public_module(address, version),
        TerraformRoute::Provider(address) => {
            let path = format!("/v1/providers/{address}");
            overview(Package::Provider(address), Composed::Newest(path))
        }
        TerraformRoute::Module(address) => {
            let path = format!("/v1/modules/{address}");
            overview(Package::Module(address), Composed::Newest(path))
        }
        route @ TerraformRoute::List(_) => ReadPlan::Handle(Route::Terraform(route)),
    }
}

#[inline(never)]
fn plan_public_provider<S>(address: ProviderAddress, version: Version) -> ReadPlan<S> {
    let package = Package::Provider(address.clone());
    composed(
        IndexKey::Version(package.clone(), version.clone()),
        vec![
            IndexKey::About(package.clone(), version.clone()),
            IndexKey::Overview(package),
        ],
        Composed::PublicProvider(address, version),
    )
}

#[inline(never)]
fn plan_public_module<S>(address: ModuleAddress, version: Version) -> ReadPlan<S> {
    let package = Package::Module(address.clone());
    composed(
        IndexKey::About(package.clone(), version.clone()),
        vec![IndexKey::Overview(package)],
        Composed::PublicModule(address, version),
    )
}

#[inline(never)]
fn plan_api<S>(route: ApiRoute) -> ReadPlan<S> {
    match route {
        ApiRoute::Package(package) => overview(package.clone(), Composed::Package(package)),
        ApiRoute::Version(ref package, RequestedVersion::Latest)
        | ApiRoute::Navigation(ref package, RequestedVersion::Latest)
        | ApiRoute::Document(ref package, RequestedVersion::Latest, _) => {
            let package = package.clone();
            overview(package, Composed::Latest(route))
        }
        ApiRoute::Version(package, RequestedVersion::Exact(version)) => {
            let subject = PageSubject::Version(package.clone(), version.clone());
            let (key, others) = subject.keys();
            composed(key, others, Composed::Version(package, version))
        }
        ApiRoute::Navigation(package, RequestedVersion::Exact(version)) => composed(
            IndexKey::About(package.clone(), version.clone()),
            Vec::new(),
            Composed::Navigation(package, version),
        ),
        route @ (ApiRoute::Search
        | ApiRoute::Check
        | ApiRoute::Token
        | ApiRoute::Namespaces
        | ApiRoute::Namespace(_)
        | ApiRoute::UsedBy(_)
        | ApiRoute::Document(..)) => ReadPlan::Handle(Route::Api(route)),
    }
}

/// The versions of a package, for an answer of this form.
fn overview<S>(package: Package, answer: Composed) -> ReadPlan<S> {
    composed(IndexKey::Overview(package), Vec::new(), answer)
}

/// An answer for people. All its indices may change, at least with the status of a version.
fn composed<S>(key: IndexKey, others: Vec<IndexKey>, answer: Composed) -> ReadPlan<S> {
    let request = IndexRequest::new(key, IndexForm::Text, Projection::Composed(answer));
    ReadPlan::Read(IndexRequest { others, ..request })
}

#[inline(never)]
fn plan_mirror<S>(route: MirrorRoute, head: &RequestHead<'_>, own: &OwnHosts<'_>) -> ReadPlan<S> {
    match route {
        MirrorRoute::Home => ReadPlan::Answer(mirror_home()),
        MirrorRoute::Versions(address) => list(
            IndexKey::MirrorVersions(own.package(address)),
            Projection::Versions,
        ),
        MirrorRoute::Packages(address, version) => {
            version_document(own.package(address), version, Projection::MirrorPackages)
        }
        MirrorRoute::OriginDiscovery(hostname) => {
            ReadPlan::Answer(origin_discovery(head.origin, &hostname))
        }
        MirrorRoute::OriginVersions(address) => parsed_list(
            IndexKey::MirrorVersions(own.package(address)),
            Projection::OriginVersions,
        ),
    }
}

/// A list that is passed on as stored.
fn list<S>(key: IndexKey, projection: Projection) -> ReadPlan<S> {
    ReadPlan::Read(IndexRequest::new(key, IndexForm::Stream, projection))
}

/// A list that the answer is built from.
fn parsed_list<S>(key: IndexKey, projection: Projection) -> ReadPlan<S> {
    ReadPlan::Read(IndexRequest::new(key, IndexForm::Text, projection))
}

/// The index of one version.
fn version_document<S>(package: Package, version: Version, projection: Projection) -> ReadPlan<S> {
    let cache_seconds = match package.origin() {
        // The version may gain platforms, or be blocked.
        Some(_) => limits::LIST_CACHE_SECONDS,
        None => VERSION_CACHE_SECONDS,
    };
    let key = IndexKey::Version(package, version);
    ReadPlan::Read(IndexRequest {
        cache_seconds,
        ..IndexRequest::new(key, IndexForm::Text, projection)
    })
}

/// The products with a go-getter that verifies `checksum=` and removes it (clients.md 0.3, 4.7). Others, such as
/// checkov, request the location unchanged. A proxy that hides the product costs only the check.
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

/// Returns the services of this registry. Absolute paths with a final slash work for every client and are the
/// same under every hostname (clients.md 1.3, 1.4).
fn discovery<S>(has_login: bool) -> Reply<S> {
    let services = r#"{"providers.v1":"/v1/providers/","modules.v1":"/v1/modules/"}"#;
    let with_login = concat!(
        r#"{"providers.v1":"/v1/providers/","modules.v1":"/v1/modules/","#,
        // `client` and `ports` have the values that `login` accepts (clients.md 7.1 to 7.3).
        r#""login.v1":{"client":"terraform-cli","grant_types":["authz_code"],"#,
        r#""authz":"/oauth/authorize","token":"/oauth/token","ports":[10000,10010]}}"#
    );
    let text = if has_login { with_login } else { services };
    Reply::json(200, CachePolicy::Short, text.to_owned())
}

/// Returns the services that list the mirrored packages of another registry. The URLs are absolute: Renovate
/// appends a path to its configured `registryUrls`, which has the origin's hostname in its path already.
fn origin_discovery<S>(origin: &str, hostname: &Hostname) -> Reply<S> {
    let below = format!("{origin}/origins/{hostname}/v1");
    let services = json!({
        "providers.v1": format!("{below}/providers/"),
        "modules.v1": format!("{below}/modules/"),
    });
    Reply::json(200, CachePolicy::Short, services.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::route::OAuthRoute;
    use crate::auth::login::{CLIENT_ID, PORTS};
    use crate::http::reply::Body;

    #[test]
    fn discovery_describes_the_sign_in_that_is_implemented_7_1_7_2_7_3() {
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
