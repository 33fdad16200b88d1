//! The registry under examination, and the facts about it that several checks share. Each is found once, when the first
//! check needs it.

mod discovery;
mod facts;
mod sample;
mod token;
mod writes;

use std::collections::BTreeSet;
use std::sync::OnceLock;
use std::time::Duration;

use terrace_base::secret::Secret;
use terrace_base::time::UnixTime;
use terrace_core::api::admin::FailoverAnswer;
use terrace_core::model::address::{ModuleAddress, ProviderAddress};
use terrace_core::model::name::Hostname;
use terrace_core::upstream::origin::{Fetch, Fetched};
use url::Url;

pub(super) use discovery::{Discovery, NO_REDIRECT, services};
pub(super) use facts::Facts;
pub(super) use sample::{ModuleList, ModuleSample, PackageSample, ProviderSample, absolute};

use super::outcome::{Outcome, Status};
use crate::args::{DoctorArguments, RegistryArguments};
use crate::clock;
use crate::commands::connection::reader_token;
use crate::credentials::TokenHost;
use crate::error::Failure;
use crate::http::{Ask, BaseUrl, Http, Probe, ProbeError, Seen};
use crate::output::Output;
use crate::registry::token_source::TokenSource;
use crate::upstream::resolve::resolve;

/// A name that no registry has.
pub(super) const ABSENT: &str = "terrace-doctor-absent";

/// The name of a registry with a host that cannot be part of an address, such as an IP address.
const NAMELESS: &str = "registry.invalid";

/// The path of the discovery document.
pub(super) const DISCOVERY: &str = "/.well-known/terraform.json";

/// Something that could not be found out: the check that reports why, and its outcome.
#[derive(Debug, Clone)]
pub(super) struct Gap {
    id: &'static str,
    outcome: Outcome,
}

impl Gap {
    /// Creates a gap that the check with this ID reports.
    pub(super) fn new(id: &'static str, outcome: Outcome) -> Self {
        Self { id, outcome }
    }

    /// Returns whether one of these checks reports the gap.
    pub(super) fn is_of(&self, ids: &[&str]) -> bool {
        ids.contains(&self.id)
    }

    /// Returns the outcome of a check that needs the fact: a skip, unless it is the one that reports the gap.
    pub(super) fn outcome(&self, of: &str) -> Outcome {
        match self.outcome.status {
            _ if self.id == of => self.outcome.clone(),
            Status::Skip => self.outcome.clone(),
            _ => Outcome::skip_after(self.id),
        }
    }
}

/// A fact, or the reason why it is not known.
pub(super) type Known<T> = Result<T, Gap>;

/// The registry under examination.
pub(super) struct Target {
    url: BaseUrl,
    pub(super) probe: Probe,
    token: Option<Secret>,
    /// Why no token is sent, if none is.
    pub(super) tokenless: String,
    pub(super) timeout: Duration,
    pub(super) is_deep: bool,
    pub(super) now: UnixTime,
    pub(super) named_provider: Option<ProviderAddress>,
    pub(super) named_module: Option<ModuleAddress>,
    reached: OnceLock<Result<Seen, ProbeError>>,
    discovery: OnceLock<Known<Discovery>>,
    pub(super) provider: OnceLock<Known<ProviderSample>>,
    pub(super) package: OnceLock<Known<PackageSample>>,
    pub(super) module: OnceLock<Known<ModuleSample>>,
    pub(super) facts: OnceLock<Known<Facts>>,
    second_bucket: OnceLock<Option<FailoverAnswer>>,
    presented: OnceLock<token::Presented>,
    health: OnceLock<Result<Seen, ProbeError>>,
}

impl Target {
    /// Describes the registry that a command line names.
    pub(super) fn new(
        url: BaseUrl,
        arguments: &DoctorArguments,
        registry: &RegistryArguments,
        output: &Output,
    ) -> Result<Self, Failure> {
        let hosts = &arguments.archive_hosts.hosts;
        let probe = Probe::new(&url, hosts, arguments.timeout)?;
        let (token, tokenless) = token(&url, registry, output)?;
        Ok(Self {
            url,
            probe,
            token,
            tokenless,
            timeout: arguments.timeout,
            is_deep: arguments.deep,
            now: clock::now(),
            named_provider: arguments.provider.clone(),
            named_module: arguments.module.clone(),
            reached: OnceLock::new(),
            discovery: OnceLock::new(),
            provider: OnceLock::new(),
            package: OnceLock::new(),
            module: OnceLock::new(),
            facts: OnceLock::new(),
            second_bucket: OnceLock::new(),
            presented: OnceLock::new(),
            health: OnceLock::new(),
        })
    }

    /// Returns the URL as given.
    pub(super) fn url(&self) -> &str {
        self.url.as_str()
    }

    pub(super) fn base(&self) -> &BaseUrl {
        &self.url
    }

    pub(super) fn url_host(&self) -> &str {
        self.url.host()
    }

    pub(super) fn token_host(&self) -> TokenHost {
        TokenHost::of(&self.url)
    }

    pub(super) fn has_token(&self) -> bool {
        self.token.is_some()
    }

    /// Returns a hostname for the parsers of responses, which only repeat it. An IP address cannot be one.
    pub(super) fn any_hostname(&self) -> Option<Hostname> {
        let hostname = self.url.host().parse();
        hostname.or_else(|_| NAMELESS.parse()).ok()
    }

