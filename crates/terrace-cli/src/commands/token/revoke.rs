//! `terrace token revoke`.

use serde_json::json;
use terrace_core::api::admin::TokenAnswer;
use terrace_core::model::token_id::TokenId;

use super::list;
use super::state::{State, is_creator, is_of, is_of_sign_in};
use crate::args::RegistryArguments;
use crate::clock;
use crate::commands::connection::connect;
use crate::error::Failure;
use crate::output::Output;

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

/// Revokes all valid tokens of a person.
pub(super) fn of(
    person: &str,
    registry: &RegistryArguments,
    output: &Output,
) -> Result<(), Failure> {
    let client = connect(registry, output)?;
    let now = clock::now();
    let all = list::all(&client)?;
    let is_accepted = |token: &&TokenAnswer| State::of(token, now).is_accepted();
    let theirs: Vec<&TokenAnswer> = all.iter().filter(|token| is_of(token, person)).collect();
    if theirs.is_empty() {
        let message = format!(
            "no token has the name {person:?}, or is from a sign-in with this account: terrace token list shows both"
        );
        return Err(Failure::Missing(message));
    }
    let mut ids = Vec::new();
    for token in theirs.iter().copied().filter(is_accepted) {
        let id = token.id.parse().map_err(|_| {
            Failure::Unexpected(format!(
                "the registry lists a token with an invalid ID of {person}"
            ))
        })?;
        client.revoke_token(id)?;
        output.progress(&format!("{} is revoked", token.id));
        ids.push(token.id.as_str());
    }
    let is_made_by_them = |token: &&TokenAnswer| {
        !is_of(token, person) && theirs.iter().any(|creator| is_creator(creator, token))
    };
    let made = all.iter().filter(is_made_by_them).filter(is_accepted);
    let made: Vec<&str> = made.map(|token| token.id.as_str()).collect();
    if !made.is_empty() {
        output.warning(&format!(
            "tokens that {person} created for others stay valid; revoke those that {person} may know by ID: {}",
            made.join(", ")
        ));
    }
    let text = match ids.is_empty() {
        true => format!("all tokens of {person} are already expired or revoked"),
        false => revoked(&ids),
    };
    let mut lines = vec![text];
    if theirs.iter().any(|token| is_of_sign_in(token)) {
        lines.push(format!(
            "{person} can sign in again while the sign-in provider and the rules (TERRACE_LOGIN_RULES, terrace role list) allow it"
        ));
    }
    let report = json!({ "status": "ok", "revoked": ids, "created_for_others": made });
    output.result(&lines, &report);
    Ok(())
}

fn revoked(ids: &[&str]) -> String {
    format!(
        "{} revoked; this takes effect everywhere within a minute",
        ids.join(", ")
    )
}
