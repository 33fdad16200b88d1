//! The command line of `terrace mirror`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use terrace_core::model::address::MirroredAddress;
use terrace_core::model::name::Hostname;
use terrace_core::model::platform::Platform;
use terrace_core::upstream::origin::Constraints;

use crate::upstream::HostOverride;

#[derive(Debug, Subcommand)]
pub(crate) enum MirrorCommand {
    /// Mirror versions of one provider
    ///
    /// Checks every package as terraform and tofu do: against SHA256SUMS, and the signature of that file
    /// against the keys that the origin registry publishes. Packages that this registry already has are not
    /// downloaded again.
    ///
    /// A token for the origin registry is read from the variable TF_TOKEN_<hostname>, as terraform reads it,
    /// and is sent to that host only.
    Add(MirrorAddArguments),
    /// Mirror the providers that files require
    ///
    /// A .toml list has [[provider]] tables with address, versions and platforms.
    ///
    /// The providers in a .terraform.lock.hcl are mirrored in the locked versions, provided their zips have the
    /// locked hashes.
    ///
    /// The required_providers of a .tf or .tf.json file, or of a directory of such files, are mirrored in the
    /// newest version that their constraints allow.
    Sync(MirrorSyncArguments),
    /// Publish the providers in a directory that `terraform providers mirror` wrote
    ///
    /// The directory may also be one that `tofu providers mirror` wrote, or a filesystem mirror of zips without
    /// JSON. Every zip is compared with every hash that is listed for it, checked as clients check it, and sent
    /// unchanged. An invalid version is left out, and the others are published. Run again, the command sends
    /// only the packages that the registry does not have yet.
    Push(MirrorPushArguments),
}

#[derive(Debug, Args)]
pub(crate) struct MirrorAddArguments {
    /// The provider, as hostname/namespace/type, such as registry.opentofu.org/hashicorp/random
    pub(crate) address: MirroredAddress,

    /// Mirror all versions that meet these constraints, such as '~> 3.6'; without them, only the newest version
    #[arg(long, value_name = "CONSTRAINTS")]
    pub(crate) versions: Option<Constraints>,

    #[command(flatten)]
    pub(crate) mirror: MirrorArguments,
}

#[derive(Debug, Args)]
pub(crate) struct MirrorSyncArguments {
    /// TOML lists, lock files, .tf files, or directories of .tf files
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,

    /// The registry of provider sources without a hostname in .tf files
    #[arg(long, value_name = "HOSTNAME", default_value = "registry.terraform.io")]
    pub(crate) default_host: Hostname,

    #[command(flatten)]
    pub(crate) mirror: MirrorArguments,
}

/// The options of all commands that download from other registries.
#[derive(Debug, Args)]
pub(crate) struct MirrorArguments {
    /// Mirror this platform only, such as linux_amd64; may be given several times. Without it, all platforms
    #[arg(long = "platform", value_name = "OS_ARCH")]
    pub(crate) platforms: Vec<Platform>,

    /// Use this URL for the registry of a hostname; it may be in a private network
    #[arg(long = "origin", value_name = "HOSTNAME=URL")]
    pub(crate) origins: Vec<HostOverride>,

    /// Check everything except the zips, list the versions to mirror, and send nothing. If both the registry and
    /// the token are set, also ask the registry which packages it already has
    #[arg(long)]
    pub(crate) dry_run: bool,
}

#[derive(Debug, Args)]
pub(crate) struct MirrorPushArguments {
    /// The directory, which contains one directory for each hostname
    pub(crate) dir: PathBuf,

    /// Check everything that can be checked locally, show the request, and send nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}
