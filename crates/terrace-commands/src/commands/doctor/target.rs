//! The registry under examination, and the facts about it that several checks share. Each is found once, when the first
//! check needs it.

mod caller;
mod discovery;
mod sample;

use std::sync::OnceLock;
use std::time::Duration;

use terrace_base::secret::Secret;
use terrace_base::time::UnixTime;
use terrace_core::api::admin::{DoctorAnswer, FailoverAnswer};
use terrace_core::model::address::{ModuleAddress, ProviderAddress};
use terrace_core::model::name::Hostname;
use terrace_core::upstream::origin::{Fetch, Fetched};
use url::Url;

pub(super) use discovery::{Discovery, NO_REDIRECT};

use caller::Presented;
use sample::{ModuleSample, PackageSample, ProviderSample};

use super::finding::{Finding, Judged};
use crate::args::RegistryArguments;
use crate::clock;
use crate::commands::connection::reader_token;
use crate::commands::doctor::DoctorArguments;
use crate::error::Failure;
use crate::http::{Ask, BaseUrl, Http, Probe, ProbeError, Seen};
use crate::output::Output;
use crate::registry::token_source::TokenSource;
use crate::upstream::resolve;

/// A name that no registry has.
pub(super) const ABSENT: &str = "terrace-doctor-absent";

/// The name of a registry with a host that cannot be part of an address, such as an IP address.
const NAMELESS: &str = "registry.invalid";

/// The most bytes of the list of a package that does not exist.
pub(super) const LIST_BYTES: u64 = 64 * 1024;

/// The path of the discovery document.
pub(super) const DISCOVERY: &str = "/.well-known/terraform.json";

/// The path of the facts that the registry states about itself.
const FACTS: &str = "/admin/v1/doctor";

/// A fact, once it is known.
type Known<T> = OnceLock<Judged<T>>;

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
    discovery: Known<Discovery>,
    provider: Known<ProviderSample>,
    package: Known<PackageSample>,
    module: Known<ModuleSample>,
    facts: Known<DoctorAnswer>,
    second_bucket: OnceLock<Option<FailoverAnswer>>,
    presented: OnceLock<Presented>,
    health: OnceLock<Result<Seen, ProbeError>>,
}

