//! The admin API, with its credential and its retries.

mod call;
mod catalog;
mod documentation;
mod mcp;

use serde::de::DeserializeOwned;
use terrace_base::secret::Secret;
use terrace_core::api::admin::{
    AuditPage, FactsAnswer, MirroredBody, PresentedToken, RemovedRule, RuleAnswer, RuleBody,
    RuleList, SigningKeysAnswer, SigningKeysDocument, StatusBody, StoredAnswer,
};
use terrace_core::api::endpoint::{
    API_TOKEN, AUDIT, FACTS, MIRRORED_RELEASE, RULE, RULES, SIGNING_KEYS, STATUS, STORED_ARCHIVES,
    VERSION_STATUS,
};
use terrace_core::http::idempotency_key::IDEMPOTENCY_KEY;
use terrace_core::model::address::MirroredAddress;
use terrace_core::model::name::Namespace;
use terrace_core::model::package::Package;
use terrace_core::model::rule_id::RuleId;
use terrace_core::model::status::StatusDocument;
use terrace_core::model::version::Version;
use terrace_openpgp::{SigningKey, parse_signing_keys};
use ureq::http::{Method, Request};

pub(crate) use call::Call;
pub(crate) use catalog::{Answer, PageQuery};
pub(crate) use documentation::Condition;

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

    /// Returns the place that the token comes from.
    pub(crate) fn token_place(&self) -> String {
        self.tokens.place()
    }

    /// Returns the stored packages of a version of another registry's provider, if the version is stored.
    pub(crate) fn mirrored(
        &self,
        address: &MirroredAddress,
        version: &Version,
    ) -> Result<Option<MirroredBody>, Failure> {
        let package = Package::Mirrored(address.clone());
        self.find(Call::get(&MIRRORED_RELEASE).of_version(&package, version))
    }

    pub(crate) fn keys(&self, namespace: &Namespace) -> Result<SigningKeysDocument, Failure> {
        self.call(Call::get(&SIGNING_KEYS).with(namespace))
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
            let call = Call::put(&SIGNING_KEYS).with(namespace);
            let call = call.query("after", after.as_deref());
            let answer: SigningKeysAnswer =
                self.call(call.text(armored, "application/pgp-keys"))?;
            match answer.next {
                Some(next) if after.as_ref() != Some(&next) => after = Some(next),
                _ => return Ok(answer.document),
            }
        }
    }

    /// Sets the status of a package or of a version. Returns all statuses of the package.
    pub(crate) fn set_status(
        &self,
        package: &Package,
        version: Option<&Version>,
        body: &StatusBody,
    ) -> Result<StatusDocument, Failure> {
        let call = match version {
            Some(version) => Call::put(&VERSION_STATUS).of_version(package, version),
            None => Call::put(&STATUS).of(package),
        };
        self.call(call.json(body)?)
    }

    /// Returns the statuses of a package and of its versions.
    pub(crate) fn statuses(&self, package: &Package) -> Result<StatusDocument, Failure> {
        self.call(Call::get(&STATUS).of(package))
    }

    /// Returns a page of the audit log: entries after a number and since a time.
    pub(crate) fn audit(&self, after: u64, since: u64) -> Result<AuditPage, Failure> {
        let call = Call::get(&AUDIT).query("after", Some(after));
        self.call(call.query("since", Some(since)))
    }

    /// Returns a page of the documents with a key prefix: those after a key.
    pub(crate) fn facts(&self, prefix: &str, after: Option<&str>) -> Result<FactsAnswer, Failure> {
        let call = Call::get(&FACTS).query("prefix", Some(prefix));
        self.call(call.query("after", after))
    }

    /// Returns a page of the stored bytes: those after a key.
    pub(crate) fn archives(
        &self,
        after: Option<&str>,
        with_urls: bool,
    ) -> Result<StoredAnswer, Failure> {
        let call = Call::get(&STORED_ARCHIVES).query("urls", Some(with_urls));
        self.call(call.query("after", after))
    }

    /// Returns the rules that the token may manage.
    pub(crate) fn rules(&self) -> Result<Vec<RuleAnswer>, Failure> {
        let list: RuleList = self.call(Call::get(&RULES))?;
        Ok(list.rules)
    }

    pub(crate) fn add_rule(&self, body: &RuleBody) -> Result<RuleAnswer, Failure> {
        self.call(Call::post(&RULES).json(body)?)
    }

    pub(crate) fn remove_rule(&self, id: RuleId) -> Result<RemovedRule, Failure> {
        self.call(Call::delete(&RULE).with(id))
    }

    /// Returns the token that is sent, as the registry describes it.
    pub(crate) fn presented_token(&self) -> Result<PresentedToken, Failure> {
        self.call(Call::get(&API_TOKEN))
    }

    /// Revokes the token that is sent.
    pub(crate) fn revoke_own_token(&self) -> Result<(), Failure> {
        self.call::<PresentedToken>(Call::delete(&API_TOKEN))
            .map(drop)
    }

    /// Sends a request, and parses the JSON of a successful response.
    pub(crate) fn call<T: DeserializeOwned>(&self, call: Call) -> Result<T, Failure> {
        self.read(self.send(&call)?)
    }

    /// Returns the document at a path, if there is one.
    pub(crate) fn find<T: DeserializeOwned>(&self, call: Call) -> Result<Option<T>, Failure> {
        let answer = self.send(&call)?;
        match answer.status {
            404 => Ok(None),
            _ => self.read(answer).map(Some),
        }
    }

    /// Removes something that exists.
    pub(crate) fn remove(&self, call: Call) -> Result<(), Failure> {
        let answer = self.send(&call)?;
        // An earlier attempt, with a lost response, may have removed it.
        if answer.is_success() || answer.status == 404 {
            Ok(())
        } else {
            Err(self.failure(answer))
        }
    }

    fn read<T: DeserializeOwned>(&self, answer: Response) -> Result<T, Failure> {
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

    /// Sends a request. A POST has an idempotency key, so that its retries create one resource only.
    fn send(&self, call: &Call) -> Result<Response, Failure> {
        let is_post = call.method == Method::POST;
        let key = is_post.then(random::text).transpose()?;
        self.send_with_key(call, key.as_deref())
    }

    /// Sends a request with the current token. If a token that was issued to a job has expired since, a new one is requested,
    /// once.
    fn send_with_key(&self, call: &Call, key: Option<&str>) -> Result<Response, Failure> {
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
        call: &Call,
        key: Option<&str>,
    ) -> Result<Response, Failure> {
        let answer = self.http.until_answered(self.url(), || {
            let mut request = Request::builder().method(&call.method).uri(format!(
                "{}{}",
                self.url.origin(),
                call.path
            ));
            if let Some(token) = token {
                request = request.header("authorization", format!("Bearer {}", token.expose()));
            }
            if let Some(key) = key {
                request = request.header(IDEMPOTENCY_KEY, key);
            }
            for (name, value) in &call.headers {
                request = request.header(*name, value);
            }
            Response::read(match &call.body {
                Some((text, media_type)) => {
                    let request = request.header("content-type", *media_type).body(text)?;
                    self.http.agent().run(request)?
                }
                None => self.http.agent().run(request.body(())?)?,
            })
        })?;
        let (method, url, path, status) = (&call.method, &self.url, &call.path, answer.status);
        self.http
            .output()
            .detail(&format!("{method} {url}{path}: status {status}"));
        Ok(answer)
    }

    /// Returns the failure that an unsuccessful response means.
    fn failure(&self, answer: Response) -> Failure {
        match answer.status {
            status @ (401 | 403) => {
                let joined = answer.reasons(self.url()).join("; ");
                Failure::NotAllowed(self.tokens.refused(status == 403, &joined))
            }
            _ => answer.into_failure(self.url()),
        }
    }
}
