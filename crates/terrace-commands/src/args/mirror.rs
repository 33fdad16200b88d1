//! The command line of `terrace mirror`.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use clap::{Args, Subcommand};
use terrace_core::model::address::{AddressError, MirroredAddress};
use terrace_core::model::mirrored_part::MirroredPart;
use terrace_core::model::name::{Hostname, Namespace, ProviderType};
use terrace_core::model::package::Package;
use terrace_core::model::platform::Platform;
use terrace_core::model::status::Reason;
use terrace_core::model::version::{Version, VersionError};
use terrace_core::upstream::origin::Constraints;

use super::archive_host::ArchiveHostArguments;
use super::duration;
use super::release::PackageSpec;
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
    /// The required_providers of a .tf or .tf.json file are mirrored in the newest version that their constraints
    /// allow.
    ///
    /// In a directory, all lock files are found, also in directories below it, except in .terraform and .git. If
    /// there are none, the required_providers of its .tf files are mirrored, as those of a file. A file that cannot
    /// be used does not stop the others.
    Sync(MirrorSyncArguments),
    /// Publish the providers in a directory that `terraform providers mirror` wrote
    ///
    /// The directory may also be one that `tofu providers mirror` wrote, or a filesystem mirror of zips without
    /// JSON. Every zip is compared with every hash that is listed for it, checked as clients check it, and sent
    /// unchanged. An invalid version is left out, and the others are published. Run again, the command sends
    /// only the packages that the registry does not have yet.
    Push(MirrorPushArguments),
    /// List the mirrored providers with their versions
    ///
    /// Shows for each stored version the stored platforms and their size, how many more platforms a pull-through can
    /// fetch (none for a version that was published to the mirror), and whether it is blocked, revoked, withdrawn, deprecated or erased.
    List(MirrorListArguments),
    /// Block a provider, a version of it, or all providers of a namespace or host, whether they are stored or not
    ///
    /// They disappear from all lists, requests for them get status 404 with the reason, and they are not fetched from
    /// their origin any more. Their status stays as it is.
    Block(BlockArguments),
    /// Lift a block
    Unblock(UnblockArguments),
    /// List the blocks
    ///
    /// The providers that TERRACE_PULL_BLOCK names are blocked as well, and are not in this list.
    Blocks,
    /// Erase a mirrored provider or a version of it for ever
    ///
    /// Its bytes are removed, and a tombstone takes its place: the version returns neither by pull-through nor by a
    /// publish. To keep the version and only prevent its use, block it instead.
    Remove(MirrorRemoveArguments),
}

#[derive(Debug, Args)]
pub(crate) struct MirrorAddArguments {
    /// The provider, as hostname/namespace/type, such as registry.opentofu.org/hashicorp/random
    #[arg(value_parser = provider_to_add)]
    pub(crate) address: MirroredAddress,

    /// Mirror all versions that meet these constraints, such as '~> 3.6'; without them, only the newest version
    #[arg(long, value_name = "CONSTRAINTS")]
    pub(crate) versions: Option<Constraints>,

    /// Replace stored versions that their origin has created anew, with all their platforms, for this reason; --versions names
    /// them. Lock files that were made before reject the new packages
    #[arg(
        long,
        value_name = "REASON",
        requires = "versions",
        conflicts_with = "platforms"
    )]
    pub(crate) replace: Option<Reason>,

    #[command(flatten)]
    pub(crate) mirror: MirrorArguments,
}

#[derive(Debug, Args)]
pub(crate) struct MirrorSyncArguments {
    /// TOML lists, lock files, .tf files, or directories with lock files or .tf files
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

    #[command(flatten)]
    pub(crate) archives: ArchiveHostArguments,

    /// Check everything except the zips, list the versions to mirror, and send nothing. If both the registry and
    /// the token are set, also ask the registry which packages it already has
    #[arg(long)]
    pub(crate) dry_run: bool,

    /// Skip versions that their origin published later than this time ago, such as 3d. Origins need not publish dates;
    /// a version without one is mirrored
    #[arg(long, value_name = "DURATION", value_parser = duration::in_days)]
    pub(crate) minimum_age: Option<Duration>,
}

#[derive(Debug, Args)]
pub(crate) struct MirrorPushArguments {
    /// The directory, which contains one directory for each hostname
    pub(crate) dir: PathBuf,

    /// Check everything that can be checked locally, show the request, and send nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}

#[derive(Debug, Args)]
pub(crate) struct BlockArguments {
    /// The provider, as hostname/namespace/type, followed by @<version> for one version; or hostname/namespace or
    /// hostname for all its providers. Without a version, later ones are blocked as well
    #[arg(value_name = "HOSTNAME[/NAMESPACE[/TYPE[@VERSION]]]")]
    pub(crate) subject: BlockSubject,

