//! `terrace key retire`, `revoke` and `restore`.

use clap::Args;
use serde_json::{Value, json};
use terrace_core::api::admin::{KeyChangeAnswer, SigningKeysDocument, StatusBody};
use terrace_core::api::endpoint::SIGNING_KEY;
use terrace_core::model::name::Namespace;
use terrace_core::model::status::{KeyState, Reason};
use terrace_openpgp::KeyId;

use super::everywhere::{administered_by, each_namespace};
use super::report::document;
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
    change(arguments, "retired", retired, session)
}

/// Makes a key active again.
pub(super) fn restore(arguments: &KeyStatusArguments, session: Session<'_>) -> Result<(), Failure> {
    change(arguments, "active", restored, session)
}

fn change(
    arguments: &KeyStatusArguments,
    status: &str,
    text: fn(&KeyStatusArguments, Option<KeyState>) -> String,
    session: Session<'_>,
) -> Result<(), Failure> {
    let output = session.output;
    let (namespace, key_id) = (&arguments.namespace, arguments.key_id);
    let client = session.connect()?;
    let before = state(&client.keys(namespace)?, key_id);
    let keys = set(arguments, namespace, status, &client, output)?;
    let mut text = text(arguments, before);
    if !has(&keys, key_id) {
        let add = output.command(format_args!("key add {namespace} FILE"));
        text.push_str(&format!(
            ". It is not among the keys of {namespace}, so it may sign no new versions; to allow that: {add}"
        ));
    }
    output.result(&[text], &document(namespace, &keys));
    Ok(())
}

fn retired(arguments: &KeyStatusArguments, before: Option<KeyState>) -> String {
    let signed = match before {
        Some(KeyState::Revoked) => "those that it signed can be installed again",
        Some(KeyState::Retired) | None => "those that it signed stay",
    };
    let KeyStatusArguments {
        namespace,
        key_id,
        reason,
    } = arguments;
    format!(
        "{key_id} is retired for {namespace}: it may sign no new versions, and {signed} ({reason})"
    )
}

fn restored(arguments: &KeyStatusArguments, before: Option<KeyState>) -> String {
    let (namespace, key_id) = (&arguments.namespace, arguments.key_id);
    match before {
        None => format!("{key_id} was already active for {namespace}"),
        Some(before) => {
            let versions = match before {
                KeyState::Revoked => {
                    "versions that it signed can be installed again, unless they are revoked themselves"
                }
                KeyState::Retired => "versions that it signed stay published",
            };
            format!("{key_id} is no longer {before} for {namespace}: {versions}")
        }
    }
}

/// Blocks all versions that a key signed, in one namespace or in all that have it.
pub(super) fn revoke(
    arguments: &KeyStatusArguments,
    is_everywhere: bool,
    session: Session<'_>,
) -> Result<(), Failure> {
    let output = session.output;
    let (namespace, key_id) = (&arguments.namespace, arguments.key_id);
    let client = session.connect()?;
    let keys = set(arguments, namespace, "revoked", &client, output);
    let keys = keys.map_err(|failure| with_hint(failure, namespace, output))?;
    output.progress(&format!("{key_id} is revoked for {namespace}"));
    let mut revocation = Revocation {
        revoked: vec![namespace.clone()],
        ..Revocation::default()
    };
    match (others(arguments, &client, output), is_everywhere) {
        (Ok(others), true) => revocation.elsewhere(others, arguments, &client, output),
        (Ok(others), false) => revocation.left = others,
        (Err(failure), true) => {
            let is_delegate = matches!(failure, Failure::NotAllowed(_));
            let reason = format!("other namespaces may have {key_id}, and cannot be listed: {failure}");
            revocation.failures.push((failure, reason));
            if is_delegate {
                match administered(arguments, &client) {
                    Ok(others) => revocation.elsewhere(others, arguments, &client, output),
                    Err(failure) => {
                        let reason = failure.to_string();
                        revocation.failures.push((failure, reason));
                    }
                }
            }
        }
        (Err(Failure::NotAllowed(_)), false) => output.warning(
            "whether other namespaces have this key is visible only with the scope admin or backup: ask the operator of the registry",
        ),
        (Err(failure), false) => return Err(failure),
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
    fn elsewhere(
        &mut self,
        others: Vec<Namespace>,
        arguments: &KeyStatusArguments,
        client: &Client<'_>,
        output: &Output,
    ) {
        let key_id = arguments.key_id;
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
                output.command(format_args!(
                    "key revoke {} {key_id} --everywhere --reason REASON",
                    arguments.namespace
                ))
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
        if is_left(arguments, &namespace, &keys) {
            others.push(namespace);
        }
    };
    each_namespace(client, take, is_damaged)?;
    Ok(others)
}

/// Returns the other namespaces that the token administers and that have the key, unless it is revoked for them.
fn administered(
    arguments: &KeyStatusArguments,
    client: &Client<'_>,
) -> Result<Vec<Namespace>, Failure> {
    let mut found = Vec::new();
    for namespace in administered_by(&client.presented_token()?) {
        if is_left(arguments, &namespace, &client.keys(&namespace)?) {
            found.push(namespace);
        }
    }
    Ok(found)
}

/// Returns whether another namespace has the key, and it is not revoked for it.
fn is_left(
    arguments: &KeyStatusArguments,
    namespace: &Namespace,
    keys: &SigningKeysDocument,
) -> bool {
    let is_revoked = state(keys, arguments.key_id) == Some(KeyState::Revoked);
    *namespace != arguments.namespace && has(keys, arguments.key_id) && !is_revoked
}

fn has(keys: &SigningKeysDocument, key_id: KeyId) -> bool {
    keys.keys.iter().any(|key| key.key_id == key_id)
}

fn state(keys: &SigningKeysDocument, key_id: KeyId) -> Option<KeyState> {
    keys.statuses.get(&key_id).map(|status| status.state)
}
