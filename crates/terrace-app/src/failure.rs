//! The error type of the application.

use terrace_core::http::oci_error::OciError;
use terrace_core::http::problem::Problem;
use terrace_core::model::package::Package;

use crate::cache::IssuerError;
use crate::host::StoreError;

/// The reason why a handler returns no reply.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Another registry returned no usable response. Contains the subject and the reason.
    Origin(String),
    /// The request is invalid.
    Problem(Problem),
    /// Storage failed.
    Store(StoreError),
    /// A stored document does not have the contents that were written.
    Corrupt(String),
    /// Bytes were damaged during their upload to storage, which rejected them. Contains their key.
    Damaged(String),
    /// Other publishes kept committing while a version list was written.
    Outrun(Package),
}

impl Failure {
    /// Returns the failure for a document that cannot be parsed or serialised.
    pub(crate) fn corrupt(error: impl ToString) -> Self {
        Self::Corrupt(error.to_string())
    }

    /// Returns whether the failure may have interrupted a change.
    pub(crate) fn may_have_changed_state(&self) -> bool {
        match self {
            Self::Store(_) | Self::Corrupt(_) | Self::Damaged(_) | Self::Outrun(_) => true,
            Self::Problem(_) | Self::Origin(_) => false,
        }
    }
}

impl From<Problem> for Failure {
    fn from(problem: Problem) -> Self {
        Self::Problem(problem)
    }
}

impl From<IssuerError> for Failure {
    fn from(error: IssuerError) -> Self {
        Self::Origin(error.why)
    }
}

impl From<OciError> for Failure {
    fn from(error: OciError) -> Self {
        Self::Problem(Problem::Oci(error))
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}
