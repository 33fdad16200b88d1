//! `terrace key`.

use std::io::Read as _;
use std::path::Path;

use serde_json::json;
use terrace_core::api::admin::{SigningKeysDocument, StatusBody};
use terrace_core::limits;
use terrace_core::model::name::Namespace;
use terrace_core::storage::release::SigningKeyDocument;
use terrace_openpgp::{KeyId, parse_signing_keys};

use crate::args::{KeyCommand, KeyStatusArguments, RegistryArguments};
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
        KeyCommand::Add { namespace, file } => add(namespace, file, registry, output),
        KeyCommand::List { namespace } => list(namespace, registry, output),
        KeyCommand::Retire(arguments) => set_status(arguments, "retired", registry, output),
        KeyCommand::Revoke(arguments) => set_status(arguments, "revoked", registry, output),
        KeyCommand::Restore(arguments) => set_status(arguments, "active", registry, output),
        KeyCommand::Remove { namespace, key_id } => remove(namespace, *key_id, registry, output),
    }
}

/// Allows the keys in a file to sign for a namespace.
fn add(
    namespace: &Namespace,
    file: &Path,
    registry: &RegistryArguments,
    output: &Output,
) -> Result<(), Failure> {
    let refused = |reason: &dyn ToString| {
        Failure::refused(format!("{}: {}", file.display(), reason.to_string()))
    };
    let bytes = read(file).map_err(|error| refused(&error))?;
    let text = String::from_utf8(bytes).map_err(|_| {
        refused(&"the key is not in ASCII armour: export it with gpg --armor --export KEY")
    })?;
    let keys = parse_signing_keys(&text).map_err(|error| refused(&error))?;
    let document = connect(registry, output)?.add_keys(namespace, &text)?;
    for key in &keys {
        if let Some(too_old) = key.too_old() {
            output.warning(&format!("key {}: {too_old}", key.key_id()));
        }
    }
    let added: Vec<String> = keys.iter().map(|key| key.key_id().to_string()).collect();
    let may_sign = format!("{} may sign for {namespace}", added.join(", "));
    output.result(&[may_sign], &report(namespace, &document));
    Ok(())
}

/// Shows the signing keys of a namespace.
fn list(
    namespace: &Namespace,
    registry: &RegistryArguments,
    output: &Output,
) -> Result<(), Failure> {
    let document = connect(registry, output)?.keys(namespace)?;
    output.result(&table(namespace, &document), &report(namespace, &document));
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
    let mut document = client.keys(namespace)?;
    let is_it = |key: &SigningKeyDocument| key.key_id == key_id;
    if !document.keys.iter().any(is_it) {
        return Err(Failure::refused(format!(
            "namespace {namespace} has no signing key {key_id}. It has: {}",
            table(namespace, &document).join("; ")
        )));
    }
    client.remove_key(namespace, key_id)?;
    document.keys.retain(|key| !is_it(key));
    let removed =
        format!("{key_id} is removed from {namespace}; versions that it signed stay published");
    output.result(&[removed], &report(namespace, &document));
    Ok(())
}

/// Sets the status of a key. The registry updates some of the affected releases for each request, and returns
/// the cursor of the next one.
fn set_status(
    arguments: &KeyStatusArguments,
    state: &str,
    registry: &RegistryArguments,
    output: &Output,
) -> Result<(), Failure> {
    let KeyStatusArguments {
        namespace,
        key_id,
        reason,
    } = arguments;
    let body = StatusBody {
        state: state.to_owned(),
        reason: reason.to_string(),
    };
    let client = connect(registry, output)?;
    let mut after = None;
    let document = loop {
        let answer = client.set_key_status(namespace, *key_id, &body, after.as_deref())?;
        match answer.next {
            Some(next) if after.as_ref() != Some(&next) => {
                output.progress(&format!("updated the releases up to {next}"));
                after = Some(next);
            }
            _ => break answer.keys,
        }
    };
    let message = format!("{key_id} is {state} for {namespace}: {reason}");
    output.result(&[message], &report(namespace, &document));
    Ok(())
}

fn table(namespace: &Namespace, document: &SigningKeysDocument) -> Vec<String> {
    if document.keys.is_empty() {
        let hint = format!("no keys; add one with: terrace key add {namespace} FILE");
        return vec![hint];
    }
    let line = |key: &SigningKeyDocument| {
        let status = document.statuses.get(&key.key_id);
        let status = status.map(|it| format!("  {}: {}", it.state, it.reason));
        let status = status.unwrap_or_default();
        format!("{}  {}{status}", key.key_id, key.fingerprint)
    };
    document.keys.iter().map(line).collect()
}

fn report(namespace: &Namespace, document: &SigningKeysDocument) -> serde_json::Value {
    json!({
        "status": "ok",
        "namespace": namespace.as_str(),
        "keys": document.keys,
        "statements": document.statuses,
    })
}

fn read(file: &Path) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let most = limits::ADMIN_BODY_BYTES;
    if file == Path::new("-") {
        std::io::stdin().take(most + 1).read_to_end(&mut bytes)?;
    } else {
        std::fs::File::open(file)?
            .take(most + 1)
            .read_to_end(&mut bytes)?;
    }
    match u64::try_from(bytes.len()) {
        Ok(size) if size <= most => Ok(bytes),
        _ => Err(std::io::Error::other(format!(
            "the file is larger than {most} bytes, the limit for public keys"
        ))),
    }
}
