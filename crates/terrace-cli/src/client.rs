//! The admin API, with its credential and its retries.

mod operations;

use std::thread;
use std::time::Duration;

use terrace_base::percent::encode;
use terrace_base::secret::Secret;
use terrace_core::api::admin::{
    AuditPage, KeyChangeAnswer, MirroredBody, PublishAnswer, RevokedToken, RotationBody,
    SigningKeysDocument, StandingBody, TokenAnswer, TokenBody, TokenPage,
};
use terrace_core::model::address::MirroredAddress;
use terrace_core::model::name::Namespace;
use terrace_core::model::status::Standings;
use terrace_core::model::token_id::TokenId;
use terrace_core::model::version::Version;
use terrace_openpgp::KeyId;
use ureq::Agent;
use ureq::http::{Method, Request, Uri};

use crate::answer::Answer;
use crate::args::RegistryArguments;
use crate::credential::Credential;
use crate::error::Failure;
use crate::http;
use crate::output::Output;
use crate::retry::Retries;

/// A registry, and the right to change it.
pub(crate) struct Client<'a> {
    agent: Agent,
    url: String,
    credential: Credential,
    retries: u32,
    /// Whether tokens may be sent over plain HTTP.
    insecure: bool,
    output: &'a Output,
}

/// What to ask of the registry.
struct Call<'a> {
    method: Method,
    path: String,
    /// Text and its media type.
    body: Option<(&'a str, &'static str)>,
}

impl<'a> Client<'a> {
    pub(crate) fn new(arguments: &RegistryArguments, output: &'a Output) -> Result<Self, Failure> {
        let url = registry_url(arguments)?.ok_or_else(|| {
            Failure::Usage("which registry? Set TERRACE_URL, or give --url".to_owned())
        })?;
        let client = Self {
            agent: http::agent(&url)?,
            url,
            credential: Credential::find(given(&arguments.token))?,
            retries: arguments.retries,
            insecure: arguments.insecure,
            output,
        };
        client.check_transport(&client.url, "the token")?;
        Ok(client)
    }

    /// Checks that nobody can read a secret on its way to a URL, or that this is allowed.
    ///
    /// # Errors
    /// The URL, and the flag that allows it.
    pub(crate) fn check_transport(&self, url: &str, secret: &str) -> Result<(), Failure> {
        if !is_in_the_clear(url) {
            return Ok(());
        }
        let place = url.split('?').next().unwrap_or_default();
        if !self.insecure {
            return Err(Failure::Usage(format!(
                "{place} is plain HTTP to another machine, so others could read {secret} on the way, and nothing \
                 was sent: use https://, or allow it with --insecure (TERRACE_INSECURE=1)"
            )));
        }
        self.output.warning(&format!(
            "{secret} is sent to {place} in the clear, as --insecure allows: others can read it on the way"
        ));
        Ok(())
    }

    /// The same where both the registry and the token are given, for what works without, too.
    pub(crate) fn if_given(
        arguments: &RegistryArguments,
        output: &'a Output,
    ) -> Result<Option<Self>, Failure> {
        if given(&arguments.url).is_none() || given(&arguments.token).is_none() {
            return Ok(None);
        }
        Self::new(arguments, output).map(Some)
    }

    /// Where the registry is.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// The client that archives are sent with. It knows no token.
    pub(crate) fn agent(&self) -> &Agent {
        &self.agent
    }

    /// How often something is tried again.
    pub(crate) fn retries(&self) -> u32 {
        self.retries
    }

    /// Sends the description of a release.
    pub(crate) fn publish(&self, path: &str, body: &str) -> Result<PublishAnswer, Failure> {
        self.ask(Call {
            method: Method::PUT,
            path: path.to_owned(),
            body: Some((body, "application/json")),
        })
    }

    /// What is stored of a version of another registry's provider, if anything is.
    pub(crate) fn mirrored(
        &self,
        address: &MirroredAddress,
        version: &Version,
    ) -> Result<Option<MirroredBody>, Failure> {
        let answer = self.send(&Call {
            method: Method::GET,
            path: format!("/admin/v1/mirror/{address}/{version}"),
            body: None,
        })?;
        match answer.status {
            404 => Ok(None),
            _ => self.read(answer).map(Some),
        }
    }

    pub(crate) fn keys(&self, namespace: &Namespace) -> Result<SigningKeysDocument, Failure> {
        self.ask(Call {
            method: Method::GET,
            path: keys_path(namespace),
            body: None,
        })
    }

    pub(crate) fn add_keys(
        &self,
        namespace: &Namespace,
        armored: &str,
    ) -> Result<SigningKeysDocument, Failure> {
        self.ask(Call {
            method: Method::PUT,
            path: keys_path(namespace),
            body: Some((armored, "application/pgp-keys")),
        })
    }

