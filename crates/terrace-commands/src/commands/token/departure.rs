//! `terrace token revoke --of PERSON`: the tokens and rules of a person who leaves.
//!
//! Everything is read before anything changes, so that no failed read leaves a half of the work, and the report needs no request
//! after the revocation of the token that the command itself uses.

use serde_json::{Value, json};
use terrace_base::time::UnixTime;
use terrace_core::api::admin::{PresentedToken, TokenAnswer};
use terrace_core::model::rule_id::RuleId;
use terrace_core::model::token_id::TokenId;

use super::connected_rules::ConnectedRules;
use super::left_behind::LeftBehind;
use super::list;
use super::revoke::revoked;
use super::state::State;
use crate::args::RegistryArguments;
use crate::clock;
use crate::commands::circuit_breaker::CircuitBreaker;
use crate::commands::connection::connect;
use crate::commands::person::Belongings;
use crate::error::{Failure, Several};
use crate::output::Output;
use crate::registry::client::Client;

/// The departure of a person.
pub(super) struct Departure<'a> {
    pub(super) person: &'a str,
    /// Whether the rules of the person are removed, too.
    pub(super) with_rules: bool,
    /// Whether nothing is changed.
    pub(super) dry_run: bool,
}

/// Revokes all valid tokens of a person, and names the objects that they may leave behind.
pub(super) fn run(
    departure: &Departure<'_>,
    registry: &RegistryArguments,
    output: &Output,
) -> Result<(), Failure> {
    let Departure {
        person, with_rules, ..
    } = *departure;
    let client = connect(registry, output)?;
    let unchanged = |failure: Failure| departure.unchanged(failure);
    let tokens = list::all(&client).map_err(unchanged)?;
    let stored = client.rules().map_err(unchanged)?;
    let caller = client.presented_token().map_err(unchanged)?;
    let belongings = Belongings::of(person, &tokens);
    let rules = ConnectedRules::of(&belongings, &stored);
    let left = LeftBehind::of(&belongings, &caller, &client, output).map_err(unchanged)?;
    let now = clock::now();
    let own = accepted(belongings.own(), now).map_err(unchanged)?;
    let created = accepted(belongings.created(), now).map_err(unchanged)?;
    let removable = match with_rules {
        true => rules.removable(),
        false => Vec::new(),
    };

    let changes = departure.change(&steps(&own, &removable, &caller), &client, output);

    if !created.is_empty() {
        output.warning(&format!(
            "tokens that {person} created for others, or that were created with such a token, stay valid. Revoke those that \
             {person} may know: {}",
            output.command(format_args!("token revoke {}", joined(&created, " ")))
        ));
    }
    rules.warn(person, with_rules, output);
    left.warn(person, output);
    let is_complete = sees_everything(&caller, output);
    let report = json!({
        "status": if departure.dry_run { "dry_run" } else { "ok" },
        "revoked": changes.revoked,
        "not_revoked": changes.not_revoked(),
        "created_for_others": created,
        "rules_removed": changes.removed,
        "rules_left": rules.left(&changes.removed),
        "webhooks_left": left.webhooks(),
        "signing_keys_left": left.keys(),
        "complete": is_complete,
    });
    let is_unknown = belongings.own().is_empty() && created.is_empty();
    if is_unknown && rules.is_empty() && left.is_empty() {
        let message = format!(
            "no token has the name {person:?}, or is from a sign-in with this account, and no stored rule, webhook or signing \
             key is of this person: {} shows the names and accounts",
            output.command("token list")
        );
        return Err(several(
            Failure::Missing(message),
            Vec::new(),
            Vec::new(),
            report,
        ));
    }
    let mut lines = departure.lines(&changes, is_complete);
    if belongings.has_signed_in() {
        lines.push(format!(
            "{person} can sign in again while the sign-in provider and the rules (TERRACE_LOGIN_RULES, terrace role list) allow it"
        ));
    }
    match changes.failure(output) {
        None => {
            output.result(&lines, &report);
            Ok(())
        }
        Some((worst, more)) => Err(several(worst, more, lines, report)),
    }
}

/// A change that a departure makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Revoke(TokenId),
    Remove(RuleId),
}

impl Step {
    /// Returns a statement that the step is not done.
    fn undone(self) -> String {
        match self {
            Self::Revoke(id) => format!("token {id} is not revoked"),
            Self::Remove(id) => format!("rule {id} is not removed"),
        }
    }

    fn execute(self, client: &Client<'_>, output: &Output) -> Result<(), Failure> {
        match self {
            Self::Revoke(id) => {
                client.revoke_token(id)?;
                output.progress(&format!("{id} is revoked"));
            }
            Self::Remove(id) => {
                client.remove_rule(id)?;
                output.progress(&format!("rule {id} is removed"));
            }
        }
        Ok(())
    }
}

/// Returns the changes in their order. The token of the command itself comes last: it can make no change afterwards.
fn steps(tokens: &[TokenId], rules: &[RuleId], caller: &PresentedToken) -> Vec<Step> {
    let is_own = |id: &&TokenId| caller.id.as_deref() == Some(&*id.to_string());
    let others = tokens.iter().filter(|id| !is_own(id));
    let own = tokens.iter().filter(is_own);
    let rules = rules.iter().map(|id| Step::Remove(*id));
    let revoke = |id: &TokenId| Step::Revoke(*id);
    others
        .map(revoke)
        .chain(rules)
        .chain(own.map(revoke))
        .collect()
}

