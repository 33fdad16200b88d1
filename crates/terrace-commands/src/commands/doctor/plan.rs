//! A registry that is about to be deployed: its configuration, and the account that wrangler is signed in to. Each fact is
//! found once, when the first check needs it.

use std::env;
use std::fs;
use std::io::ErrorKind;
use std::path::PathBuf;
use std::sync::OnceLock;

use serde::Deserialize;
use terrace_base::untrusted;
use terrace_core::model::name::Hostname;
use url::Host;

use super::outcome::Outcome;
use super::target::{Gap, Known};
use super::wrangler::{Refusal, Wrangler, json};
use crate::args::DoctorArguments;
use crate::commands::config::check::{FACTS, INDICES, found};
use crate::error::Failure;
use crate::http::BaseUrl;
use crate::output::Output;
use crate::source::wrangler::{Binding, Deployment, Notation};

/// Codes of Cloudflare's API (<https://developers.cloudflare.com/r2/api/error-codes/>, and wrangler's sources).
const R2_NOT_ENABLED: [u32; 2] = [10042, 10136];
const WORKER_NOT_FOUND: [u32; 2] = [10007, 10090];

/// The error of wrangler where it would ask a person.
const SEVERAL_ACCOUNTS: &str = "More than one account available";

/// The beginning of wrangler's error about a zone that the account does not have.
const NO_ZONE: &str = "Could not find zone";

/// The most names above a hostname that may be its zone.
const ZONE_CANDIDATES: usize = 4;

/// The most characters of an argument that a message repeats.
const SHOWN_CHARS: usize = 80;

/// A planned registry.
pub(super) struct Plan {
    file: Result<PathBuf, String>,
    env: Option<String>,
    /// The hostname on the command line.
    hostname: Option<String>,
    configuration: OnceLock<Known<Configuration>>,
    wrangler: OnceLock<Known<(Wrangler, String)>>,
    person: OnceLock<Known<Person>>,
    account: OnceLock<Known<Option<Account>>>,
    buckets: OnceLock<Known<Vec<String>>>,
    worker: OnceLock<Known<Option<Worker>>>,
}

/// The configuration of a registry.
#[derive(Debug)]
pub(super) struct Configuration {
    pub(super) deployment: Deployment,
    pub(super) notation: Notation,
    pub(super) env: Option<String>,
}

impl Configuration {
    /// Returns the R2 bucket of the registry.
    pub(super) fn bucket(&self) -> Option<&Binding> {
        let mut buckets = self.deployment.buckets.iter();
        buckets.find(|it| it.binding == FACTS)
    }

    /// Returns the KV namespace of the registry.
    pub(super) fn namespace(&self) -> Option<&Binding> {
        let mut namespaces = self.deployment.namespaces.iter();
        namespaces.find(|it| it.binding == INDICES)
    }
}

/// The answer of `wrangler whoami --json`.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Person {
    logged_in: bool,
    pub(super) auth_type: Option<String>,
    pub(super) email: Option<String>,
    #[serde(default)]
    pub(super) accounts: Vec<Account>,
}

/// An account of Cloudflare.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Account {
    pub(super) id: String,
    pub(super) name: String,
}

/// A KV namespace.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Namespace {
    pub(super) id: String,
    pub(super) title: String,
}

/// A Worker that is deployed already.
#[derive(Debug)]
pub(super) struct Worker {
    /// The time of its last deployment, and the person.
    pub(super) last: String,
    /// The bucket that it has as the registry's, if it is a registry.
    pub(super) bucket: Option<String>,
    /// The ID of the namespace that it has as the registry's, if it is a registry.
    pub(super) namespace: Option<String>,
}

#[derive(Deserialize)]
struct DeploymentOf {
    created_on: String,
    author_email: Option<String>,
    versions: Vec<VersionOf>,
}

#[derive(Deserialize)]
struct VersionOf {
    version_id: String,
}

#[derive(Deserialize)]
struct VersionView {
    resources: Resources,
}

