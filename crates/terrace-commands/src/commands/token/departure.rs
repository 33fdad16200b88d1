//! `terrace token revoke --of PERSON`: the tokens and rules of a person who leaves.
//!
//! Everything is read before anything changes, so that no failed read leaves a half of the work, and the report needs no request
//! after the revocation of the token that the command itself uses.

use serde_json::{Value, json};
use terrace_core::api::admin::{
    PresentedToken, RevokedToken, RuleAnswer, SigningKeysDocument, TokenAnswer, WebhookAnswer,
    WebhooksAnswer,
};
use terrace_core::api::endpoint::{TOKEN, WEBHOOKS};
use terrace_core::model::name::Namespace;
use terrace_core::model::rule_id::RuleId;
use terrace_core::model::status::KeyState;
use terrace_core::model::token_id::TokenId;

use super::list;
use super::state::State;
use crate::clock;
use crate::commands::connection::Session;
use crate::commands::key::of_all_namespaces;
use crate::commands::person::{Belongings, Connection};
use crate::error::Failure;
use crate::output::Output;
use crate::registry::client::{Call, Client};

/// The departure of a person.
pub(super) struct Departure<'a> {
    pub(super) person: &'a str,
    /// Whether the rules of the person are removed, too.
    pub(super) with_rules: bool,
    /// Whether nothing is changed.
    pub(super) dry_run: bool,
}

/// Revokes all valid tokens of a person, and names the objects that they may leave behind.
pub(super) fn run(departure: &Departure<'_>, session: Session<'_>) -> Result<(), Failure> {
    let output = session.output;
    let person = departure.person;
    let client = session.connect()?;
    let seen = Seen::read(&client, output)?;
    let belongings = Belongings::of(person, &seen.tokens);
    // A rule that was added with a token that they created may be another person's.
    let is_removed = |it| departure.with_rules && it != Connection::AddedWithCreated;
    let (mut removed, mut kept) = (Vec::new(), Vec::new());
    for rule in &seen.rules {
        match belongings.connection(rule) {
            Some(connection) if is_removed(connection) => removed.push(rule.id),
            Some(_) => kept.push(rule.id.to_string()),
            None => {}
        }
    }
    let own = accepted(&belongings.own)?;
    let created = texts(&accepted(&belongings.created)?);
    let (webhooks, keys) = (seen.webhooks(&belongings), seen.keys(&belongings));
    let left = [
        (
            &created,
            "tokens that they created for others",
            "token revoke",
        ),
        (
            &kept,
            "rules that they added or that name them",
            "trust remove, or role remove",
        ),
        (&names(&webhooks, &["id"]), "webhooks", "webhook remove"),
        (
            &names(&keys, &["namespace", "key_id"]),
            "signing keys",
            "key remove, or key revoke",
        ),
    ];
    let is_unknown = belongings.own.is_empty()
        && removed.is_empty()
        && left.iter().all(|(objects, ..)| objects.is_empty());
    let changes = departure.change(&seen.caller, own, removed, &client);
    for (objects, what, command) in left.iter().filter(|(it, ..)| !it.is_empty()) {
        let (objects, command) = (objects.join(", "), output.command(command));
        output.warning(&format!(
            "{person} leaves behind {what}: {objects} ({command})"
        ));
    }
    let rules_left = [texts(&changes.not_removed), kept.clone()].concat();
    let mut report = json!({
        "revoked": changes.revoked,
        "not_revoked": changes.not_revoked,
        "created_for_others": created,
        "rules_removed": changes.removed,
        "rules_left": rules_left,
        "webhooks_left": webhooks,
        "signing_keys_left": keys,
        "complete": seen.caller.is_admin(),
    });
    if is_unknown {
        let message = format!(
            "nothing in this registry is of {person:?}: {} shows the names and accounts",
            output.command("token list")
        );
        let failure = Failure::Missing(message.clone());
        return output.outcome(String::new(), report, Some(failure), vec![message]);
    }
    let mut lines = departure.lines(&changes);
    if belongings.has_signed_in() {
        lines.push(format!(
            "{person} can sign in again while the sign-in provider and the rules (TERRACE_LOGIN_RULES, terrace role list) allow it"
        ));
    }
    if let (true, Some(members)) = (departure.dry_run, report.as_object_mut()) {
        members.insert("status".to_owned(), json!("dry_run"));
        output.result(&lines, &report);
        return Ok(());
    }
    let (mut reasons, failures): (Vec<String>, Vec<Failure>) = changes.failures.into_iter().unzip();
    if !reasons.is_empty() {
        reasons.push("run the same command again to complete this".to_owned());
    }
    let worst = failures.into_iter().min_by_key(Failure::urgency);
    output.outcome(lines.join("\n"), report, worst, reasons)
}

/// Everything that is read.
struct Seen {
    caller: PresentedToken,
    tokens: Vec<TokenAnswer>,
    rules: Vec<RuleAnswer>,
    webhooks: Vec<WebhookAnswer>,
    keys: Vec<(Namespace, SigningKeysDocument)>,
}

