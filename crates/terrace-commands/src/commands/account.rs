//! `terrace login`, `terrace logout` and `terrace whoami`: the caller's own token for a registry.

pub(super) mod login;
mod sign_in;

use clap::{Args, ValueHint};
use serde_json::json;
use terrace_core::api::admin::PresentedToken;

use crate::args::RegistryArguments;
use crate::commands::connection::{Session, connect, required_url};
use crate::credentials::{CredentialsFile, TokenHost};
use crate::error::Failure;
use crate::http::BaseUrl;

pub(super) use login::login;

/// The registry of a command about the caller's own token.
#[derive(Debug, Args)]
pub(crate) struct AccountArguments {
    /// The URL of the registry, instead of --url, TERRACE_URL and the profiles. TERRACE_TOKEN is used only if TERRACE_URL is the
    /// same registry
    #[arg(value_name = "URL", value_hint = ValueHint::Url)]
    pub(crate) registry: Option<String>,
}

/// Returns the arguments for the registry that the command names. A token that belongs to TERRACE_URL goes to no other
/// registry.
pub(super) fn named(
    arguments: &AccountArguments,
    registry: &RegistryArguments,
) -> RegistryArguments {
    let mut registry = registry.clone();
    if let Some(url) = &arguments.registry {
        let given = BaseUrl::parse(url.trim()).map(|url| url.origin()).ok();
        let of_environment = registry.url.as_deref().map(str::trim);
        let of_environment = of_environment.and_then(|url| BaseUrl::parse(url).ok());
        let is_same = of_environment.is_some_and(|url| Some(url.origin()) == given);
        if registry.is_token_in_environment && !is_same {
            registry.token = None;
        }
        registry.url = Some(url.clone());
    }
    registry
}

/// Shows whose token the command would send to a registry, and where it comes from.
pub(super) fn whoami(arguments: &AccountArguments, session: Session<'_>) -> Result<(), Failure> {
    let output = session.output;
    let registry = &named(arguments, session.registry);
    let client = connect(registry, output)?;
    let presented = client.presented_token()?;
    let source = client.token_place();
    let mut lines = vec![format!("{} at {}", presented.name, client.url())];
    lines.extend(presented.id.iter().map(|id| format!("token    {id}")));
    lines.extend(presented.key.iter().map(|key| format!("key      {key}")));
    lines.push(format!("scopes   {}", presented.scopes.join(", ")));
    lines.push(format!("expires  {}", expiry(&presented)));
    lines.push(format!("source   {source}"));
    let document = json!({
        "status": "ok",
        "url": client.url(),
        "id": presented.id,
        "key": presented.key,
        "name": presented.name,
        "scopes": presented.scopes,
        "expires": presented.expires,
        "source": source,
    });
    output.result(&lines, &document);
    Ok(())
}

fn expiry(presented: &PresentedToken) -> &str {
    presented.expires.as_deref().unwrap_or("never")
}

/// Revokes the stored token of a registry, and removes it from the file of `terraform` and `tofu`.
pub(super) fn logout(arguments: &AccountArguments, session: Session<'_>) -> Result<(), Failure> {
    let output = session.output;
    let registry = &named(arguments, session.registry);
    let session = Session { registry, output };
    let url = required_url(registry)?;
    let host = TokenHost::of(&url);
    let file = CredentialsFile::find()?;
    let Some(token) = file.token(&host)? else {
        return Err(Failure::refused(format!(
            "there is no token for {host} in {file}. A token in a variable or in another file is not removed by this \
             command"
        )));
    };
    output.hide(token.secret());
    let is_revoked = match login::client(&url, token, session)?.revoke_own_token() {
        Ok(()) => true,
        // An invalid token, or one of an older registry, is removed all the same.
        Err(Failure::NotAllowed(_) | Failure::Missing(_)) => {
            output.warning(&format!(
                "{url} did not revoke the token: it is no longer valid, or the registry does not let a token revoke itself"
            ));
            false
        }
        Err(failure) => return Err(failure),
    };
    file.remove(&host)?;
    let document = json!({ "status": "ok", "host": host.to_string(), "revoked": is_revoked, "file": file.to_string() });
    output.result(
        &[format!(
            "signed out of {host}: its token is removed from {file}"
        )],
        &document,
    );
    Ok(())
}