    /// Says something of a key; some of what follows is done then.
    pub(crate) fn say_of_key(
        &self,
        namespace: &Namespace,
        key_id: KeyId,
        body: &StandingBody,
        behind: Option<&str>,
    ) -> Result<KeyChangeAnswer, Failure> {
        let text = serde_json::to_string(body);
        let text = text.map_err(|error| Failure::Unexpected(error.to_string()))?;
        let query = behind.map(|name| format!("?behind={}", encode(name)));
        self.ask(Call {
            method: Method::PUT,
            path: format!(
                "{}/{key_id}{}",
                keys_path(namespace),
                query.unwrap_or_default()
            ),
            body: Some((&text, "application/json")),
        })
    }

    /// Removes a key that is there.
    pub(crate) fn remove_key(&self, namespace: &Namespace, key_id: KeyId) -> Result<(), Failure> {
        let answer = self.send(&Call {
            method: Method::DELETE,
            path: format!("{}/{key_id}", keys_path(namespace)),
            body: None,
        })?;
        // A try whose answer was lost may have removed it.
        if answer.is_success() || answer.status == 404 {
            Ok(())
        } else {
            Err(self.failure(answer))
        }
    }

    /// Says something of a package or a version; all that is said of the package then.
    pub(crate) fn say(&self, path: &str, body: &StandingBody) -> Result<Standings, Failure> {
        let text = serde_json::to_string(body);
        let text = text.map_err(|error| Failure::Unexpected(error.to_string()))?;
        self.ask(Call {
            method: Method::PUT,
            path: path.to_owned(),
            body: Some((&text, "application/json")),
        })
    }

    /// All that is said of a package.
    pub(crate) fn standings(&self, path: &str) -> Result<Standings, Failure> {
        self.ask(Call {
            method: Method::GET,
            path: path.to_owned(),
            body: None,
        })
    }

    /// Some entries of the audit log: those behind this number, from this time on.
    pub(crate) fn audit(&self, behind: u64, since: u64) -> Result<AuditPage, Failure> {
        self.ask(Call {
            method: Method::GET,
            path: format!("/admin/v1/audit?behind={behind}&since={since}"),
            body: None,
        })
    }

    pub(crate) fn create_token(&self, body: &TokenBody) -> Result<TokenAnswer, Failure> {
        self.post(TOKENS.to_owned(), body)
    }

    pub(crate) fn rotate_token(
        &self,
        id: TokenId,
        body: &RotationBody,
    ) -> Result<TokenAnswer, Failure> {
        self.post(format!("{TOKENS}/{id}/rotation"), body)
    }

    /// Some of the tokens, those behind this id.
    pub(crate) fn tokens(&self, behind: Option<&str>) -> Result<TokenPage, Failure> {
        let query = behind.map(|id| format!("?behind={}", encode(id)));
        self.ask(Call {
            method: Method::GET,
            path: format!("{TOKENS}{}", query.unwrap_or_default()),
            body: None,
        })
    }

    /// Revokes a token; tells whether one with this id is known.
    pub(crate) fn revoke_token(&self, id: TokenId) -> Result<bool, Failure> {
        let revoked: RevokedToken = self.ask(Call {
            method: Method::DELETE,
            path: format!("{TOKENS}/{id}"),
            body: None,
        })?;
        Ok(revoked.known)
    }

    fn post<T: serde::de::DeserializeOwned>(
        &self,
        path: String,
        body: &impl serde::Serialize,
    ) -> Result<T, Failure> {
        let text = serde_json::to_string(body);
        let text = text.map_err(|error| Failure::Unexpected(error.to_string()))?;
        self.ask(Call {
            method: Method::POST,
            path,
            body: Some((&text, "application/json")),
        })
    }

    /// Asks, and reads the JSON of a success.
    fn ask<T: serde::de::DeserializeOwned>(&self, call: Call<'_>) -> Result<T, Failure> {
        self.read(self.send(&call)?)
    }

    fn read<T: serde::de::DeserializeOwned>(&self, answer: Answer) -> Result<T, Failure> {
        if !answer.is_success() {
            return Err(self.failure(answer));
        }
        serde_json::from_str(&answer.text).map_err(|error| {
            Failure::Unexpected(format!(
                "{} answered with status {} and what is not understood ({error}): is it a Terrace \
                 registry, and is this terrace of about its age?",
                self.url, answer.status
            ))
        })
    }

    /// Sends with the token that is at hand. What was given to a job may have expired since: then it
    /// gets another one, once.
    fn send(&self, call: &Call<'_>) -> Result<Answer, Failure> {
        let token = self.credential.token(self)?;
        let send = |token: &Secret| self.until_answered(&self.url, || self.send_once(call, token));
        let answer = send(&token)?;
        if answer.status == 401 && self.credential.renew(&token) {
            return send(&self.credential.token(self)?);
        }
        Ok(answer)
    }

