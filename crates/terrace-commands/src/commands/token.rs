//! `terrace token`.

mod departure;
mod list;
mod state;

use std::time::Duration;

use clap::Subcommand;
use serde_json::json;
use terrace_core::api::admin::{RevokedToken, RotationBody, TokenAnswer, TokenBody};
use terrace_core::api::endpoint::{TOKEN, TOKEN_ROTATION, TOKENS};
use terrace_core::auth::access::{Scope, Scopes, TOKEN_PREFIX, TokenName};
use terrace_core::model::token_id::TokenId;

use crate::args::duration;
use crate::commands::connection::Session;
use crate::error::Failure;
use crate::output::Output;
use crate::registry::client::Call;
use state::{described, is_later};

pub(super) use list::all as all_tokens;

#[derive(Debug, Subcommand)]
pub(crate) enum TokenCommand {
    /// Create a token and print it; it is shown only once
    #[command(
        after_help = "Example: terrace token create --name ci --scope publish:acme --expires 90d\nToken scope: admin:<namespace> or admin"
    )]
    Create {
        /// The name of the token in `terrace token list`
        #[arg(long)]
        name: TokenName,
        /// A permission of the token: read, read:<namespace>, publish:<namespace>, admin:<namespace>, backup or admin; may be
        /// given several times. The namespace of mirrored packages is <hostname>/<namespace>, or <hostname> for all of them
        #[arg(long = "scope", value_name = "SCOPE", required = true)]
        scopes: Vec<Scope>,
        /// The lifetime of the token, such as 90d, 12h or 1y (365 days), or `never`
        #[arg(long, value_name = "DURATION|never", value_parser = lifetime)]
        expires: Lifetime,
    },
    /// List the tokens that this command and sign-ins created, with their states and creators
    ///
    /// A token is valid, rotating (another one replaces it, and it is valid for a while yet), expired, revoked, or invalid
    /// because the admin token was changed.
    #[command(
        after_help = "Example: terrace token list --expiring 14d\nToken scope: admin:<namespace> or admin"
    )]
    List {
        /// List only tokens that are valid and end within this time, such as 14d
        #[arg(long, value_name = "DURATION", value_parser = duration::in_days)]
        expiring: Option<Duration>,
        /// List only the tokens of a person: those from a sign-in with this name or account, and others with this name
        #[arg(long, value_name = "PERSON")]
        of: Option<String>,
    },
    /// Revoke tokens; this takes effect everywhere within a minute
    #[command(
        after_help = "Example: terrace token revoke 7f3a9c2e51b04d68\nToken scope: admin:<namespace> or admin"
    )]
    Revoke {
        /// The IDs of the tokens, as in `terrace token list`: the 16 hexadecimal digits after `terrace_`. A whole token is
        /// accepted, too
        #[arg(required_unless_present = "of", value_parser = token_id)]
        ids: Vec<TokenId>,
        /// Revoke all tokens of a person who leaves: those that `terrace token list --of PERSON` lists. The command names
        /// everything that the person may leave behind: tokens, rules, webhooks and signing keys
        #[arg(long, value_name = "PERSON", conflicts_with = "ids")]
        of: Option<String>,
        /// With --of, also remove the stored rules that the person added, and those that grant the person something by name
        #[arg(long, conflicts_with = "ids")]
        with_rules: bool,
        /// With --of, only show what would be revoked and removed, and what the person would leave behind
        #[arg(long, conflicts_with = "ids")]
        dry_run: bool,
    },
    /// Replace a token by one with the same name, scopes and lifetime, and print it
    ///
    /// The old token is revoked, at once or after the time that --overlap gives. Until then, the same command prints the
    /// same new token again.
    #[command(
        after_help = "Example: terrace token rotate 7f3a9c2e51b04d68 --overlap 24h\nToken scope: admin:<namespace> or admin"
    )]
    Rotate {
        /// The ID of the old token, or the whole token
        #[arg(value_parser = token_id)]
        id: TokenId,
        /// The time for which the old token stays valid, such as 24h
        #[arg(long, value_name = "DURATION", default_value = "0s", value_parser = duration::in_hours)]
        overlap: Duration,
    },
}

