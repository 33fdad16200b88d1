//! The admin API, with its credential and its retries.

mod catalog;
mod documentation;
mod mcp;
mod operations;
mod rules;
mod webhooks;

use terrace_base::percent::encode;
use terrace_base::secret::Secret;
use terrace_core::api::admin::{
    AuditPage, KeyChangeAnswer, MirroredBody, PresentedToken, PublishAnswer, RevokedToken,
    RotationBody, SigningKeysAnswer, SigningKeysDocument, StatusBody, TokenAnswer, TokenBody,
    TokenPage,
};
use terrace_core::http::idempotency_key::IDEMPOTENCY_KEY;
use terrace_core::model::address::MirroredAddress;
use terrace_core::model::name::Namespace;
use terrace_core::model::package::Package;
use terrace_core::model::status::StatusDocument;
use terrace_core::model::token_id::TokenId;
use terrace_core::model::version::Version;
use terrace_openpgp::{KeyId, SigningKey, parse_signing_keys};
use ureq::http::{Method, Request};

pub(crate) use catalog::{Answer, PageQuery};
pub(crate) use documentation::Condition;
pub(crate) use mcp::McpHeaders;

use crate::error::Failure;
use crate::http::{BaseUrl, Http, Response};
use crate::random;
use crate::registry::token_source::TokenSource;

/// A registry, and the credential for it.
pub(crate) struct Client<'a> {
    url: BaseUrl,
    tokens: TokenSource,
    http: Http<'a>,
}

/// A request to the registry.
struct Call<'a> {
    method: Method,
    path: String,
    /// The text and its media type.
    body: Option<(&'a str, &'static str)>,
}

impl<'a> Client<'a> {
    /// Creates a client, after a check that the token may be sent to this URL.
    pub(crate) fn new(url: BaseUrl, tokens: TokenSource, http: Http<'a>) -> Result<Self, Failure> {
        if !matches!(tokens, TokenSource::Anonymous) {
            http.check_transport(url.url(), url.as_str(), "the token")?;
        }
        Ok(Self { url, tokens, http })
    }

    /// Returns the URL of the registry.
    pub(crate) fn url(&self) -> &str {
        self.url.as_str()
    }

    /// Returns the hostname of the registry, with the port unless it is that of the scheme.
    pub(crate) fn host(&self) -> String {
        self.url.authority()
    }

