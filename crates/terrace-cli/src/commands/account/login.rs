//! `terrace login`: gets a token, checks it, and stores it where `terraform login` does.

use std::io::Read as _;

use serde_json::json;

use super::sign_in::sign_in;
use super::{expiry, named, required_url};
use crate::args::{LoginArguments, RegistryArguments};
use crate::credentials::{CredentialsFile, Token, TokenHost, TokenPlace};
use crate::error::Failure;
use crate::http::{BaseUrl, Http};
use crate::output::Output;
use crate::registry::client::Client;
use crate::registry::token_source::TokenSource;

/// The part of standard input that is read. Tokens are shorter than the headers that servers accept.
const TOKEN_BYTES: u64 = 64 * 1024;

/// Signs in to a registry, and stores the token.
pub(crate) fn login(
    arguments: &LoginArguments,
    registry: &RegistryArguments,
    output: &Output,
) -> Result<(), Failure> {
    let registry = named(&arguments.account, registry);
    let url = required_url(&registry)?;
    let host = TokenHost::of(&url);
    // Before the user signs in, for nothing.
    let file = CredentialsFile::find()?;
    file.check()?;
    let http = Http::new(&url, registry.retries, registry.insecure, output)?;
    http.check_transport(url.url(), url.as_str(), "the token")?;
    let token = match arguments.with_token {
        true => token_on_stdin()?,
        false => sign_in(&url, &http, !arguments.no_browser, output)?,
    };
    output.hide(token.secret());
    let presented = match client(&url, token.clone(), &registry, output)?.presented_token() {
        Ok(presented) => Some(presented),
        Err(Failure::Missing(_)) => {
            output.warning(&format!(
                "{url} cannot tell whose token this is: it is stored anyway"
            ));
            None
        }
        Err(failure) => return Err(failure),
    };
    file.store(&host, token.secret())?;
    let (name, expires) = match &presented {
        Some(presented) => (presented.name.as_str(), expiry(presented)),
        None => ("an unknown caller", "unknown"),
    };
    let document = json!({
        "status": "ok",
        "host": host.to_string(),
        "name": presented.as_ref().map(|it| &it.name),
        "scopes": presented.as_ref().map(|it| &it.scopes),
        "expires": presented.as_ref().and_then(|it| it.expires.as_ref()),
        "file": file.to_string(),
    });
    let unread = file.unread_reason();
    let readers = match unread {
        Some(_) => "",
        None => ", which terraform, tofu and terrace read",
    };
    if let Some(reason) = unread {
        output.warning(&reason);
    }
    let line = format!(
        "signed in to {host} as {name} (expires: {expires}); the token is in {file}{readers}"
    );
    output.result(&[line], &document);
    Ok(())
}

/// Returns a client that sends one token.
pub(super) fn client<'a>(
    url: &BaseUrl,
    token: Token,
    registry: &RegistryArguments,
    output: &'a Output,
) -> Result<Client<'a>, Failure> {
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