#[derive(Deserialize)]
struct Resources {
    #[serde(default)]
    bindings: Vec<BindingOf>,
}

#[derive(Deserialize)]
struct BindingOf {
    name: String,
    bucket_name: Option<String>,
    namespace_id: Option<String>,
}

impl Plan {
    /// Describes the registry that a command line and the current directory name.
    ///
    /// # Errors
    /// The URL on the command line cannot be that of a registry.
    pub(super) fn new(arguments: &DoctorArguments, output: &Output) -> Result<Self, Failure> {
        let file = match &arguments.config {
            Some(file) => Ok(file.clone()),
            None => found().map_err(|failure| failure.to_string()),
        };
        let named = || env::var("CLOUDFLARE_ENV").ok();
        let env = arguments.env.clone().or_else(named);
        let url = arguments.account.registry.as_deref();
        let hostname = url.map(|text| hostname(text.trim())).transpose()?;
        output.detail("running only commands of wrangler that change nothing");
        Ok(Self {
            file,
            env: env.filter(|env| !env.is_empty()),
            hostname,
            configuration: OnceLock::new(),
            wrangler: OnceLock::new(),
            person: OnceLock::new(),
            account: OnceLock::new(),
            buckets: OnceLock::new(),
            worker: OnceLock::new(),
        })
    }

    /// Returns the heading of the result.
    pub(super) fn subject(&self) -> String {
        match &self.file {
            Ok(file) => format!("Checking {}, before it is deployed", file.display()),
            Err(_) => "Checking the account, before a registry is deployed".to_owned(),
        }
    }

    /// Returns the name of the configuration file.
    pub(super) fn file(&self) -> String {
        let file = self.file.as_ref();
        file.map_or_else(|_| String::new(), |file| file.display().to_string())
    }

    /// Returns the configuration. B1 reports why there is none.
    pub(super) fn configuration(&self) -> Result<&Configuration, &Gap> {
        self.configuration
            .get_or_init(|| self.read_configuration())
            .as_ref()
    }

    fn read_configuration(&self) -> Known<Configuration> {
        let file = self.file.as_ref().map_err(|reason| missing(reason))?;
        let place = file.display();
        let text = fs::read_to_string(file)
            .map_err(|error| unreadable(&format!("{place}: {error}"), error.kind()))?;
        let (notation, env) = (Notation::of(file), self.env.clone());
        let deployment = Deployment::read(&text, notation, env.as_deref()).map_err(|reason| {
            let cause = "wrangler rejects the file, or has no such environment";
            let fix = "correct what is named";
            let outcome = Outcome::fail(format!("{place}: {reason}"), cause, fix);
            Gap::new("B1", outcome)
        })?;
        Ok(Configuration {
            deployment,
            notation,
            env,
        })
    }

    /// Returns wrangler with its version. B2 reports why there is none.
    pub(super) fn wrangler(&self) -> Result<&(Wrangler, String), &Gap> {
        self.wrangler.get_or_init(|| self.find_wrangler()).as_ref()
    }

    fn find_wrangler(&self) -> Known<(Wrangler, String)> {
        let configuration = self.configuration().ok();
        let account = configuration.and_then(|it| it.deployment.account.as_deref());
        // A file that wrangler finds itself need not be named.
        let is_named = self
            .file
            .as_ref()
            .ok()
            .filter(|it| it.components().count() > 1);
        let wrangler = Wrangler::find(is_named.map(PathBuf::as_path), account);
        match wrangler.run(&["--version"]) {
            Ok(version) => Ok((wrangler, version.trim().to_owned())),
            Err(refusal) => {
                let cause = "wrangler deploys the registry; it is not installed here, or Node.js is missing or older than 22.12";
                let fix = "run `npm ci` in the folder to deploy, or `npm run setup` in a checkout, and repeat the command there";
                Err(Gap::new("B2", Outcome::fail(refusal.reason(), cause, fix)))
            }
        }
    }

