//! `terrace key retire`, `revoke` and `restore`.

use serde_json::{Value, json};
use terrace_core::api::admin::{SigningKeysDocument, StatusBody};
use terrace_core::model::name::Namespace;
use terrace_core::model::status::{KeyState, Reason};
use terrace_openpgp::KeyId;

use super::everywhere::{administered_by, each_namespace};
use super::report::document;
use crate::args::{KeyStatusArguments, RegistryArguments};
use crate::commands::connection::connect;
use crate::error::Failure;
use crate::output::Output;
use crate::registry::client::Client;

/// Rejects new versions that a key signed.
pub(super) fn retire(
    arguments: &KeyStatusArguments,
    registry: &RegistryArguments,
    output: &Output,
) -> Result<(), Failure> {
    change(arguments, "retired", retired, registry, output)
}

/// Makes a key active again.
pub(super) fn restore(
    arguments: &KeyStatusArguments,
    registry: &RegistryArguments,
    output: &Output,
) -> Result<(), Failure> {
    change(arguments, "active", restored, registry, output)
}

/// A change of the status of a key, for the message about it.
struct Changed<'a> {
    key_id: KeyId,
    namespace: &'a Namespace,
    reason: &'a Reason,
    before: Option<KeyState>,
    /// Whether the key is among those of the namespace.
    is_listed: bool,
}

