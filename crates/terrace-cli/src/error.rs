//! Why a command did not do what it was asked to, and the exit code that says so.

use std::io;
use std::path::Path;

/// Why a command failed. No variant ever holds a token or a signed URL.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// The version is published with other bytes.
    #[error("{}", .0.join("\n"))]
    Conflict(Vec<String>),
    /// The token is missing or wrong.
    #[error("{0}")]
    NotAllowed(String),
    /// What would be published is wrong; every reason.
    #[error("{}", .0.join("\n"))]
    Refused(Vec<String>),
    /// The registry or the store could not be reached, or did not answer.
    #[error("{0}")]
    Unavailable(String),
    /// Anything else.
    #[error("{0}")]
    Unexpected(String),
}

impl Failure {
    /// A single reason to refuse.
    pub(crate) fn refused(reason: impl Into<String>) -> Self {
        Self::Refused(vec![reason.into()])
    }

    /// A file that cannot be read.
    pub(crate) fn file(path: &Path, error: &io::Error) -> Self {
        Self::refused(format!("{}: {error}", path.display()))
    }

    /// What a script sees; documented in `--help`.
    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            Self::Unexpected(_) => 1,
            Self::Refused(_) => 3,
            Self::Conflict(_) => 4,
            Self::NotAllowed(_) => 5,
            Self::Unavailable(_) => 6,
        }
    }

    /// One word for `--json`.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Conflict(_) => "conflict",
            Self::NotAllowed(_) => "not_allowed",
            Self::Refused(_) => "refused",
            Self::Unavailable(_) => "unavailable",
            Self::Unexpected(_) => "unexpected",
        }
    }

    /// One line for each reason.
    pub(crate) fn reasons(&self) -> Vec<String> {
        match self {
            Self::Conflict(reasons) | Self::Refused(reasons) => reasons.clone(),
            Self::NotAllowed(reason) | Self::Unavailable(reason) | Self::Unexpected(reason) => {
                vec![reason.clone()]
            }
        }
    }
}
