//! The documentation of versions.

use terrace_core::api::admin::{DocumentationAnswer, DocumentationBody};
use terrace_core::model::package::Package;
use terrace_core::model::version::Version;
use ureq::http::Method;

use super::{Call, Client};
use crate::error::Failure;

impl Client<'_> {
    /// Sends the description of a version's documentation.
    pub(crate) fn document(
        &self,
        package: &Package,
        version: &Version,
        body: &DocumentationBody,
    ) -> Result<DocumentationAnswer, Failure> {
        let text = serde_json::to_string(body);
        let text = text.map_err(|error| Failure::Unexpected(error.to_string()))?;
        self.ask(Call {
            method: Method::PUT,
            path: path(package, version),
            body: Some((&text, "application/json")),
        })
    }
}

fn path(package: &Package, version: &Version) -> String {
    let kind = match package {
        Package::Provider(_) => "providers",
        Package::Module(_) => "modules",
        Package::Mirrored(_) => "mirror",
    };
    let address = package.address();
    format!("/admin/v1/{kind}/{address}/{version}/documentation")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_names_the_kind_of_the_package() {
        let version = "1.0.0".parse().unwrap();
        for (address, kind) in [
            ("acme/widget", "providers"),
            ("acme/vpc/aws", "modules"),
            ("a.example/acme/widget", "mirror"),
        ] {
            let package = Package::parse_address(address).unwrap();
            let expected = format!("/admin/v1/{kind}/{address}/1.0.0/documentation");
            assert_eq!(path(&package, &version), expected);
        }
    }
}
