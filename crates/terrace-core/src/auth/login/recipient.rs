//! The recipient of a token that a sign-in ends with: a program on the person's own machine.

use super::client::ClientRequest;
use super::sealed::next;
use super::terminal::{ParameterError, Terminal};
use super::{CodeHolder, Login};
use crate::auth::access::Resource;
use crate::http::form::Form;

/// A program that waits for a token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Recipient {
    /// A terminal in which `terraform login`, `tofu login` or `terrace login` waits.
    Terminal(Terminal),
    /// An assistant or editor.
    Client(Box<ClientRequest>),
}

/// The line in place of a terminal's port in the sealed texts of a client.
pub(super) const CLIENT: &str = "client";

impl Recipient {
    /// Parses the query of the URL that a program opens in a browser. `resources` are those of this registry that accept
    /// the tokens of clients.
    ///
    /// # Errors
    /// The first parameter that is missing or invalid.
    pub fn parse(
        query: &str,
        login: &Login,
        resources: &[Resource],
    ) -> Result<Self, ParameterError> {
        if login.accepts_clients() && ClientRequest::is_named_by_url(Form(query)) {
            let client = ClientRequest::parse(query, &login.client_hosts, resources)?;
            return Ok(Self::Client(Box::new(client)));
        }
        Terminal::parse(query).map(Self::Terminal)
    }

    /// Returns the URL that delivers a code. It always points to the user's own machine. `issuer` is the origin of this
    /// registry.
    pub fn redirect_to(&self, code: &str, issuer: &str) -> String {
        match self {
            Self::Terminal(terminal) => terminal.redirect_to(code),
            Self::Client(client) => client.redirect_to(code, issuer),
        }
    }

    /// Returns the URL that ends the recipient without a token.
    pub fn refusal(&self, issuer: &str) -> String {
        match self {
            Self::Terminal(terminal) => terminal.refusal(),
            Self::Client(client) => client.refusal(issuer),
        }
    }

    /// Returns the source expression of a content security policy that allows the redirect to the recipient.
    pub(super) fn form_source(&self) -> String {
        match self {
            Self::Terminal(terminal) => terminal.port.origin(),
            Self::Client(client) => client.redirect.form_source(),
        }
    }

    /// Returns the holder of the code for this recipient, and the challenge that its verifier must match.
    pub(super) fn into_holder(self) -> (CodeHolder, super::Challenge) {
        match self {
            Self::Terminal(terminal) => (CodeHolder::Terminal(terminal.port), terminal.challenge),
            Self::Client(client) => {
                let ClientRequest {
                    id,
                    redirect,
                    challenge,
                    resource,
                    state: _,
                } = *client;
                let holder = CodeHolder::Client {
                    id,
                    redirect,
                    resource,
                };
                (holder, challenge)
            }
        }
    }

    pub(super) fn lines(&self) -> Vec<String> {
        match self {
            Self::Terminal(terminal) => {
                let Terminal {
                    port,
                    state,
                    challenge,
                } = terminal;
                vec![port.to_string(), challenge.to_string(), state.to_string()]
            }
            Self::Client(client) => {
                let state = client.state.as_ref();
                vec![
                    CLIENT.to_owned(),
                    client.id.to_string(),
                    client.redirect.to_string(),
                    client.challenge.to_string(),
                    client.resource.to_string(),
                    state.map(ToString::to_string).unwrap_or_default(),
                ]
            }
        }
    }

    /// Parses lines of which `first` is the first.
    pub(super) fn read<'l>(first: &str, lines: &mut impl Iterator<Item = &'l str>) -> Option<Self> {
        if first != CLIENT {
            return Some(Self::Terminal(Terminal {
                port: first.parse().ok()?,
                challenge: next(lines)?,
                state: next(lines)?,
            }));
        }
        Some(Self::Client(Box::new(ClientRequest {
            id: next(lines)?,
            redirect: next(lines)?,
            challenge: next(lines)?,
            resource: next(lines)?,
            state: match lines.next()? {
                "" => None,
                state => Some(state.parse().ok()?),
            },
        })))
    }
}
