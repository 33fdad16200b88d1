//! Registries, packages and texts as they occur, for the gallery and the tests.

pub mod module;
pub mod provider;
pub mod text;

use serde_json::{Value, json};
use terrace_core::api::details::{
    ListedPackage, NamespaceView, PackageDetails, PackageKind, PackageName, StatusView,
    VersionSummary,
};
use terrace_core::model::package::Package;
use terrace_core::model::version::Version;
use terrace_web::assets::Assets;
use terrace_web::{SignIn, Site};

/// The origin of the registry.
pub const ORIGIN: &str = "https://registry.example.com";

/// Returns a public registry.
pub fn site() -> Site {
    Site {
        origin: ORIGIN.to_owned(),
        hostname: "registry.example.com".to_owned(),
        name: "Acme Registry".to_owned(),
        logo: None,
        assets: Assets::new(None).names().clone(),
        sign_in: SignIn::Unavailable,
        is_private: false,
        has_mirror: true,
        has_oci: true,
        has_login: true,
    }
}

/// Returns a private registry whose reader is not signed in.
pub fn private_site() -> Site {
    Site {
        is_private: true,
        sign_in: SignIn::SignedOut,
        ..site()
    }
}

/// Parses a value of an API from its JSON.
pub fn parsed<T: serde::de::DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).expect("a fixture")
}

/// Parses a package: `acme/widget`, `registry.opentofu.org/acme/widget` or `acme/vpc/aws`.
pub fn package(address: &str) -> Package {
    Package::parse_address(address).expect("an address")
}

/// Parses a version.
pub fn version(text: &str) -> Version {
    text.parse().expect("a version")
}

/// Returns versions, the newest first, a month apart.
pub fn versions(texts: &[&str]) -> Vec<VersionSummary> {
    let versions = texts.iter().enumerate().map(|(at, text)| {
        let (year, month) = (2026 - at / 12, 12 - at % 12);
        parsed(json!({
            "version": text,
            "published_at": format!("{year}-{month:02}-0{}T09:30:00Z", at % 9 + 1),
            "is_documented": at % 5 != 4,
            "source": { "url": "https://github.com/acme/terraform-provider-widget", "claimed": false,
                "commit": "0a1b2c3d0a1b2c3d0a1b2c3d0a1b2c3d0a1b2c3d" },
        }))
    });
    versions.collect()
}

/// Returns a status.
pub fn status(state: &str, reason: &str) -> StatusView {
    parsed(json!({ "state": state, "reason": reason, "at": "2026-10-05T08:00:00Z" }))
}

/// Returns the details of a package with these versions.
pub fn details(package: &Package, versions: Vec<VersionSummary>) -> PackageDetails {
    PackageDetails {
        package: PackageName::from(package),
        latest: versions.first().map(|it| it.version.clone()),
        status: None,
        versions,
    }
}

/// Returns a package of a list.
pub fn listed(address: &str, latest: &str, description: &str) -> ListedPackage {
    ListedPackage {
        package: PackageName::from(&package(address)),
        latest: version(latest),
        published_at: Some("2026-11-20T14:03:11Z".to_owned()),
        versions: 14,
        state: None,
        is_documented: true,
        description: description.to_owned(),
    }
}

/// Returns packages of a list.
pub fn packages() -> Vec<ListedPackage> {
    let mut packages = vec![
        listed(
            "acme/vpc/aws",
            "5.2.0",
            "A VPC with public, private and database subnets, flow logs and endpoints",
        ),
        listed(
            "acme/widget",
            "2.4.1",
            "Manage widgets, gadgets and their schedules on the Acme platform",
        ),
        listed(
            "platform/kubernetes-cluster/azurerm",
            "1.0.0-rc.2",
            "An AKS cluster with node pools, workload identity and diagnostics",
        ),
        listed(
            "registry.opentofu.org/hashicorp/random",
            "3.7.2",
            "Random values that stay the same until an input changes",
        ),
        listed("platform/dns/cloudflare", "0.9.3", ""),
        listed(
            "data-engineering/extraordinarily-long-module-name-for-streaming-ingestion/google",
            "12.34.56",
            "Streaming ingestion",
        ),
        listed(
            "acme/store/aws",
            "1.1.0",
            "وحدة لتخزين الملفات مع نسخ احتياطي يومي",
        ),
    ];
    packages[3].is_documented = false;
    packages[4].state = Some(terrace_core::model::status::ReleaseState::Deprecated);
    packages[4].versions = 1;
    packages
}

/// Returns namespaces.
pub fn namespaces() -> Vec<NamespaceView> {
    let counted = [
        ("acme", 23, 2),
        ("data-engineering", 9, 0),
        ("platform", 41, 3),
        ("registry.opentofu.org/hashicorp", 0, 12),
    ];
    let views = counted.map(|(namespace, modules, providers)| NamespaceView {
        namespace: namespace.to_owned(),
        path: format!("/api/v1/namespaces/{namespace}"),
        modules,
        providers,
    });
    views.into()
}

/// Returns the packages of a kind.
pub fn of_kind(kind: PackageKind) -> Vec<ListedPackage> {
    let packages = packages().into_iter();
    packages.filter(|it| it.package.kind == kind).collect()
}

/// Returns the job that published a version of this repository.
pub fn provenance(repository: &str) -> Value {
    json!({
        "issuer": "https://token.actions.githubusercontent.com", "repository": repository,
        "url": format!("https://github.com/{repository}"), "commit": "0a1b2c3d0a1b2c3d0a1b2c3d0a1b2c3d0a1b2c3d",
        "ref": "refs/tags/v2.4.1", "workflow": format!("{repository}/.github/workflows/release.yml@refs/tags/v2.4.1"),
        "run": "4242"
    })
}
