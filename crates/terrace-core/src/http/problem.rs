//! Everything that can be wrong with a request, and what the caller is told.
//!
//! The message names the value and the rule. What went wrong *inside* is logged by the Worker,
//! once, and never told outside.

use serde::Serialize;

use crate::http::method::Method;
use crate::http::oci_error::{OciCode, OciError};
use crate::http::reply::{CachePolicy, Reply};
use crate::limits;
use terrace_base::json;

const TOO_MANY_FAILURES: &str =
    "too many requests with wrong credentials came from this address: wait a minute";

/// A request that is not answered with what it asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Problem {
    /// 400: the request cannot be understood.
    BadRequest(String),
    /// 409: a published version does not change.
    Conflict(Vec<String>),
    /// 403: a signed URL that is not, or no longer, good.
    Forbidden(String),
    /// 422: understood, and refused; every reason at once.
    Invalid(Vec<String>),
    /// 410: it was there, and must not be used any more; why.
    Gone(String),
    /// 411: the length must be known before the body.
    LengthRequired,
    /// 405: this route has other methods.
    MethodNotAllowed(Vec<Method>),
    /// 500: a stored document is not what was written there; only an operator can help.
    Corrupt(String),
    /// 500: a variable of the deployment is wrong; only its name is told.
    Misconfigured(String),
    /// 404: there is nothing of this name.
    NotFound(String),
    /// 413: the body is larger than the limit, in bytes.
    TooLarge(u64),
    /// 401: a token is missing or wrong, and why.
    Unauthorized(String),
    /// 429: too many requests came with wrong ones.
    TooManyFailures,
    /// What an OCI client is told.
    Oci(OciError),
    /// 502: another registry, from which something is to be pulled, gave nothing of use.
    Origin(String),
    /// 503: storage did not answer; the same request again will finish what this one began.
    Unavailable(String),
}

/// A type instead of `serde_json::json!`, whose values would be kilobytes of wasm.
#[derive(Serialize)]
struct ErrorBody {
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<&'static str>,
    errors: Vec<String>,
}

/// `{"errors":[{"code":"…","message":"…"}]}` (clients.md 6.4).
#[derive(Serialize)]
struct OciBody<'a> {
    errors: [OciEntry<'a>; 1],
}

#[derive(Serialize)]
struct OciEntry<'a> {
    code: &'a str,
    message: &'a str,
}

impl Problem {
    /// A token is needed.
    pub fn no_token() -> Self {
        let told =
            "this needs the header \"Authorization: Bearer <token>\" with a token of this registry";
        Self::Unauthorized(told.to_owned())
    }

    /// The HTTP status.
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
            Self::TooManyFailures => 429,
            Self::Corrupt(_) | Self::Misconfigured(_) => 500,
            Self::Oci(error) => error.status(),
            Self::Origin(_) => 502,
            Self::Unavailable(_) => 503,
        }
    }

    /// What the caller reads, one line for each reason.
    pub fn messages(&self) -> Vec<String> {
        match self {
            Self::Conflict(reasons) | Self::Invalid(reasons) => bounded(reasons),
            Self::BadRequest(message)
            | Self::Corrupt(message)
            | Self::Forbidden(message)
            | Self::Gone(message)
            | Self::Misconfigured(message)
            | Self::NotFound(message)
            | Self::Origin(message)
            | Self::Unauthorized(message)
            | Self::Unavailable(message) => vec![message.clone()],
            Self::Oci(error) => vec![error.message().to_owned()],
            Self::LengthRequired => {
                vec!["this request needs a Content-Length header".to_owned()]
            }
            Self::MethodNotAllowed(allowed) => {
                let allowed = Method::names(allowed);
                vec![format!("this route answers {allowed} only")]
            }
            Self::TooLarge(limit) => vec![format!("the body may be at most {limit} bytes long")],
            Self::TooManyFailures => vec![TOO_MANY_FAILURES.to_owned()],
        }
    }

    /// The answer as the Terraform protocols have it: `{"errors":["…"]}`.
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

    /// The answer as one line of text, for the one route whose error body a client shows to its
    /// user (clients.md 3.7).
    pub fn text_reply<S>(&self) -> Reply<S> {
        let text = format!("{}\n", self.messages().join("; "));
        self.with_headers(Reply::text(self.status(), CachePolicy::NoStore, text))
    }

    /// The answer as OCI clients read it. Of what is wrong inside, the specification knows nothing.
    pub fn oci_reply<S>(&self) -> Reply<S> {
        let code = match self {
            Self::Oci(error) => error.code().as_str(),
            Self::NotFound(_) => OciCode::NameUnknown.as_str(),
            Self::MethodNotAllowed(_) => OciCode::Unsupported.as_str(),
            Self::Unauthorized(_) => OciCode::Unauthorized.as_str(),
            Self::Forbidden(_) | Self::Gone(_) => OciCode::Denied.as_str(),
            Self::TooLarge(_) | Self::LengthRequired => OciCode::SizeInvalid.as_str(),
            Self::TooManyFailures => "TOOMANYREQUESTS",
            _ => "UNKNOWN",
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
            Self::Unavailable(_) => reply.with("retry-after", "2"),
            Self::TooManyFailures => reply.with("retry-after", "60"),
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
    if let Some(more) = reasons
        .len()
        .checked_sub(limits::REASONS)
        .filter(|n| *n > 0)
    {
        shown.push(format!("and {more} more"));
    }
    shown
}
