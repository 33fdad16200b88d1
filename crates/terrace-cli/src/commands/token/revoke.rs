//! `terrace token revoke`.

use serde_json::json;
use terrace_core::api::admin::{PresentedToken, RuleAnswer, TokenAnswer};
use terrace_core::auth::oidc::RuleKind;
use terrace_core::model::rule_id::RuleId;
use terrace_core::model::token_id::TokenId;

use super::left_behind::LeftBehind;
use super::list;
use super::state::State;
use crate::args::RegistryArguments;
use crate::clock;
use crate::commands::connection::connect;
use crate::commands::person::{Belongings, Connection};
use crate::error::Failure;
use crate::output::Output;
use crate::registry::client::Client;

/// Revokes tokens by their IDs.
pub(super) fn by_id(
    ids: &[TokenId],
    registry: &RegistryArguments,
    output: &Output,
) -> Result<(), Failure> {
    let client = connect(registry, output)?;
    let mut unknown = Vec::new();
    for id in ids {
        if !client.revoke_token(*id)? {
            unknown.push(id.to_string());
        }
    }
    let ids: Vec<String> = ids.iter().map(ToString::to_string).collect();
    // An operator in a hurry must not believe that a token is revoked if its ID was mistyped.
    let known: Vec<&str> = ids
        .iter()
        .filter(|id| !unknown.contains(id))
        .map(String::as_str)
        .collect();
    let text = match known.is_empty() {
        true => String::new(),
        false => revoked(&known),
    };
    let report = json!({ "revoked": ids, "unknown": unknown });
    let mut reasons = Vec::new();
    if !unknown.is_empty() {
        reasons.push(format!(
            "the registry has no record of a token with the ID {}, and revoked the ID anyway: unless it belongs to \
             an OCI client or a CI job, check the ID",
            unknown.join(", ")
        ));
    }
    let worst = (!reasons.is_empty()).then(|| Failure::Refused(reasons.clone()));
    output.outcome(text, report, worst, reasons)
}

/// The departure of a person.
pub(super) struct Departure<'a> {
    pub(super) person: &'a str,
    /// Whether the rules of the person are removed, too.
    pub(super) with_rules: bool,
    /// Whether nothing is changed.
    pub(super) dry_run: bool,
}

/// Revokes all valid tokens of a person, and names what they may leave behind.
pub(super) fn of(
    departure: &Departure<'_>,
    registry: &RegistryArguments,
    output: &Output,
) -> Result<(), Failure> {
    let Departure {
        person,
        with_rules,
        dry_run,
    } = *departure;
    let client = connect(registry, output)?;
    let now = clock::now();
    let all = list::all(&client)?;
    let is_accepted = |token: &&&TokenAnswer| State::of(token, now).is_accepted();
    let belongings = Belongings::of(person, &all);
    let mut ids = Vec::new();
    for token in belongings.own().iter().filter(is_accepted) {
        let id = token.id.parse().map_err(|_| {
            Failure::Unexpected(format!(
                "the registry lists a token with an invalid ID of {person}"
            ))
        })?;
        if !dry_run {
            client.revoke_token(id)?;
            output.progress(&format!("{} is revoked", token.id));
        }
        ids.push(token.id.as_str());
    }
    let created = belongings.created().iter().filter(is_accepted);
    let created: Vec<&str> = created.map(|token| token.id.as_str()).collect();
    if !created.is_empty() {
        output.warning(&format!(
            "tokens that {person} created for others, or that were created with such a token, stay valid. Revoke those that \
             {person} may know: terrace token revoke {}",
            created.join(" ")
        ));
    }
    let rules = client.rules()?;
    let rules = ConnectedRules::of(&belongings, &rules);
    let caller = client.presented_token()?;
    let left = LeftBehind::of(&belongings, &caller, &client, output)?;
    let is_unknown = belongings.own().is_empty() && created.is_empty();
    if is_unknown && rules.is_empty() && left.is_empty() {
        let message = format!(
            "no token has the name {person:?}, or is from a sign-in with this account, and no stored rule, webhook or signing \
             key is of this person: terrace token list shows the names and accounts"
        );
        return Err(Failure::Missing(message));
    }
    let removed = match (with_rules, dry_run) {
        (true, false) => rules.remove(&client, output)?,
        (true, true) => rules.removable(),
        (false, _) => Vec::new(),
    };
    rules.warn(person, with_rules, output);
    left.warn(person, output);
    let is_complete = sees_everything(&caller, output);
    let removed_names: Vec<String> = removed.iter().map(ToString::to_string).collect();
    let removed_names = removed_names.join(", ");
    let mut lines = vec![match (ids.is_empty(), dry_run) {
        (true, _) => format!("no token of {person} is valid any more"),
        (false, true) => format!("{} would be revoked", ids.join(", ")),
        (false, false) => revoked(&ids),
    }];
    match (removed.is_empty(), dry_run) {
        (true, _) => {}
        (false, true) => lines.push(format!("rules {removed_names} would be removed")),
        (false, false) => lines.push(format!(
            "{removed_names} removed; this takes effect everywhere within a minute"
        )),
    }
    if belongings.has_signed_in() {
        lines.push(format!(
            "{person} can sign in again while the sign-in provider and the rules (TERRACE_LOGIN_RULES, terrace role list) allow it"
        ));
    }
    let report = json!({
        "status": if dry_run { "dry_run" } else { "ok" },
        "revoked": ids,
        "created_for_others": created,
        "rules_removed": removed,
        "rules_left": rules.left(with_rules),
        "webhooks_left": left.webhooks(),
        "signing_keys_left": left.keys(),
        "complete": is_complete,
    });
    output.result(&lines, &report);
    Ok(())
}