    /// Runs a command of wrangler, once it is known to be signed in.
    fn ask(&self, arguments: &[&str]) -> Result<Result<String, Refusal>, Gap> {
        self.person().map_err(Clone::clone)?;
        let (wrangler, _) = self.wrangler().map_err(Clone::clone)?;
        match wrangler.run(arguments) {
            Err(refusal) if refusal.reason().contains(SEVERAL_ACCOUNTS) => Err(Gap::new(
                "",
                Outcome::skip("the account is not chosen (B4)"),
            )),
            answer => Ok(answer),
        }
    }

    /// Returns the person or the token that wrangler acts for. B3 reports why there is none.
    pub(super) fn person(&self) -> Result<&Person, &Gap> {
        self.person.get_or_init(|| self.find_person()).as_ref()
    }

    fn find_person(&self) -> Known<Person> {
        let gap = |outcome| Gap::new("B3", outcome);
        let (wrangler, _) = self.wrangler().map_err(Clone::clone)?;
        let document = match wrangler.json(&["whoami", "--json"]) {
            Ok(document) => Some(document),
            Err(Refusal::Reported { output, .. }) if json(&output).is_some() => json(&output),
            Err(refusal) => return Err(gap(unidentified(&refusal))),
        };
        let person: Option<Person> = document.and_then(|it| serde_json::from_value(it).ok());
        match person {
            Some(person) if person.logged_in => Ok(person),
            Some(_) => Err(gap(Outcome::fail(
                "wrangler is not signed in",
                "it deploys with your account at Cloudflare, and has no credentials for one",
                "run `npx wrangler login`; in CI, set CLOUDFLARE_API_TOKEN",
            ))),
            None => Err(gap(Outcome::skip(
                "`wrangler whoami --json` printed another document than this command knows",
            ))),
        }
    }

    /// Returns the account that is deployed to; `None` if it is named, and the token may not look at it. B4 reports why it is
    /// not known.
    pub(super) fn account(&self) -> Result<Option<&Account>, &Gap> {
        let account = self.account.get_or_init(|| self.find_account());
        account.as_ref().map(Option::as_ref)
    }

    fn find_account(&self) -> Known<Option<Account>> {
        let gap = |outcome| Err(Gap::new("B4", outcome));
        let person = self.person().map_err(Clone::clone)?;
        let configuration = self.configuration().ok();
        let configured = configuration.and_then(|it| it.deployment.account.clone());
        let named = || env::var("CLOUDFLARE_ACCOUNT_ID").ok();
        let configured = configured.or_else(|| named().filter(|id| !id.is_empty()));
        match (configured, person.accounts.as_slice()) {
            (Some(_), []) => Ok(None),
            (Some(id), accounts) => match accounts.iter().find(|it| it.id == id) {
                Some(account) => Ok(Some(account.clone())),
                None => gap(Outcome::fail(
                    format!("the account {id} is not one of {}", listed(accounts)),
                    "account_id, or CLOUDFLARE_ACCOUNT_ID, names an account that wrangler has no access to",
                    "correct it, or sign in as a member of that account",
                )),
            },
            (None, [only]) => Ok(Some(only.clone())),
            (None, []) => gap(Outcome::fail(
                "the credentials belong to no account",
                "the token has no permission for an account, or the person was removed from it",
                "create an API token from the template Edit Cloudflare Workers, or set account_id",
            )),
            (None, accounts) => gap(Outcome::warn(
                format!("{} accounts: {}", accounts.len(), listed(accounts)),
                "wrangler asks which one is meant, and fails where it cannot ask, as in CI",
                "set account_id in the configuration, or CLOUDFLARE_ACCOUNT_ID",
            )),
        }
    }

    /// Returns the names of the buckets in the account. B5 reports why they are not known.
    pub(super) fn buckets(&self) -> Result<&[String], &Gap> {
        let buckets = self.buckets.get_or_init(|| self.find_buckets());
        buckets.as_ref().map(Vec::as_slice)
    }

