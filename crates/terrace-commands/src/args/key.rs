//! The command line of `terrace key`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use terrace_core::model::name::Namespace;
use terrace_core::model::status::Reason;
use terrace_openpgp::KeyId;

#[derive(Debug, Subcommand)]
pub(crate) enum KeyCommand {
    /// Allow a public key to sign the providers of a namespace
    Add {
        /// The namespace that the key may sign for
        namespace: Namespace,
        /// The file with the key, as `gpg --armor --export KEY` writes it, or - for standard input
        file: PathBuf,
    },
    /// List the signing keys of a namespace with their statuses, and the removed ones that have a status
    List {
        /// The namespace to list
        namespace: Namespace,
    },
    /// Reject new versions that a key signed
    ///
    /// Published versions stay available. A publisher who signs with the key gets an error with the reason.
    Retire(KeyStatusArguments),
    /// Block all versions that a key signed
    ///
    /// These versions disappear from all lists, and requests for them get status 410 with the reason.
    Revoke {
        #[command(flatten)]
        status: KeyStatusArguments,
        /// Revoke the key for all other namespaces that have it, too
        #[arg(long)]
        everywhere: bool,
    },
    /// Make a retired or revoked key active again
    ///
    /// Versions that a revoked key signed can be installed again, unless they are revoked themselves.
    Restore(KeyStatusArguments),
    /// Remove a key from a namespace, so that it may sign no new versions
    ///
    /// Versions that it signed stay published. A revoked key stays revoked, and blocks the versions that it signed.
    Remove {
        /// The namespace of the key
        namespace: Namespace,
        /// The ID of the key: 16 hexadecimal digits, as in `terrace key list`
        key_id: KeyId,
    },
}

#[derive(Debug, Args)]
pub(crate) struct KeyStatusArguments {
    /// The namespace of the key
    pub(crate) namespace: Namespace,
    /// The ID of the key: 16 hexadecimal digits, as in `terrace key list`
    pub(crate) key_id: KeyId,
    /// The reason: one line, which users and publishers read
    #[arg(long)]
    pub(crate) reason: Reason,
}
