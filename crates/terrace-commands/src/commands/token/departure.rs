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
use super::revoke::revoked;
use super::state::State;
use crate::clock;
use crate::commands::connection::Session;
use crate::commands::key::{administered_by, each_namespace};
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
    let connected = seen.rules.iter();
    let connected = connected.filter_map(|rule| Some((belongings.connection(rule)?, rule.id)));
    let (removed, kept): (Vec<_>, Vec<_>) = connected.partition(|(it, _)| is_removed(*it));
    let ids = |rules: Vec<(_, RuleId)>| rules.into_iter().map(|(_, id)| id).collect::<Vec<_>>();
    let (removed, kept) = (ids(removed), texts(&ids(kept)));

    let own = accepted(belongings.own())?;
    let created = texts(&accepted(belongings.created())?);
    let (webhooks, keys) = (seen.webhooks(&belongings), seen.keys(&belongings));
    let is_unknown = belongings.own().is_empty()
        && [&created, &kept].iter().all(|it| it.is_empty())
        && removed.is_empty()
        && [&webhooks, &keys].iter().all(|it| it.is_empty());
    let changes = departure.change(&seen.caller, own, removed, &client, output);
    for (objects, what, command) in [
        (
            &created,
            "tokens that they created for others stay valid",
            "token revoke",
        ),
        (
            &kept,
            "rules that they added, or that grant them something by name, stay",
            "trust remove, or role remove",
        ),
        (
            &names(&webhooks, "id"),
            "webhooks that they or holders of such tokens added stay",
            "webhook remove",
        ),
        (
            &keys.iter().filter_map(namespace_and_key).collect(),
            "signing keys that they or holders of such tokens added stay",
            "key remove, or key revoke",
        ),
    ] {
        if !objects.is_empty() {
            let command = output.command(command);
            output.warning(&format!("{what}: {} ({command})", objects.join(", ")));
        }
    }
    let left = [texts(&changes.not_removed), kept].concat();
    let mut report = json!({
        "revoked": changes.revoked,
        "not_revoked": changes.not_revoked,
        "created_for_others": created,
        "rules_removed": changes.removed,
        "rules_left": left,
        "webhooks_left": webhooks,
        "signing_keys_left": keys,
        "complete": seen.caller.is_admin(),
    });
    if is_unknown {
        let message = format!(
            "no token has the name {person:?}, or is from a sign-in with this account, and no stored rule, webhook or signing \
             key is of this person: {} shows the names and accounts",
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
    let worst = changes.failures.iter().map(|(_, it)| it);
    let worst = worst.min_by_key(|it| it.urgency()).cloned();
    let reasons = changes.failures.iter().flat_map(|(undone, failure)| {
        let each = failure.reasons().into_iter();
        each.map(move |reason| format!("{undone}: {reason}"))
    });
    let mut reasons: Vec<String> = reasons.collect();
    if !reasons.is_empty() {
        reasons.push("run the same command again to complete this".to_owned());
    }
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
    /// Reads what the caller sees: an administrator of a namespace sees the tokens, the rules and the keys of the namespace
    /// only, and no webhooks.
    fn read(client: &Client<'_>, output: &Output) -> Result<Self, Failure> {
        let mut seen = Self {
            tokens: list::all(client)?,
            rules: client.rules()?,
            caller: client.presented_token()?,
            webhooks: Vec::new(),
            keys: Vec::new(),
        };
        if !seen.caller.is_admin() {
            for namespace in administered_by(&seen.caller) {
                let keys = client.keys(&namespace)?;
                seen.keys.push((namespace, keys));
            }
            output.warning(&format!(
                "only tokens, rules and signing keys that this token ({}) may manage were considered, and no webhooks; a token \
                 with the scope admin sees all",
                seen.caller.scopes.join(" ")
            ));
            return Ok(seen);
        }
        seen.webhooks = client
            .call::<WebhooksAnswer>(Call::get(&WEBHOOKS))?
            .webhooks;
        let is_damaged = |key: &str| {
            output.warning(&format!(
                "{key} is damaged, so its keys were not considered: run {}",
                output.command("admin verify")
            ));
        };
        each_namespace(
            client,
            |namespace, keys| seen.keys.push((namespace, keys)),
            is_damaged,
        )?;
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
            for key in &document.keys {
                let status = document.statuses.get(&key.key_id);
                let is_revoked = status.is_some_and(|it| it.state == KeyState::Revoked);
                let addition = document.added.get(&key.key_id).filter(|_| !is_revoked);
                if let Some(addition) = addition
                    && belongings.connection_of(&addition.by).is_some()
                {
                    found.push(json!({
                        "namespace": namespace.as_str(),
                        "key_id": key.key_id,
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
    /// The failures, each with a statement of what is not done.
    failures: Vec<(String, Failure)>,
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
        output: &Output,
    ) -> Changes {
        let mut changes = Changes::default();
        if self.dry_run {
            (changes.revoked, changes.removed) = (tokens, rules);
            return changes;
        }
        let is_own = |id: &TokenId| caller.id.as_deref() == Some(&*id.to_string());
        let (own, others): (Vec<_>, Vec<_>) = tokens.into_iter().partition(is_own);
        let revoke = |id: TokenId, changes: &mut Changes| match client
            .call::<RevokedToken>(Call::delete(&TOKEN).with(id))
        {
            Ok(_) => {
                output.progress(&format!("{id} is revoked"));
                changes.revoked.push(id);
            }
            Err(failure) => {
                changes.not_revoked.push(id);
                let undone = format!("token {id} is not revoked");
                changes.failures.push((undone, failure));
            }
        };
        for id in others {
            revoke(id, &mut changes);
        }
        for id in rules {
            match client.remove_rule(id) {
                Ok(_) => {
                    output.progress(&format!("rule {id} is removed"));
                    changes.removed.push(id);
                }
                Err(failure) => {
                    changes.not_removed.push(id);
                    let undone = format!("rule {id} is not removed");
                    changes.failures.push((undone, failure));
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
        let (tokens, rules) = (texts(&changes.revoked), texts(&changes.removed).join(", "));
        let ids: Vec<&str> = tokens.iter().map(String::as_str).collect();
        let mut lines = Vec::new();
        match (ids.is_empty(), self.dry_run) {
            (true, _) if !changes.not_revoked.is_empty() => {}
            (true, _) => lines.push(format!(
                "no token of {} is valid, among those that this token may manage",
                self.person
            )),
            (false, true) => lines.push(format!("{} would be revoked", ids.join(", "))),
            (false, false) => lines.push(revoked(&ids)),
        }
        match (rules.is_empty(), self.dry_run) {
            (true, _) => {}
            (false, true) => lines.push(format!("rules {rules} would be removed")),
            (false, false) => lines.push(format!(
                "rules {rules} removed; this takes effect everywhere within a minute"
            )),
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
        let invalid = || {
            format!(
                "the registry lists a token with the invalid ID {:?}",
                token.id
            )
        };
        token.id.parse().map_err(|_| Failure::Unexpected(invalid()))
    };
    accepted.map(id).collect()
}

fn texts(ids: &[impl ToString]) -> Vec<String> {
    ids.iter().map(ToString::to_string).collect()
}

/// Returns the arguments of `key remove`.
fn namespace_and_key(key: &Value) -> Option<String> {
    let text = |member| key.get(member)?.as_str();
    Some(format!("{} {}", text("namespace")?, text("key_id")?))
}

fn names(objects: &[Value], member: &str) -> Vec<String> {
    let names = objects.iter().filter_map(|it| it.get(member)?.as_str());
    names.map(str::to_owned).collect()
}
