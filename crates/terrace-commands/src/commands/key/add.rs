//! `terrace key add`.

use std::io::Read as _;
use std::path::Path;

use terrace_core::api::admin::SigningKeysDocument;
use terrace_core::limits;
use terrace_core::model::name::Namespace;
use terrace_core::model::status::{KeyState, KeyStatus};
use terrace_openpgp::{KeyId, parse_signing_keys};

use super::report::document;
use crate::args::RegistryArguments;
use crate::commands::connection::connect;
use crate::error::Failure;
use crate::output::Output;

/// Allows the keys in a file to sign for a namespace.
pub(super) fn run(
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
    let stored = connect(registry, output)?.add_keys(namespace, &text)?;
    for key in &keys {
        if let Some(too_old) = key.too_old() {
            output.warning(&format!("key {}: {too_old}", key.key_id()));
        }
    }
    let added: Vec<KeyId> = keys.iter().map(|key| key.key_id()).collect();
    output.result(
        &lines(namespace, &added, &stored, output),
        &document(namespace, &stored),
    );
    Ok(())
}

/// Returns what holds for the added keys. A status that was set earlier outlasts the removal of a key.
fn lines(
    namespace: &Namespace,
    added: &[KeyId],
    stored: &SigningKeysDocument,
    output: &Output,
) -> Vec<String> {
    let status = |key_id: &KeyId| stored.statuses.get(key_id);
    let active = added.iter().filter(|key_id| status(key_id).is_none());
    let active: Vec<String> = active.map(ToString::to_string).collect();
    let mut lines = Vec::new();
    if !active.is_empty() {
        lines.push(format!("{} may sign for {namespace}", active.join(", ")));
    }
    for key_id in added {
        if let Some(KeyStatus { state, reason, .. }) = status(key_id) {
            let blocks = match state {
                KeyState::Revoked => "nothing that it signs can be published or installed",
                KeyState::Retired => "it may sign no new versions",
            };
            lines.push(format!(
                "{key_id} is added to {namespace}, but {state}: {blocks} ({reason}); to allow it again: {}",
                output.command(format_args!("key restore {namespace} {key_id} --reason REASON"))
            ));
        }
    }
    lines
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
