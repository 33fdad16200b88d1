//! The options that name a registry.

use clap::Args;
use clap::builder::FalseyValueParser;

/// Which registry, and with what right.
#[derive(Debug, Args)]
#[command(next_help_heading = "Registry")]
pub(crate) struct RegistryArguments {
    /// The registry, such as https://registry.example.com
    #[arg(long, global = true, env = "TERRACE_URL", hide_env_values = true)]
    pub(crate) url: Option<String>,

    /// The registry's admin token, or one that it has made. Give it as TERRACE_TOKEN: a command line is
    /// seen by others. Without it a job of a CI shows its OpenID token, where the registry trusts it
    #[arg(long, global = true, env = "TERRACE_TOKEN", hide_env_values = true)]
    pub(crate) token: Option<String>,

    /// How often to try again when the network or the registry fails
    #[arg(
        long,
        global = true,
        value_name = "TIMES",
        default_value_t = 5,
        value_parser = clap::value_parser!(u32).range(0..=20)
    )]
    pub(crate) retries: u32,

    /// Send the token over plain HTTP to another machine too, where others can read it on the way
    #[arg(
        long,
        global = true,
        env = "TERRACE_INSECURE",
        hide_env_values = true,
        value_parser = FalseyValueParser::new()
    )]
    pub(crate) insecure: bool,
}
