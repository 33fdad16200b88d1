//! The command line of `terrace token`.

use std::str::FromStr;
use std::time::Duration;

use clap::Subcommand;
use terrace_core::auth::access::{Scope, TokenName};
use terrace_core::model::token_id::TokenId;

use super::duration;
use crate::output::secrets::HIDDEN_TOKEN;

#[derive(Debug, Subcommand)]
pub(crate) enum TokenCommand {
    /// Create a token and print it; it is shown only once
    Create {
        /// The name of the token in `terrace token list`
        #[arg(long)]
        name: TokenName,
        /// A permission of the token: read, read:<namespace>, publish:<namespace> or admin; may be given several
        /// times. The namespace of mirrored providers is <hostname>/<namespace>, or <hostname> for all of them
        #[arg(long = "scope", value_name = "SCOPE", required = true)]
        scopes: Vec<Scope>,
        /// The lifetime of the token, such as 90d, 12h or 1y, or `never`
        #[arg(long, value_name = "DURATION|never")]
        expires: Expiry,
    },
    /// List the tokens that this command and sign-ins created, with their creators
    List,
    /// Revoke tokens; this takes effect everywhere within a minute
    Revoke {
        /// The IDs of the tokens, as in `terrace token list`: the 16 hexadecimal digits after `terrace_`
        #[arg(required = true, value_parser = token_id)]
        ids: Vec<TokenId>,
    },
    /// Replace a token by one with the same name, scopes and lifetime, and print it
    ///
    /// The old token is revoked, at once or after the time that --overlap gives.
    Rotate {
        /// The ID of the old token
        #[arg(value_parser = token_id)]
        id: TokenId,
        /// The time for which the old token stays valid, such as 24h
        #[arg(long, value_name = "DURATION", default_value = "0s", value_parser = duration::in_hours)]
        overlap: Duration,
    },
}

/// The lifetime of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Expiry {
    Never,
    After(Duration),
}

impl Expiry {
    /// Returns the lifetime, if the token expires.
    pub(crate) fn limit(self) -> Option<Duration> {
        match self {
            Self::Never => None,
            Self::After(duration) => Some(duration),
        }
    }
}

impl FromStr for Expiry {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "never" => Ok(Self::Never),
            text => duration::in_days(text).map(Self::After),
        }
    }
}

/// The value names of the arguments that take the ID of a token.
pub(crate) const TOKEN_IDS: [&str; 2] = ["<ID>", "<IDS>..."];

fn token_id(text: &str) -> Result<TokenId, String> {
    let message = match text {
        HIDDEN_TOKEN => "this is a token; give its ID, the 16 hex digits after `terrace_`",
        _ => "a token ID has 16 hexadecimal digits in lower case",
    };
    text.parse().map_err(|_| message.to_owned())
}
