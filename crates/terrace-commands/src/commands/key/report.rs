//! The keys of a namespace, for people and for programs.

use serde_json::{Value, json};
use terrace_base::time::UnixTime;
use terrace_core::api::admin::{KeyAddition, SigningKeysDocument};
use terrace_core::model::name::Namespace;
use terrace_core::model::status::KeyStatus;
use terrace_openpgp::KeyId;

use crate::output::{Column, Output, Screen, Table, shown, with_times};

/// A key with its status. A removed key is known by its status alone.
struct Line<'k> {
    key_id: KeyId,
    /// The fingerprint of a key that was not removed.
    fingerprint: Option<&'k str>,
    /// The time at which a key that was not removed expires.
    expires: Option<UnixTime>,
    status: Option<&'k KeyStatus>,
    /// The addition of a key that was not removed, if it is known.
    addition: Option<&'k KeyAddition>,
}

impl Line<'_> {
    fn state(&self) -> String {
        let state = self.status.map(|status| status.state.to_string());
        state.unwrap_or_else(|| "active".to_owned())
    }
}

/// Returns the keys in the order in which they were added, and then the removed ones.
fn lines(keys: &SigningKeysDocument) -> Vec<Line<'_>> {
    let validity = keys.validity();
    let listed = keys.keys.iter().map(|key| Line {
        key_id: key.key_id,
        fingerprint: Some(&key.fingerprint),
        expires: validity.get(&key.key_id).and_then(|it| it.expires),
        status: keys.statuses.get(&key.key_id),
        addition: keys.added.get(&key.key_id),
    });
    let is_removed = |key_id: &KeyId| !keys.keys.iter().any(|key| key.key_id == *key_id);
    let removed = keys.statuses.iter().filter(|(id, _)| is_removed(id));
    let removed = removed.map(|(key_id, status)| Line {
        key_id: *key_id,
        fingerprint: None,
        expires: None,
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
        let add = output.command(format_args!("key add {namespace} FILE"));
        screen.text(&format!("no keys; add one with: {add}"));
        return screen;
    }
    let mut table = Table::new([
        Column::whole("KEY"),
        Column::status("STATUS"),
        Column::left_out(0, "EXPIRES"),
        Column::left_out(5, "FINGERPRINT"),
        Column::left_out(4, "ADDED"),
        Column::left_out(3, "ADDED BY"),
        Column::left_out(1, "SINCE"),
        Column::left_out(2, "SET BY"),
        Column::wrapped("REASON"),
    ]);
    for line in lines {
        let status = line.status;
        let removed = if line.fingerprint.is_none() {
            " (removed)"
        } else {
            ""
        };
        table.row([
            line.key_id.to_string(),
            format!("{}{removed}", line.state()),
            shown(line.expires),
            shown(line.fingerprint),
            shown(line.addition.map(|addition| addition.at)),
            shown(line.addition.map(|addition| &addition.by)),
            shown(status.map(|status| status.at)),
            shown(status.map(|status| &status.by)),
            shown(status.map(|status| &status.reason)),
        ]);
    }
    screen.table(&table);
    screen
}

/// Returns the document that `--json` prints.
pub(super) fn document(namespace: &Namespace, keys: &SigningKeysDocument) -> Value {
    let state = |line: &Line<'_>| {
        json!({
            "key_id": line.key_id,
            "state": line.state(),
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