    fn find_buckets(&self) -> Known<Vec<String>> {
        let configuration = self.configuration().ok();
        let bucket = configuration.and_then(Configuration::bucket);
        let jurisdiction = bucket.and_then(|it| it.jurisdiction.as_deref());
        let mut arguments = vec!["r2", "bucket", "list"];
        if let Some(jurisdiction) = jurisdiction {
            arguments.extend(["--jurisdiction", jurisdiction]);
        }
        match self.ask(&arguments)? {
            Ok(output) => Ok(bucket_names(&output)),
            Err(refusal) => {
                let is_off = refusal
                    .code()
                    .is_some_and(|it| R2_NOT_ENABLED.contains(&it));
                let outcome = match is_off {
                    true => Outcome::fail(
                        refusal.reason(),
                        "R2 must be enabled once for each account, with a means of payment; the free amount stays free",
                        "enable it in the dashboard: https://dash.cloudflare.com/?to=/:account/r2",
                    ),
                    false => refused(&refusal, "Workers R2 Storage: Edit"),
                };
                Err(Gap::new("B5", outcome))
            }
        }
    }

    /// Returns the KV namespaces in the account.
    pub(super) fn namespaces(&self) -> Result<Vec<Namespace>, Gap> {
        let gap = |outcome| Gap::new("B8", outcome);
        let answer = self.ask(&["kv", "namespace", "list"])?;
        let output =
            answer.map_err(|refusal| gap(refused(&refusal, "Workers KV Storage: Edit")))?;
        let list = json(&output).and_then(|it| serde_json::from_value(it).ok());
        list.ok_or_else(|| {
            let reason =
                "`wrangler kv namespace list` printed another document than this command knows";
            gap(Outcome::skip(reason))
        })
    }

    /// Returns the Worker with the name of the configuration, if it is deployed. B6 reports why that is not known.
    pub(super) fn worker(&self) -> Result<Option<&Worker>, &Gap> {
        let worker = self.worker.get_or_init(|| self.find_worker());
        worker.as_ref().map(Option::as_ref)
    }

    fn find_worker(&self) -> Known<Option<Worker>> {
        let gap = |outcome| Gap::new("B6", outcome);
        let configuration = self.configuration().map_err(Clone::clone)?;
        let Some(name) = configuration.deployment.name.as_deref() else {
            return Err(gap(Outcome::fail(
                "the configuration has no name",
                "the Worker, its bucket and its namespace are named after it",
                format!(
                    "add {}",
                    configuration.notation.member("name", "\"terrace\"")
                ),
            )));
        };
        let answer = self.ask(&["deployments", "list", "--json", "--name", name])?;
        let output = match answer {
            Ok(output) => output,
            Err(refusal)
                if refusal
                    .code()
                    .is_some_and(|it| WORKER_NOT_FOUND.contains(&it)) =>
            {
                return Ok(None);
            }
            Err(refusal) => return Err(gap(refused(&refusal, "Workers Scripts: Edit"))),
        };
        let list = json(&output).and_then(|it| serde_json::from_value(it).ok());
        let list: Vec<DeploymentOf> = list.ok_or_else(|| {
            let reason = "`wrangler deployments list --json` printed another document than this command knows";
            gap(Outcome::skip(reason))
        })?;
        let newest = list
            .into_iter()
            .max_by(|one, other| one.created_on.cmp(&other.created_on));
        let bindings = match newest.as_ref().and_then(|it| it.versions.first()) {
            Some(version) => self.bindings(&version.version_id, name)?,
            None => Vec::new(),
        };
        let of_registry = |name: &str| bindings.iter().find(|it| it.name == name);
        Ok(Some(Worker {
            last: newest.map_or_else(String::new, |it| {
                let by = it.author_email.map(|it| format!(" by {it}"));
                format!("at {}{}", it.created_on, by.unwrap_or_default())
            }),
            bucket: of_registry(FACTS).and_then(|it| it.bucket_name.clone()),
            namespace: of_registry(INDICES).and_then(|it| it.namespace_id.clone()),
        }))
    }

