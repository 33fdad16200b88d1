//! The command line of `terrace doctor`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueHint};
use terrace_core::model::address::{ModuleAddress, ProviderAddress};

use super::archive_host::ArchiveHostArguments;
use super::{AccountArguments, duration};

#[derive(Debug, Args)]
pub(crate) struct DoctorArguments {
    #[command(flatten)]
    pub(crate) account: AccountArguments,

    /// Check the account and the configuration before the first deployment, through wrangler; no registry is needed. A URL names
    /// the hostname that it is going to have
    #[arg(long, conflicts_with_all = ["deep", "provider", "module"])]
    pub(crate) pre: bool,

    /// With --pre: the configuration file of wrangler. Without it, the first of wrangler.json, wrangler.jsonc and
    /// wrangler.toml in the current directory
    #[arg(long, value_name = "FILE", requires = "pre", value_hint = ValueHint::FilePath)]
    pub(crate) config: Option<PathBuf>,

    /// With --pre: the environment in the file, as of "wrangler deploy --env"
    #[arg(long, value_name = "NAME", requires = "pre")]
    pub(crate) env: Option<String>,

    /// Make only these checks: IDs such as W1, or letters of groups such as W, separated by commas
    #[arg(long, value_name = "CHECKS", value_delimiter = ',')]
    pub(crate) only: Vec<String>,

    /// Leave these checks out
    #[arg(long, value_name = "CHECKS", value_delimiter = ',')]
    pub(crate) skip: Vec<String>,

    /// Write the result to this file as JUnit XML, too
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) junit: Option<PathBuf>,

    /// End with exit code 1 if there are warnings
    #[arg(long)]
    pub(crate) strict: bool,

    /// Also make the checks that take longer or write: download archives of any size, and let the registry write an
    /// object of its own, read it, and remove it
    #[arg(long)]
    pub(crate) deep: bool,

    /// The time for each request, at most 1h
    #[arg(long, value_name = "DURATION", default_value = "10s", value_parser = duration::of_request)]
    pub(crate) timeout: Duration,

    /// The provider to try, instead of the first one that the registry lists
    #[arg(long, value_name = "NAMESPACE/TYPE", value_parser = provider)]
    pub(crate) provider: Option<ProviderAddress>,

    /// The module to try, instead of the first one that the registry lists
    #[arg(long, value_name = "NAMESPACE/NAME/SYSTEM", value_parser = module)]
    pub(crate) module: Option<ModuleAddress>,

    #[command(flatten)]
    pub(crate) archive_hosts: ArchiveHostArguments,
}

fn provider(text: &str) -> Result<ProviderAddress, String> {
    text.parse().map_err(|error| format!("{error}"))
}

fn module(text: &str) -> Result<ModuleAddress, String> {
    text.parse().map_err(|error| format!("{error}"))
}
