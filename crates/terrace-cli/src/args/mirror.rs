//! The command line of `terrace mirror`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use terrace_core::model::address::MirroredAddress;
use terrace_core::model::name::Hostname;
use terrace_core::model::platform::Platform;
use terrace_core::upstream::origin::Constraints;

use crate::upstream::HostOverride;

const EXIT_CODES: &str = "\
Exit codes; where several versions failed in several ways, the first of 5, 6, 1, 4 and 3:
  0  done: all versions are published, or were before with the same bytes; what is no part of a
     mirror, or cannot be asked of one, is skipped and told
  1  something unexpected, or a full disk here
  2  the command line is wrong
  3  refused: a version or the directory is wrong, here or by the registry's judgement
  4  conflict: a version is published with other bytes
  5  not allowed: the token is wrong, the job is not trusted, or the registry has no admin routes
  6  the registry or its storage cannot be reached, or does not answer; run the command again";

#[derive(Debug, Subcommand)]
pub(crate) enum MirrorCommand {
    /// Mirror versions of one provider
    ///
    /// Every package is checked as terraform and tofu check it: by SHA256SUMS, and by its signature
    /// with a key that its registry names. What the registry has already is not downloaded again.
    ///
    /// A token for the registry that is copied from is read from TF_TOKEN_ and its hostname, as
    /// terraform does. It is sent to that host alone.
    #[command(after_help = EXIT_CODES)]
    Add(MirrorAddArguments),
    /// Mirror the providers that files ask for
    ///
    /// A file is a .toml list with [[provider]] tables of address, versions and platforms; a
    /// .terraform.lock.hcl, whose exact versions are mirrored if their zips have hashes that it
    /// has; a .tf or .tf.json file, or a directory with some, whose required_providers are mirrored
    /// in the newest version that their constraints admit.
    #[command(after_help = EXIT_CODES)]
    Sync(MirrorSyncArguments),
    /// Publish every provider in a directory that `terraform providers mirror` wrote
    ///
    /// Or `tofu providers mirror`; a filesystem mirror of zips without JSON will do, too. Every zip
    /// is compared with every hash that is listed for it, checked as clients check it, and sent as
    /// it is. A version that is wrong is left out, and the others are published; the same command
    /// again sends only what is missing.
    #[command(after_help = EXIT_CODES)]
    Push(MirrorPushArguments),
}

#[derive(Debug, Args)]
pub(crate) struct MirrorAddArguments {
    /// The provider: hostname/namespace/type, such as registry.opentofu.org/hashicorp/random
    pub(crate) address: MirroredAddress,

    /// Which versions, such as '~> 3.6'; otherwise the newest one alone
    #[arg(long, value_name = "CONSTRAINTS")]
    pub(crate) versions: Option<Constraints>,

    #[command(flatten)]
    pub(crate) mirror: MirrorArguments,
}

#[derive(Debug, Args)]
pub(crate) struct MirrorSyncArguments {
    /// Lists, lock files, .tf files, or directories with some
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,

    /// The registry of sources that name none, in .tf files
    #[arg(long, value_name = "HOSTNAME", default_value = "registry.terraform.io")]
    pub(crate) default_host: Hostname,

    #[command(flatten)]
    pub(crate) mirror: MirrorArguments,
}

/// What all mirroring has in common.
#[derive(Debug, Args)]
pub(crate) struct MirrorArguments {
    /// A platform, such as linux_amd64; may be given several times. Otherwise all that there are
    #[arg(long = "platform", value_name = "OS_ARCH")]
    pub(crate) platforms: Vec<Platform>,

    /// Ask a hostname's registry at another address, which may be of a private network
    #[arg(long = "origin", value_name = "HOSTNAME=URL")]
    pub(crate) origins: Vec<HostOverride>,

    /// Check what can be checked without the zips, say what would be mirrored, and send nothing;
    /// where the registry and the token are given, the registry is asked what it has
    #[arg(long)]
    pub(crate) dry_run: bool,
}

#[derive(Debug, Args)]
pub(crate) struct MirrorPushArguments {
    /// The directory, with one directory in it for each hostname
    pub(crate) dir: PathBuf,

    /// Check everything that can be checked here, say what would be sent, and send nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}
