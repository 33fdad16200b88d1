//! Why a request has no reply of its own.

use terrace_core::http::problem::Problem;
use terrace_core::model::package::Package;

use crate::host::StoreError;

/// Why a handler has no reply of its own.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Another registry gave nothing of use; what it was about, and why.
    Origin(String),
    /// The request is at fault.
    Problem(Problem),
    /// Storage is.
    Store(StoreError),
    /// A stored document is not what was written there.
    Corrupt(String),
    /// Others kept committing while a version list was written.
    Outrun(Package),
}

impl Failure {
    /// Returns the failure of a document that cannot be read or written as what it should be.
    pub(crate) fn corrupt(error: impl ToString) -> Self {
        Self::Corrupt(error.to_string())
    }

    /// Whether it ended something that had begun.
    pub(crate) fn may_have_changed_state(&self) -> bool {
        match self {
            Self::Store(_) | Self::Corrupt(_) | Self::Outrun(_) => true,
            Self::Problem(_) | Self::Origin(_) => false,
        }
    }
}

impl From<Problem> for Failure {
    fn from(problem: Problem) -> Self {
        Self::Problem(problem)
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}
