//! `terrace key`.

mod add;
mod report;
mod status;

use std::path::PathBuf;

use clap::Subcommand;
use terrace_core::api::endpoint::SIGNING_KEY;
use terrace_core::model::name::Namespace;
use terrace_openpgp::KeyId;

use self::report::{document, screen};
use crate::commands::connection::Session;
use crate::commands::key::status::KeyStatusArguments;
use crate::error::Failure;
use crate::registry::client::Call;

pub(super) use self::status::of_all_namespaces;

#[derive(Debug, Subcommand)]
pub(crate) enum KeyCommand {
    /// Allow a public key to sign the providers of a namespace
    #[command(
        after_help = "Example: terrace key add acme publisher.asc\nToken scope: admin:<namespace> or admin"
    )]
    Add {
        /// The namespace that the key may sign for
        namespace: Namespace,
        /// The file with the key, as `gpg --armor --export KEY` writes it, or - for standard input
        file: PathBuf,
    },
    /// List the signing keys of a namespace with their statuses, and the removed ones that have a status
    #[command(
        after_help = "Example: terrace key list acme\nToken scope: publish:<namespace>, admin:<namespace> or admin"
    )]
    List {
        /// The namespace to list
        namespace: Namespace,
    },
    /// Reject new versions that a key signed
    ///
    /// Published versions stay available. A publisher who signs with the key gets an error with the reason.
    #[command(
        after_help = "Example: terrace key retire acme 0123456789ABCDEF --reason 'replaced by a new key'\nToken scope: admin:<namespace> or admin"
    )]
    Retire(KeyStatusArguments),
    /// Block all versions that a key signed
    ///
    /// These versions disappear from all lists, and requests for them get status 410 with the reason.
    #[command(
        after_help = "Example: terrace key revoke acme 0123456789ABCDEF --reason 'the private key leaked'\nToken scope: admin:<namespace> or admin; with --everywhere, admin"
    )]
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
    #[command(
        after_help = "Example: terrace key restore acme 0123456789ABCDEF --reason 'retired by mistake'\nToken scope: admin:<namespace> or admin"
    )]
    Restore(KeyStatusArguments),
    /// Remove a key from a namespace, so that it may sign no new versions
    ///
    /// Versions that it signed stay published. A revoked key stays revoked, and blocks the versions that it signed.
    #[command(
        after_help = "Example: terrace key remove acme 0123456789ABCDEF\nToken scope: admin:<namespace> or admin"
    )]
    Remove {
        /// The namespace of the key
        namespace: Namespace,
        /// The ID of the key: 16 hexadecimal digits, as in `terrace key list`
        key_id: KeyId,
    },
}

/// Executes the command.
pub(crate) fn run(command: &KeyCommand, session: Session<'_>) -> Result<(), Failure> {
    match command {
        KeyCommand::Add { namespace, file } => add::run(namespace, file, session),
        KeyCommand::List { namespace } => list(namespace, session),
        KeyCommand::Retire(arguments) => status::retire(arguments, session),
        KeyCommand::Revoke { status, everywhere } => status::revoke(status, *everywhere, session),
        KeyCommand::Restore(arguments) => status::restore(arguments, session),
        KeyCommand::Remove { namespace, key_id } => remove(namespace, *key_id, session),
    }
}

/// Shows the signing keys of a namespace, and the removed ones that have a status.
fn list(namespace: &Namespace, session: Session<'_>) -> Result<(), Failure> {
    let output = session.output;
    let keys = session.connect()?.keys(namespace)?;
    output.report(
        screen(namespace, &keys, output),
        &document(namespace, &keys),
    );
    Ok(())
}

/// Removes a signing key from a namespace.
fn remove(namespace: &Namespace, key_id: KeyId, session: Session<'_>) -> Result<(), Failure> {
    let output = session.output;
    let client = session.connect()?;
    let mut keys = client.keys(namespace)?;
    if !keys.keys.iter().any(|key| key.key_id == key_id) {
        return Err(Failure::Missing(format!(
            "namespace {namespace} has no signing key {key_id}: {} shows those that it has",
            output.command(format_args!("key list {namespace}"))
        )));
    }
    client.remove(Call::delete(&SIGNING_KEY).with(namespace).with(key_id))?;
    keys.keys.retain(|key| key.key_id != key_id);
    keys.added.remove(&key_id);
    let holds = match keys.statuses.get(&key_id) {
        Some(status) => format!("and stays {} ({})", status.state, status.reason),
        None => "and may sign no new versions; versions that it signed stay published".to_owned(),
    };
    let removed = format!("{key_id} is removed from {namespace}, {holds}");
    output.result(&[removed], &document(namespace, &keys));
    Ok(())
}