impl Seen {
    /// Reads what the caller sees: an administrator of a namespace sees its tokens and rules only.
    fn read(client: &Client<'_>, output: &Output) -> Result<Self, Failure> {
        let mut seen = Self {
            tokens: list::all(client)?,
            rules: client.rules()?,
            caller: client.presented_token()?,
            webhooks: Vec::new(),
            keys: Vec::new(),
        };
        if !seen.caller.is_admin() {
            output.warning(&format!(
                "only tokens and rules that this token ({}) may manage were considered, and no webhooks and signing keys; a token \
                 with the scope admin sees all",
                seen.caller.scopes.join(" ")
            ));
            return Ok(seen);
        }
        let webhooks: WebhooksAnswer = client.call(Call::get(&WEBHOOKS))?;
        seen.webhooks = webhooks.webhooks;
        seen.keys = of_all_namespaces(client, output)?;
        Ok(seen)
    }

    /// Returns the webhooks that are connected with a person.
    fn webhooks(&self, belongings: &Belongings<'_>) -> Vec<Value> {
        let webhooks = self.webhooks.iter();
        webhooks
            .filter(|it| belongings.connection_of(&it.by).is_some())
            .map(|it| json!({ "id": it.id, "name": it.name, "host": it.host, "namespaces": it.namespaces, "by": it.by }))
            .collect()
    }

    /// Returns the signing keys that are connected with a person. Nothing that a revoked key signed can be published or
    /// installed.
    fn keys(&self, belongings: &Belongings<'_>) -> Vec<Value> {
        let mut found = Vec::new();
        for (namespace, document) in &self.keys {
            for (key_id, addition) in &document.added {
                let status = document.statuses.get(key_id);
                let is_revoked = status.is_some_and(|it| it.state == KeyState::Revoked);
                if !is_revoked && belongings.connection_of(&addition.by).is_some() {
                    found.push(json!({
                        "namespace": namespace.as_str(),
                        "key_id": key_id,
                        "added": addition.at.to_string(),
                        "by": addition.by,
                    }));
                }
            }
        }
        found
    }
}

/// The outcome of the changes.
#[derive(Default)]
struct Changes {
    revoked: Vec<TokenId>,
    not_revoked: Vec<TokenId>,
    removed: Vec<RuleId>,
    not_removed: Vec<RuleId>,
    /// The failures, each with what is not done and why.
    failures: Vec<(String, Failure)>,
}

impl Changes {
    fn fail(&mut self, undone: &str, failure: Failure) {
        self.failures
            .push((format!("{undone}: {failure}"), failure));
    }
}

impl Departure<'_> {
    /// Makes the changes, or none in a dry run. One that fails does not stop the others. The token of the command itself comes
    /// last: it can make no change afterwards.
    fn change(
        &self,
        caller: &PresentedToken,
        tokens: Vec<TokenId>,
        rules: Vec<RuleId>,
        client: &Client<'_>,
    ) -> Changes {
        let mut changes = Changes::default();
        if self.dry_run {
            (changes.revoked, changes.removed) = (tokens, rules);
            return changes;
        }
        let is_own = |id: &TokenId| caller.id.as_deref() == Some(&*id.to_string());
        let (own, others): (Vec<_>, Vec<_>) = tokens.into_iter().partition(is_own);
        let revoke = |id: TokenId, changes: &mut Changes| {
            let call = Call::delete(&TOKEN).with(id);
            match client.call::<RevokedToken>(call) {
                Ok(_) => changes.revoked.push(id),
                Err(failure) => {
                    changes.not_revoked.push(id);
                    changes.fail(&format!("token {id} is not revoked"), failure);
                }
            }
        };
        for id in others {
            revoke(id, &mut changes);
        }
        for id in rules {
            match client.remove_rule(id) {
                Ok(_) => changes.removed.push(id),
                Err(failure) => {
                    changes.not_removed.push(id);
                    changes.fail(&format!("rule {id} is not removed"), failure);
                }
            }
        }
        for id in own {
            revoke(id, &mut changes);
        }
        changes
    }

    /// Returns the result for people.
    fn lines(&self, changes: &Changes) -> Vec<String> {
        let (tokens, rules) = (texts(&changes.revoked), texts(&changes.removed));
        let done = if self.dry_run { "would be" } else { "are" };
        let mut lines = Vec::new();
        if !tokens.is_empty() {
            lines.push(format!("tokens {} {done} revoked", tokens.join(", ")));
        } else if changes.not_revoked.is_empty() {
            lines.push(format!(
                "no token of {} is valid, among those that this token may manage",
                self.person
            ));
        }
        if !rules.is_empty() {
            lines.push(format!("rules {} {done} removed", rules.join(", ")));
        }
        let is_changed = !tokens.is_empty() || !rules.is_empty();
        if is_changed && !self.dry_run {
            lines.push("this takes effect everywhere within a minute".to_owned());
        }
        lines
    }
}

/// Returns the IDs of the tokens that the registry accepts.
fn accepted(tokens: &[&TokenAnswer]) -> Result<Vec<TokenId>, Failure> {
    let now = clock::now();
    let accepted = tokens
        .iter()
        .filter(|token| State::of(token, now).is_accepted());
    let id = |token: &&TokenAnswer| {
        let invalid = format!(
            "the registry lists a token with the invalid ID {:?}",
            token.id
        );
        token.id.parse().map_err(|_| Failure::Unexpected(invalid))
    };
    accepted.map(id).collect()
}

fn texts(ids: &[impl ToString]) -> Vec<String> {
    ids.iter().map(ToString::to_string).collect()
}

/// Returns these members of each object.
fn names(objects: &[Value], members: &[&str]) -> Vec<String> {
    let name = |object: &Value| {
        let parts = members.iter().filter_map(|it| object.get(it)?.as_str());
        parts.collect::<Vec<_>>().join(" ")
    };
    objects.iter().map(name).collect()
}
