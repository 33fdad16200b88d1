//! The keys of a namespace, for people and for programs.

use serde_json::{Value, json};
use terrace_core::api::admin::{KeyAddition, KeyValidity, SigningKeysDocument};
use terrace_core::model::name::Namespace;
use terrace_core::model::status::KeyStatus;
use terrace_openpgp::KeyId;

use crate::output::{Column, Output, Screen, Table, shown, with_times};

/// A key with its status. A removed key is known by its status alone.
struct Line<'k> {
    key_id: KeyId,
    /// The fingerprint of a key that was not removed.
    fingerprint: Option<&'k str>,
    /// The validity of a key that was not removed.
    validity: Option<KeyValidity>,
    status: Option<&'k KeyStatus>,
    /// The addition of a key that was not removed, if it is known.
    addition: Option<&'k KeyAddition>,
    /// The last change of a key that was not removed, if it has changed.
    update: Option<&'k KeyAddition>,
}

impl Line<'_> {
    /// Returns the status in one or two words.
    fn state(&self) -> String {
        let state = self.status.map(|status| status.state.to_string());
        let state = state.unwrap_or_else(|| "active".to_owned());
        match self.fingerprint {
            Some(_) => state,
            None => format!("{state} (removed)"),
        }
    }
}

/// Returns the keys in the order in which they were added, and then the removed ones.
fn lines(keys: &SigningKeysDocument) -> Vec<Line<'_>> {
    let mut validity = keys.validity();
    let listed = keys.keys.iter().map(move |key| Line {
        key_id: key.key_id,
        validity: validity.remove(&key.key_id),
        update: keys.updated.get(&key.key_id),
        fingerprint: Some(&key.fingerprint),
        status: keys.statuses.get(&key.key_id),
        addition: keys.added.get(&key.key_id),
    });
    let is_removed = |key_id: &KeyId| !keys.keys.iter().any(|key| key.key_id == *key_id);
    let removed = keys
        .statuses
        .iter()
        .filter(|(key_id, _)| is_removed(key_id));
    let removed = removed.map(|(key_id, status)| Line {
        key_id: *key_id,
        fingerprint: None,
        validity: None,
        update: None,
        status: Some(status),
        addition: None,
    });
    listed.chain(removed).collect()
}

/// Returns the keys as a table.
pub(super) fn screen(namespace: &Namespace, keys: &SigningKeysDocument, output: &Output) -> Screen {
    let mut screen = Screen::new();
    let lines = lines(keys);
    if lines.is_empty() {
        screen.text(&no_keys(namespace, output));
        return screen;
    }
    let mut table = Table::new([
        Column::whole("KEY"),
        Column::status("STATUS"),
        Column::left_out(0, "EXPIRES"),
        Column::left_out(7, "SIGNING SUBKEYS"),
        Column::left_out(5, "FINGERPRINT"),
        Column::left_out(4, "ADDED"),
        Column::left_out(6, "UPDATED"),
        Column::left_out(3, "ADDED BY"),
        Column::left_out(1, "SINCE"),
        Column::left_out(2, "SET BY"),
        Column::wrapped("REASON"),
    ]);
    for line in lines {
        let status = line.status;
        table.row([
            line.key_id.to_string(),
            line.state(),
            shown(line.validity.as_ref().and_then(|it| it.expires)),
            line.validity.iter().map(subkeys).collect(),
            shown(line.fingerprint),
            shown(line.addition.map(|addition| addition.at)),
            shown(line.update.map(|update| update.at)),
            shown(line.addition.map(|addition| &addition.by)),
            shown(status.map(|status| status.at)),
            shown(status.map(|status| &status.by)),
            shown(status.map(|status| &status.reason)),
        ]);
    }
    screen.table(&table);
    screen
}

/// Returns the signing subkeys, each with the time at which it expires.
fn subkeys(validity: &KeyValidity) -> String {
    let subkeys = validity.signing_subkeys.iter();
    let texts = subkeys.map(|it| match it.expires {
        Some(at) => format!("{} until {at}", it.key_id),
        None => it.key_id.to_string(),
    });
    texts.collect::<Vec<_>>().join(", ")
}

/// Returns the keys in one line each, for a message.
pub(super) fn table(
    namespace: &Namespace,
    keys: &SigningKeysDocument,
    output: &Output,
) -> Vec<String> {
    let lines = lines(keys);
    if lines.is_empty() {
        return vec![no_keys(namespace, output)];
    }
    let line = |line: &Line<'_>| format!("{} {}", line.key_id, line.state());
    lines.iter().map(line).collect()
}

fn no_keys(namespace: &Namespace, output: &Output) -> String {
    let add = output.command(format_args!("key add {namespace} FILE"));
    format!("no keys; add one with: {add}")
}

/// Returns the document that `--json` prints.
pub(super) fn document(namespace: &Namespace, keys: &SigningKeysDocument) -> Value {
    let state = |line: &Line<'_>| {
        json!({
            "key_id": line.key_id,
            "state": line.status.map_or("active".to_owned(), |status| status.state.to_string()),
            "is_removed": line.fingerprint.is_none(),
        })
    };
    json!({
        "status": "ok",
        "namespace": namespace.as_str(),
        "keys": keys.keys,
        "statements": with_times(&keys.statuses),
        "added": with_times(&keys.added),
        "updated": with_times(&keys.updated),
        "validity": with_times(&keys.validity()),
        "states": lines(keys).iter().map(state).collect::<Vec<_>>(),
    })
}