    /// Returns the bindings of a version of a Worker.
    fn bindings(&self, version: &str, name: &str) -> Result<Vec<BindingOf>, Gap> {
        let answer = self.ask(&["versions", "view", version, "--json", "--name", name])?;
        let output = answer.map_err(|refusal| {
            let outcome = refused(&refusal, "Workers Scripts: Edit");
            Gap::new("B6", outcome)
        })?;
        let view: Option<VersionView> =
            json(&output).and_then(|it| serde_json::from_value(it).ok());
        let view = view.ok_or_else(|| {
            let reason =
                "`wrangler versions view --json` printed another document than this command knows";
            Gap::new("B6", Outcome::skip(reason))
        })?;
        Ok(view.resources.bindings)
    }

    /// Returns the hostnames that the registry is going to have.
    pub(super) fn hostnames(&self) -> Vec<String> {
        let configured = || {
            let configuration = self.configuration().ok();
            configuration.map(|it| it.deployment.hostnames.clone())
        };
        match &self.hostname {
            Some(hostname) => vec![hostname.clone()],
            None => configured().unwrap_or_default(),
        }
    }

    /// Returns the zone of a hostname, if the account has it. wrangler has no command about zones: this one looks the zone up by
    /// its name, then fails or prints settings of the zone, and changes nothing.
    pub(super) fn zone(&self, hostname: &str) -> Result<Option<String>, Gap> {
        let labels: Vec<&str> = hostname.split('.').collect();
        let candidates = (2..=labels.len()).take(ZONE_CANDIDATES);
        for count in candidates {
            let from = labels.len() - count;
            let zone = labels.get(from..).unwrap_or_default().join(".");
            match self.ask(&["email", "routing", "settings", &zone])? {
                Ok(_) => return Ok(Some(zone)),
                Err(refusal) if refusal.reason().starts_with(NO_ZONE) => {}
                // The zone was found, and the token may not read these settings.
                Err(refusal) if refusal.reason().contains("/email/routing") => {
                    return Ok(Some(zone));
                }
                Err(refusal) => {
                    let outcome = Outcome::skip(format!("zones: {}", refusal.reason()));
                    return Err(Gap::new("B9", outcome));
                }
            }
        }
        Ok(None)
    }
}

/// The place of the configuration that most runs without one have missed.
const FOLDER: &str = "run the command in the folder to deploy, or name the file with --config";

fn missing(observed: &str) -> Gap {
    let cause = "the registry cannot be deployed without this file";
    Gap::new("B1", Outcome::fail(observed, cause, FOLDER))
}

/// Explains why a configuration cannot be read.
fn unreadable(observed: &str, kind: ErrorKind) -> Gap {
    let (cause, fix) = match kind {
        ErrorKind::NotFound => return missing(observed),
        ErrorKind::InvalidData => (
            "the file is not text in UTF-8, which wrangler requires",
            "save it as UTF-8: some editors and shells write UTF-16",
        ),
        ErrorKind::IsADirectory => (
            "a directory is no configuration",
            "name the file in it with --config",
        ),
        _ => (
            "this user cannot read the file, and neither can wrangler",
            "correct the permissions of the file and of its directories",
        ),
    };
    Gap::new("B1", Outcome::fail(observed, cause, fix))
}

