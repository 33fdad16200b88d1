//! The command line of `terrace token`.

use std::str::FromStr;
use std::time::Duration;

use clap::Subcommand;
use terrace_core::auth::access::{Scope, TOKEN_PREFIX, TokenName};
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
        /// A permission of the token: read, read:<namespace>, publish:<namespace>, admin:<namespace>, backup or admin; may be
        /// given several times. The namespace of mirrored providers is <hostname>/<namespace>, or <hostname> for all of them
        #[arg(long = "scope", value_name = "SCOPE", required = true)]
        scopes: Vec<Scope>,
        /// The lifetime of the token, such as 90d, 12h or 1y (365 days), or `never`
        #[arg(long, value_name = "DURATION|never")]
        expires: Expiry,
    },
    /// List the tokens that this command and sign-ins created, with their states and creators
    ///
    /// A token is valid, rotating (another one replaces it, and it is valid for a while yet), expired, revoked, or invalid
    /// because the admin token was changed.
    List {
        /// List only tokens that are valid and end within this time, such as 14d
        #[arg(long, value_name = "DURATION", value_parser = duration::in_days)]
        expiring: Option<Duration>,
        /// List only the tokens of a person: those from a sign-in with this name or account, and others with this name
        #[arg(long, value_name = "PERSON")]
        of: Option<String>,
    },
    /// Revoke tokens; this takes effect everywhere within a minute
    Revoke {
        /// The IDs of the tokens, as in `terrace token list`: the 16 hexadecimal digits after `terrace_`. A whole token is
        /// accepted, too
        #[arg(required_unless_present = "of", value_parser = token_id)]
        ids: Vec<TokenId>,
        /// Revoke all tokens of a person who leaves: those that `terrace token list --of PERSON` lists. The command names
        /// everything that the person may leave behind: tokens, rules, webhooks and signing keys
        #[arg(long, value_name = "PERSON", conflicts_with = "ids")]
        of: Option<String>,
        /// With --of, also remove the stored rules that the person added, and those that grant the person something by name
        #[arg(long, conflicts_with = "ids")]
        with_rules: bool,
        /// With --of, only show what would be revoked and removed, and what the person would leave behind
        #[arg(long, conflicts_with = "ids")]
        dry_run: bool,
    },
    /// Replace a token by one with the same name, scopes and lifetime, and print it
    ///
    /// The old token is revoked, at once or after the time that --overlap gives. Until then, the same command prints the
    /// same new token again.
    Rotate {
        /// The ID of the old token, or the whole token
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
pub(crate) const TOKEN_IDS: [&str; 2] = ["<ID>", "[IDS]..."];

/// Parses the ID of a token, or takes it from a whole token.
fn token_id(text: &str) -> Result<TokenId, String> {
    let id = match text.strip_prefix(TOKEN_PREFIX) {
        Some(rest) => rest.split('.').next().unwrap_or_default(),
        None => text,
    };
    let message = match text {
        HIDDEN_TOKEN => {
            "this is not a token of this registry; give the ID of one, the 16 hex digits after `terrace_`"
        }
        _ => "a token ID has 16 hexadecimal digits in lower case",
    };
    id.parse().map_err(|_| message.to_owned())
}