fn change(
    arguments: &KeyStatusArguments,
    status: &str,
    text: fn(&Changed<'_>, &Output) -> String,
    registry: &RegistryArguments,
    output: &Output,
) -> Result<(), Failure> {
    let (namespace, key_id) = (&arguments.namespace, arguments.key_id);
    let client = connect(registry, output)?;
    let before = state(&client.keys(namespace)?, key_id);
    let keys = set(arguments, namespace, status, &client, output)?;
    let changed = Changed {
        key_id,
        namespace,
        reason: &arguments.reason,
        before,
        is_listed: has(&keys, key_id),
    };
    output.result(&[text(&changed, output)], &document(namespace, &keys));
    Ok(())
}

fn retired(changed: &Changed<'_>, _: &Output) -> String {
    let holds = match changed.before {
        Some(KeyState::Revoked) => {
            "it may sign no new versions, and those that it signed can be installed again"
        }
        Some(KeyState::Retired) | None => {
            "it may sign no new versions, and those that it signed stay"
        }
    };
    format!(
        "{} is retired for {}: {holds} ({})",
        changed.key_id, changed.namespace, changed.reason
    )
}

fn restored(changed: &Changed<'_>, output: &Output) -> String {
    let (key_id, namespace, before) = (changed.key_id, changed.namespace, changed.before);
    let versions = match before {
        Some(KeyState::Revoked) => {
            "versions that it signed can be installed again, unless they are revoked themselves"
        }
        Some(KeyState::Retired) | None => "versions that it signed stay published",
    };
    match (changed.is_listed, before) {
        (true, None) => format!("{key_id} was already active for {namespace}"),
        (true, Some(_)) => {
            format!(
                "{key_id} is active again for {namespace}: it may sign new versions, and {versions}"
            )
        }
        (false, _) => {
            let was = before.map_or("retired or revoked".to_owned(), |state| state.to_string());
            let add = output.command(format_args!("key add {namespace} FILE"));
            format!(
                "{key_id} is no longer {was} for {namespace}: {versions}. It is not among the keys of {namespace}, so it \
                 may sign no new versions; to allow that: {add}"
            )
        }
    }
}

/// Blocks all versions that a key signed, in one namespace or in all that have it.
pub(super) fn revoke(
    arguments: &KeyStatusArguments,
    is_everywhere: bool,
    registry: &RegistryArguments,
    output: &Output,
) -> Result<(), Failure> {
    let (namespace, key_id) = (&arguments.namespace, arguments.key_id);
    let client = connect(registry, output)?;
    let keys = set(arguments, namespace, "revoked", &client, output);
    let keys = keys.map_err(|failure| with_hint(failure, namespace, output))?;
    output.progress(&format!("{key_id} is revoked for {namespace}"));
    let mut revocation = Revocation {
        revoked: vec![namespace.clone()],
        ..Revocation::default()
    };
    match is_everywhere {
        true => revocation.elsewhere(arguments, &client, output),
        false => revocation.left = others_or_warning(arguments, &client, output)?,
    }
    revocation.tell(arguments, document(namespace, &keys), output)
}

/// The progress of a revocation in several namespaces.
#[derive(Default)]
struct Revocation {
    revoked: Vec<Namespace>,
    /// The namespaces that have the key, and for which it is not revoked.
    left: Vec<Namespace>,
    /// The reasons why the key is not revoked everywhere, although it should be.
    failures: Vec<(Failure, String)>,
}

impl Revocation {
    /// Revokes the key in the other namespaces that have it. A failure in one of them does not stop the others.
    fn elsewhere(&mut self, arguments: &KeyStatusArguments, client: &Client<'_>, output: &Output) {
        let key_id = arguments.key_id;
        let others = match others(arguments, client, output) {
            Ok(others) => others,
            Err(failure @ Failure::NotAllowed(_)) => {
                let reason = format!(
                    "{key_id} may still be active in namespaces that this token does not administer: which of them have \
                     the key is visible only with the scope admin or backup; ask the operator of the registry to run {}",
                    again(arguments, output)
                );
                self.failures.push((failure, reason));
                match administered(arguments, client) {
                    Ok(others) => others,
                    Err(failure) => return self.unknown(key_id, failure),
                }
            }
            Err(failure) => return self.unknown(key_id, failure),
        };
        for other in others {
            match set(arguments, &other, "revoked", client, output) {
                Ok(_) => {
                    output.progress(&format!("{key_id} is revoked for {other}"));
                    self.revoked.push(other);
                }
                Err(failure) => {
                    let reason = format!("{key_id} is not revoked for {other}: {failure}");
                    self.failures.push((failure, reason));
                    self.left.push(other);
                }
            }
        }
    }

    /// Records that the other namespaces with the key are not known.
    fn unknown(&mut self, key_id: KeyId, failure: Failure) {
        let reason = format!("other namespaces may have {key_id}, and cannot be listed: {failure}");
        self.failures.push((failure, reason));
    }

    fn tell(
        self,
        arguments: &KeyStatusArguments,
        document: Value,
        output: &Output,
    ) -> Result<(), Failure> {
        let key_id = arguments.key_id;
        let names = |namespaces: &[Namespace]| -> Vec<String> {
            namespaces.iter().map(ToString::to_string).collect()
        };
        let (revoked, left) = (names(&self.revoked), names(&self.left));
        if self.failures.is_empty() && !left.is_empty() {
            output.warning(&format!(
                "{key_id} is not revoked for other namespaces that have it: {}; to revoke it for them, too: {}",
                left.join(", "),
                again(arguments, output)
            ));
        }
        let text = format!(
            "{key_id} is revoked for {}: nothing that it signed can be installed ({})",
            revoked.join(", "),
            arguments.reason
        );
        let mut document = document;
        if let Some(members) = document.as_object_mut() {
            members.insert("revoked_for".to_owned(), json!(revoked));
            members.insert("not_revoked_for".to_owned(), json!(left));
        }
        let (failures, reasons): (Vec<Failure>, Vec<String>) = self.failures.into_iter().unzip();
        let worst = failures.into_iter().min_by_key(Failure::urgency);
        output.outcome(text, document, worst, reasons)
    }
}

/// Returns the command that revokes the key everywhere.
fn again(arguments: &KeyStatusArguments, output: &Output) -> String {
    let (namespace, key_id) = (&arguments.namespace, arguments.key_id);
    output.command(format_args!(
        "key revoke {namespace} {key_id} --everywhere --reason REASON"
    ))
}

/// Returns the other namespaces that have the key, and warns if the token does not suffice to find them.
fn others_or_warning(
    arguments: &KeyStatusArguments,
    client: &Client<'_>,
    output: &Output,
) -> Result<Vec<Namespace>, Failure> {
    match others(arguments, client, output) {
        Err(Failure::NotAllowed(_)) => {
            output.warning(
                "whether other namespaces have this key is visible only with the scope admin or backup: ask the operator of the registry",
            );
            Ok(Vec::new())
        }
        others => others,
    }
}

/// Returns the other namespaces that the token administers and that have the key, unless it is revoked for them.
fn administered(
    arguments: &KeyStatusArguments,
    client: &Client<'_>,
) -> Result<Vec<Namespace>, Failure> {
    let mut found = Vec::new();
    let caller = client.presented_token()?;
    for namespace in administered_by(&caller).filter(|it| *it != arguments.namespace) {
        let keys = client.keys(&namespace)?;
        let is_revoked = state(&keys, arguments.key_id) == Some(KeyState::Revoked);
        if has(&keys, arguments.key_id) && !is_revoked {
            found.push(namespace);
        }
    }
    Ok(found)
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
    let body = StatusBody {
        state: state.to_owned(),
        reason: arguments.reason.to_string(),
    };
    let mut after = None;
    loop {
        let answer = client.set_key_status(namespace, arguments.key_id, &body, after.as_deref());
        let answer = answer?;
        match answer.next {
            Some(next) if after.as_ref() != Some(&next) => {
                output.progress(&format!("updated the releases up to {next}"));
                after = Some(next);
            }
            _ => return Ok(answer.keys.document),
        }
    }
}

/// Adds a hint to the message that a namespace does not have a key.
fn with_hint(failure: Failure, namespace: &Namespace, output: &Output) -> Failure {
    match failure {
        Failure::Missing(message) => Failure::Missing(format!(
            "{message}. If it was removed, add it again first: {}",
            output.command(format_args!("key add {namespace} FILE"))
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
    let is_damaged = |key: &str| {
        output.warning(&format!(
            "{key} is damaged, so the key may be active there: run {}",
            output.command("admin verify")
        ));
    };
    let take = |namespace: Namespace, keys: SigningKeysDocument| {
        let is_revoked = state(&keys, arguments.key_id) == Some(KeyState::Revoked);
        let is_other = namespace != arguments.namespace;
        if is_other && has(&keys, arguments.key_id) && !is_revoked {
            others.push(namespace);
        }
    };
    each_namespace(client, take, is_damaged)?;
    Ok(others)
}

fn has(keys: &SigningKeysDocument, key_id: KeyId) -> bool {
    keys.keys.iter().any(|key| key.key_id == key_id)
}

fn state(keys: &SigningKeysDocument, key_id: KeyId) -> Option<KeyState> {
    keys.statuses.get(&key_id).map(|status| status.state)
}
