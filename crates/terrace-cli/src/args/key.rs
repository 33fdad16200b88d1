//! The command line of `terrace key`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use terrace_core::model::name::Namespace;
use terrace_core::model::status::Reason;
use terrace_openpgp::KeyId;

use super::EXIT_CODES;

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
    Retire(KeyStatusArguments),
    /// Let nobody install what a key has signed
    ///
    /// Every version that it signed leaves the lists and is answered 410 with the reason.
    #[command(after_help = EXIT_CODES)]
    Revoke(KeyStatusArguments),
    /// Take back that a key is retired or revoked
    #[command(after_help = EXIT_CODES)]
    Restore(KeyStatusArguments),
    /// Stop a key from signing new versions; what it signed stays published
    #[command(after_help = EXIT_CODES)]
    Remove {
        /// The namespace
        namespace: Namespace,
        /// The ID of the key: 16 hexadecimal digits, as `terrace key list` shows it
        key_id: KeyId,
    },
}

#[derive(Debug, Args)]
pub(crate) struct KeyStatusArguments {
    /// The namespace
    pub(crate) namespace: Namespace,
    /// The ID of the key: 16 hexadecimal digits, as `terrace key list` shows it
    pub(crate) key_id: KeyId,
    /// Why: one line, which users read
    #[arg(long)]
    pub(crate) reason: Reason,
}
