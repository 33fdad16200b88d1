//! `terrace key add`.

use std::io::Read as _;
use std::path::Path;

use terrace_core::api::admin::SigningKeysDocument;
use terrace_core::limits;
use terrace_core::model::name::Namespace;
use terrace_core::model::status::{KeyState, KeyStatus};
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
    let client = session.connect()?;
    let before = client.keys(namespace)?;
    let stored = client.add_keys(namespace, &text)?;
    let added: Vec<KeyId> = keys.iter().map(SigningKey::key_id).collect();
    let mut lines = lines(namespace, &added, &stored, output);
    for sent in keys {
        let key_id = sent.key_id();
        let old = copy(&before, key_id);
        let key = copy(&stored, key_id).unwrap_or_else(|| sent.clone());
        if let Some(too_old) = key.too_old() {
            let remove = match sent.too_old() {
                Some(_) => String::new(),
                None => format!(
                    ". The registered copy causes this: remove it, and add the file again: {}",
                    output.command(format_args!("key remove {namespace} {key_id}"))
                ),
            };
            output.warning(&format!("key {key_id}: {too_old}{remove}"));
        }
        if let Some(warning) = key.expiry_warning(clock::now()) {
            output.warning(&warning);
        }
        let old = old.filter(|old| old.ascii_armor() != key.ascii_armor());
        lines.extend(old.map(|old| update(&old, &key)));
    }
    output.result(&lines, &document(namespace, &stored));
    Ok(())
}

/// Returns the registered copy of a key.
fn copy(keys: &SigningKeysDocument, key_id: KeyId) -> Option<SigningKey> {
    let key = keys.keys.iter().find(|key| key.key_id == key_id)?;
    SigningKey::from_stored(&key.ascii_armor).ok()
}

/// Returns the changes of a registered key.
fn update(old: &SigningKey, new: &SigningKey) -> String {
    let mut changes = Vec::new();
    if old.expires() != new.expires() {
        changes.push(match new.expires() {
            Some(at) => format!("expires {at}"),
            None => "never expires".to_owned(),
        });
    }
    let ids = |key: &SigningKey| -> Vec<KeyId> {
        key.signing_subkeys().iter().map(|(id, _)| *id).collect()
    };
    for (sign, one, other) in [('+', new, old), ('-', old, new)] {
        let (one, other) = (ids(one), ids(other));
        match one.iter().filter(|id| !other.contains(id)).count() {
            0 => {}
            1 => changes.push(format!("{sign}1 signing subkey")),
            count => changes.push(format!("{sign}{count} signing subkeys")),
        }
    }
    let of = if changes.is_empty() { "" } else { ": " };
    format!("{} is updated{of}{}", new.key_id(), changes.join(", "))
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
