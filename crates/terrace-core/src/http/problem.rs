//! Every client-visible error, and the message for the caller.
//!
//! A message names the value and the rule. The Worker logs internal causes once and never reveals them.

use serde::Serialize;

use crate::http::method::Method;
use crate::http::oci_error::{OciCode, OciError};
use crate::http::reply::{CachePolicy, Reply};
use crate::limits;
use terrace_base::json;

const TOO_MANY_SEARCHES: &str = "too many searches without a token came from this address: wait a minute, or search with a token";

const TOO_MANY_FAILURES: &str =
    "too many requests with wrong credentials came from this address: wait a minute";

/// A client-visible error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Problem {
    /// 400: the request is malformed.
    BadRequest(String),
    /// 409: a published version does not change.
    Conflict(Vec<String>),
    /// 403: a signed URL is invalid or has expired.
    Forbidden(String),
    /// 422: the request is well-formed but rejected; all reasons at once.
    Invalid(Vec<String>),
    /// 410: the resource existed and must not be used any more; the reason.
    Gone(String),
    /// 411: the length must be declared before the body.
    LengthRequired,
    /// 405: the methods that this route supports.
    MethodNotAllowed(Vec<Method>),
    /// 500: a stored document is damaged, which only the operator can fix, or an upload to storage was.
    Corrupt(String),
    /// 500: a variable of the deployment is invalid; only its name is revealed.
    Misconfigured(String),
    /// 404: nothing exists under this name.
    NotFound(String),
    /// 413: the body exceeds the limit, in bytes.
    TooLarge(u64),
    /// 401: the token is missing or invalid; the reason.
    Unauthorized(String),
    /// 429: too many requests had invalid credentials.
    TooManyFailures,
    /// 429: too many anonymous searches, or lists of the whole registry.
    TooManySearches,
    /// An error with an OCI code.
    Oci(OciError),
    /// 502: another registry, from which content is pulled, returned no usable response.
    Origin(String),
    /// 503: the request can succeed only later; the message, and the seconds until then.
    NotYet(String, u64),
    /// 503: storage did not respond; a retry completes the interrupted request.
    Unavailable(String),
}

/// A type instead of `serde_json::json!`, because `Value` would add kilobytes of wasm.
#[derive(Serialize)]
struct ErrorBody {
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<&'static str>,
    errors: Vec<String>,
}

/// The OCI error body, `{"errors":[{"code":"…","message":"…"}]}` (clients.md 6.4).
#[derive(Serialize)]
struct OciBody<'a> {
    errors: [OciEntry<'a>; 1],
}

#[derive(Serialize)]
struct OciEntry<'a> {
    code: OciCode,
    message: &'a str,
}

impl Problem {
    /// Creates the error for a request without a token.
    pub fn no_token() -> Self {
        let message = "this request needs the header \"Authorization: Bearer <token>\" with a token of this registry";
        Self::Unauthorized(message.to_owned())
    }

    /// Creates the error for a parameter `after` that no response has returned.
    pub fn invalid_cursor(after: &str) -> Self {
        let rule = "it must be the value of `next` in the previous response";
        Self::BadRequest(format!("after is {after:?}: {rule}"))
    }

    /// Returns the HTTP status.
    pub fn status(&self) -> u16 {
        match self {
            Self::BadRequest(_) => 400,
            Self::Unauthorized(_) => 401,
            Self::Forbidden(_) => 403,
            Self::NotFound(_) => 404,
            Self::MethodNotAllowed(_) => 405,
            Self::Conflict(_) => 409,
            Self::Gone(_) => 410,
            Self::LengthRequired => 411,
            Self::TooLarge(_) => 413,
            Self::Invalid(_) => 422,
            Self::TooManyFailures | Self::TooManySearches => 429,
            Self::Corrupt(_) | Self::Misconfigured(_) => 500,
            Self::Oci(error) => error.status(),
            Self::Origin(_) => 502,
            Self::NotYet(..) | Self::Unavailable(_) => 503,
        }
    }

