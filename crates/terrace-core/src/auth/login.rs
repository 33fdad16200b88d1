//! `login.v1`: how `terraform login` and `tofu login` get a token for a person, whom another party knows.
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
//! Nothing is stored between one request and the next: what has to be known later travels along as a
//! [`Sealable`](crate::auth::access::Sealable) text. What is stored is the token's own document, created once, which makes its code
//! good for one use.
//!
//! # In scope
//! What clients may ask for ([`Terminal`], [`TokenRequest`]), what travels along, whom a provider says that
//! somebody is ([`Person`]), what is asked of providers, and the pages that people see.
//!
//! # Out of scope
//! The requests to providers, and the storing of tokens.

mod error;
mod exchange;
mod github;
mod page;
mod person;
mod provider;
mod sealed;
mod terminal;

pub use error::SignInError;
pub use exchange::{LoginToken, RedemptionError, TokenRequest};
pub use github::{GitHub, GitHubList, GitHubMembers};
pub use page::consent_page;
pub use person::Person;
pub use provider::{Client, Provider, ProviderAnswer, Visit};
pub use sealed::{Allowed, Browser, BrowserMark, Code, Consent, SignInState};
pub use terminal::{
    CLIENT_ID, Challenge, PORTS, ParameterError, Port, Terminal, TerminalState, Verifier,
};

use crate::auth::access::Seals;
use crate::auth::oidc::LoginRules;

/// Where people come back to from their provider.
pub const CALLBACK_PATH: &str = "/oauth/callback";

/// How people sign in to a deployment.
#[derive(Debug, Clone)]
pub struct Login {
    /// Who knows them.
    pub provider: Provider,
    /// What they may do.
    pub rules: LoginRules,
    /// How long their tokens are good, in seconds.
    pub lifetime: u64,
    /// Seals what travels along.
    pub seals: Seals,
}
