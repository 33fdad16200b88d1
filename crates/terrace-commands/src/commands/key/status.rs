//! `terrace key retire`, `revoke` and `restore`.

use clap::Args;
use serde_json::json;
use terrace_core::api::admin::{KeyChangeAnswer, SigningKeysDocument, StatusBody};
use terrace_core::api::endpoint::SIGNING_KEY;
use terrace_core::model::name::Namespace;
use terrace_core::model::status::{KeyState, Reason};
use terrace_openpgp::KeyId;

use super::report::document;
use crate::commands::admin::stored::each_page;
use crate::commands::connection::Session;
use crate::error::Failure;
use crate::output::Output;
use crate::registry::client::{Call, Client};

#[derive(Debug, Args)]
pub(crate) struct KeyStatusArguments {
    /// The namespace of the key
    pub(crate) namespace: Namespace,
    /// The ID of the key: 16 hexadecimal digits, as in `terrace key list`
    pub(crate) key_id: KeyId,
    /// The reason: one line, which users and publishers read
    #[arg(long)]
    pub(crate) reason: Reason,
}

/// Rejects new versions that a key signed.
pub(super) fn retire(arguments: &KeyStatusArguments, session: Session<'_>) -> Result<(), Failure> {
    let holds = "it may sign no new versions, and those that it signed can be installed";
    change(arguments, "retired", holds, session)
}

/// Makes a key active again.
pub(super) fn restore(arguments: &KeyStatusArguments, session: Session<'_>) -> Result<(), Failure> {
    let holds = "versions that it signed can be installed, unless they are revoked themselves";
    change(arguments, "active", holds, session)
}

fn change(
    arguments: &KeyStatusArguments,
    status: &str,
    holds: &str,
    session: Session<'_>,
) -> Result<(), Failure> {
    let output = session.output;
    let (namespace, key_id, reason) = (&arguments.namespace, arguments.key_id, &arguments.reason);
    let keys = set(arguments, namespace, status, &session.connect()?, output)?;
    let mut text = format!("{key_id} is {status} for {namespace}: {holds} ({reason})");
    if !has(&keys, key_id) {
        let add = output.command(format_args!("key add {namespace} FILE"));
        text.push_str(&format!(
            ". It is not among the keys of {namespace}, so it may sign no new versions; to allow that: {add}"
        ));
    }
    output.result(&[text], &document(namespace, &keys));
    Ok(())
}

/// Blocks all versions that a key signed, in one namespace or in all that have it. A failure in one of them does not stop the
/// others.
pub(super) fn revoke(
    arguments: &KeyStatusArguments,
    is_everywhere: bool,
    session: Session<'_>,
) -> Result<(), Failure> {
    let output = session.output;
    let (namespace, key_id) = (&arguments.namespace, arguments.key_id);
    let client = session.connect()?;
    let keys = set(arguments, namespace, "revoked", &client, output)?;
    let (mut revoked, mut left) = (vec![namespace.to_string()], Vec::new());
    let (mut failures, mut reasons) = (Vec::new(), Vec::new());
    match others(arguments, &client, output) {
        Ok(others) if is_everywhere => {
            for other in others {
                match set(arguments, &other, "revoked", &client, output) {
                    Ok(_) => revoked.push(other.to_string()),
                    Err(failure) => {
                        reasons.push(format!("{key_id} is not revoked for {other}: {failure}"));
                        failures.push(failure);
                        left.push(other.to_string());
                    }
                }
            }
        }
        Ok(others) => left = others.iter().map(ToString::to_string).collect(),
        Err(failure) if is_everywhere => {
            reasons.push(format!(
                "other namespaces may have {key_id}, and cannot be listed: {failure}"
            ));
            failures.push(failure);
        }
        Err(Failure::NotAllowed(_)) => output.warning(
            "whether other namespaces have this key is visible only with the scope admin or backup: ask the operator of the registry",
        ),
        Err(failure) => return Err(failure),
    }
    if failures.is_empty() && !left.is_empty() {
        output.warning(&format!(
            "{key_id} is not revoked for other namespaces that have it: {}; to revoke it for them, too: {}",
            left.join(", "),
            output.command(format_args!(
                "key revoke {namespace} {key_id} --everywhere --reason REASON"
            ))
        ));
    }
    let text = format!(
        "{key_id} is revoked for {}: nothing that it signed can be installed ({})",
        revoked.join(", "),
        arguments.reason
    );
    let mut document = document(namespace, &keys);
    if let Some(members) = document.as_object_mut() {
        members.insert("revoked_for".to_owned(), json!(revoked));
        members.insert("not_revoked_for".to_owned(), json!(left));
    }
    let worst = failures.into_iter().min_by_key(Failure::urgency);
    output.outcome(text, document, worst, reasons)
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
        let call = Call::put(&SIGNING_KEY)
            .with(namespace)
            .with(arguments.key_id);
        let call = call.query("after", after.as_deref()).json(&body)?;
        let answer: Result<KeyChangeAnswer, Failure> = client.call(call);
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

/// Returns the other namespaces that have the key, and for which it is not revoked.
fn others(
    arguments: &KeyStatusArguments,
    client: &Client<'_>,
    output: &Output,
) -> Result<Vec<Namespace>, Failure> {
    let key_id = arguments.key_id;
    let is_left = |namespace: &Namespace, keys: &SigningKeysDocument| {
        let status = keys.statuses.get(&key_id);
        let is_revoked = status.is_some_and(|it| it.state == KeyState::Revoked);
        *namespace != arguments.namespace && has(keys, key_id) && !is_revoked
    };
    let all = of_all_namespaces(client, output)?.into_iter();
    let left = all.filter(|(namespace, keys)| is_left(namespace, keys));
    Ok(left.map(|(namespace, _)| namespace).collect())
}

fn has(keys: &SigningKeysDocument, key_id: KeyId) -> bool {
    keys.keys.iter().any(|key| key.key_id == key_id)
}

/// The key prefix of the documents with the signing keys of a namespace.
const KEYS: &str = "keys/";

/// Returns the keys of every namespace, and warns about damaged documents. Only the scopes admin and backup suffice.
pub(crate) fn of_all_namespaces(
    client: &Client<'_>,
    output: &Output,
) -> Result<Vec<(Namespace, SigningKeysDocument)>, Failure> {
    let mut found = Vec::new();
    each_page(|after| {
        let page = client.facts(KEYS, after)?;
        for key in &page.unreadable {
            output.warning(&format!(
                "{key} is damaged, so its keys were not considered: run {}",
                output.command("admin verify")
            ));
        }
        for fact in &page.facts {
            let malformed =
                || Failure::Unexpected(format!("{}: the document is damaged", fact.key));
            let name = fact.key.strip_prefix(KEYS);
            let namespace = name.and_then(|name| name.parse().ok());
            let keys = serde_json::from_str(&fact.document).map_err(|_| malformed())?;
            found.push((namespace.ok_or_else(malformed)?, keys));
        }
        Ok(page.next)
    })?;
    Ok(found)
}