    /// Returns the hosts that the registry is known to use so far.
    pub(super) fn hosts(&self) -> Vec<String> {
        let mut hosts = vec![self.url_host().to_owned()];
        if let Ok(package) = self.package() {
            hosts.extend(package.archive_host());
        }
        hosts
    }

    /// Returns the absolute URL of a path.
    pub(super) fn at(&self, path: &str) -> String {
        format!("{}{path}", self.url.origin())
    }

    /// Returns a GET request for a path or an absolute URL, without the token.
    pub(super) fn get(&self, path: &str) -> Ask {
        match path.starts_with('/') {
            true => Ask::get(self.at(path)),
            false => Ask::get(path),
        }
    }

    /// Returns a GET request with the token, if there is one and the URL is the registry's own.
    pub(super) fn get_as_caller(&self, path: &str) -> Ask {
        let ask = self.get(path);
        let is_own = ask.url.starts_with(&format!("{}/", self.url.origin()));
        match self.token.as_ref().filter(|_| is_own) {
            Some(token) => ask.with("authorization", format!("Bearer {}", token.expose())),
            None => ask,
        }
    }

    /// Returns the response to a request of a protocol, as the core's parsers take it.
    pub(super) fn fetch(&self, fetch: &Fetch) -> Result<(Fetched, Seen), ProbeError> {
        let url = match &fetch.base {
            Some(base) => resolve(base, &fetch.reference),
            None => fetch.reference.clone(),
        };
        let ask = match fetch.with_token {
            true => self.get_as_caller(&url),
            false => self.get(&url),
        };
        let (seen, _) = self
            .probe
            .follow(&ask.most(fetch.max_bytes.saturating_add(1)))?;
        let fetched = Fetched {
            status: seen.status,
            final_url: seen.url.clone(),
            content_type: seen.header("content-type").map(str::to_owned),
            body: seen.body.clone(),
        };
        Ok((fetched, seen))
    }

    /// Returns the first response of the registry, to a request for the discovery document without a token.
    pub(super) fn reached(&self) -> &Result<Seen, ProbeError> {
        self.reached
            .get_or_init(|| self.probe.send_at_any_rate(&self.get(DISCOVERY)))
    }

    /// Returns the services of the registry.
    pub(super) fn discovery(&self) -> Result<&Discovery, &Gap> {
        self.discovery
            .get_or_init(|| discovery::find(self))
            .as_ref()
    }

    /// Returns whether the registry is a Terrace registry, which has more routes than the protocols define.
    pub(super) fn is_terrace(&self) -> bool {
        self.kind().unwrap_or(false)
    }

    /// Returns whether the registry is a Terrace registry, or why that is not known.
    fn kind(&self) -> Result<bool, &ProbeError> {
        let seen = self.health().as_ref()?;
        let body: Option<serde_json::Value> = serde_json::from_slice(&seen.body).ok();
        Ok(body.is_some_and(|it| it.get("kv").is_some() && it.get("r2").is_some()))
    }

    /// Returns the registry's statement about its storage, which K1 reports.
    pub(super) fn health(&self) -> &Result<Seen, ProbeError> {
        self.health
            .get_or_init(|| self.probe.send(&self.get("/healthz")))
    }

    /// Returns the outcome of a check when its request has a status of 500 and above: K1 reports a storage that does not
    /// answer.
    pub(super) fn outage(&self, seen: &Seen) -> Option<Outcome> {
        if seen.status < 500 {
            return None;
        }
        let is_unhealthy = self.health().as_ref().is_ok_and(|it| it.status != 200);
        Some(match is_unhealthy && self.is_terrace() {
            true => Outcome::skip_after("K1"),
            false => {
                let url = Url::parse(&seen.url).ok();
                let path = url.as_ref().map(Url::path).unwrap_or_default();
                Outcome::outage(seen.status, path)
            }
        })
    }

    /// Returns the reason why a check of Terrace's own routes is skipped, unless the registry is one.
    pub(super) fn skipped_elsewhere(&self) -> Option<Outcome> {
        match self.kind() {
            Ok(true) => None,
            Err(error @ ProbeError::Limited(_)) => Some(Outcome::skip(error)),
            Ok(false) | Err(_) => Some(Outcome::skip("not a Terrace registry")),
        }
    }

    /// Returns the names of the response headers that differ between two responses, apart from those that always do.
    pub(super) fn different_headers(one: &Seen, other: &Seen) -> Vec<String> {
        const VARYING: [&str; 6] = [
            "date",
            "age",
            "cf-ray",
            "content-length",
            "cf-cache-status",
            "report-to",
        ];
        let names = one.header_names().into_iter().chain(other.header_names());
        let names: BTreeSet<&str> = names.filter(|name| !VARYING.contains(name)).collect();
        let differs = |name: &&str| one.header(name) != other.header(name);
        names
            .into_iter()
            .filter(differs)
            .map(str::to_owned)
            .collect()
    }
}

/// Returns the token to send, or why none is. A CI job's identity is not exchanged, because the registry would record it.
fn token(
    url: &BaseUrl,
    registry: &RegistryArguments,
    output: &Output,
) -> Result<(Option<Secret>, String), Failure> {
    let source = reader_token(url, registry, output)?;
    let TokenSource::Token(token, _) = source else {
        return Ok((None, "no token is given".to_owned()));
    };
    let http = Http::new(url, 0, registry.insecure, output)?;
    match http.check_transport(url.url(), url.as_str(), "the token") {
        Ok(()) => Ok((Some(token.secret().clone()), String::new())),
        Err(_) => Ok((None, "no token is sent over plain HTTP".to_owned())),
    }
}
