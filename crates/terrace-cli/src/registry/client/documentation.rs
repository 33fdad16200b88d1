//! The documentation of versions.

use terrace_core::api::admin::{DocumentationAnswer, DocumentationBody, DocumentationState};
use terrace_core::model::package::Package;
use terrace_core::model::version::Version;
use ureq::http::Method;

use super::{Call, Client};
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
        let text = serde_json::to_string(body);
        let text = text.map_err(|error| Failure::Unexpected(error.to_string()))?;
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
        let answer = self.send(&Call {
            method: Method::GET,
            path: path(package, version),
            body: None,
        })?;
        match answer.status {
            404 => Ok(None),
            _ => self.read(answer).map(Some),
        }
    }

    /// Removes the documentation of a version that is not published.
    ///
    /// # Errors
    /// [`Failure::Conflict`] if the version is published.
    pub(crate) fn remove_unpublished_documentation(
        &self,
        package: &Package,
        version: &Version,
    ) -> Result<(), Failure> {
        let answer = self.send(&Call {
            method: Method::DELETE,
            path: format!("{}{UNPUBLISHED}", path(package, version)),
            body: None,
        })?;
        // An earlier attempt, with a lost response, may have removed it.
        if answer.is_success() || answer.status == 404 {
            Ok(())
        } else {
            Err(self.failure(answer))
        }
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
