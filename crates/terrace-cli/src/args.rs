//! The command line, as data.

use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use clap::builder::FalseyValueParser;
use clap::{Args, Parser, Subcommand};
use terrace_core::auth::access::{Scope, TokenName};
use terrace_core::model::address::{MirroredAddress, ModuleAddress};
use terrace_core::model::name::{Hostname, Namespace};
use terrace_core::model::platform::Platform;
use terrace_core::model::source::SourceUrl;
use terrace_core::model::status::Reason;
use terrace_core::model::subdir::Subdir;
use terrace_core::model::token_id::TokenId;
use terrace_core::model::version::Version;
use terrace_core::upstream::origin::Constraints;
use terrace_openpgp::KeyId;

use crate::admin::loss::AcceptedLoss;
use crate::origin::Place;
use crate::release::Subject;
use crate::secrets::HIDDEN_TOKEN;

const EXIT_CODES: &str = "\
Exit codes:
  0  done: published, or published before with the same bytes
  1  something unexpected, or a full disk here
  2  the command line is wrong
  3  refused: what is to be published is wrong, here or by the registry's judgement
  4  conflict: the version is published with other bytes
  5  not allowed: the token is wrong, the job is not trusted, or the registry has no admin routes
  6  the registry or its storage cannot be reached, or does not answer; run the command again";

const MIRROR_EXIT_CODES: &str = "\
Exit codes; where several versions failed in several ways, the first of 5, 6, 1, 4 and 3:
  0  done: all versions are published, or were before with the same bytes; what is no part of a
     mirror, or cannot be asked of one, is skipped and told
  1  something unexpected, or a full disk here
  2  the command line is wrong
  3  refused: a version or the directory is wrong, here or by the registry's judgement
  4  conflict: a version is published with other bytes
  5  not allowed: the token is wrong, the job is not trusted, or the registry has no admin routes
  6  the registry or its storage cannot be reached, or does not answer; run the command again";

const VERIFY_EXIT_CODES: &str = "\
Exit codes:
  0  everything is what it should be
  1  something unexpected
  2  the command line is wrong
  3  something is wrong: every line says what
  5  not allowed: the token is missing or wrong, or the registry has no admin routes
  6  the registry or its storage cannot be reached, or does not answer; run the command again";

/// Publishes providers and modules to a Terrace registry.
#[derive(Debug, Parser)]
#[command(name = "terrace", version, after_help = EXIT_CODES, max_term_width = 100)]
pub(crate) struct Arguments {
    /// Print one JSON document on standard output, whatever happens
    #[arg(long, global = true)]
    pub(crate) json: bool,

    /// Show no progress
    #[arg(long, short, global = true)]
    pub(crate) quiet: bool,

    #[command(flatten)]
    pub(crate) registry: RegistryArguments,

    #[command(subcommand)]
    pub(crate) command: Command,
}

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

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Publish a version of a provider or a module
    #[command(subcommand)]
    Publish(PublishCommand),
    /// Manage the keys that may sign a namespace's providers
    #[command(subcommand)]
    Key(KeyCommand),
    /// Deprecate, withdraw or revoke what is published, and take that back
    #[command(subcommand)]
    Release(ReleaseCommand),
    /// Look after a whole registry: who changed what, repair, checks, backup, moving
    #[command(subcommand)]
    Admin(AdminCommand),
    /// Make, list, revoke and replace API tokens
    #[command(subcommand)]
    Token(TokenCommand),
    /// Keep copies of other registries' providers
    #[command(subcommand)]
    Mirror(MirrorCommand),
}

