//! Why a command did not do what it was asked to, and the exit code that says so.

use serde_json::{Map, Value};

/// Why a command failed. No variant ever holds a token or a signed URL.
///
/// The numbers are part of the command's interface: `--help` and the README list them.
#[derive(Debug, Clone, thiserror::Error)]
pub(crate) enum Failure {
    /// The version is published with other bytes.
    #[error("{}", .0.join("\n"))]
    Conflict(Vec<String>),
    /// This machine cannot do what is needed, such as keep a file.
    #[error("{0}")]
    Local(String),
    /// The registry asks for an archive that is not part of the release.
    #[error("{0}")]
    UnknownArchive(String),
    /// The token is missing or wrong, or there is nothing it would open.
    #[error("{0}")]
    NotAllowed(String),
    /// What is to be published is wrong; every reason.
    #[error("{}", .0.join("\n"))]
    Refused(Vec<String>),
    /// Of several things to do, some failed and the others are done.
    #[error("{}", .0.reasons.join("\n"))]
    Several(Box<Several>),
    /// The registry or its storage could not be reached, or did not answer.
    #[error("{0}")]
    Unavailable(String),
    /// Anything else.
    #[error("{0}")]
    Unexpected(String),
    /// The command line or its environment is wrong in a way that only shows later.
    #[error("{0}")]
    Usage(String),
}

/// What became of several things to do, of which some failed.
#[derive(Debug, Clone)]
pub(crate) struct Several {
    /// The most urgent of the failures.
    pub(crate) worst: Failure,
    /// Why each of them failed.
    pub(crate) reasons: Vec<String>,
    /// What became of all of them, for people.
    pub(crate) lines: Vec<String>,
    /// The same for programs.
    pub(crate) document: Map<String, Value>,
}

impl Failure {
    /// A single reason to refuse.
    pub(crate) fn refused(reason: impl Into<String>) -> Self {
        Self::Refused(vec![reason.into()])
    }

    /// What a script sees.
    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            Self::Local(_) | Self::UnknownArchive(_) | Self::Unexpected(_) => 1,
            Self::Usage(_) => 2,
            Self::Refused(_) => 3,
            Self::Several(several) => several.worst.exit_code(),
            Self::Conflict(_) => 4,
            Self::NotAllowed(_) => 5,
            Self::Unavailable(_) => 6,
        }
    }

    /// One word for `--json`.
    pub(crate) fn status(&self) -> &'static str {
        match self {
            Self::Conflict(_) => "conflict",
            Self::Local(_) => "local",
            Self::NotAllowed(_) => "not_allowed",
            Self::Refused(_) => "refused",
            Self::Several(several) => several.worst.status(),
            Self::Unavailable(_) => "unavailable",
            Self::UnknownArchive(_) | Self::Unexpected(_) => "unexpected",
            Self::Usage(_) => "usage",
        }
    }

    /// One line for each reason.
    pub(crate) fn reasons(&self) -> Vec<String> {
        match self {
            Self::Conflict(reasons) | Self::Refused(reasons) => reasons.clone(),
            Self::Local(reason)
            | Self::NotAllowed(reason)
            | Self::UnknownArchive(reason)
            | Self::Unavailable(reason)
            | Self::Unexpected(reason)
            | Self::Usage(reason) => vec![reason.clone()],
            Self::Several(several) => several.reasons.clone(),
        }
    }

    /// Which of several failures decides on the exit code: one that somebody has to do something
    /// about before anything works, then one that may pass, then those that will not.
    pub(crate) fn urgency(&self) -> u8 {
        match self {
            Self::Usage(_) => 6,
            Self::NotAllowed(_) => 5,
            Self::Unavailable(_) => 4,
            Self::Local(_) | Self::UnknownArchive(_) | Self::Unexpected(_) => 3,
            Self::Conflict(_) => 2,
            Self::Refused(_) => 1,
            Self::Several(several) => several.worst.urgency(),
        }
    }
}
