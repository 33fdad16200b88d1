//! `terrace key retire`, `revoke` and `restore`.

use serde_json::json;
use terrace_core::api::admin::{SigningKeysDocument, StatusBody};
use terrace_core::model::name::Namespace;
use terrace_core::model::status::KeyState;
use terrace_openpgp::KeyId;

use super::report::document;
use crate::args::{KeyStatusArguments, RegistryArguments};
use crate::commands::connection::connect;
use crate::error::Failure;
use crate::output::Output;
use crate::registry::client::Client;

/// The key prefix of the documents with the signing keys of a namespace.
const KEYS: &str = "keys/";

/// Rejects new versions that a key signed.
pub(super) fn retire(
    arguments: &KeyStatusArguments,
    registry: &RegistryArguments,
    output: &Output,
) -> Result<(), Failure> {
    let KeyStatusArguments {
        namespace,
        key_id,
        reason,
    } = arguments;
    let client = connect(registry, output)?;
    let before = state(&client.keys(namespace)?, *key_id);
    let keys = set(arguments, namespace, "retired", &client, output)?;
    let holds = match before {
        Some(KeyState::Revoked) => {
            "it may sign no new versions, and those that it signed can be installed again"
        }
        Some(KeyState::Retired) | None => {
            "it may sign no new versions, and those that it signed stay"
        }
    };
    let line = format!("{key_id} is retired for {namespace}: {holds} ({reason})");
    output.result(&[line], &document(namespace, &keys));
    Ok(())
}

/// Blocks all versions that a key signed, in one namespace or in all that have it.
pub(super) fn revoke(
    arguments: &KeyStatusArguments,
    is_everywhere: bool,
    registry: &RegistryArguments,
    output: &Output,
) -> Result<(), Failure> {
    let KeyStatusArguments {
        namespace,
        key_id,
        reason,
    } = arguments;
    let client = connect(registry, output)?;
    let keys = set(arguments, namespace, "revoked", &client, output).map_err(with_hint)?;
    output.progress(&format!("{key_id} is revoked for {namespace}"));
    let others = match others(arguments, &client, output) {
        Err(Failure::NotAllowed(_)) if !is_everywhere => {
            output.warning(
                "whether other namespaces have this key is visible only with the scope admin: ask the operator of the registry",
            );
            Vec::new()
        }
        others => others?,
    };
    let mut revoked = vec![namespace.to_string()];
    if is_everywhere {
        for other in &others {
            set(arguments, other, "revoked", &client, output)?;
            output.progress(&format!("{key_id} is revoked for {other}"));
            revoked.push(other.to_string());
        }
    }
    let others: Vec<String> = others.iter().map(ToString::to_string).collect();
    if !is_everywhere && !others.is_empty() {
        output.warning(&format!(
            "{key_id} is not revoked for other namespaces that have it: {}; to revoke it for them, too: terrace key \
             revoke {namespace} {key_id} --everywhere --reason REASON",
            others.join(", ")
        ));
    }
    let line = format!(
        "{key_id} is revoked for {}: nothing that it signed can be installed ({reason})",
        revoked.join(", ")
    );
    let mut document = document(namespace, &keys);
    if let Some(members) = document.as_object_mut() {
        members.insert("revoked_for".to_owned(), json!(revoked));
        let others = if is_everywhere { Vec::new() } else { others };
        members.insert("not_revoked_for".to_owned(), json!(others));
    }
    output.result(&[line], &document);
    Ok(())
}

/// Makes a key active again.
pub(super) fn restore(
    arguments: &KeyStatusArguments,
    registry: &RegistryArguments,
    output: &Output,
) -> Result<(), Failure> {
    let KeyStatusArguments {
        namespace, key_id, ..
    } = arguments;
    let client = connect(registry, output)?;
    let before = state(&client.keys(namespace)?, *key_id);
    let keys = set(arguments, namespace, "active", &client, output)?;
    let versions = match before {
        Some(KeyState::Revoked) => {
            "versions that it signed can be installed again, unless they are revoked themselves"
        }
        Some(KeyState::Retired) | None => "versions that it signed stay published",
    };
    let was = before.map_or("retired or revoked".to_owned(), |state| state.to_string());
    let line = match (has(&keys, *key_id), before) {
        (true, None) => format!("{key_id} was already active for {namespace}"),
        (true, Some(_)) => {
            format!(
                "{key_id} is active again for {namespace}: it may sign new versions, and {versions}"
            )
        }
        (false, _) => format!(
            "{key_id} is no longer {was} for {namespace}: {versions}. It is not among the keys of {namespace}, so it may \
             sign no new versions; to allow that: terrace key add {namespace} FILE"
        ),
    };
    output.result(&[line], &document(namespace, &keys));
    Ok(())
}

/// Sets the status of a key. The registry updates some of the affected releases for each request, and returns
/// the cursor of the next one.
fn set(
    arguments: &KeyStatusArguments,
    namespace: &Namespace,
    state: &str,
    client: &Client<'_>,
    output: &Output,
) -> Result<SigningKeysDocument, Failure> {
    let KeyStatusArguments { key_id, reason, .. } = arguments;
    let body = StatusBody {
        state: state.to_owned(),
        reason: reason.to_string(),
    };
    let mut after = None;
    loop {
        let answer = client.set_key_status(namespace, *key_id, &body, after.as_deref());
        let answer = answer?;
        match answer.next {
            Some(next) if after.as_ref() != Some(&next) => {
                output.progress(&format!("updated the releases up to {next}"));
                after = Some(next);
            }
            _ => return Ok(answer.keys),
        }
    }
}

/// Adds a hint to the message that a namespace does not have a key.
fn with_hint(failure: Failure) -> Failure {
    match failure {
        Failure::Missing(message) => Failure::Missing(format!(
            "{message}. If it was removed, add it again first: terrace key add"
        )),
        failure => failure,
    }
}

/// Returns the other namespaces that have the key, and for which it is not revoked.
fn others(
    arguments: &KeyStatusArguments,
    client: &Client<'_>,
    output: &Output,
) -> Result<Vec<Namespace>, Failure> {
    let mut others = Vec::new();
    let mut after = None;
    loop {
        let page = client.facts(KEYS, after.as_deref())?;
        for key in &page.unreadable {
            output.warning(&format!(
                "{key} is damaged, so the key may be active there: run terrace admin verify"
            ));
        }
        for fact in &page.facts {
            let malformed =
                || Failure::Unexpected(format!("{}: the document is damaged", fact.key));
            let namespace = fact
                .key
                .strip_prefix(KEYS)
                .and_then(|name| name.parse().ok());
            let namespace: Namespace = namespace.ok_or_else(malformed)?;
            let keys: Result<SigningKeysDocument, _> = serde_json::from_str(&fact.document);
            let keys = keys.map_err(|_| malformed())?;
            let is_revoked = state(&keys, arguments.key_id) == Some(KeyState::Revoked);
            let is_other = namespace != arguments.namespace;
            if is_other && has(&keys, arguments.key_id) && !is_revoked {
                others.push(namespace);
            }
        }
        match page.next {
            Some(next) if after.as_ref() != Some(&next) => after = Some(next),
            _ => return Ok(others),
        }
    }
}

fn has(keys: &SigningKeysDocument, key_id: KeyId) -> bool {
    keys.keys.iter().any(|key| key.key_id == key_id)
}

fn state(keys: &SigningKeysDocument, key_id: KeyId) -> Option<KeyState> {
    keys.statuses.get(&key_id).map(|status| status.state)
}
