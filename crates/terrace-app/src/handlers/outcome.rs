//! What a handler is given, and what it gives back.

use std::borrow::Cow;

use terrace_core::auth::access::Caller;
use terrace_core::http::form::Query;
use terrace_core::http::reply::Reply;
use terrace_core::model::oci::{Digest, Tag};

use crate::failure::Failure;

/// A request that was let through, but for its headers and a body that the handler reads itself.
#[derive(Debug)]
pub(crate) struct Call {
    /// Who sends it.
    pub(crate) caller: Caller,
    /// The registry's origin as the client reached it: `https://host[:port]`.
    pub(crate) origin: String,
    /// The query as sent.
    pub(crate) query: String,
    /// The body, where the endpoint has it read whole.
    pub(crate) body: Vec<u8>,
}

impl Call {
    /// Returns the query's parameters.
    pub(crate) fn query(&self) -> Query<'_> {
        Query(&self.query)
    }

    /// Returns the cursor of a list: the parameter `after`, or `behind`, its older name.
    pub(crate) fn after(&self) -> Option<Cow<'_, str>> {
        let query = self.query();
        query.value("after").or_else(|| query.value("behind"))
    }
}

/// The answer to a request that was let through.
#[derive(Debug)]
pub(crate) struct Outcome<S> {
    /// What the client gets.
    pub(crate) reply: Reply<S>,
    /// What the audit log says, where the endpoint is audited.
    pub(crate) entry: Entry,
}

/// What the audit log says of a request besides its method, path and body.
#[derive(Debug)]
pub(crate) enum Entry {
    /// Nothing more.
    Request,
    /// Nothing at all: the request has changed nothing.
    None,
    /// That something of this path was made.
    Makes(String),
    /// The digest of what was pushed, and the tags that name it.
    Content(Digest, Vec<Tag>),
    /// That a person who has signed in gets a token.
    SignIn {
        /// Who has signed in.
        by: String,
        /// The path of the token.
        makes: String,
    },
}

/// The result of a handler.
pub(crate) type Handled<S> = Result<Outcome<S>, Failure>;

impl<S> Outcome<S> {
    /// Returns an outcome with this entry.
    pub(crate) fn new(reply: Reply<S>, entry: Entry) -> Self {
        Self { reply, entry }
    }
}

impl<S> From<Reply<S>> for Outcome<S> {
    fn from(reply: Reply<S>) -> Self {
        Self::new(reply, Entry::Request)
    }
}
