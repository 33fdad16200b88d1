//! The command line of `terrace config`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Check the configuration of a registry before it is deployed
    ///
    /// Reads the variables and bindings in the file of wrangler by the rules of the registry itself. Secrets are not in that
    /// file: the check assumes that those are set which it lists.
    Check(ConfigCheckArguments),
}

#[derive(Debug, Args)]
pub(crate) struct ConfigCheckArguments {
    /// The configuration file of wrangler. Without it, the first of wrangler.json, wrangler.jsonc and wrangler.toml in the
    /// current directory, as wrangler chooses it
    pub(crate) file: Option<PathBuf>,
    /// The environment in the file, as of "wrangler deploy --env"
    #[arg(long, value_name = "NAME")]
    pub(crate) env: Option<String>,
}