    /// Tries until there is an answer that will not change by itself.
    pub(crate) fn until_answered(
        &self,
        whom: &str,
        ask: impl Fn() -> Result<Answer, ureq::Error>,
    ) -> Result<Answer, Failure> {
        let mut retries = Retries::new(self.retries);
        loop {
            let (failure, asked) = match ask() {
                Ok(answer) if http::is_passing(answer.status) => {
                    let asked = answer.retry_after;
                    (answer.into_failure(whom), asked)
                }
                Ok(answer) => return Ok(answer),
                Err(error) => {
                    let told = http::describe(&error);
                    let failure = Failure::Unavailable(format!("{whom} cannot be reached: {told}"));
                    if !http::may_pass(&error) {
                        return Err(failure);
                    }
                    (failure, None)
                }
            };
            match retries.next(asked) {
                Some(pause) => self.wait(&failure, pause),
                None => return Err(failure),
            }
        }
    }

    fn send_once(&self, call: &Call<'_>, token: &Secret) -> Result<Answer, ureq::Error> {
        let request = Request::builder()
            .method(&call.method)
            .uri(format!("{}{}", self.url, call.path))
            .header("accept", "application/json")
            .header("authorization", format!("Bearer {}", token.expose()));
        Answer::read(match call.body {
            Some((text, media_type)) => {
                let request = request.header("content-type", media_type).body(text)?;
                self.agent.run(request)?
            }
            None => self.agent.run(request.body(())?)?,
        })
    }

    /// What an answer means that is no success.
    fn failure(&self, answer: Answer) -> Failure {
        match answer.status {
            401 | 403 => {
                let (joined, what) = (answer.reasons(&self.url).join("; "), &self.credential);
                Failure::NotAllowed(format!("the registry refuses the token: {joined}. {what}"))
            }
            _ => answer.into_failure(&self.url),
        }
    }

    /// Says why there is a pause, and makes it.
    pub(crate) fn wait(&self, failure: &Failure, pause: Duration) {
        let reasons = failure.reasons().join("; ");
        let seconds = pause.as_secs_f64();
        self.output
            .progress(&format!("{reasons}; trying again in {seconds:.1} s"));
        thread::sleep(pause);
    }
}

/// The registry's address without a slash at its end, if one is given.
pub(crate) fn registry_url(arguments: &RegistryArguments) -> Result<Option<String>, Failure> {
    let Some(text) = given(&arguments.url) else {
        return Ok(None);
    };
    // The text is not repeated: it may hold a password or a token.
    let usage = || {
        Failure::Usage(
            "the registry's URL (--url or TERRACE_URL) must be a scheme and a host, with a port if \
             need be and nothing else: write it as https://registry.example.com"
                .to_owned(),
        )
    };
    let uri: Uri = text.parse().map_err(|_| usage())?;
    let scheme = uri.scheme_str().filter(|s| matches!(*s, "http" | "https"));
    let plain = matches!(uri.path(), "" | "/") && uri.query().is_none();
    match (scheme, uri.authority()) {
        (Some(scheme), Some(authority)) if plain && !authority.as_str().contains('@') => {
            Ok(Some(format!("{scheme}://{authority}")))
        }
        _ => Err(usage()),
    }
}

/// An argument that is more than white space; CI systems set missing variables to nothing.
fn given(argument: &Option<String>) -> Option<&str> {
    let text = argument.as_deref()?.trim();
    (!text.is_empty()).then_some(text)
}

/// Whether others could read along on the way to this address: it is plain HTTP to another machine.
fn is_in_the_clear(url: &str) -> bool {
    let uri: Uri = url.parse().unwrap_or_default();
    uri.scheme_str() == Some("http") && !http::is_loopback(url)
}

const TOKENS: &str = "/admin/v1/tokens";

fn keys_path(namespace: &Namespace) -> String {
    format!("/admin/v1/namespaces/{namespace}/keys")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url_of(text: &str) -> Result<Option<String>, Failure> {
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
            assert_eq!(url_of(given).unwrap().as_deref(), Some(meant));
        }
        assert!(url_of("").unwrap().is_none());
        for wrong in [
            "r.example.com",
            "ftp://r.example.com",
            "https://",
            "https://user:secret@r.example.com",
            "https://r.example.com/v1",
            "https://r.example.com/?a=b",
        ] {
            assert_eq!(url_of(wrong).unwrap_err().exit_code(), 2, "{wrong:?}");
        }
    }

    #[test]
    fn only_http_to_another_machine_is_in_the_clear() {
        for open in [
            "http://registry.example.com",
            "http://127.0.0.1.example.com",
            "http://127.example.com:8787",
            "http://localhost.example.com",
            "http://10.0.0.5",
            "http://[::2]:8787",
            "http://0.0.0.0",
            "HTTP://registry.example.com",
        ] {
            assert!(is_in_the_clear(open), "{open}");
        }
        for safe in [
            "https://registry.example.com",
            "http://127.0.0.1:8787",
            "http://127.0.0.2",
            "http://localhost:8787",
            "http://LOCALHOST",
            "http://[::1]:8787",
        ] {
            assert!(!is_in_the_clear(safe), "{safe}");
        }
    }
}