/// The stored rules that are connected with a person.
struct ConnectedRules<'a>(Vec<(Connection, &'a RuleAnswer)>);

impl<'a> ConnectedRules<'a> {
    fn of(belongings: &Belongings<'_>, rules: &'a [RuleAnswer]) -> Self {
        let connected = rules
            .iter()
            .filter_map(|rule| Some((belongings.connection(rule)?, rule)));
        Self(connected.collect())
    }

    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Removes those of the person.
    fn remove(&self, client: &Client<'_>, output: &Output) -> Result<Vec<RuleId>, Failure> {
        let removable = self.removable();
        for rule in &removable {
            client.remove_rule(*rule)?;
            output.progress(&format!("rule {rule} is removed"));
        }
        Ok(removable)
    }

    /// Returns the IDs of those of the person. A rule that was added with a token that they created may be another person's.
    fn removable(&self) -> Vec<RuleId> {
        let is_removable = |connection: Connection| connection != Connection::AddedWithCreated;
        let rules = self.0.iter().filter(|(it, _)| is_removable(*it));
        rules.map(|(_, rule)| rule.id).collect()
    }

    /// Names those that stay, with the commands that remove them.
    fn warn(&self, person: &str, with_rules: bool, output: &Output) {
        for (connection, what) in [
            (Connection::Added, format!("rules that {person} added stay")),
            (
                Connection::Names,
                format!("rules that grant {person} something by name stay"),
            ),
            (
                Connection::AddedWithCreated,
                format!("rules that were added with tokens that {person} created stay"),
            ),
        ] {
            let is_removed = with_rules && connection != Connection::AddedWithCreated;
            let commands = self.removals(connection);
            if !is_removed && !commands.is_empty() {
                output.warning(&format!("{what}. To remove them: {}", commands.join("; ")));
            }
        }
    }

    /// Returns the commands that remove the rules with a connection.
    fn removals(&self, connection: Connection) -> Vec<String> {
        let of_kind = |kind: RuleKind| {
            let ids: Vec<String> = self
                .0
                .iter()
                .filter(|(it, rule)| *it == connection && rule.kind == kind)
                .map(|(_, rule)| rule.id.to_string())
                .collect();
            (!ids.is_empty()).then(|| format!("terrace {kind} remove {}", ids.join(" ")))
        };
        [RuleKind::Trust, RuleKind::Role]
            .into_iter()
            .filter_map(of_kind)
            .collect()
    }

    /// Returns the IDs of those that stay.
    fn left(&self, with_rules: bool) -> Vec<RuleId> {
        let stays =
            |connection: Connection| !with_rules || connection == Connection::AddedWithCreated;
        let left = self.0.iter().filter(|(connection, _)| stays(*connection));
        left.map(|(_, rule)| rule.id).collect()
    }
}

/// Returns whether the caller sees everything. An administrator of a namespace sees the tokens, the rules and the keys of the
/// namespace only, and no webhooks.
fn sees_everything(caller: &PresentedToken, output: &Output) -> bool {
    let sees_everything = caller.is_admin();
    if !sees_everything {
        output.warning(&format!(
            "only tokens, rules and signing keys that this token ({}) may manage were considered, and no webhooks; a token with \
             the scope admin sees all",
            caller.scopes.join(" ")
        ));
    }
    sees_everything
}

fn revoked(ids: &[&str]) -> String {
    format!(
        "{} revoked; this takes effect everywhere within a minute",
        ids.join(", ")
    )
}