    /// Returns the messages for the caller, one line for each reason.
    pub fn messages(&self) -> Vec<String> {
        match self {
            Self::Conflict(reasons) | Self::Invalid(reasons) => bounded(reasons),
            Self::BadRequest(message)
            | Self::Corrupt(message)
            | Self::Forbidden(message)
            | Self::Gone(message)
            | Self::Misconfigured(message)
            | Self::NotFound(message)
            | Self::NotYet(message, _)
            | Self::Origin(message)
            | Self::Unauthorized(message)
            | Self::Unavailable(message) => vec![message.clone()],
            Self::Oci(error) => vec![error.message().to_owned()],
            Self::LengthRequired => {
                vec!["this request needs a Content-Length header".to_owned()]
            }
            Self::MethodNotAllowed(allowed) => {
                let allowed = Method::names(allowed);
                vec![format!("this route supports only {allowed}")]
            }
            Self::TooLarge(limit) => vec![format!("the body may be at most {limit} bytes long")],
            Self::TooManyFailures => vec![TOO_MANY_FAILURES.to_owned()],
            Self::TooManySearches => vec![TOO_MANY_SEARCHES.to_owned()],
        }
    }

    /// Returns the response in the format of the Terraform protocols: `{"errors":["…"]}`.
    pub fn reply<S>(&self) -> Reply<S> {
        if let Self::Oci(_) = self {
            return self.oci_reply();
        }
        let body = ErrorBody {
            status: match self {
                Self::Conflict(_) => Some("conflict"),
                Self::Invalid(_) => Some("invalid"),
                _ => None,
            },
            errors: self.messages(),
        };
        let text = json::to_string(&body);
        self.with_headers(Reply::json(self.status(), CachePolicy::NoStore, text))
    }

    /// Returns the response as one line of text, for the one route with an error body that a client shows to
    /// its user (clients.md 3.7).
    pub fn text_reply<S>(&self) -> Reply<S> {
        let text = format!("{}\n", self.messages().join("; "));
        self.with_headers(Reply::text(self.status(), CachePolicy::NoStore, text))
    }

    /// Returns the response in the format of OCI Distribution, which has no codes for internal errors.
    pub fn oci_reply<S>(&self) -> Reply<S> {
        let code = match self {
            Self::Oci(error) => error.code(),
            Self::NotFound(_) => OciCode::NameUnknown,
            Self::MethodNotAllowed(_) => OciCode::Unsupported,
            Self::Unauthorized(_) => OciCode::Unauthorized,
            Self::Forbidden(_) | Self::Gone(_) => OciCode::Denied,
            Self::TooLarge(_) | Self::LengthRequired => OciCode::SizeInvalid,
            Self::TooManyFailures => OciCode::TooManyRequests,
            _ => OciCode::Unknown,
        };
        let body = OciBody {
            errors: [OciEntry {
                code,
                message: &self.messages().join("; "),
            }],
        };
        let text = json::to_string(&body);
        self.with_headers(Reply::json(self.status(), CachePolicy::NoStore, text))
    }

    fn with_headers<S>(&self, reply: Reply<S>) -> Reply<S> {
        match self {
            Self::MethodNotAllowed(allowed) => reply.with("allow", Method::names(allowed)),
            Self::Unauthorized(_) => reply.with("www-authenticate", "Bearer realm=\"terrace\""),
            Self::NotYet(_, seconds) => reply.with("retry-after", seconds.to_string()),
            Self::Unavailable(_) => reply.with("retry-after", "2"),
            Self::TooManyFailures | Self::TooManySearches => reply.with("retry-after", "60"),
            Self::Oci(error) => {
                let headers = error.headers().iter();
                headers.fold(reply, |reply, (name, value)| {
                    reply.with(name, value.clone())
                })
            }
            _ => reply,
        }
    }
}

fn bounded(reasons: &[String]) -> Vec<String> {
    let mut shown: Vec<String> = reasons.iter().take(limits::REASONS).cloned().collect();
    let more = reasons.len() - shown.len();
    if more > 0 {
        shown.push(format!("and {more} more"));
    }
    shown
}
