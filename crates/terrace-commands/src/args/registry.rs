//! The options that name a registry.

use std::path::PathBuf;

use clap::builder::FalseyValueParser;
use clap::{Args, ValueHint};

use crate::output::in_shell;

/// The registry to connect to, and the token for it.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Registry")]
pub(crate) struct RegistryArguments {
    /// The URL of the registry, such as https://registry.example.com
    #[arg(
        long,
        global = true,
        env = "TERRACE_URL",
        hide_env_values = true,
        value_hint = ValueHint::Url
    )]
    pub(crate) url: Option<String>,

    /// Whether the URL comes from TERRACE_URL.
    #[arg(skip)]
    pub(crate) is_url_in_environment: bool,

    /// The profile of the configuration file that names the registry. Takes precedence over TERRACE_URL and TERRACE_TOKEN
    /// but not over --url, while TERRACE_PROFILE and the default profile do not
    #[arg(long, global = true, env = "TERRACE_PROFILE", value_name = "NAME")]
    pub(crate) profile: Option<String>,

    /// Whether the profile comes from TERRACE_PROFILE.
    #[arg(skip)]
    pub(crate) is_profile_in_environment: bool,

    /// Whether the URL comes from the profile.
    #[arg(skip)]
    pub(crate) is_url_of_profile: bool,

    /// The admin token of the registry, or an API token. Set TERRACE_TOKEN or use --token-file instead of this
    /// option: other users of the machine can see the command line. Without any of these, the first of the following
    /// is used: the OIDC token of a CI job, provided the registry trusts the job; the variable TF_TOKEN_<host>; the
    /// token that `terrace login`, `terraform login` or `tofu login` stored for the host
    #[arg(
        long,
        global = true,
        env = "TERRACE_TOKEN",
        hide_env_values = true,
        // A random token may begin with a dash.
        allow_hyphen_values = true,
        value_hint = ValueHint::Other
    )]
    pub(crate) token: Option<String>,

    /// Whether the token comes from TERRACE_TOKEN.
    #[arg(skip)]
    pub(crate) is_token_in_environment: bool,

    /// The variable that the token comes from, if it is not TERRACE_TOKEN.
    #[arg(skip)]
    pub(crate) token_variable: Option<String>,

    /// A file with the token, and nothing else. Takes precedence over TERRACE_TOKEN
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,

    /// The number of retries when the network or the registry fails
    #[arg(
        long,
        global = true,
        value_name = "TIMES",
        default_value_t = 5,
        value_parser = clap::value_parser!(u32).range(0..=20)
    )]
    pub(crate) retries: u32,

    /// Allow sending the token to another machine over plain HTTP, where others can read it in transit
    #[arg(
        long,
        global = true,
        env = "TERRACE_INSECURE",
        hide_env_values = true,
        value_parser = FalseyValueParser::new()
    )]
    pub(crate) insecure: bool,
}

impl RegistryArguments {
    /// Returns the options on the command line that name the registry, each after a space, for another command line. What
    /// the environment names, the other command finds there, too.
    pub(crate) fn options(&self) -> String {
        let url = self.url.as_deref().filter(|_| !self.is_url_in_environment);
        let profile = self.profile.as_deref();
        let profile = profile.filter(|_| !self.is_profile_in_environment);
        match (url, profile) {
            (Some(url), _) => format!(" --url {}", in_shell(url)),
            (None, Some(profile)) => format!(" --profile {}", in_shell(profile)),
            (None, None) => String::new(),
        }
    }
}
