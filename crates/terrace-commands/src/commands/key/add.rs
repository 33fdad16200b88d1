//! `terrace key add`.

use std::io::Read;
use std::path::Path;

use terrace_core::api::admin::SigningKeysDocument;
use terrace_core::limits;
use terrace_core::model::name::Namespace;
use terrace_core::model::status::KeyStatus;
use terrace_openpgp::{KeyId, OpenPgpError, SigningKey, key_text, parse_signing_keys};

use super::report::document;
use crate::clock;
use crate::commands::connection::Session;
use crate::error::Failure;
use crate::output::Output;

/// The refusal of a secret key that was not sent.
const SECRET: &str = "this is a SECRET key. Nothing was sent: send the public key that `gpg --armor --export KEYID` prints";

/// Allows the keys in a file to sign for a namespace.
pub(super) fn run(namespace: &Namespace, file: &Path, session: Session<'_>) -> Result<(), Failure> {
    let output = session.output;
    let refused = |reason: &dyn ToString| {
        Failure::refused(format!("{}: {}", file.display(), reason.to_string()))
    };
    let bytes = read(file).map_err(|error| refused(&error))?;
    let text = key_text(&bytes).ok_or_else(|| {
        refused(&"the key is not in ASCII armour: export it with gpg --armor --export KEY")
    })?;
    let keys = parse_signing_keys(&text).map_err(|error| match error {
        OpenPgpError::SecretKey => refused(&SECRET),
        error => refused(&error),
    })?;
    let stored = session.connect()?.add_keys(namespace, &text)?;
    for sent in &keys {
        let key_id = sent.key_id();
        let key = copy(&stored, key_id).unwrap_or_else(|| sent.clone());
        if let Some(too_old) = key.too_old() {
            output.warning(&format!("key {key_id}: {too_old}"));
        }
        if let Some(warning) = key.expiry_warning(clock::now()) {
            output.warning(&warning);
        }
    }
    let added: Vec<KeyId> = keys.iter().map(SigningKey::key_id).collect();
    let lines = lines(namespace, &added, &stored, output);
    output.result(&lines, &document(namespace, &stored));
    Ok(())
}

/// Returns the registered copy of a key.
fn copy(keys: &SigningKeysDocument, key_id: KeyId) -> Option<SigningKey> {
    let key = keys.keys.iter().find(|key| key.key_id == key_id)?;
    SigningKey::from_stored(&key.ascii_armor).ok()
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
            lines.push(format!(
                "{key_id} is added to {namespace}, but stays {state} ({reason}); to allow it again: {}",
                output.command(format_args!("key restore {namespace} {key_id} --reason REASON"))
            ));
        }
    }
    lines
}

fn read(file: &Path) -> std::io::Result<Vec<u8>> {
    let most = limits::ADMIN_BODY_BYTES;
    let source: Box<dyn Read> = match file == Path::new("-") {
        true => Box::new(std::io::stdin()),
        false => Box::new(std::fs::File::open(file)?),
    };
    let mut bytes = Vec::new();
    let read = source.take(most + 1).read_to_end(&mut bytes)?;
    match read as u64 <= most {
        true => Ok(bytes),
        false => Err(std::io::Error::other(format!(
            "the file is larger than {most} bytes, the limit for public keys"
        ))),
    }
}
