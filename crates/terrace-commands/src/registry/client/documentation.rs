//! The documentation of versions.

use terrace_base::digest::Sha256;
use terrace_core::api::admin::{DocumentationAnswer, DocumentationBody, DocumentationState};
use terrace_core::model::package::Package;
use terrace_core::model::version::Version;
use ureq::http::Method;

use super::{Call, Client, json_text, package_segments};
use crate::error::Failure;

/// The condition under which documentation is accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Condition {
    /// Whether the version is published or not.
    Always,
    /// Only if the version is not published: it belongs to the bytes that are about to be published.
    Unpublished,
}

/// The parameter of a change that the registry answers 409 if the version is published.
const UNPUBLISHED: &str = "?unpublished=true";

const TOO_OLD: &str = "the registry does not store documentation, because it is too old; after its upgrade, run terrace docs add";

impl Client<'_> {
    /// Sends the description of a version's documentation.
    ///
    /// # Errors
    /// [`Failure::Conflict`] if the version is published and must not be, [`Failure::Missing`] if the registry has no
    /// route for documentation.
    pub(crate) fn document(
        &self,
        package: &Package,
        version: &Version,
        condition: Condition,
        body: &DocumentationBody,
    ) -> Result<DocumentationAnswer, Failure> {
        let text = json_text(body)?;
        let query = match condition {
            Condition::Always => "",
            Condition::Unpublished => UNPUBLISHED,
        };
        let answer = self.send(&Call {
            method: Method::PUT,
            path: format!("{}{query}", path(package, version)),
            body: Some((&text, "application/json")),
        })?;
        match answer.status {
            404 | 405 => Err(Failure::Missing(TOO_OLD.to_owned())),
            _ => self.read(answer),
        }
    }

    /// Returns the state of a version's documentation, if it has any.
    pub(crate) fn documentation(
        &self,
        package: &Package,
        version: &Version,
    ) -> Result<Option<DocumentationState>, Failure> {
        self.find(path(package, version))
    }

    /// Removes the documentation of a version that is not published, if it has this archive.
    ///
    /// # Errors
    /// [`Failure::Conflict`] if the version is published, or has other documentation.
    pub(crate) fn remove_unpublished_documentation(
        &self,
        package: &Package,
        version: &Version,
        archive: Sha256,
    ) -> Result<(), Failure> {
        let path = path(package, version);
        self.remove(format!("{path}{UNPUBLISHED}&sha256={archive}"))
    }
}

fn path(package: &Package, version: &Version) -> String {
    let package = package_segments(package);
    format!("/admin/v1/{package}/{version}/documentation")
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