    /// The reason: one line, which users read
    #[arg(long)]
    pub(crate) reason: Reason,
}

#[derive(Debug, Args)]
pub(crate) struct UnblockArguments {
    /// The provider, as hostname/namespace/type, followed by @<version> for one version; or the hostname/namespace or
    /// hostname that was blocked
    #[arg(value_name = "HOSTNAME[/NAMESPACE[/TYPE[@VERSION]]]")]
    pub(crate) subject: BlockSubject,
}

#[derive(Debug, Args)]
pub(crate) struct MirrorListArguments {
    /// Only the providers of this registry, this namespace of it, or this provider: hostname, hostname/namespace or
    /// hostname/namespace/type
    #[arg(value_name = "HOSTNAME[/NAMESPACE[/TYPE]]")]
    pub(crate) part: Option<MirrorPart>,
}

#[derive(Debug, Args)]
pub(crate) struct MirrorRemoveArguments {
    /// The provider, as hostname/namespace/type; followed by @<version> for one version, otherwise all stored versions
    /// are removed
    #[arg(value_parser = provider_to_remove)]
    pub(crate) address: PackageSpec,

    /// The reason: one line, which users and publishers read
    #[arg(long)]
    pub(crate) reason: Reason,

    /// Also remove archives that other versions, repositories or manifests have. These can then no longer be installed
    #[arg(long)]
    pub(crate) everywhere: bool,

    /// Remove, instead of listing what would be removed
    #[arg(long)]
    pub(crate) yes: bool,
}

/// Parses the provider of `mirror add`, and leads on from a URL and from a version in the address.
fn provider_to_add(text: &str) -> Result<MirroredAddress, String> {
    let failed = match text.parse() {
        Ok(address) => return Ok(address),
        Err(error) => AddressError::to_string(&error),
    };
    let path = text.split_once("://").map_or(text, |(_, path)| path);
    let path = path.trim_matches('/');
    let (address, version) = match path.split_once('@') {
        Some((address, version)) => (address, Some(version)),
        None => (path, None),
    };
    let meant = address.parse::<MirroredAddress>();
    match (meant, version.map(str::parse::<Version>)) {
        (Ok(meant), None) => Err(format!(
            "it is an address, not a URL, of the form hostname/namespace/type: write {meant}"
        )),
        (Ok(meant), Some(Ok(version))) => Err(format!(
            "the version is an option of its own: write {meant} --versions {version}"
        )),
        _ => Err(failed),
    }
}

/// Parses the provider of `mirror remove`, and leads on from a namespace or a host.
fn provider_to_remove(text: &str) -> Result<PackageSpec, String> {
    match text.parse::<MirroredPart>() {
        Ok(part) => Err(format!(
            "it names all providers of a host or a namespace, and one is removed at a time, as hostname/namespace/type; \
             `terrace mirror list {part}` lists them"
        )),
        Err(_) => text.parse(),
    }
}

/// The mirrored providers of a block.
#[derive(Debug, Clone)]
pub(crate) enum BlockSubject {
    /// All those of a registry or of one of its namespaces.
    Part(MirroredPart),
    /// One provider, or one version of it.
    Package(PackageSpec),
}

/// A text is not a [`BlockSubject`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum BlockSubjectError {
    /// It has another form.
    #[error(
        "it must be HOSTNAME/NAMESPACE/TYPE, with @VERSION for one version, or HOSTNAME/NAMESPACE or HOSTNAME for all their \
         providers, such as registry.opentofu.org/hashicorp/random@3.6.0{}",
        .meant.as_ref().map(|meant| format!("; did you mean {meant}?")).unwrap_or_default()
    )]
    Form {
        /// The subject that was probably meant.
        meant: Option<String>,
    },
    /// The version of a provider is invalid.
    #[error(transparent)]
    Version(#[from] VersionError),
}

impl BlockSubject {
    fn read(text: &str) -> Option<Self> {
        let part = text.parse().map(Self::Part);
        part.or_else(|_| text.parse().map(Self::Package)).ok()
    }