#[derive(Debug, Subcommand)]
pub(crate) enum AdminCommand {
    /// Show who changed what, when and from where
    ///
    /// Each entry holds the digest of the one before: one that was changed or taken out is found. Ends with
    /// 3 if so.
    #[command(after_help = EXIT_CODES)]
    Audit {
        /// Only what happened in this time, such as 24h
        #[arg(long, value_parser = humantime::parse_duration)]
        since: Option<Duration>,
        /// Check that no entry is missing and none was changed
        #[arg(long)]
        verify: bool,
        /// The log of a copy that `terrace admin export` wrote, instead of a registry's
        #[arg(long, value_name = "DIR")]
        copy: Option<PathBuf>,
    },
    /// Make every index what is stored says; the registry does the same by and by
    #[command(after_help = EXIT_CODES)]
    Reindex {
        /// Only those of this provider, mirrored provider or module
        #[arg(long, value_name = "ADDRESS")]
        package: Option<String>,
        #[command(flatten)]
        losses: AcceptedLosses,
    },
    /// Look whether everything that is stored is what it should be; changes nothing
    ///
    /// Every document is read, everything that it refers to must be there, and so must every release that the
    /// audit log tells of; the registry hashes all stored bytes again. What nothing refers to is counted, and
    /// is no error.
    #[command(after_help = VERIFY_EXIT_CODES)]
    Verify {
        /// Hash nothing
        #[arg(long)]
        quick: bool,
        /// Compare with a copy that `terrace admin export` wrote, too
        #[arg(long, value_name = "DIR")]
        copy: Option<PathBuf>,
        #[command(flatten)]
        losses: AcceptedLosses,
    },
    /// Remove archives that no release refers to
    ///
    /// A publish that was broken off leaves some. With --yes they are marked, and what was marked more than
    /// an hour ago, and nothing has referred to since, is removed: so it takes two runs. Nothing is removed as
    /// long as a release is missing that the audit log tells of.
    #[command(after_help = EXIT_CODES)]
    Gc {
        /// Leave alone what was stored less than this ago
        #[arg(long, default_value = "7d", value_parser = humantime::parse_duration)]
        older_than: Duration,
        /// Do it, instead of saying what would be done
        #[arg(long)]
        yes: bool,
        #[command(flatten)]
        losses: AcceptedLosses,
    },
    /// Copy the whole registry into a directory, as plain files
    ///
    /// Documents lie below facts/ as JSON, archives below archives/, pushed blobs below oci/blobs/, and
    /// SHA256SUMS lists them all: `sha256sum -c SHA256SUMS` checks the copy without this program. What is
    /// there and right is not fetched again, so a copy that was broken off goes on. What is missing that the
    /// audit log or the older copy tells of ends it with 3, and the older copy stays as it is.
    #[command(after_help = EXIT_CODES)]
    Export {
        /// The directory: a new one, an empty one, or one with an older copy
        dir: PathBuf,
        #[command(flatten)]
        losses: AcceptedLosses,
    },
    /// Bring a copy into a registry, which may have things of its own
    ///
    /// The directory is one that `terrace admin export` wrote; or a copy of a boring-registry's bucket,
    /// whose providers and modules are published; or one that `terraform providers mirror` wrote. What is
    /// there already stays as it is. Run again what was broken off.
    #[command(after_help = EXIT_CODES)]
    Import {
        /// The directory
        dir: PathBuf,
    },
}

#[derive(Debug, Args)]
pub(crate) struct AcceptedLosses {
    /// A release that is lost for good, or `audit-log` for entries of the log: its absence is no error
    #[arg(long = "accept-loss", value_name = "ADDRESS@VERSION")]
    pub(crate) accepted: Vec<AcceptedLoss>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum PublishCommand {
    /// Publish a provider from GoReleaser's dist directory
    ///
    /// Finds terraform-provider-<type>_<version>_SHA256SUMS, its detached signature (.sig or
    /// .asc), the zips that it lists, and the manifest with the plugin protocols. Everything is
    /// checked as the registry and the clients check it before anything is sent.
    #[command(after_help = EXIT_CODES)]
    Provider(ProviderArguments),
    /// Publish a module from its directory, or an archive of it
    ///
    /// A directory is packed without what its .gitignore and .terraformignore files name, and
    /// always without .git, .terraform, state files and CLI configuration. The same files always
    /// make the same archive.
    #[command(after_help = EXIT_CODES)]
    Module(ModuleArguments),
}

#[derive(Debug, Args)]
pub(crate) struct ProviderArguments {
    /// Where the zips, SHA256SUMS and its signature are
    #[arg(default_value = "dist")]
    pub(crate) dir: PathBuf,

    /// The namespace to publish in
    #[arg(long)]
    pub(crate) namespace: Namespace,

