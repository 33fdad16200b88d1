//! `terrace token list`.

use std::time::Duration;

use serde_json::{Value, json};
use terrace_base::time::UnixTime;
use terrace_core::api::admin::{TokenAnswer, TokenPage};
use terrace_core::api::endpoint::TOKENS;
use terrace_core::auth::access::IssuedUnder;

use super::state::{State, end, ends_within};
use crate::clock;
use crate::commands::admin::stored::each_page;
use crate::commands::connection::Session;
use crate::commands::person::is_of;
use crate::error::Failure;
use crate::output::{Column, Screen, Table, are, shown};
use crate::registry::client::{Call, Client};

/// Lists the tokens that end within this time and belong to this person, with their states.
pub(super) fn run(
    expiring: Option<Duration>,
    of: Option<&str>,
    session: Session<'_>,
) -> Result<(), Failure> {
    let output = session.output;
    let client = session.connect()?;
    let now = clock::now();
    let mut tokens = all(&client)?;
    tokens.retain(|token| {
        expiring.is_none_or(|within| ends_within(token, within, now))
            && of.is_none_or(|person| is_of(token, person))
    });
    let mut screen = Screen::new();
    match tokens.is_empty() {
        true => screen.text(&format!(
            "no such tokens; create one with: {}",
            output.command("token create --name NAME --scope SCOPE --expires 90d")
        )),
        false => screen.table(&table(&tokens, now)),
    }
    if let Some(note) = note_on_previous(&tokens, now) {
        output.warning(&note);
    }
    let tokens: Vec<Value> = tokens.iter().map(|token| with_state(token, now)).collect();
    output.report(screen, &json!({ "status": "ok", "tokens": tokens }));
    Ok(())
}

/// Returns all tokens, the oldest first.
pub(crate) fn all(client: &Client<'_>) -> Result<Vec<TokenAnswer>, Failure> {
    let mut tokens = Vec::new();
    each_page(|after| {
        let page: TokenPage = client.call(Call::get(&TOKENS).query("after", after))?;
        tokens.extend(page.tokens);
        Ok(page.next)
    })?;
    tokens.sort_by(|one, other| one.created.cmp(&other.created));
    Ok(tokens)
}

fn table(tokens: &[TokenAnswer], now: UnixTime) -> Table {
    let mut table = Table::new([
        Column::whole("ID"),
        Column::status("STATE"),
        Column::left_out(1, "ENDS"),
        Column::cut("NAME"),
        Column::cut("SCOPES"),
        Column::left_out(4, "CREATED"),
        Column::left_out(3, "CREATED BY"),
        Column::left_out(2, "REPLACED BY"),
        Column::left_out(5, "ADMIN TOKEN"),
    ]);
    for token in tokens {
        let admin_token = match token.issued_under {
            Some(IssuedUnder::Previous) => "previous",
            Some(IssuedUnder::Earlier) => "earlier",
            Some(IssuedUnder::Current) | None => "",
        };
        table.row([
            token.id.clone(),
            State::of(token, now).as_str().to_owned(),
            end(token).unwrap_or("never").to_owned(),
            token.name.clone(),
            rights(token),
            token.created.clone(),
            token.created_by.clone(),
            shown(token.successor),
            admin_token.to_owned(),
        ]);
    }
    table
}

/// Returns the scopes of a token, and the only URL that accepts it, if an MCP client got it.
fn rights(token: &TokenAnswer) -> String {
    let scopes = token.scopes.join(" ");
    match &token.resource {
        Some(resource) => format!("{scopes} at {resource} only"),
        None => scopes,
    }
}

/// Returns the note that valid tokens end with the previous admin token, if there are any. Those that another token already
/// replaces need no rotation.
fn note_on_previous(tokens: &[TokenAnswer], now: UnixTime) -> Option<String> {
    let is_previous = |token: &&TokenAnswer| {
        token.issued_under == Some(IssuedUnder::Previous) && State::of(token, now) == State::Valid
    };
    let previous = tokens.iter().filter(is_previous);
    let previous: Vec<&str> = previous.map(|token| token.id.as_str()).collect();
    (!previous.is_empty()).then(|| {
        format!(
            "{} issued under TERRACE_ADMIN_TOKEN_PREVIOUS, and invalid once it is deleted; to rotate before that: {}",
            are(previous.len(), "valid token"),
            previous.join(", ")
        )
    })
}

fn with_state(token: &TokenAnswer, now: UnixTime) -> Value {
    let mut value = json!(token);
    if let Some(members) = value.as_object_mut() {
        let state = State::of(token, now).as_str();
        members.insert("state".to_owned(), json!(state));
    }
    value
}