    /// Returns the subject that a URL, or a path with further slashes, probably means.
    fn meant(text: &str) -> Option<String> {
        let path = text.split_once("://").map_or(text, |(_, path)| path);
        let path = path.split(['?', '#']).next().unwrap_or_default();
        let path = path.trim_matches('/');
        let version = |name: &str| {
            let (address, version) = name.rsplit_once('/')?;
            let version = version.strip_prefix('v').unwrap_or(version);
            let is_provider = address.parse::<MirroredAddress>().is_ok();
            (is_provider && version.parse::<Version>().is_ok())
                .then(|| format!("{address}@{version}"))
        };
        let meant = version(path).unwrap_or_else(|| path.to_owned());
        let is_of_mirror = match Self::read(&meant)? {
            Self::Part(_) => true,
            Self::Package(spec) => matches!(spec.package, Package::Mirrored(_)),
        };
        (is_of_mirror && meant != text).then_some(meant)
    }
}

impl FromStr for BlockSubject {
    type Err = BlockSubjectError;

    fn from_str(text: &str) -> Result<Self, BlockSubjectError> {
        if let Some(subject) = Self::read(text) {
            return Ok(subject);
        }
        if let Some((address, version)) = text.split_once('@')
            && address.parse::<MirroredAddress>().is_ok()
        {
            version.parse::<Version>()?;
        }
        let meant = Self::meant(text);
        Err(BlockSubjectError::Form { meant })
    }
}

/// A part of the mirror: a registry, a namespace of it, or one provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MirrorPart(String);

impl MirrorPart {
    /// Returns the part in the form of a key, with a slash at its end.
    pub(crate) fn as_key(&self) -> String {
        format!("{}/", self.0)
    }
}

impl FromStr for MirrorPart {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut parts = text.split('/');
        let checked = |part: Option<&str>, check: &dyn Fn(&str) -> Result<(), String>| {
            part.map_or(Ok(()), check)
        };
        let text_of = |error: &dyn fmt::Display| error.to_string();
        checked(parts.next(), &|it| {
            let parsed = it.parse::<Hostname>();
            parsed.map(drop).map_err(|error| text_of(&error))
        })?;
        checked(parts.next(), &|it| {
            let parsed = it.parse::<Namespace>();
            parsed.map(drop).map_err(|error| text_of(&error))
        })?;
        checked(parts.next(), &|it| {
            let parsed = it.parse::<ProviderType>();
            parsed.map(drop).map_err(|error| text_of(&error))
        })?;
        match parts.next() {
            None => Ok(Self(text.to_owned())),
            Some(_) => {
                Err("it must be hostname, hostname/namespace or hostname/namespace/type".to_owned())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_is_of_a_host_a_namespace_a_provider_or_a_version() {
        for text in [
            "registry.opentofu.org",
            "Registry.OpenTofu.org/HashiCorp",
            "registry.opentofu.org/hashicorp/random",
            "Registry.OpenTofu.org/HashiCorp/Random@3.6.0",
        ] {
            assert!(text.parse::<BlockSubject>().is_ok(), "{text}");
        }
    }

    #[test]
    fn a_near_miss_of_a_block_is_refused_with_the_forms_and_the_subject_that_was_meant() {
        let provider = "registry.opentofu.org/hashicorp/random";
        for (text, meant) in [
            (
                "registry.opentofu.org/hashicorp/",
                Some("registry.opentofu.org/hashicorp"),
            ),
            ("registry.opentofu.org/", Some("registry.opentofu.org")),
            (
                "https://registry.opentofu.org",
                Some("registry.opentofu.org"),
            ),
            (
                "HTTPS://registry.opentofu.org/hashicorp",
                Some("registry.opentofu.org/hashicorp"),
            ),
            (
                "https://registry.opentofu.org/hashicorp/random?x=y",
                Some(provider),
            ),
            ("registry.opentofu.org/hashicorp/random/", Some(provider)),
            (
                "registry.opentofu.org/hashicorp/random/v3.6.0",
                Some("registry.opentofu.org/hashicorp/random@3.6.0"),
            ),
            ("registry.opentofu.org/hashicorp@3.6.0", None),
            ("registry.opentofu.org//random", None),
            ("registry.opentofu.org/hashicorp/random/a/b", None),
            ("hashicorp", None),
            ("", None),
        ] {
            let error = text.parse::<BlockSubject>().unwrap_err();
            let meant = meant.map(str::to_owned);
            assert_eq!(error, BlockSubjectError::Form { meant }, "{text}");
            let message = error.to_string();
            assert!(
                message.contains("HOSTNAME/NAMESPACE or HOSTNAME"),
                "{message}"
            );
        }
        let error = "registry.opentofu.org/hashicorp/random@v3.6.0".parse::<BlockSubject>();
        let message = error.unwrap_err().to_string();
        assert!(message.contains("has a leading"), "{message}");
    }
}
