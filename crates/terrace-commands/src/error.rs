//! The ways in which a command fails, and its exit codes.

use serde_json::{Map, Value};

/// An exit code of the command.
///
/// The numbers are part of the command's interface: `terrace --help` and the README list them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Exit {
    /// The command succeeded.
    Success = 0,
    /// An error without a class of its own, or one of this machine, such as a full disk.
    Unexpected = 1,
    /// The command line or its environment is invalid.
    Usage = 2,
    /// Something that the command reads or sends is invalid.
    Rejected = 3,
    /// The state of the registry does not allow the request, such as a version with other bytes.
    Conflict = 4,
    /// The registry does not authorise the request.
    NotAllowed = 5,
    /// The registry or its storage is unreachable or does not respond.
    Unavailable = 6,
}

impl Exit {
    /// The failures, most urgent first: the first of several decides on the exit code. Those that require an
    /// action before anything works come first, then those that may pass, then those that will not.
    pub(crate) const BY_URGENCY: [Self; 6] = [
        Self::Usage,
        Self::NotAllowed,
        Self::Unavailable,
        Self::Unexpected,
        Self::Conflict,
        Self::Rejected,
    ];

    /// Returns the number that the process ends with.
    pub(crate) fn code(self) -> u8 {
        self as u8
    }
}

/// The failure of a command. No variant ever holds a token or a signed URL.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Failure {
    /// The state of the registry does not allow the request, such as a version with other bytes; every reason.
    #[error("{}", .0.join("\n"))]
    Conflict(Vec<String>),
    /// The registry does not have the object that the command names.
    #[error("{0}")]
    Missing(String),
    /// An operation on this machine failed, such as writing a file.
    #[error("{0}")]
    Local(String),
    /// The registry requests an archive that is not part of the release.
    #[error("{0}")]
    UnknownArchive(String),
    /// The token is invalid or lacks the scope, or there is no admin API at the URL.
    #[error("{0}")]
    NotAllowed(String),
    /// The input is invalid, here or by the registry's checks; every reason.
    #[error("{}", .0.join("\n"))]
    Refused(Vec<String>),
    /// The result, which is already printed, contains the failures.
    #[error("the result contains failures")]
    Reported(Exit),
    /// The registry erased the version or its archive, and never stores it again; every reason.
    #[error("{}", .0.join("\n"))]
    Erased(Vec<String>),
    /// Some of several operations failed, and the others succeeded.
    #[error("{}", .0.reasons.join("\n"))]
    Several(Box<Several>),
    /// The registry or its storage is unreachable or does not respond.
    #[error("{0}")]
    Unavailable(String),
    /// Any other failure.
    #[error("{0}")]
    Unexpected(String),
    /// The command line or its environment is invalid in a way that only shows after parsing.
    #[error("{0}")]
    Usage(String),
}

/// The results of several operations, some of which failed.
#[derive(Debug, Clone)]
pub struct Several {
    /// The most urgent of the failures.
    pub worst: Failure,
    /// The reasons of all failures.
    pub reasons: Vec<String>,
    /// The results of all operations, for people.
    pub lines: Vec<String>,
    /// The results of all operations, for programs.
    pub document: Map<String, Value>,
}

impl Failure {
    /// Returns a refusal with a single reason.
    pub(crate) fn refused(reason: impl Into<String>) -> Self {
        Self::Refused(vec![reason.into()])
    }

    /// Returns the exit code that scripts see.
    pub(crate) fn exit(&self) -> Exit {
        match self {
            Self::Local(_) | Self::UnknownArchive(_) | Self::Unexpected(_) => Exit::Unexpected,
            Self::Usage(_) => Exit::Usage,
            Self::Missing(_) | Self::Refused(_) | Self::Erased(_) => Exit::Rejected,
            Self::Reported(exit) => *exit,
            Self::Several(several) => several.worst.exit(),
            Self::Conflict(_) => Exit::Conflict,
            Self::NotAllowed(_) => Exit::NotAllowed,
            Self::Unavailable(_) => Exit::Unavailable,
        }
    }

    /// Returns the `status` of the JSON document.
    pub(crate) fn status(&self) -> &'static str {
        match self {
            Self::Conflict(_) => "conflict",
            Self::Local(_) => "local",
            Self::NotAllowed(_) => "not_allowed",
            Self::Missing(_) | Self::Refused(_) | Self::Erased(_) => "refused",
            Self::Several(several) => several.worst.status(),
            Self::Unavailable(_) => "unavailable",
            Self::Reported(_) => "reported",
            Self::UnknownArchive(_) | Self::Unexpected(_) => "unexpected",
            Self::Usage(_) => "usage",
        }
    }

    /// Returns the reasons, one line each.
    pub(crate) fn reasons(&self) -> Vec<String> {
        match self {
            Self::Conflict(reasons) | Self::Refused(reasons) | Self::Erased(reasons) => {
                reasons.clone()
            }
            Self::Several(several) => several.reasons.clone(),
            _ => vec![self.to_string()],
        }
    }

    /// Returns the position of the failure in [`Exit::BY_URGENCY`]: the lower, the more urgent.
    pub(crate) fn urgency(&self) -> usize {
        let order = &Exit::BY_URGENCY;
        let position = order.iter().position(|exit| *exit == self.exit());
        position.unwrap_or(order.len())
    }
}
