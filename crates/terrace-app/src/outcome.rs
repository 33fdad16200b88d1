//! The input and output of a handler.

use std::borrow::Cow;

use terrace_core::auth::access::Caller;
use terrace_core::http::form::Query;
use terrace_core::http::idempotency_key::IdempotencyKey;
use terrace_core::http::problem::Problem;
use terrace_core::http::reply::Reply;
use terrace_core::maintenance::audit::StatusChange;
use terrace_core::model::oci::{Digest, Tag};

use crate::failure::Failure;

/// An authorised request, except for its headers and a body that the handler reads itself.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    /// The authenticated caller.
    pub(crate) caller: Caller,
    /// The registry's origin as the client reached it: `https://host[:port]`.
    pub(crate) origin: String,
    /// The path, as sent.
    pub(crate) path: String,
    /// The query, as sent.
    pub(crate) query: String,
    /// The body, if the endpoint has it read entirely.
    pub(crate) body: Vec<u8>,
    /// The idempotency key, if the request is a POST that changes something and has one.
    pub(crate) key: Option<IdempotencyKey>,
}

impl Call {
    /// Returns the bytes of the ID of a resource that this request creates: those that follow from its idempotency key, so
    /// that a retry finds the resource, or else random ones.
    pub(crate) fn id_of_created(&self, random: [u8; 16]) -> [u8; 16] {
        let key = self.key.as_ref();
        key.map_or(random, |key| key.id(&self.caller.name()))
    }

    /// Returns the problem of a request with an idempotency key that created `made` for a request with another body.
    pub(crate) fn reused_key(&self, made: &str) -> Problem {
        let key = self.key.as_ref();
        let message = key.map(|key| key.reused(made)).unwrap_or_default();
        Problem::Invalid(vec![message])
    }

    /// Returns the query's parameters.
    pub(crate) fn query(&self) -> Query<'_> {
        Query(&self.query)
    }

    /// Returns the cursor of a list.
    pub(crate) fn after(&self) -> Option<Cow<'_, str>> {
        self.query().value("after")
    }
}

/// The result of an authorised request.
#[derive(Debug)]
pub(crate) struct Outcome<S> {
    /// The reply to the client.
    pub(crate) reply: Reply<S>,
    /// The audit entry, if the endpoint is audited.
    pub(crate) entry: AuditDetails,
}

/// The contents of an audit entry besides the request's method, path and body.
#[derive(Debug)]
pub(crate) enum AuditDetails {
    /// No further contents.
    Request,
    /// No entry: the request changed nothing.
    None,
    /// The path of a created resource.
    Makes(String),
    /// The path of the token that revoked itself.
    Revokes(String),
    /// The change of a status.
    Status(StatusChange),
    /// The digest of a pushed manifest, and the tags that refer to it.
    Content(Digest, Vec<Tag>),
    /// The names of the version and the archives that were erased.
    Erases(Vec<String>),
    /// A token for a person who signed in.
    SignIn {
        /// The account of the person.
        by: String,
        /// The path of the token.
        makes: String,
    },
}

/// The result of a handler.
pub(crate) type Handled<S> = Result<Outcome<S>, Failure>;

impl<S> Outcome<S> {
    /// Returns an outcome with this entry.
    pub(crate) fn new(reply: Reply<S>, entry: AuditDetails) -> Self {
        Self { reply, entry }
    }
}

impl<S> From<Reply<S>> for Outcome<S> {
    fn from(reply: Reply<S>) -> Self {
        Self::new(reply, AuditDetails::Request)
    }
}

/// Whether a job had anything to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Progress {
    /// Nothing was waiting, or could be attempted.
    None,
    /// It took operations.
    Made,
}