/// The lifetime of a token; `None` if it never expires. Clap decides by the written type: an option of the type
/// `Option<…>` may be absent, and one of this name must be given.
type Lifetime = Option<Duration>;

fn lifetime(text: &str) -> Result<Lifetime, String> {
    match text {
        "never" => Ok(None),
        text => duration::in_days(text).map(Some),
    }
}

/// Parses the ID of a token, or takes it from a whole token.
fn token_id(text: &str) -> Result<TokenId, String> {
    let id = match text.strip_prefix(TOKEN_PREFIX) {
        Some(rest) => rest.split('.').next().unwrap_or_default(),
        None => text,
    };
    let message = "a token ID has 16 hexadecimal digits in lower case";
    id.parse().map_err(|_| message.to_owned())
}

/// Executes the command.
pub(crate) fn run(command: &TokenCommand, session: Session<'_>) -> Result<(), Failure> {
    match command {
        TokenCommand::Create {
            name,
            scopes,
            expires,
        } => {
            let scopes = Scopes::new(scopes.clone());
            let scopes = scopes.map_err(Failure::Usage)?;
            create(name, &scopes, *expires, session)
        }
        TokenCommand::List { expiring, of } => list::run(*expiring, of.as_deref(), session),
        TokenCommand::Revoke { of: None, ids, .. } => revoke(ids, session),
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
            departure::run(&departure, session)
        }
        TokenCommand::Rotate { id, overlap } => rotate(*id, *overlap, session),
    }
}

/// Creates a token, and prints it alone.
fn create(
    name: &TokenName,
    scopes: &Scopes,
    expires: Lifetime,
    session: Session<'_>,
) -> Result<(), Failure> {
    let output = session.output;
    let body = TokenBody {
        name: name.to_string(),
        scopes: scopes.iter().map(ToString::to_string).collect(),
        expires_in: expires.map(|expires| expires.as_secs()),
    };
    let made = session.connect()?.call(Call::post(&TOKENS).json(&body)?)?;
    print_new(&made, output)
}

/// Revokes tokens by their IDs.
fn revoke(ids: &[TokenId], session: Session<'_>) -> Result<(), Failure> {
    let output = session.output;
    let client = session.connect()?;
    let mut unknown = Vec::new();
    for id in ids {
        let revoked: RevokedToken = client.call(Call::delete(&TOKEN).with(id))?;
        if !revoked.known {
            unknown.push(id.to_string());
        }
    }
    let ids: Vec<String> = ids.iter().map(ToString::to_string).collect();
    // An operator in a hurry must not believe that a token is revoked if its ID was mistyped.
    let known = ids.iter().filter(|id| !unknown.contains(id));
    let known: Vec<&str> = known.map(String::as_str).collect();
    let text = match known.is_empty() {
        true => String::new(),
        false => format!(
            "{} revoked; this takes effect everywhere within a minute",
            known.join(", ")
        ),
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

/// Creates a token that replaces another one, and prints it alone.
fn rotate(id: TokenId, overlap: Duration, session: Session<'_>) -> Result<(), Failure> {
    let output = session.output;
    let body = RotationBody {
        overlap: overlap.as_secs(),
    };
    let call = Call::post(&TOKEN_ROTATION).with(id).json(&body)?;
    let made: TokenAnswer = session.connect()?.call(call)?;
    let old = made.replaced.as_ref();
    let end = old.and_then(|old| old.revoked.as_deref());
    output.progress(&match end.filter(|end| is_later(end)) {
        Some(end) => format!("{id} stays valid until {end}"),
        None => format!("{id} is revoked; this takes effect everywhere within a minute"),
    });
    print_new(&made, output)
}

/// Prints the token on standard output, and its description on standard error, so that a script can capture
/// the token.
fn print_new(made: &TokenAnswer, output: &Output) -> Result<(), Failure> {
    let missing = || Failure::Unexpected("the registry responded without a token".to_owned());
    let token = made.token.as_ref().ok_or_else(missing)?;
    output.progress(&described(made));
    output.progress("the token is shown only once:");
    output.secret(token, &json!({ "status": "ok", "token": made }))
}
