//! The package that a request is about, as its path names it.

use crate::api::route::{
    AdminRoute, ApiRoute, BytesRoute, MirrorRoute, OciRoute, PageRoute, Route, TerraformRoute,
};
use crate::model::own_hosts::OwnHosts;
use crate::model::package::Package;
use crate::model::version::{RequestedVersion, Version};
use crate::oci::pushed::{Reference, RepositoryPath};

/// The package and the version that a request is about, for its log line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Subject {
    /// The address of the package as in the API, or the name of the OCI repository.
    pub package: Option<String>,
    /// The version, or the tag.
    pub version: Option<String>,
}

impl Subject {
    /// Returns the subject of the request for a path. The signed path of an archive names no package.
    #[inline(never)]
    pub fn of_path(path: &str, own: &OwnHosts<'_>) -> Self {
        match Route::parse(path) {
            Ok(route) => Self::of_route(route, own),
            Err(_) => Self::default(),
        }
    }

    /// Returns the subject that is a version of a package, or a package.
    pub fn of(package: &Package, version: Option<&Version>) -> Self {
        Self {
            package: Some(package.address()),
            version: version.map(ToString::to_string),
        }
    }

    fn of_route(route: Route, own: &OwnHosts<'_>) -> Self {
        let found = match route {
            Route::Terraform(route) => of_terraform(route),
            Route::Mirror(route) => of_mirror(route),
            Route::Api(route) => of_api(route),
            Route::Admin(route) => of_admin(route),
            Route::Page(route) => of_page(route),
            Route::Bytes(BytesRoute::Pull(path)) => Some((
                Package::Mirrored(path.package.address),
                Some(path.package.version),
            )),
            Route::Oci(OciRoute::Generated(request)) => {
                let version = match request.path {
                    RepositoryPath::Manifest(Reference::Tag(tag)) => tag.version(),
                    _ => None,
                };
                Some((own.hosted(request.package), version))
            }
            Route::Oci(OciRoute::Pushed(request)) => {
                let version = match &request.path {
                    RepositoryPath::Manifest(Reference::Tag(tag)) => Some(tag.as_str().to_owned()),
                    _ => None,
                };
                let package = Some(request.repository.to_string());
                return Self { package, version };
            }
            Route::Bytes(BytesRoute::Archive(_))
            | Route::Oci(_)
            | Route::Health
            | Route::Mcp(_)
            | Route::OAuth(_) => None,
        };
        let Some((package, version)) = found else {
            return Self::default();
        };
        Self::of(&own.hosted(package), version.as_ref())
    }
}

type Found = Option<(Package, Option<Version>)>;

fn of_terraform(route: TerraformRoute) -> Found {
    Some(match route {
        TerraformRoute::ProviderVersions(address) | TerraformRoute::Provider(address) => {
            (Package::Provider(address), None)
        }
        TerraformRoute::ProviderVersion(address, version)
        | TerraformRoute::ProviderDownload(address, version, _) => {
            (Package::Provider(address), Some(version))
        }
        TerraformRoute::ModuleVersions(address)
        | TerraformRoute::ModuleNewest(address)
        | TerraformRoute::Module(address) => (Package::Module(address), None),
        TerraformRoute::ModuleDownload(address, version)
        | TerraformRoute::ModuleVersion(address, version) => {
            (Package::Module(address), Some(version))
        }
        TerraformRoute::Discovery | TerraformRoute::List(_) => return None,
    })
}

fn of_mirror(route: MirrorRoute) -> Found {
    Some(match route {
        MirrorRoute::Versions(address) | MirrorRoute::OriginVersions(address) => {
            (Package::Mirrored(address), None)
        }
        MirrorRoute::Packages(address, version) => (Package::Mirrored(address), Some(version)),
        MirrorRoute::Home | MirrorRoute::OriginDiscovery(_) => return None,
    })
}

fn of_api(route: ApiRoute) -> Found {
    let package = route.package()?.clone();
    let version = match route {
        ApiRoute::Version(_, version)
        | ApiRoute::Navigation(_, version)
        | ApiRoute::Document(_, version, _) => exact(version),
        _ => None,
    };
    Some((package, version))
}

fn of_page(route: PageRoute) -> Found {
    let package = route.package()?.clone();
    let version = match route {
        PageRoute::Version(_, version)
        | PageRoute::Document(_, version, _)
        | PageRoute::Text(_, version, _) => exact(version),
        _ => None,
    };
    Some((package, version))
}

fn of_admin(route: AdminRoute) -> Found {
    Some(match route {
        AdminRoute::PublishProvider(address, version) => {
            (Package::Provider(address), Some(version))
        }
        AdminRoute::PublishModule(address, version) => (Package::Module(address), Some(version)),
        AdminRoute::MirroredRelease(address, version) => {
            (Package::Mirrored(address), Some(version))
        }
        AdminRoute::Status(package, version) => (package, version),
        AdminRoute::Documentation(package, version) => (package, Some(version)),
        _ => return None,
    })
}

fn exact(version: RequestedVersion) -> Option<Version> {
    match version {
        RequestedVersion::Exact(version) => Some(version),
        RequestedVersion::Latest => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_of_any_protocol_names_its_package_and_version() {
        let digest = "0".repeat(64);
        let own = OwnHosts::new("https://registry.test", &[]);
        let archive = format!("/archives/1800000000/{digest}/{digest}.zip");
        let pull = format!("/pull/1800000000/{digest}/a.b/acme/widget/1.0.0/linux_amd64.zip");
        let blob = format!("/v2/team/tools/blobs/sha256:{digest}");
        for row in [
            "/v1/providers/acme/widget/versions acme/widget",
            "/v1/providers/AcMe/widget/1.0.0/download/linux/amd64 acme/widget 1.0.0",
            "/v1/modules/acme/vpc/aws/1.0.0/download acme/vpc/aws 1.0.0",
            "/mirror/a.b/acme/widget/index.json a.b/acme/widget",
            "/mirror/a.b/acme/widget/1.0.0.json a.b/acme/widget 1.0.0",
            "/mirror/registry.test/acme/widget/1.0.0.json acme/widget 1.0.0",
            "/origins/a.b/v1/providers/acme/widget/versions a.b/acme/widget",
            "/api/v1/modules/acme/vpc/aws/1.0.0/docs acme/vpc/aws 1.0.0",
            "/api/v1/providers/acme/widget/latest acme/widget",
            "/modules/acme/vpc/aws acme/vpc/aws",
            "/v2/providers/acme/widget/manifests/1.0.0 acme/widget 1.0.0",
            "/v2/team/tools/manifests/v1 team/tools v1",
            &format!("{blob} team/tools"),
            &format!("{pull} a.b/acme/widget 1.0.0"),
            "/admin/v1/providers/acme/widget/1.0.0 acme/widget 1.0.0",
            "/admin/v1/modules/acme/vpc/aws/status acme/vpc/aws",
            &archive,
            "/admin/v1/tokens",
            "/v1/providers/a--b/widget/versions",
            "/",
        ] {
            let mut parts = row.split(' ');
            let path = parts.next().unwrap();
            let expected = [parts.next(), parts.next()].map(Option::unwrap_or_default);
            let found = Subject::of_path(path, &own);
            let found = [found.package, found.version].map(Option::unwrap_or_default);
            assert_eq!(found, expected, "{path}");
        }
    }
}
