//! The client for the registry on the command line or in the environment.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use crate::args::RegistryArguments;
use crate::credentials::{Token, TokenPlace};
use crate::error::Failure;
use crate::http::{BaseUrl, BaseUrlError, Http};
use crate::output::Output;
use crate::registry::client::Client;
use crate::registry::token_source::{Need, TokenSource};

/// The part of a token file that is read. Tokens are shorter than the headers that servers accept.
const TOKEN_FILE_BYTES: u64 = 64 * 1024;

/// What a command works with: the registry that its command line names, and its output.
#[derive(Clone, Copy)]
pub(crate) struct Session<'a> {
    pub(crate) registry: &'a RegistryArguments,
    pub(crate) output: &'a Output,
}

impl<'a> Session<'a> {
    /// Returns a client of the registry, with a token.
    pub(crate) fn connect(self) -> Result<Client<'a>, Failure> {
        connect(self.registry, self.output)
    }

    /// Returns a client of the registry that reads, without a token if there is none.
    pub(crate) fn connect_reader(self) -> Result<Client<'a>, Failure> {
        connect_as(Need::Optional, self.registry, self.output)
    }
}

/// Returns a client of the registry, with a token.
pub(crate) fn connect<'a>(
    arguments: &RegistryArguments,
    output: &'a Output,
) -> Result<Client<'a>, Failure> {
    connect_as(Need::Required, arguments, output)
}

/// Returns a client if both the registry and the token are given, for commands that also work without one.
pub(crate) fn connect_if_given<'a>(
    arguments: &RegistryArguments,
    output: &'a Output,
) -> Result<Option<Client<'a>>, Failure> {
    if given(&arguments.url).is_none() || given_token(arguments)?.is_none() {
        return Ok(None);
    }
    connect(arguments, output).map(Some)
}

fn connect_as<'a>(
    need: Need,
    arguments: &RegistryArguments,
    output: &'a Output,
) -> Result<Client<'a>, Failure> {
    let url = required_url(arguments)?;
    let http = Http::new(&url, arguments.retries, arguments.insecure, output)?;
    let tokens = token_source(&url, need, arguments, output)?;
    Client::new(url, tokens, http)
}

/// Returns the source of the token for the registry at `url`.
pub(crate) fn token_source(
    url: &BaseUrl,
    need: Need,
    arguments: &RegistryArguments,
    output: &Output,
) -> Result<TokenSource, Failure> {
    let profile = arguments.profile.as_deref();
    let profile = profile.filter(|_| arguments.is_url_of_profile);
    TokenSource::find(given_token(arguments)?, (url, profile), need, output)
}

/// Returns the token of the command line or else that of TERRACE_TOKEN.
fn given_token(arguments: &RegistryArguments) -> Result<Option<Token>, Failure> {
    let token = given(&arguments.token);
    let (text, place) = match (token, &arguments.token_file) {
        (Some(_), Some(_)) if !arguments.is_token_in_environment => {
            let message = "--token and --token-file are both given: use one of them";
            return Err(Failure::Usage(message.to_owned()));
        }
        (_, Some(path)) => {
            let text = token_file(path).map_err(|reason| {
                let path = path.display();
                Failure::Usage(format!("--token-file: {path} cannot be read: {reason}"))
            })?;
            (text, TokenPlace::File(path.clone()))
        }
        (Some(text), None) if arguments.is_token_in_environment => {
            let variable = arguments.token_variable.as_deref();
            let place = TokenPlace::Variable(variable.unwrap_or("TERRACE_TOKEN").to_owned());
            (text.to_owned(), place)
        }
        (Some(text), None) if text.starts_with("--") => {
            let message = "--token is followed by what looks like another option: write the token after it, or set TERRACE_TOKEN";
            return Err(Failure::Usage(message.to_owned()));
        }
        (Some(text), None) => (text.to_owned(), TokenPlace::Option("--token")),
        (None, None) => return Ok(None),
    };
    Token::parse(text.trim(), place).map(Some)
}

fn token_file(path: &Path) -> std::io::Result<String> {
    let mut text = String::new();
    File::open(path)?
        .take(TOKEN_FILE_BYTES)
        .read_to_string(&mut text)?;
    Ok(text)
}

/// Returns the URL of the registry.
pub(crate) fn required_url(arguments: &RegistryArguments) -> Result<BaseUrl, Failure> {
    registry_url(arguments)?.ok_or_else(|| {
        Failure::Usage(
            "no registry URL: set TERRACE_URL, or use --url or --profile; for the local registry of `npm start`, run `. .terrace/env`"
                .to_owned(),
        )
    })
}

/// Returns the URL of the registry, if one is given.
pub(crate) fn registry_url(arguments: &RegistryArguments) -> Result<Option<BaseUrl>, Failure> {
    let Some(text) = given(&arguments.url) else {
        return Ok(None);
    };
    // The text is not repeated: it may contain a password or a token.
    let usage = |error: BaseUrlError| {
        Failure::Usage(format!(
            "the registry's URL (--url or TERRACE_URL) is invalid: {error}, such as https://registry.example.com"
        ))
    };
    BaseUrl::parse(text).map(Some).map_err(usage)
}

/// Returns an argument that is more than white space; CI systems set missing variables to the empty string.
fn given(argument: &Option<String>) -> Option<&str> {
    let text = argument.as_deref()?.trim();
    (!text.is_empty()).then_some(text)
}