/// The outcome of the changes.
#[derive(Default)]
struct Changes {
    revoked: Vec<TokenId>,
    removed: Vec<RuleId>,
    failed: Vec<(Step, Failure)>,
    not_tried: Vec<Step>,
}

impl Changes {
    fn not_revoked(&self) -> Vec<TokenId> {
        let failed = self.failed.iter().map(|(step, _)| *step);
        let undone = failed.chain(self.not_tried.iter().copied());
        let token = |step: Step| match step {
            Step::Revoke(id) => Some(id),
            Step::Remove(_) => None,
        };
        undone.filter_map(token).collect()
    }

    /// Returns the most urgent failure, and the further reasons.
    fn failure(&self, output: &Output) -> Option<(Failure, Vec<String>)> {
        let failures = self.failed.iter().map(|(_, failure)| failure);
        let worst = failures.min_by_key(|failure| failure.urgency())?.clone();
        let mut reasons = Vec::new();
        for (step, failure) in &self.failed {
            let undone = step.undone();
            let each = failure.reasons().into_iter();
            reasons.extend(each.map(|reason| format!("{undone}: {reason}")));
        }
        reasons.extend(
            self.not_tried
                .iter()
                .map(|step| format!("{}: it was not tried after these failures", step.undone())),
        );
        reasons.push(format!(
            "run the same command again to complete this: {} shows the tokens that are still valid",
            output.command("token list")
        ));
        Some((worst, reasons))
    }
}

impl Departure<'_> {
    /// Makes the changes, or none in a dry run. One that fails does not stop the others, unless these would fail as well.
    fn change(&self, steps: &[Step], client: &Client<'_>, output: &Output) -> Changes {
        let mut changes = Changes::default();
        let mut breaker = CircuitBreaker::default();
        for step in steps {
            if breaker.is_open() {
                changes.not_tried.push(*step);
                continue;
            }
            let outcome = match self.dry_run {
                true => Ok(()),
                false => step.execute(client, output),
            };
            match (outcome, step) {
                (Err(failure), step) => {
                    breaker.fail(&failure);
                    changes.failed.push((*step, failure));
                    continue;
                }
                (Ok(()), Step::Revoke(id)) => changes.revoked.push(*id),
                (Ok(()), Step::Remove(id)) => changes.removed.push(*id),
            }
            breaker.succeed();
        }
        changes
    }

    /// Returns the result for people.
    fn lines(&self, changes: &Changes, is_complete: bool) -> Vec<String> {
        let person = self.person;
        let ids: Vec<String> = changes.revoked.iter().map(ToString::to_string).collect();
        let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
        let mut lines = Vec::new();
        match (ids.is_empty(), self.dry_run) {
            (true, _) if !changes.not_revoked().is_empty() => {}
            (true, _) if is_complete => {
                lines.push(format!("no token of {person} is valid any more"));
            }
            (true, _) => lines.push(format!(
                "no token of {person} is valid, among those that this token may manage"
            )),
            (false, true) => lines.push(format!("{} would be revoked", ids.join(", "))),
            (false, false) => lines.push(revoked(&ids)),
        }
        let rules = joined(&changes.removed, ", ");
        match (rules.is_empty(), self.dry_run) {
            (true, _) => {}
            (false, true) => lines.push(format!("rules {rules} would be removed")),
            (false, false) => lines.push(format!(
                "{rules} removed; this takes effect everywhere within a minute"
            )),
        }
        lines
    }

    /// Adds to the failure of a read that nothing has changed.
    fn unchanged(&self, failure: Failure) -> Failure {
        if self.dry_run {
            return failure;
        }
        let more = format!(
            "nothing was changed: no token of {} is revoked, and no rule removed. Run the same command again",
            self.person
        );
        let report = json!({ "revoked": [], "rules_removed": [] });
        let mut reasons = failure.reasons();
        reasons.push(more);
        several(failure, reasons, Vec::new(), report)
    }
}

/// Returns the IDs of the tokens that the registry accepts.
fn accepted(tokens: &[&TokenAnswer], now: UnixTime) -> Result<Vec<TokenId>, Failure> {
    let accepted = tokens
        .iter()
        .filter(|token| State::of(token, now).is_accepted());
    let id = |token: &&TokenAnswer| {
        token.id.parse().map_err(|_| {
            let message = format!(
                "the registry lists a token with the invalid ID {:?}",
                token.id
            );
            Failure::Unexpected(message)
        })
    };
    accepted.map(id).collect()
}

/// Returns a failure with the results. Without `reasons`, those of the failure itself are given.
fn several(worst: Failure, reasons: Vec<String>, lines: Vec<String>, report: Value) -> Failure {
    let document = match report {
        Value::Object(mut members) => {
            members.remove("status");
            members
        }
        _ => serde_json::Map::new(),
    };
    let reasons = match reasons.is_empty() {
        true => worst.reasons(),
        false => reasons,
    };
    Failure::Several(Box::new(Several {
        worst,
        reasons,
        lines,
        document,
    }))
}

fn joined(ids: &[impl ToString], separator: &str) -> String {
    let ids: Vec<String> = ids.iter().map(ToString::to_string).collect();
    ids.join(separator)
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
