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
        connect_reader(self.registry, self.output)
    }
}

/// Returns a client of the registry, with a token.
pub(crate) fn connect<'a>(
    arguments: &RegistryArguments,
    output: &'a Output,
) -> Result<Client<'a>, Failure> {
    connect_as(Need::Required, arguments, output)
}

/// Returns a client of the registry that reads, without a token if there is none.
pub(crate) fn connect_reader<'a>(
    arguments: &RegistryArguments,
    output: &'a Output,
) -> Result<Client<'a>, Failure> {
    connect_as(Need::Optional, arguments, output)
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
    let url = registry_url(arguments)?.ok_or_else(|| {
        Failure::Usage(
            "no registry URL: set TERRACE_URL, or use --url or --profile; for the local registry of `npm start`, run `. .terrace/env`"
                .to_owned(),
        )
    })?;
    let http = Http::new(&url, arguments.retries, arguments.insecure, output)?;
    let profile = arguments.profile.as_deref();
    let profile = profile.filter(|_| arguments.is_url_of_profile);
    let tokens = TokenSource::find(given_token(arguments)?, (&url, profile), need, output)?;
    Client::new(url, tokens, http)
}

/// Returns the source of the token that a reader of the registry at `url` sends.
pub(crate) fn reader_token(
    url: &BaseUrl,
    arguments: &RegistryArguments,
    output: &Output,
) -> Result<TokenSource, Failure> {
    let profile = arguments.profile.as_deref();
    let profile = profile.filter(|_| arguments.is_url_of_profile);
    let given = given_token(arguments)?;
    TokenSource::find(given, (url, profile), Need::Optional, output)
}

/// Returns the token of the command line or else that of TERRACE_TOKEN.
fn given_token(arguments: &RegistryArguments) -> Result<Option<Token>, Failure> {
    let token = given(&arguments.token);
    let (option, variable) = match arguments.is_token_in_environment {
        true => (None, token),
        false => (token, None),
    };
    let given = match (option, &arguments.token_file, variable) {
        (Some(_), Some(_), _) => {
            let message = "--token and --token-file are both given: use one of them";
            return Err(Failure::Usage(message.to_owned()));
        }
        (None, Some(path), _) => {
            let text = token_file(path).map_err(|reason| {
                let path = path.display();
                Failure::Usage(format!("--token-file: {path} cannot be read: {reason}"))
            })?;
            Some((text, TokenPlace::File(path.clone())))
        }
        (Some(text), None, _) if text.starts_with("--") => {
            let message = "--token is followed by what looks like another option: write the token after it, or set TERRACE_TOKEN";
            return Err(Failure::Usage(message.to_owned()));
        }
        (Some(text), None, _) => Some((text.to_owned(), TokenPlace::Option("--token"))),
        (None, None, Some(text)) => {
            let variable = arguments.token_variable.as_deref();
            let place = TokenPlace::Variable(variable.unwrap_or("TERRACE_TOKEN").to_owned());
            Some((text.to_owned(), place))
        }
        (None, None, None) => None,
    };
    given
        .map(|(text, place)| Token::parse(text.trim(), place))
        .transpose()
}

fn token_file(path: &Path) -> std::io::Result<String> {
    let mut text = String::new();
    File::open(path)?
        .take(TOKEN_FILE_BYTES)
        .read_to_string(&mut text)?;
    Ok(text)
}

/// Returns the URL of the registry, if one is given.
pub(crate) fn registry_url(arguments: &RegistryArguments) -> Result<Option<BaseUrl>, Failure> {
    let Some(text) = given(&arguments.url) else {
        return Ok(None);
    };
    // The text is not repeated: it may contain a password or a token.
    let usage = |error: BaseUrlError| {
        Failure::Usage(format!(
            "the registry's URL (--url or TERRACE_URL) is invalid: {error}. Write a scheme, a host and optionally \
             a port, such as https://registry.example.com"
        ))
    };
    BaseUrl::parse(text).map(Some).map_err(usage)
}

/// Returns an argument that is more than white space; CI systems set missing variables to the empty string.
fn given(argument: &Option<String>) -> Option<&str> {
    let text = argument.as_deref()?.trim();
    (!text.is_empty()).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Exit;

    fn url_of(text: &str) -> Result<Option<BaseUrl>, Failure> {
        registry_url(&RegistryArguments {
            url: Some(text.to_owned()),
            is_url_in_environment: false,
            token: None,
            is_token_in_environment: false,
            token_variable: None,
            profile: None,
            is_profile_in_environment: false,
            is_url_of_profile: false,
            token_file: None,
            retries: 0,
            insecure: false,
        })
    }

    #[test]
    fn an_address_is_a_scheme_and_a_host() {
        let url = url_of(" https://r.example.com/ ").unwrap().unwrap();
        assert_eq!(url.as_str(), "https://r.example.com");
        assert!(url_of("").unwrap().is_none());
        let wrong = url_of("https://r.example.com/v1").unwrap_err();
        assert_eq!(wrong.exit(), Exit::Usage);
    }
}
