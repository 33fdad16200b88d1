//! `login.v1`: the sign-in of `terraform login` and `tofu login`, by which a person gets a token through an
//! identity provider.
//!
//! ```text
//! terminal                browser                    registry                      provider
//!    │ opens the browser      │                          │                             │
//!    ├───────────────────────►│ GET /oauth/authorize     │                             │
//!    │                        ├─────────────────────────►│ 303, cookie, SignInState    │
//!    │                        │◄─────────────────────────┤                             │
//!    │                        │ who are you?             │                             │
//!    │                        ├──────────────────────────┼────────────────────────────►│
//!    │                        │ GET /oauth/callback      │                             │
//!    │                        ├─────────────────────────►│ code for an ID token        │
//!    │                        │                          ├────────────────────────────►│
//!    │                        │ "allow?" with a Consent  │                             │
//!    │                        │◄─────────────────────────┤                             │
//!    │                        │ POST /oauth/consent      │                             │
//!    │                        ├─────────────────────────►│ 303 to localhost, Code      │
//!    │◄───────────────────────┤                          │                             │
//!    │ POST /oauth/token with the Code and its verifier  │                             │
//!    ├──────────────────────────────────────────────────►│ the token                   │
//! ```
//!
//! An assistant or editor gets a token in the same way, if the operator has named the host of the document that describes it
//! ([`Client::Application`]). The document is fetched before the page asks for consent.
//!
//! A sign-in that begins at `/sign-in` is for the browser itself, and ends after the callback with a
//! [`Session`](crate::auth::access::Session) in a cookie, and a redirect to the page asked for. It needs no consent:
//! nothing leaves the browser, and the session allows only what its person may read anyway.
//!
//! Nothing is stored between two requests: the state travels along as a
//! [`Sealable`](crate::auth::access::Sealable) text. Only the token's own document is stored. It is created
//! once, so that the code can be redeemed only once.
//!
//! # In scope
//! The requests of clients ([`Authorization`], [`TokenRequest`]), the sealed state, the identity that a provider
//! reports ([`Person`]), the requests to providers, the sessions of browsers, and the pages that people see.
//!
//! # Out of scope
//! Sending requests to providers, and storing tokens.

mod authorization;
mod client;
mod error;
mod github;
mod page;
mod person;
mod pkce;
mod provider;
mod return_path;
mod sealed;
mod token_request;

pub use authorization::{Authorization, CLIENT_ID, Client, ClientState, PORTS};
pub use client::{ClientDocument, ClientHost, ClientId, LoopbackRedirect};
pub use error::SignInError;
pub use github::{GitHub, GitHubList, GitHubMembers};
pub use page::{consent_page, sign_in_url, signed_out_page};
pub use person::Person;
pub use pkce::{Challenge, Verifier};
pub use provider::{OAuthClient, Provider, ProviderAnswer};
pub use return_path::ReturnPath;
pub use sealed::{
    BrowserSession, Code, Consent, PendingToken, SessionBinding, SignInPurpose, SignInState,
};
pub use token_request::{RedemptionError, TokenRequest, token_reply};

use crate::auth::access::{SealKeys, SessionKeys};
use crate::auth::oidc::LoginRules;
pub use crate::auth::parameter::ParameterError;

/// Maximum time that a person may take to sign in, in seconds.
pub const SIGN_IN_SECONDS: u32 = 600;

/// Lifetime of a code that a client exchanges for a token, in seconds. The browser passes it to the client,
/// which sends it at once; RFC 6749, section 4.1.2, recommends at most ten minutes.
pub const LOGIN_CODE_SECONDS: u32 = 60;

/// Maximum size of the document of an OAuth client, as draft-ietf-oauth-client-id-metadata-document recommends (section 8.6).
pub const CLIENT_DOCUMENT_BYTES: usize = 5 * 1024;

/// Maximum size of a form of a browser or a client: a sealed text, and the other parameters.
pub const LOGIN_FORM_BYTES: u64 = 24 * 1024;

/// Maximum length of a provider's code. Entra's have 2 KB.
pub const PROVIDER_CODE_BYTES: usize = 8 * 1024;

/// The path at which a browser begins to sign in.
pub const SIGN_IN_PATH: &str = "/sign-in";

/// The path to which a provider redirects the browser.
pub const CALLBACK_PATH: &str = "/oauth/callback";

/// The name of the setting with the hosts of clients' documents.
pub const CLIENT_HOSTS: &str = "TERRACE_MCP_CLIENT_HOSTS";

/// The sign-in configuration of a deployment.
#[derive(Debug, Clone)]
pub struct Login {
    /// The identity provider.
    pub provider: Provider,
    /// The rules that grant scopes to people.
    pub rules: LoginRules,
    /// The lifetime of people's tokens, in seconds.
    pub lifetime: u64,
    /// Seals the state between requests.
    pub seal_keys: SealKeys,
    /// The keys for the sessions of browsers.
    pub session_keys: SessionKeys,
    /// The hosts of the documents of OAuth clients that may sign people in; none by default.
    pub client_hosts: Vec<ClientHost>,
}

impl Login {
    /// Returns whether OAuth clients may sign people in.
    pub fn accepts_clients(&self) -> bool {
        !self.client_hosts.is_empty()
    }

    /// Returns the host that the operator has named for the document of a client.
    pub fn host_of(&self, id: &ClientId) -> Option<&ClientHost> {
        self.client_hosts.iter().find(|host| host.is_of(id))
    }
}