    /// Returns the connection that archives are sent over. It sends no token.
    pub(crate) fn http(&self) -> &Http<'a> {
        &self.http
    }

    /// Sends the description of a release.
    pub(crate) fn publish(&self, path: &str, body: &str) -> Result<PublishAnswer, Failure> {
        self.ask(Call {
            method: Method::PUT,
            path: path.to_owned(),
            body: Some((body, "application/json")),
        })
    }

    /// Returns the stored packages of a version of another registry's provider, if the version is stored.
    pub(crate) fn mirrored(
        &self,
        address: &MirroredAddress,
        version: &Version,
    ) -> Result<Option<MirroredBody>, Failure> {
        self.find(format!("/admin/v1/mirror/{address}/{version}"))
    }

    pub(crate) fn keys(&self, namespace: &Namespace) -> Result<SigningKeysDocument, Failure> {
        self.ask(Call {
            method: Method::GET,
            path: keys_path(namespace),
            body: None,
        })
    }

    /// Returns the keys of a namespace, parsed to verify signatures with.
    pub(crate) fn signing_keys(&self, namespace: &Namespace) -> Result<Vec<SigningKey>, Failure> {
        let mut keys = Vec::new();
        for key in self.keys(namespace)?.keys {
            let parsed = parse_signing_keys(&key.ascii_armor).map_err(|error| {
                Failure::Unexpected(format!(
                    "key {} of namespace {namespace}: {error}",
                    key.key_id
                ))
            })?;
            keys.extend(parsed);
        }
        Ok(keys)
    }

    /// Adds keys. The registry updates some of the releases with older copies of them in each request.
    pub(crate) fn add_keys(
        &self,
        namespace: &Namespace,
        armored: &str,
    ) -> Result<SigningKeysDocument, Failure> {
        let mut after: Option<String> = None;
        loop {
            let query = after
                .as_deref()
                .map(|name| format!("?after={}", encode(name)));
            let answer: SigningKeysAnswer = self.ask(Call {
                method: Method::PUT,
                path: format!("{}{}", keys_path(namespace), query.unwrap_or_default()),
                body: Some((armored, "application/pgp-keys")),
            })?;
            match answer.next {
                Some(next) if after.as_ref() != Some(&next) => after = Some(next),
                _ => return Ok(answer.document),
            }
        }
    }

    /// Sets the status of a key. The registry updates some of the affected releases in each request.
    pub(crate) fn set_key_status(
        &self,
        namespace: &Namespace,
        key_id: KeyId,
        body: &StatusBody,
        after: Option<&str>,
    ) -> Result<KeyChangeAnswer, Failure> {
        let text = json_text(body)?;
        let query = after.map(|name| format!("?after={}", encode(name)));
        self.ask_about(Call {
            method: Method::PUT,
            path: format!(
                "{}/{key_id}{}",
                keys_path(namespace),
                query.unwrap_or_default()
            ),
            body: Some((&text, "application/json")),
        })
    }

    /// Removes a key that exists.
    pub(crate) fn remove_key(&self, namespace: &Namespace, key_id: KeyId) -> Result<(), Failure> {
        self.remove(format!("{}/{key_id}", keys_path(namespace)))
    }

    /// Sets the status of a package or of a version. Returns all statuses of the package.
    pub(crate) fn set_status(
        &self,
        package: &Package,
        version: Option<&Version>,
        body: &StatusBody,
    ) -> Result<StatusDocument, Failure> {
        let text = json_text(body)?;
        self.ask_about(Call {
            method: Method::PUT,
            path: status_path(package, version),
            body: Some((&text, "application/json")),
        })
    }

    /// Returns the statuses of a package and of its versions.
    pub(crate) fn statuses(&self, package: &Package) -> Result<StatusDocument, Failure> {
        self.ask(Call {
            method: Method::GET,
            path: status_path(package, None),
            body: None,
        })
    }

    /// Returns a page of the audit log: entries after a number and since a time.
    pub(crate) fn audit(&self, after: u64, since: u64) -> Result<AuditPage, Failure> {
        self.ask(Call {
            method: Method::GET,
            path: format!("/admin/v1/audit?after={after}&since={since}"),
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
        let text = json_text(body)?;
        self.ask_about(Call {
            method: Method::POST,
            path: format!("{TOKENS}/{id}/rotation"),
            body: Some((&text, "application/json")),
        })
    }

    /// Returns a page of the tokens: those after an ID.
    pub(crate) fn tokens(&self, after: Option<&str>) -> Result<TokenPage, Failure> {
        let query = after.map(|id| format!("?after={}", encode(id)));
        self.ask(Call {
            method: Method::GET,
            path: format!("{TOKENS}{}", query.unwrap_or_default()),
            body: None,
        })
    }

    /// Revokes a token. Returns whether the registry knows a token with this ID.
    pub(crate) fn revoke_token(&self, id: TokenId) -> Result<bool, Failure> {
        let revoked: RevokedToken = self.ask(Call {
            method: Method::DELETE,
            path: format!("{TOKENS}/{id}"),
            body: None,
        })?;
        Ok(revoked.known)
    }

    /// Returns the token that is sent, as the registry describes it.
    pub(crate) fn presented_token(&self) -> Result<PresentedToken, Failure> {
        self.ask_of_own_token(Method::GET)
    }

    /// Revokes the token that is sent.
    pub(crate) fn revoke_own_token(&self) -> Result<(), Failure> {
        self.ask_of_own_token(Method::DELETE).map(drop)
    }

    fn ask_of_own_token(&self, method: Method) -> Result<PresentedToken, Failure> {
        let path = OWN_TOKEN.to_owned();
        let body = None;
        let answer = self.send(&Call { method, path, body })?;
        match answer.status {
            404 | 405 => Err(Failure::Missing(format!(
                "{} has no route for the token of a request: is it a Terrace registry, of this version or newer?",
                self.url
            ))),
            _ => self.read(answer),
        }
    }

    /// Returns the place that the token comes from.
    pub(crate) fn token_place(&self) -> String {
        self.tokens.place()
    }

    fn post<T: serde::de::DeserializeOwned>(
        &self,
        path: String,
        body: &impl serde::Serialize,
    ) -> Result<T, Failure> {
        let text = json_text(body)?;
        self.ask(Call {
            method: Method::POST,
            path,
            body: Some((&text, "application/json")),
        })
    }

    /// Returns the document at a path, if there is one.
    fn find<T: serde::de::DeserializeOwned>(&self, path: String) -> Result<Option<T>, Failure> {
        let answer = self.send(&Call {
            method: Method::GET,
            path,
            body: None,
        })?;
        match answer.status {
            404 => Ok(None),
            _ => self.read(answer).map(Some),
        }
    }

    /// Removes something that exists.
    fn remove(&self, path: String) -> Result<(), Failure> {
        let answer = self.send(&Call {
            method: Method::DELETE,
            path,
            body: None,
        })?;
        // An earlier attempt, with a lost response, may have removed it.
        if answer.is_success() || answer.status == 404 {
            Ok(())
        } else {
            Err(self.failure(answer))
        }
    }

    /// Sends a request, and parses the JSON of a successful response.
    fn ask<T: serde::de::DeserializeOwned>(&self, call: Call<'_>) -> Result<T, Failure> {
        self.read(self.send(&call)?)
    }

    /// Does the same for a request about something that may not exist.
    fn ask_about<T: serde::de::DeserializeOwned>(&self, call: Call<'_>) -> Result<T, Failure> {
        let answer = self.send(&call)?;
        match answer.missing() {
            Some(message) => Err(Failure::Missing(format!(
                "not found at {}: {message}",
                self.url
            ))),
            None => self.read(answer),
        }
    }

    fn read<T: serde::de::DeserializeOwned>(&self, answer: Response) -> Result<T, Failure> {
        if !answer.is_success() {
            return Err(self.failure(answer));
        }
        serde_json::from_str(&answer.text).map_err(|error| {
            Failure::Unexpected(format!(
                "{} responded with status {} and a malformed body ({error}): is it a Terrace registry, and does \
                 its version match that of this program?",
                self.url, answer.status
            ))
        })
    }

    /// Sends a request with the current token. If a token that was issued to a job has expired since, a new
    /// one is requested, once.
    ///
    /// A POST has an idempotency key, so that its retries create one resource only.
    fn send(&self, call: &Call<'_>) -> Result<Response, Failure> {
        let is_post = call.method == Method::POST;
        let key = is_post.then(random::text).transpose()?;
        let key = key.as_deref();
        let token = self.tokens.token(&self.url, &self.http)?;
        let answer = self.send_as(token.as_ref(), call, key)?;
        match token {
            Some(token) if answer.status == 401 && self.tokens.renew(&token) => {
                let token = self.tokens.token(&self.url, &self.http)?;
                self.send_as(token.as_ref(), call, key)
            }
            _ => Ok(answer),
        }
    }

    fn send_as(
        &self,
        token: Option<&Secret>,
        call: &Call<'_>,
        key: Option<&str>,
    ) -> Result<Response, Failure> {
        let send = || self.send_once(call, token, key);
        let answer = self.http.until_answered(self.url(), send)?;
        let Call { method, path, .. } = call;
        let status = answer.status;
        self.http
            .detail(&format!("{method} {}{path}: status {status}", self.url));
        Ok(answer)
    }

    fn send_once(
        &self,
        call: &Call<'_>,
        token: Option<&Secret>,
        key: Option<&str>,
    ) -> Result<Response, ureq::Error> {
        let mut request = Request::builder()
            .method(&call.method)
            .uri(format!("{}{}", self.url.origin(), call.path))
            .header("accept", "application/json");
        if let Some(token) = token {
            request = request.header("authorization", format!("Bearer {}", token.expose()));
        }
        if let Some(key) = key {
            request = request.header(IDEMPOTENCY_KEY, key);
        }
        Response::read(match call.body {
            Some((text, media_type)) => {
                let request = request.header("content-type", media_type).body(text)?;
                self.http.agent().run(request)?
            }
            None => self.http.agent().run(request.body(())?)?,
        })
    }

    /// Returns the failure that an unsuccessful response means.
    fn failure(&self, answer: Response) -> Failure {
        match answer.status {
            status @ (401 | 403) => {
                let joined = answer.reasons(self.url()).join("; ");
                Failure::NotAllowed(match status {
                    401 => self.tokens.rejected(&joined),
                    _ => self.tokens.not_allowed(&joined),
                })
            }
            _ => answer.into_failure(self.url()),
        }
    }
}

const OWN_TOKEN: &str = "/api/v1/token";

const TOKENS: &str = "/admin/v1/tokens";

fn keys_path(namespace: &Namespace) -> String {
    format!("/admin/v1/namespaces/{namespace}/keys")
}

fn status_path(package: &Package, version: Option<&Version>) -> String {
    let version = version.map(|version| format!("/{version}"));
    format!(
        "/admin/v1/{}{}/status",
        package_segments(package),
        version.unwrap_or_default()
    )
}

/// Returns the segments that name a package in the paths of the registry's own APIs.
fn package_segments(package: &Package) -> String {
    let kind = match package {
        Package::Provider(_) => "providers",
        Package::Module(_) => "modules",
        Package::Mirrored(_) => "mirror",
    };
    format!("{kind}/{}", package.address())
}

fn json_text(body: &impl serde::Serialize) -> Result<String, Failure> {
    serde_json::to_string(body).map_err(|error| Failure::Unexpected(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_of_a_status_names_the_kind_of_its_package() {
        let provider = Package::Provider("acme/widget".parse().unwrap());
        let module = Package::Module("acme/vpc/aws".parse().unwrap());
        let mirrored = Package::Mirrored("a.example/acme/widget".parse().unwrap());
        let (one, other) = ("1.0.0".parse().unwrap(), "1.0.0-b".parse().unwrap());
        for (package, version, path) in [
            (&provider, None, "providers/acme/widget"),
            (&provider, Some(&one), "providers/acme/widget/1.0.0"),
            (&module, None, "modules/acme/vpc/aws"),
            (
                &mirrored,
                Some(&other),
                "mirror/a.example/acme/widget/1.0.0-b",
            ),
        ] {
            let path = format!("/admin/v1/{path}/status");
            assert_eq!(status_path(package, version), path);
        }
    }
}
