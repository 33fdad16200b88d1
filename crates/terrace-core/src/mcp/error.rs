//! The errors of the protocol, with their codes.

use serde::Serialize;

use super::message::RequestId;
use super::revision::Revision;
use crate::http::problem::Problem;
use crate::mcp::MCP_BODY_BYTES;
use terrace_base::untrusted::quoted;

/// A refused request, with its ID if it could be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The ID.
    pub id: Option<RequestId>,
    /// The reason.
    pub error: McpError,
}

/// An error of the protocol. Errors of a tool are results, so that the assistant reads them.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum McpError {
    /// The body is not JSON.
    #[error(
        "the body is not JSON: send one JSON-RPC message, such as {{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}}"
    )]
    NotJson,
    /// The body is a list.
    #[error(
        "the body is a list: batches are not supported, send each message in a request of its own"
    )]
    Batch,
    /// The body is not a message. Contains the rule.
    #[error("the body is no JSON-RPC request: {0}")]
    NotRequest(&'static str),
    /// A header is missing that this revision requires.
    #[error(
        "the header {0} is missing: this revision requires it beside the same value in the body"
    )]
    HeaderMissing(&'static str),
    /// A header differs from the body. Contains its name, its value and that of the body.
    #[error("the header {name} is {header}, and the body has {body}: both must be the same", header = quoted(.1), body = quoted(.2), name = .0)]
    HeaderMismatch(&'static str, String, String),
    /// The registry does not speak this revision.
    #[error("this registry does not speak revision {revision} of the protocol: use one of those in `supported`", revision = quoted(.0))]
    UnsupportedRevision(String),
    /// The registry has no such method.
    #[error("this registry has no method {method}", method = quoted(.method))]
    UnknownMethod {
        /// The method.
        method: String,
        /// The revision of the request, by which the HTTP status differs.
        revision: Revision,
    },
    /// The parameters are invalid. Contains the rule.
    #[error("the parameters are invalid: {0}")]
    Params(String),
    /// The registry has no such tool.
    #[error("this registry has no tool {tool}: tools/list lists all", tool = quoted(.0))]
    UnknownTool(String),
    /// The registry has no such resource, or the caller may not see it. Contains its URI, the reason and the revision.
    #[error("{1}")]
    NoResource(String, String, Revision),
    /// The page of another website sends the request.
    #[error("the header Origin is {origin}: only pages of this registry may send MCP requests from a browser", origin = quoted(.0))]
    ForeignOrigin(String),
    /// The body is not declared as JSON.
    #[error("the header Content-Type is {content_type}: it must be application/json", content_type = quoted(.0))]
    ContentType(String),
    /// The body is too long.
    #[error("the body is longer than {max} bytes", max = MCP_BODY_BYTES)]
    TooLarge,
    /// The request failed for a reason that other requests fail for as well.
    #[error("{}", .0.messages().join("; "))]
    Problem(Problem),
}

/// The members `data` of errors.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum ErrorData<'e> {
    /// Of [`McpError::UnsupportedRevision`].
    Revisions {
        /// The revisions that the registry speaks, the newest first.
        supported: [&'static str; 2],
        /// The requested one.
        requested: &'e str,
    },
    /// Of [`McpError::NoResource`].
    Resource {
        /// The requested URI.
        uri: &'e str,
    },
}

impl McpError {
    /// Returns the code in the message.
    pub fn code(&self) -> i32 {
        match self {
            Self::NotJson => -32700,
            Self::Batch
            | Self::NotRequest(_)
            | Self::ForeignOrigin(_)
            | Self::ContentType(_)
            | Self::TooLarge => -32600,
            Self::UnknownMethod { .. } => -32601,
            // Clients of older revisions know another code for it.
            Self::NoResource(_, _, revision) if !revision.is_stateless() => -32002,
            Self::Params(_) | Self::UnknownTool(_) | Self::NoResource(..) => -32602,
            Self::HeaderMissing(_) | Self::HeaderMismatch(..) => -32020,
            Self::UnsupportedRevision(_) => -32022,
            Self::Problem(problem) if problem.status() >= 500 => -32603,
            Self::Problem(_) => -32600,
        }
    }

    /// Returns the HTTP status. Clients of older revisions read messages from successful responses only.
    pub fn status(&self) -> u16 {
        match self {
            Self::ForeignOrigin(_) => 403,
            Self::ContentType(_) => 415,
            Self::TooLarge => 413,
            Self::NotJson
            | Self::Batch
            | Self::NotRequest(_)
            | Self::HeaderMissing(_)
            | Self::HeaderMismatch(..)
            | Self::UnsupportedRevision(_) => 400,
            Self::UnknownMethod { revision, .. } if revision.is_stateless() => 404,
            Self::UnknownMethod { .. }
            | Self::Params(_)
            | Self::UnknownTool(_)
            | Self::NoResource(..) => 200,
            Self::Problem(problem) => problem.status(),
        }
    }

    pub(super) fn data(&self) -> Option<ErrorData<'_>> {
        match self {
            Self::UnsupportedRevision(requested) => Some(ErrorData::Revisions {
                supported: Revision::ALL.map(Revision::as_str),
                requested,
            }),
            Self::NoResource(uri, ..) => Some(ErrorData::Resource { uri }),
            _ => None,
        }
    }
}
