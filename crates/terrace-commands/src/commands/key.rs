//! `terrace key`.

mod add;
mod everywhere;
mod report;
mod status;

use terrace_core::model::name::Namespace;
use terrace_core::model::status::KeyState;
use terrace_openpgp::KeyId;

pub(super) use self::everywhere::{administered_by, each_namespace};
use self::report::{document, screen, table};
use crate::args::{KeyCommand, RegistryArguments};
use crate::commands::connection::connect;
use crate::error::Failure;
use crate::output::Output;

/// Executes the command.
pub(crate) fn run(
    command: &KeyCommand,
    registry: &RegistryArguments,
    output: &Output,
) -> Result<(), Failure> {
    match command {
        KeyCommand::Add { namespace, file } => add::run(namespace, file, registry, output),
        KeyCommand::List { namespace } => list(namespace, registry, output),
        KeyCommand::Retire(arguments) => status::retire(arguments, registry, output),
        KeyCommand::Revoke { status, everywhere } => {
            status::revoke(status, *everywhere, registry, output)
        }
        KeyCommand::Restore(arguments) => status::restore(arguments, registry, output),
        KeyCommand::Remove { namespace, key_id } => remove(namespace, *key_id, registry, output),
    }
}

/// Shows the signing keys of a namespace, and the removed ones that have a status.
fn list(
    namespace: &Namespace,
    registry: &RegistryArguments,
    output: &Output,
) -> Result<(), Failure> {
    let keys = connect(registry, output)?.keys(namespace)?;
    output.report(
        screen(namespace, &keys, output),
        &document(namespace, &keys),
    );
    Ok(())
}

/// Removes a signing key from a namespace.
fn remove(
    namespace: &Namespace,
    key_id: KeyId,
    registry: &RegistryArguments,
    output: &Output,
) -> Result<(), Failure> {
    let client = connect(registry, output)?;
    let mut keys = client.keys(namespace)?;
    if !keys.keys.iter().any(|key| key.key_id == key_id) {
        return Err(Failure::Missing(format!(
            "namespace {namespace} has no signing key {key_id}. It has: {}",
            table(namespace, &keys, output).join("; ")
        )));
    }
    client.remove_key(namespace, key_id)?;
    keys.keys.retain(|key| key.key_id != key_id);
    keys.added.remove(&key_id);
    let holds = match keys.statuses.get(&key_id) {
        Some(status) if status.state == KeyState::Revoked => format!(
            "and stays revoked: versions that it signed cannot be installed ({})",
            status.reason
        ),
        Some(status) => format!(
            "and stays retired, also if it is added again ({}); versions that it signed stay published",
            status.reason
        ),
        None => "and may sign no new versions; versions that it signed stay published".to_owned(),
    };
    let removed = format!("{key_id} is removed from {namespace}, {holds}");
    output.result(&[removed], &document(namespace, &keys));
    Ok(())
}
