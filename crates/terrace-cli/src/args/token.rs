//! The command line of `terrace token`.

use std::str::FromStr;
use std::time::Duration;

use clap::Subcommand;
use terrace_core::auth::access::{Scope, TokenName};
use terrace_core::model::token_id::TokenId;

use super::EXIT_CODES;
use crate::output::secrets::HIDDEN_TOKEN;

#[derive(Debug, Subcommand)]
pub(crate) enum TokenCommand {
    /// Make a token, and print it; it cannot be found again
    #[command(after_help = EXIT_CODES)]
    Create {
        /// What it is called, for whoever reads the list
        #[arg(long)]
        name: TokenName,
        /// What it is good for: read, read:<namespace>, publish:<namespace> or admin; once for each. The
        /// namespace of mirrored providers is <hostname>/<namespace>, or <hostname> for all of them
        #[arg(long = "scope", required = true)]
        scopes: Vec<Scope>,
        /// For how long it is good, such as 90d, 12h or 1y; `never` is for ever
        #[arg(long)]
        expires: Expiry,
    },
    /// Show all tokens that were made, by this command and by signing in, and by whom
    #[command(after_help = EXIT_CODES)]
    List,
    /// Revoke tokens; they are dead everywhere within a minute
    #[command(after_help = EXIT_CODES)]
    Revoke {
        /// Their IDs, as `terrace token list` shows them: what stands between `terrace_` and the first dot
        #[arg(required = true, value_parser = token_id)]
        ids: Vec<TokenId>,
    },
    /// Make a token with the same name, scopes and lifetime, and revoke the old one
    #[command(after_help = EXIT_CODES)]
    Rotate {
        /// The ID of the old one
        #[arg(value_parser = token_id)]
        id: TokenId,
        /// How long the old one stays good, such as 24h
        #[arg(long, default_value = "0s", value_parser = humantime::parse_duration)]
        overlap: Duration,
    },
}

/// For how long a token is good.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Expiry {
    Never,
    After(Duration),
}

impl Expiry {
    /// For how long, if not for ever.
    pub(crate) fn limit(self) -> Option<Duration> {
        match self {
            Self::Never => None,
            Self::After(duration) => Some(duration),
        }
    }
}

impl FromStr for Expiry {
    type Err = humantime::DurationError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "never" => Ok(Self::Never),
            text => humantime::parse_duration(text).map(Self::After),
        }
    }
}

/// The value names of the arguments that take the ID of a token.
pub(crate) const TOKEN_IDS: [&str; 2] = ["<ID>", "<IDS>..."];

fn token_id(text: &str) -> Result<TokenId, String> {
    let told = match text {
        HIDDEN_TOKEN => "that is a token; give its ID, the 16 hex digits after `terrace_`",
        _ => "a token's ID has 16 hexadecimal digits in lower case",
    };
    text.parse().map_err(|()| told.to_owned())
}