/// Returns a fact, which is found when it is needed first. The check with this ID reports why it is not known.
fn known<'t, T>(
    fact: &'t Known<T>,
    id: &'static str,
    find: impl FnOnce() -> Judged<T>,
) -> Judged<&'t T> {
    let found = fact.get_or_init(|| find().map_err(|finding| finding.reported_by(id)));
    found.as_ref().map_err(Clone::clone)
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
    pub(super) fn base(&self) -> &BaseUrl {
        &self.url
    }

    pub(super) fn has_token(&self) -> bool {
        self.token.is_some()
    }

    /// Returns a hostname for the parsers of responses, which only repeat it. An IP address cannot be one.
    pub(super) fn any_hostname(&self) -> Judged<Hostname> {
        let hostname = self.url.host().parse().or_else(|_| NAMELESS.parse());
        hostname.map_err(|_| Finding::skip("the host cannot be part of an address"))
    }

    /// Returns the hosts that the registry is known to use so far.
    pub(super) fn hosts(&self) -> Vec<String> {
        let mut hosts = vec![self.url.host().to_owned()];
        if let Ok(package) = self.package() {
            let zip = Url::parse(&package.zip).ok();
            hosts.extend(zip.as_ref().and_then(Url::host_str).map(str::to_owned));
        }
        hosts
    }

    /// Returns whether a URL leads to the registry itself.
    pub(super) fn has(&self, url: &str) -> bool {
        let origin = Url::parse(url).map(|url| url.origin().ascii_serialization());
        origin.is_ok_and(|origin| origin == self.url.origin())
    }

    /// Returns a GET request for a path or an absolute URL, without the token.
    pub(super) fn get(&self, path: &str) -> Ask {
        match path.starts_with('/') {
            true => Ask::get(format!("{}{path}", self.url.origin())),
            false => Ask::get(path),
        }
    }

    /// Returns a GET request with the token, if there is one and the URL is the registry's own.
    pub(super) fn get_as_caller(&self, path: &str) -> Ask {
        let ask = self.get(path);
        match self.token.as_ref().filter(|_| self.has(&ask.url)) {
            Some(token) => ask.with("authorization", format!("Bearer {}", token.expose())),
            None => ask,
        }
    }

    /// Returns the response to a request of a protocol, as the core's parsers take it.
    pub(super) fn fetch(&self, fetch: &Fetch) -> Result<(Fetched, Seen), ProbeError> {
        let url = absolute(fetch);
        let ask = match fetch.with_token {
            true => self.get_as_caller(&url),
            false => self.get(&url),
        };
        let ask = ask.most(fetch.max_bytes.saturating_add(1));
        let (seen, _) = self.probe.follow(&ask)?;
        Ok((fetched(&seen), seen))
    }

    /// Returns the first response of the registry, to a request for the discovery document without a token.
    pub(super) fn reached(&self) -> &Result<Seen, ProbeError> {
        let reach = || self.probe.send_at_any_rate(&self.get(DISCOVERY));
        self.reached.get_or_init(reach)
    }

    /// Returns the services of the registry.
    pub(super) fn discovery(&self) -> Judged<&Discovery> {
        known(&self.discovery, "S1", || Discovery::find(self))
    }

    /// Returns the provider to try, with its versions.
    pub(super) fn provider(&self) -> Judged<&ProviderSample> {
        known(&self.provider, "P1", || ProviderSample::find(self))
    }

    /// Returns a package of the provider's newest version.
    pub(super) fn package(&self) -> Judged<&PackageSample> {
        known(&self.package, "P2", || PackageSample::find(self))
    }

    /// Returns the module to try.
    pub(super) fn module(&self) -> Judged<&ModuleSample> {
        known(&self.module, "M1", || ModuleSample::find(self))
    }

    /// Returns the registry's answer about the token.
    pub(super) fn presented(&self) -> &Presented {
        self.presented.get_or_init(|| Presented::ask(self))
    }

    /// Returns whether the registry is a Terrace registry, which has more routes than the protocols define.
    pub(super) fn is_terrace(&self) -> bool {
        self.check_terrace().is_ok()
    }

    /// Skips a check of Terrace's own routes, unless the registry is one.
    pub(super) fn check_terrace(&self) -> Judged<()> {
        let body = match self.health() {
            Ok(seen) => serde_json::from_slice::<serde_json::Value>(&seen.body).ok(),
            Err(error @ ProbeError::Limited(_)) => return Err(Finding::skip(error)),
            Err(_) => None,
        };
        match body.is_some_and(|it| it.get("kv").is_some() && it.get("r2").is_some()) {
            true => Ok(()),
            false => Err(Finding::skip("not a Terrace registry")),
        }
    }

    /// Returns the registry's statement about its storage, which K1 reports.
    pub(super) fn health(&self) -> &Result<Seen, ProbeError> {
        let ask = || self.probe.send(&self.get("/healthz"));
        self.health.get_or_init(ask)
    }

    /// Checks that the status of a response is below 500: others say nothing about the subject of a check. K1 reports a storage
    /// that does not answer.
    pub(super) fn check_outage(&self, seen: &Seen) -> Judged<()> {
        if seen.status < 500 {
            return Ok(());
        }
        let is_unhealthy = self.health().as_ref().is_ok_and(|it| it.status != 200);
        if is_unhealthy && self.is_terrace() {
            return Err(Finding::skip("K1 failed"));
        }
        let url = Url::parse(&seen.url).ok();
        let path = url.as_ref().map(Url::path).unwrap_or_default();
        Err(Finding::fail(
            format!("the registry answers {} for {path}", seen.status),
            "an outage: the registry, its storage or a proxy in front of it fails",
            "look at the registry's log for this path, and at cloudflarestatus.com; then run the command again",
        ))
    }

    /// Returns the facts that the registry states about itself, to administrators.
    pub(super) fn facts(&self) -> Judged<&DoctorAnswer> {
        known(&self.facts, "R1", || self.find_facts())
    }

    fn find_facts(&self) -> Judged<DoctorAnswer> {
        self.check_terrace()?;
        if !self.has_token() {
            return Err(Finding::skip(format!(
                "{}: set TERRACE_TOKEN to that of an administrator",
                self.tokenless
            )));
        }
        let (cause, fix) = (
            "the registry answers clients, and not this request",
            "look at the registry's log for /admin/v1/doctor",
        );
        let seen = self.probe.send(&self.get_as_caller(FACTS));
        let seen = seen.map_err(|error| Finding::unanswered(&error, cause, fix))?;
        self.check_outage(&seen)?;
        self.check_page("the request for facts", &seen)?;
        match seen.status {
            200 => serde_json::from_slice(&seen.body).map_err(|error| {
                Finding::fail(
                    error,
                    "the registry has another version than this command, or a proxy answers",
                    "use the same version of both",
                )
            }),
            401 => {
                self.presented().token()?;
                Err(Finding::skip("the token is not valid"))
            }
            403 => Err(Finding::skip("the token is not that of an administrator")),
            404 => Err(Finding::skip(
                "the registry is too old, or has no admin token",
            )),
            status => Err(Finding::fail(format!("status {status}"), cause, fix)),
        }
    }

    /// Returns the state of the second bucket, if the registry has one and states it. It does so while R2 does not answer, when it
    /// states nothing else.
    pub(super) fn second_bucket(&self) -> Option<&FailoverAnswer> {
        match self.facts() {
            Ok(facts) => facts.failover.as_ref(),
            Err(_) => {
                let asked = self.second_bucket.get_or_init(|| self.ask_second_bucket());
                asked.as_ref()
            }
        }
    }

    fn ask_second_bucket(&self) -> Option<FailoverAnswer> {
        if !self.has_token() || !self.is_terrace() {
            return None;
        }
        let seen = self.probe.send(&self.get_as_caller("/admin/v1/failover"));
        let seen = seen.ok().filter(|seen| seen.status == 200)?;
        let state: FailoverAnswer = serde_json::from_slice(&seen.body).ok()?;
        Some(state).filter(|state| state.configured)
    }
}

/// Returns the finding of a check of a service that the registry does not have.
pub(super) fn no_service(kind: &str) -> Finding {
    Finding::skip(format!("the registry serves no {kind}s"))
}

/// Returns the absolute URL of a request.
pub(super) fn absolute(fetch: &Fetch) -> String {
    match &fetch.base {
        Some(base) => resolve(base, &fetch.reference),
        None => fetch.reference.clone(),
    }
}

/// Returns a response as the core's parsers take it.
pub(super) fn fetched(seen: &Seen) -> Fetched {
    Fetched {
        status: seen.status,
        final_url: seen.url.clone(),
        content_type: seen.header("content-type").map(str::to_owned),
        body: seen.body.clone(),
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