    #[command(flatten)]
    pub(crate) source: SourceArguments,

    /// Check everything that can be checked here, say what would be sent, and send nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ModuleArguments {
    /// A directory to pack; or a .zip, .tar.gz or .tgz to send as it is
    #[arg(value_name = "DIR|ARCHIVE", default_value = ".")]
    pub(crate) path: PathBuf,

    /// The module's address: namespace/name/system
    #[arg(long)]
    pub(crate) address: ModuleAddress,

    /// The version, such as 1.2.3
    #[arg(long)]
    pub(crate) version: Version,

    /// The directory inside the archive where the module begins, if not at its top
    #[arg(long, value_name = "PATH")]
    pub(crate) subdir: Option<Subdir>,

    #[command(flatten)]
    pub(crate) source: SourceArguments,

    /// Check everything that can be checked here, say what would be sent, and send nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}

/// The repository that a release is made from.
#[derive(Debug, Default, Args)]
pub(crate) struct SourceArguments {
    /// The URL of the repository, where update tools look for release notes. By default that of the CI job or of the
    /// only git remote, unless they differ
    #[arg(long, value_name = "URL", conflicts_with = "no_source")]
    pub(crate) source: Option<SourceUrl>,

    /// Publish no URL of the repository
    #[arg(long)]
    pub(crate) no_source: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum MirrorCommand {
    /// Mirror versions of one provider
    ///
    /// Every package is checked as terraform and tofu check it: by SHA256SUMS, and by its signature
    /// with a key that its registry names. What the registry has already is not downloaded again.
    ///
    /// A token for the registry that is copied from is read from TF_TOKEN_ and its hostname, as
    /// terraform does. It is sent to that host alone.
    #[command(after_help = MIRROR_EXIT_CODES)]
    Add(MirrorAddArguments),
    /// Mirror the providers that files ask for
    ///
    /// A file is a .toml list with [[provider]] tables of address, versions and platforms; a
    /// .terraform.lock.hcl, whose exact versions are mirrored if their zips have hashes that it
    /// has; a .tf or .tf.json file, or a directory with some, whose required_providers are mirrored
    /// in the newest version that their constraints admit.
    #[command(after_help = MIRROR_EXIT_CODES)]
    Sync(MirrorSyncArguments),
    /// Publish every provider in a directory that `terraform providers mirror` wrote
    ///
    /// Or `tofu providers mirror`; a filesystem mirror of zips without JSON will do, too. Every zip
    /// is compared with every hash that is listed for it, checked as clients check it, and sent as
    /// it is. A version that is wrong is left out, and the others are published; the same command
    /// again sends only what is missing.
    #[command(after_help = MIRROR_EXIT_CODES)]
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
    pub(crate) origins: Vec<Place>,

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

#[derive(Debug, Subcommand)]
pub(crate) enum KeyCommand {
    /// Let a public key sign for a namespace
    #[command(after_help = EXIT_CODES)]
    Add {
        /// The namespace
        namespace: Namespace,
        /// The key, as `gpg --armor --export KEY` writes it; - reads standard input
        file: PathBuf,
    },
    /// Show the keys that may sign for a namespace
    #[command(after_help = EXIT_CODES)]
    List {
        /// The namespace
        namespace: Namespace,
    },
    /// Let a key sign nothing new; what it signed stays, and whoever tries reads the reason
    #[command(after_help = EXIT_CODES)]
    Retire(KeySaying),
    /// Let nobody install what a key has signed
    ///
    /// Every version that it signed leaves the lists and is answered 410 with the reason.
    #[command(after_help = EXIT_CODES)]
    Revoke(KeySaying),
    /// Take back that a key is retired or revoked
    #[command(after_help = EXIT_CODES)]
    Restore(KeySaying),
    /// Stop a key from signing new versions; what it signed stays published
    #[command(after_help = EXIT_CODES)]
    Remove {
        /// The namespace
        namespace: Namespace,
        /// The ID of the key: 16 hexadecimal digits, as `terrace key list` shows it
        key_id: KeyId,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum ReleaseCommand {
    /// Warn the users of a package or a version: something else is better
    ///
    /// It stays as it is. Both clients print the reason on every init, of a provider; of a module there
    /// is no such thing.
    #[command(after_help = EXIT_CODES)]
    Deprecate(Saying),
    /// Warn the users of a version that should not have been published
    ///
    /// It stays in the lists, since lock files that name it would break: the reason, which both clients
    /// print of a provider, should name the version to use instead.
    #[command(after_help = EXIT_CODES)]
    Withdraw(Saying),
    /// Let nobody install a version any more
    ///
    /// It leaves every list and is answered 410 with the reason. Whoever has it in a lock file cannot
    /// install it again. Takes the scope admin.
    #[command(after_help = EXIT_CODES)]
    Revoke(Saying),
    /// Take back what was said
    #[command(after_help = EXIT_CODES)]
    Restore(Saying),
    /// Show what is said of a package
    #[command(after_help = EXIT_CODES)]
    Show {
        /// The package, as in `deprecate`
        address: Subject,
    },
}

#[derive(Debug, Args)]
pub(crate) struct Saying {
    /// <namespace>/<type> for a provider, <namespace>/<name>/<system> for a module,
    /// <hostname>/<namespace>/<type> for a mirrored provider, with @<version> behind it
    pub(crate) address: Subject,
    /// Why: one line, which users read
    #[arg(long)]
    pub(crate) reason: Reason,
}

#[derive(Debug, Subcommand)]
pub(crate) enum TokenCommand {
    /// Make a token, and print it; it cannot be found again
    #[command(after_help = EXIT_CODES)]
    Create {
        /// What it is called, for whoever reads the list
        #[arg(long)]
        name: TokenName,
        /// What it is good for: read, read:<namespace>, publish:<namespace> or admin; once for each. The
        /// namespace of mirrored providers is <hostname>/<namespace>, or <hostname> for all of them
        #[arg(long = "scope", required = true)]
        scopes: Vec<Scope>,
        /// For how long it is good, such as 90d, 12h or 1y; `never` is for ever
        #[arg(long)]
        expires: Expiry,
    },
    /// Show all tokens that were made, by this command and by signing in, and by whom
    #[command(after_help = EXIT_CODES)]
    List,
    /// Revoke tokens; they are dead everywhere within a minute
    #[command(after_help = EXIT_CODES)]
    Revoke {
        /// Their IDs, as `terrace token list` shows them: what stands between `terrace_` and the first dot
        #[arg(required = true, value_parser = token_id)]
        ids: Vec<TokenId>,
    },
    /// Make a token with the same name, scopes and lifetime, and revoke the old one
    #[command(after_help = EXIT_CODES)]
    Rotate {
        /// The ID of the old one
        #[arg(value_parser = token_id)]
        id: TokenId,
        /// How long the old one stays good, such as 24h
        #[arg(long, default_value = "0s", value_parser = humantime::parse_duration)]
        overlap: Duration,
    },
}

#[derive(Debug, Args)]
pub(crate) struct KeySaying {
    /// The namespace
    pub(crate) namespace: Namespace,
    /// The ID of the key: 16 hexadecimal digits, as `terrace key list` shows it
    pub(crate) key_id: KeyId,
    /// Why: one line, which users read
    #[arg(long)]
    pub(crate) reason: Reason,
}

/// For how long a token is good.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Expiry {
    Never,
    After(Duration),
}

impl Expiry {
    /// For how long, if not for ever.
    pub(crate) fn limit(self) -> Option<Duration> {
        match self {
            Self::Never => None,
            Self::After(duration) => Some(duration),
        }
    }
}

impl FromStr for Expiry {
    type Err = humantime::DurationError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "never" => Ok(Self::Never),
            text => humantime::parse_duration(text).map(Self::After),
        }
    }
}

/// The value names of the arguments that take the ID of a token.
pub(crate) const TOKEN_IDS: [&str; 2] = ["<ID>", "<IDS>..."];

fn token_id(text: &str) -> Result<TokenId, String> {
    let told = match text {
        HIDDEN_TOKEN => "that is a token; give its ID, the 16 hex digits after `terrace_`",
        _ => "a token's ID has 16 hexadecimal digits in lower case",
    };
    text.parse().map_err(|()| told.to_owned())
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        Arguments::command().debug_assert();
    }
}
