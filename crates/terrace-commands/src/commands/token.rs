//! `terrace token`.

mod connected_rules;
mod departure;
mod left_behind;
mod list;
mod revoke;
mod state;

use std::time::Duration;

use terrace_base::time::in_largest_unit;
use terrace_core::api::admin::{RotationBody, TokenAnswer, TokenBody};
use terrace_core::auth::access::{Scopes, TokenName};
use terrace_core::model::token_id::TokenId;

use crate::args::{RegistryArguments, TokenCommand};
use crate::commands::connection::connect;
use crate::error::Failure;
use crate::output::Output;
pub(super) use list::all as all_tokens;
use state::{described, is_later};

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
        TokenCommand::List { expiring, of } => {
            let filter = list::Filter {
                expiring: *expiring,
                of: of.as_deref(),
            };
            list::run(&filter, registry, output)
        }
        TokenCommand::Revoke { of: None, ids, .. } => revoke::by_id(ids, registry, output),
        TokenCommand::Revoke {
            of: Some(person),
            with_rules,
            dry_run,
            ..
        } => {
            let departure = departure::Departure {
                person,
                with_rules: *with_rules,
                dry_run: *dry_run,
            };
            departure::run(&departure, registry, output)
        }
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
    let made = connect(registry, output)?.create_token(&body);
    let made = made.map_err(|failure| by_option(failure, body.expires_in))?;
    print_new(&made, output)
}

/// Names the option in the reasons that name the field of the request.
fn by_option(failure: Failure, lifetime: Option<u64>) -> Failure {
    let Failure::Refused(reasons) = failure else {
        return failure;
    };
    let given = lifetime.map_or_else(|| "never".to_owned(), in_largest_unit);
    let named = reasons
        .into_iter()
        .map(|reason| match reason.starts_with("expires_in") {
            true => format!("--expires {given}: {reason}"),
            false => reason,
        });
    Failure::Refused(named.collect())
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
    let revoked = made
        .replaced
        .as_ref()
        .and_then(|old| old.revoked.as_deref());
    output.progress(&match revoked {
        Some(time) if is_later(time) => format!("{id} stays valid until {time}"),
        None if !overlap.is_zero() => {
            format!(
                "{id} stays valid for {}",
                humantime::format_duration(overlap)
            )
        }
        _ => format!("{id} is revoked; this takes effect everywhere within a minute"),
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
    output.progress(&described(made));
    output.progress("the token is shown only once:");
    output.secret(token, &serde_json::json!({ "status": "ok", "token": made }));
    Ok(())
}
