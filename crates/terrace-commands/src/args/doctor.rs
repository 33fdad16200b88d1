//! The command line of `terrace doctor`.

use std::time::Duration;

use clap::Args;
use terrace_core::model::address::{ModuleAddress, ProviderAddress};

use super::archive_host::ArchiveHostArguments;
use super::{AccountArguments, duration};

#[derive(Debug, Args)]
pub(crate) struct DoctorArguments {
    #[command(flatten)]
    pub(crate) account: AccountArguments,

    /// Make only these checks: IDs such as W1, or letters of groups such as W, separated by commas
    #[arg(long, value_name = "CHECKS", value_delimiter = ',')]
    pub(crate) only: Vec<String>,

    /// Leave these checks out
    #[arg(long, value_name = "CHECKS", value_delimiter = ',')]
    pub(crate) skip: Vec<String>,

    /// End with exit code 1 if there are warnings
    #[arg(long)]
    pub(crate) strict: bool,

    /// Download archives of any size, too
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
