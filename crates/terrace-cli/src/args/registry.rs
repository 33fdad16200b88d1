//! The options that name a registry.

use clap::Args;
use clap::builder::FalseyValueParser;

/// The registry to connect to, and the token for it.
#[derive(Debug, Args)]
#[command(next_help_heading = "Registry")]
pub(crate) struct RegistryArguments {
    /// The URL of the registry, such as https://registry.example.com
    #[arg(long, global = true, env = "TERRACE_URL", hide_env_values = true)]
    pub(crate) url: Option<String>,

    /// The admin token of the registry, or an API token. Set TERRACE_TOKEN instead of this option: other users of
    /// the machine can see the command line. If neither is set, a CI job authenticates with its OIDC token,
    /// provided the registry trusts the job
    #[arg(long, global = true, env = "TERRACE_TOKEN", hide_env_values = true)]
    pub(crate) token: Option<String>,

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
