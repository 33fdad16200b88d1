//! The client for the registry on the command line or in the environment.

use crate::args::RegistryArguments;
use crate::error::Failure;
use crate::http::{BaseUrl, BaseUrlError, Http};
use crate::output::Output;
use crate::registry::client::Client;
use crate::registry::token_source::TokenSource;

/// Returns a client of the registry.
pub(crate) fn connect<'a>(
    arguments: &RegistryArguments,
    output: &'a Output,
) -> Result<Client<'a>, Failure> {
    let url = registry_url(arguments)?.ok_or_else(|| {
        Failure::Usage(
            "no registry URL: set TERRACE_URL, or use --url; for the local registry of `npm start`, run `. .terrace/env`"
                .to_owned(),
        )
    })?;
    let http = Http::new(&url, arguments.retries, arguments.insecure, output)?;
    let tokens = TokenSource::find(given(&arguments.token))?;
    Client::new(url, tokens, http)
}

/// Returns a client if both the registry and the token are given, for commands that also work without one.
pub(crate) fn connect_if_given<'a>(
    arguments: &RegistryArguments,
    output: &'a Output,
) -> Result<Option<Client<'a>>, Failure> {
    if given(&arguments.url).is_none() || given(&arguments.token).is_none() {
        return Ok(None);
    }
    connect(arguments, output).map(Some)
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
            token: None,
            retries: 0,
            insecure: false,
        })
    }

    #[test]
    fn an_address_is_a_scheme_and_a_host() {
        for (given, meant) in [
            ("https://r.example.com", "https://r.example.com"),
            (" https://r.example.com/ ", "https://r.example.com"),
            ("http://127.0.0.1:8787", "http://127.0.0.1:8787"),
        ] {
            assert_eq!(url_of(given).unwrap().unwrap().as_str(), meant);
        }
        assert!(url_of("").unwrap().is_none());
        for wrong in [
            "r.example.com",
            "ftp://r.example.com",
            "https://",
            "https://user:secret@r.example.com",
            "https://r.example.com/v1",
            "https://r.example.com/?a=b",
            "https://:443",
            "https://]:[",
            "https://10.0.0.1:99999",
            "https://2001:db8::1",
        ] {
            assert_eq!(url_of(wrong).unwrap_err().exit(), Exit::Usage, "{wrong:?}");
        }
    }
}
