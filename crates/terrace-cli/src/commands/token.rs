//! `terrace token`.

use std::time::Duration;

use terrace_core::api::admin::{RotationBody, TokenAnswer, TokenBody};
use terrace_core::auth::access::{Scopes, TokenName};
use terrace_core::model::token_id::TokenId;

use crate::args::{RegistryArguments, TokenCommand};
use crate::commands::connection::connect;
use crate::error::Failure;
use crate::output::Output;

/// Executes the command.
pub(crate) fn run(
    command: &TokenCommand,
    registry: &RegistryArguments,
    output: &Output,
) -> Result<(), Failure> {
    match command {
        TokenCommand::Create {
            name,
            scopes,
            expires,
        } => {
            let scopes = Scopes::new(scopes.clone());
            let scopes = scopes.map_err(|error| Failure::Usage(error.to_string()))?;
            create(name, &scopes, expires.limit(), registry, output)
        }
        TokenCommand::List => list(registry, output),
        TokenCommand::Revoke { ids } => revoke(ids, registry, output),
        TokenCommand::Rotate { id, overlap } => rotate(*id, *overlap, registry, output),
    }
}

/// Creates a token, and prints it alone.
fn create(
    name: &TokenName,
    scopes: &Scopes,
    expires: Option<Duration>,
    registry: &RegistryArguments,
    output: &Output,
) -> Result<(), Failure> {
    let body = TokenBody {
        name: name.to_string(),
        scopes: scopes.iter().map(ToString::to_string).collect(),
        expires_in: expires.map(|expires| expires.as_secs()),
    };
    let made = connect(registry, output)?.create_token(&body)?;
    print_new(&made, output)
}

/// Shows all tokens.
fn list(registry: &RegistryArguments, output: &Output) -> Result<(), Failure> {
    let client = connect(registry, output)?;
    let mut tokens = Vec::new();
    let mut after = None;
    loop {
        let page = client.tokens(after.as_deref())?;
        tokens.extend(page.tokens);
        match page.next {
            Some(next) if after.as_ref() != Some(&next) => after = Some(next),
            _ => break,
        }
    }
    tokens.sort_by(|one, other| one.created.cmp(&other.created));
    let mut lines: Vec<String> = tokens.iter().map(line).collect();
    if lines.is_empty() {
        let hint = "no tokens; create one with: terrace token create --name NAME --scope SCOPE";
        lines.push(hint.to_owned());
    }
    output.result(
        &lines,
        &serde_json::json!({ "status": "ok", "tokens": tokens }),
    );
    Ok(())
}

/// Revokes tokens by their IDs.
fn revoke(ids: &[TokenId], registry: &RegistryArguments, output: &Output) -> Result<(), Failure> {
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
        false => format!(
            "{} revoked; this takes effect everywhere within a minute",
            known.join(", ")
        ),
    };
    let report = serde_json::json!({ "revoked": ids, "unknown": unknown });
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

/// Creates a token that replaces another one, and prints it alone.
fn rotate(
    id: TokenId,
    overlap: Duration,
    registry: &RegistryArguments,
    output: &Output,
) -> Result<(), Failure> {
    let body = RotationBody {
        overlap: overlap.as_secs(),
    };
    let made = connect(registry, output)?.rotate_token(id, &body)?;
    let seconds = overlap.as_secs();
    output.progress(&match seconds {
        0 => format!("{id} is revoked"),
        seconds => format!("{id} stays valid for {seconds} s"),
    });
    print_new(&made, output)
}

/// Prints the token on standard output, and its description on standard error, so that a script can capture
/// the token.
fn print_new(made: &TokenAnswer, output: &Output) -> Result<(), Failure> {
    let Some(token) = &made.token else {
        let message = "the registry responded without a token".to_owned();
        return Err(Failure::Unexpected(message));
    };
    output.progress(&line(made));
    output.progress("the token is shown only once:");
    output.secret(token, &serde_json::json!({ "status": "ok", "token": made }));
    Ok(())
}

fn line(token: &TokenAnswer) -> String {
    let TokenAnswer {
        id,
        name,
        scopes,
        expires,
        revoked,
        created_by,
        ..
    } = token;
    let until = match (revoked, expires) {
        (Some(revoked), _) => format!("revoked {revoked}"),
        (None, Some(expires)) => format!("expires {expires}"),
        (None, None) => "does not expire".to_owned(),
    };
    let scopes = scopes.join(" ");
    format!("{id}  {scopes}  {until}  {name}  by {created_by}")
}
