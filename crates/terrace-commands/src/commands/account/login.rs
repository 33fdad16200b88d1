//! `terrace login`: gets a token, checks it, and stores it where `terraform login` does.

use std::io::Read as _;
use std::time::Duration;

use clap::Args;
use serde_json::json;

use super::sign_in::sign_in;
use super::{expiry, named};
use crate::args::duration;
use crate::commands::account::AccountArguments;
use crate::commands::connection::{Session, required_url};
use crate::credentials::{CredentialsFile, Token, TokenHost, TokenPlace};
use crate::error::Failure;
use crate::http::{BaseUrl, Http};
use crate::registry::client::Client;
use crate::registry::token_source::TokenSource;

/// Sign in to a registry, and store the token for terraform, tofu and this command
///
/// Opens the sign-in of the registry in a browser, as `terraform login` does, and stores the token in the same file. With
/// --with-token, a token from standard input is stored instead.
#[derive(Debug, Args)]
#[command(after_help = "Example: terrace login https://registry.example.com")]
pub(crate) struct LoginArguments {
    #[command(flatten)]
    pub(crate) account: AccountArguments,

    /// Print the address of the sign-in, and open no browser
    #[arg(long)]
    pub(crate) no_browser: bool,

    /// The time to sign in
    #[arg(long, value_name = "DURATION", default_value = "5m", value_parser = duration::in_minutes, conflicts_with = "with_token")]
    pub(crate) timeout: Duration,

    /// Store the token on standard input, and do not sign in
    #[arg(long, conflicts_with = "no_browser")]
    pub(crate) with_token: bool,
}

/// The part of standard input that is read. Tokens are shorter than the headers that servers accept.
const TOKEN_BYTES: u64 = 64 * 1024;

/// Signs in to a registry, and stores the token.
pub(crate) fn login(arguments: &LoginArguments, session: Session<'_>) -> Result<(), Failure> {
    let output = session.output;
    let registry = &named(&arguments.account, session.registry);
    let session = Session {
        registry,
        ..session
    };
    let url = required_url(registry)?;
    let host = TokenHost::of(&url);
    // Before the user signs in, for nothing.
    let file = CredentialsFile::find()?;
    file.check()?;
    let http = Http::new(&url, registry.retries, registry.insecure, output)?;
    http.check_transport(url.url(), url.as_str(), "the token")?;
    let token = match arguments.with_token {
        true => token_on_stdin()?,
        false => sign_in(
            &url,
            &http,
            !arguments.no_browser,
            arguments.timeout,
            output,
        )?,
    };
    output.hide(token.secret());
    let presented = client(&url, token.clone(), session)?.presented_token()?;
    // A text that cannot be a token cannot be revoked either.
    let earlier = file.token(&host).ok().flatten();
    file.store(&host, token.secret())?;
    let earlier = earlier.filter(|it| !token.secret().matches(it.secret().expose()));
    let revoked = earlier.is_some_and(|it| revoke_earlier(&url, it, session));
    let document = json!({
        "status": "ok",
        "host": host.to_string(),
        "name": presented.name,
        "scopes": presented.scopes,
        "expires": presented.expires,
        "file": file.to_string(),
        "revoked_earlier": revoked,
    });
    let readers = match file.unread_reason() {
        Some(reason) => {
            output.warning(&reason);
            ""
        }
        None => ", which terraform, tofu and terrace read",
    };
    let (name, expires) = (&presented.name, expiry(&presented));
    let line = format!(
        "signed in to {host} as {name} (expires: {expires}); the token is in {file}{readers}"
    );
    output.result(&[line], &document);
    Ok(())
}

/// Revokes the token that the new one has replaced in the file, if a person got it by signing in: no copy of it is left.
/// Others, such as that of a CI job, may be in use elsewhere. Returns whether it did; a failure is a warning.
fn revoke_earlier(url: &BaseUrl, token: Token, session: Session<'_>) -> bool {
    let output = session.output;
    output.hide(token.secret());
    let revoked = client(url, token, session).and_then(|client| {
        let presented = client.presented_token()?;
        match presented.sign_in {
            true => client.revoke_own_token().map(|()| true),
            false => Ok(false),
        }
    });
    match &revoked {
        Ok(true) => output.progress("the token of the earlier sign-in is revoked"),
        // It is not of a sign-in, is no longer valid, or the registry is an older one.
        Ok(false) | Err(Failure::NotAllowed(_) | Failure::Missing(_)) => {}
        Err(failure) => output.warning(&format!(
            "the token of the earlier sign-in may still be valid, because it could not be revoked ({}): revoke it with terrace \
             token revoke, or let an administrator do so",
            failure.reasons().join("; ")
        )),
    }
    revoked.is_ok_and(|is_revoked| is_revoked)
}

/// Returns a client that sends one token.
pub(super) fn client<'a>(
    url: &BaseUrl,
    token: Token,
    session: Session<'a>,
) -> Result<Client<'a>, Failure> {
    let Session { registry, output } = session;
    let http = Http::new(url, registry.retries, registry.insecure, output)?;
    let tokens = TokenSource::Token(token, TokenHost::of(url));
    Client::new(url.clone(), tokens, http)
}

fn token_on_stdin() -> Result<Token, Failure> {
    let mut text = String::new();
    let read = std::io::stdin().take(TOKEN_BYTES).read_to_string(&mut text);
    read.map_err(|error| Failure::Usage(format!("standard input cannot be read: {error}")))?;
    Token::parse(text.trim(), TokenPlace::Option("standard input"))
}