/// Parses the argument for the hostname of a planned registry: a URL, or a hostname alone.
fn hostname(text: &str) -> Result<String, Failure> {
    let refused = |rule: &str| {
        // A URL with a password is not repeated.
        let shown = match text.contains('@') {
            true => "the URL".to_owned(),
            false => untrusted::quoted(text).at_most(SHOWN_CHARS).to_string(),
        };
        Failure::Usage(format!(
            "{shown} is not the URL of a registry to deploy: {rule}; write its hostname in a zone of the account, such as \
             https://registry.example.com"
        ))
    };
    let with_scheme = match text.contains("://") {
        true => text.to_owned(),
        false => format!("https://{text}"),
    };
    let url = BaseUrl::parse(&with_scheme).map_err(|error| refused(&error.to_string()))?;
    if !url.is_https() {
        return Err(refused("clients reach registries over https only"));
    }
    if url.authority() != url.host() {
        return Err(refused("a hostname of a Worker has no port"));
    }
    match url.url().host() {
        Some(Host::Domain(name)) => match name.parse::<Hostname>() {
            Ok(hostname) => Ok(hostname.to_string()),
            Err(error) => Err(refused(&error.to_string())),
        },
        _ => Err(refused("an IP address is in no zone")),
    }
}

fn listed(accounts: &[Account]) -> String {
    let names = accounts.iter().take(5);
    let names = names.map(|it| format!("{} ({})", it.name, it.id));
    names.collect::<Vec<_>>().join(", ")
}

/// Returns the names in the output of `wrangler r2 bucket list`, which has no form for programs.
fn bucket_names(output: &str) -> Vec<String> {
    let names = output.lines().filter_map(|line| line.strip_prefix("name:"));
    names.map(|name| name.trim().to_owned()).collect()
}

/// Explains why wrangler does not know the account that it acts for.
fn unidentified(refusal: &Refusal) -> Outcome {
    match refusal.code() {
        Some(_) => Outcome::fail(
            refusal.reason(),
            "Cloudflare rejects the stored credentials: they have expired, were revoked, or are mistyped",
            "run `npx wrangler login`, or set CLOUDFLARE_API_TOKEN again",
        ),
        None => Outcome::fail(
            refusal.reason(),
            "wrangler does not reach Cloudflare's API, or cannot read its own files",
            "run `npx wrangler whoami`; check the network and the proxy (`terrace doctor`, L8)",
        ),
    }
}

/// Explains why wrangler cannot list something.
fn refused(refusal: &Refusal, permission: &str) -> Outcome {
    Outcome::fail(
        refusal.reason(),
        format!("the credentials lack the permission {permission}, or Cloudflare's API fails"),
        "create the API token from the template Edit Cloudflare Workers, or run `npx wrangler login` again",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_of_buckets_are_read_as_wrangler_prints_them() {
        let output = " ⛅️ wrangler 4.155.0\nListing buckets...\nname:           other\ncreation_date:  2026-01-02T03:04:05.678Z\n\nname:           \
                      terrace-facts\ncreation_date:  2026-01-02T03:04:05.678Z\n";
        assert_eq!(bucket_names(output), ["other", "terrace-facts"]);
        assert_eq!(bucket_names("Listing buckets...\n\n"), [""; 0]);
    }

    #[test]
    fn the_hostname_of_a_planned_registry_is_one_that_a_zone_can_have() {
        for text in [
            "https://registry.example.com",
            "https://registry.example.com/",
            "registry.example.com",
            "HTTPS://Registry.Example.com",
        ] {
            assert_eq!(hostname(text).unwrap(), "registry.example.com", "{text}");
        }
        for (text, rule) in [
            ("http://x/y", "follows the host"),
            ("http://registry.example.com", "https only"),
            ("localhost", "whole domain name"),
            ("!!!", "host"),
            ("127.0.0.1", "IP address"),
            ("https://[::1]", "IP address"),
            ("registry.example.com:8443", "port"),
            ("registry.example.com/v1", "follows the host"),
            ("registry_1.example.com", "only letters"),
        ] {
            let message = hostname(text).unwrap_err().to_string();
            assert!(
                message.starts_with(&format!("{text:?} is not")),
                "{message}"
            );
            assert!(message.contains(rule), "{message}");
        }
        let message = hostname("https://user:hunter2@registry.example.com").unwrap_err();
        assert!(!message.to_string().contains("hunter2"), "{message}");
    }
}
