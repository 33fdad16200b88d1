//! The command line of `terrace login`, `logout`, `whoami` and `profile`.

use std::time::Duration;

use clap::{Args, Subcommand, ValueHint};

use super::duration;

/// The registry of a command about the caller's own token.
#[derive(Debug, Args)]
pub(crate) struct AccountArguments {
    /// The URL of the registry, instead of --url, TERRACE_URL and the profiles. TERRACE_TOKEN is used only if TERRACE_URL is the
    /// same registry
    #[arg(value_name = "URL", value_hint = ValueHint::Url)]
    pub(crate) registry: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct LoginArguments {
    #[command(flatten)]
    pub(crate) account: AccountArguments,

    /// Print the address of the sign-in, and open no browser
    #[arg(long)]
    pub(crate) no_browser: bool,

    /// The time to sign in
    #[arg(long, value_name = "DURATION", default_value = "5m", value_parser = duration::in_minutes, conflicts_with = "with_token")]
    pub(crate) timeout: Duration,

    /// Store the token on standard input, and do not sign in
    #[arg(long, conflicts_with = "no_browser")]
    pub(crate) with_token: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ProfileCommand {
    /// List the profiles in the configuration file
    List,
}
