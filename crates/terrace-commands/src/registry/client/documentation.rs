//! The documentation of versions.

use terrace_base::digest::Sha256;
use terrace_core::api::admin::{DocumentationAnswer, DocumentationBody, DocumentationState};
use terrace_core::api::endpoint::DOCUMENTATION;
use terrace_core::model::package::Package;
use terrace_core::model::version::Version;

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
const UNPUBLISHED: &str = "unpublished";

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
        let call = Call::put(&DOCUMENTATION).of_version(package, version);
        let unpublished = (condition == Condition::Unpublished).then_some(true);
        let answer = self.send(&call.query(UNPUBLISHED, unpublished).json(body)?)?;
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
        self.find(Call::get(&DOCUMENTATION).of_version(package, version))
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
        let call = Call::delete(&DOCUMENTATION).of_version(package, version);
        self.remove(
            call.query(UNPUBLISHED, Some(true))
                .query("sha256", Some(archive)),
        )
    }
}
