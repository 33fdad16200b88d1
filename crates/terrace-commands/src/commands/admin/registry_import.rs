//! `terrace admin import --from`: the providers and modules of another registry, read by the protocols of clients.
//!
//! Everything is published through the ordinary API, so the registry checks it as if its author had published it.

mod module;
mod names;
mod preview;
mod provider;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::json;
use terrace_core::model::address::{ModuleAddress, ProviderAddress};
use terrace_core::model::name::{Hostname, Namespace};
use terrace_core::model::version::Version;
use terrace_core::upstream::origin::{OriginError, OriginVersion, Service};

use crate::args::{RegistryArguments, RegistryImportArguments};
use crate::commands::circuit_breaker::CircuitBreaker;
use crate::commands::connection::{connect, connect_if_given, registry_url};
use crate::commands::mirror::report::{Done, Outcome, Report, VersionReport};
use crate::credentials::{Token, TokenPlace};
use crate::error::Failure;
use crate::http::BaseUrl;
use crate::output::Output;
use crate::registry::client::Client;
use crate::registry::publish::PublishRequest;
use crate::upstream::{HostOverride, Upstream, failure};
use names::Names;

/// The name of an origin if its host is an IP address or has no dot. Nothing is sent to it.
const UNNAMED: &str = "origin.invalid";

/// The origin, and its services.
struct Origin<'a> {
    upstream: Upstream<'a>,
    /// The name under which requests belong to the origin.
    hostname: Hostname,
    /// The URL, as the user gave it.
    url: String,
    providers: Option<Service>,
    modules: Option<Service>,
}

/// The versions of everything that is to be imported.
#[derive(Default)]
struct Found {
    providers: Vec<(ProviderAddress, Vec<OriginVersion>)>,
    modules: Vec<(ModuleAddress, Vec<Version>)>,
}

/// The state of an import.
struct Import<'a> {
    origin: Origin<'a>,
    client: &'a Client<'a>,
    /// The fingerprints of the signing keys of each namespace, once they are known.
    keys: BTreeMap<Namespace, BTreeSet<String>>,
    output: &'a Output,
}

/// The reason that a version is not imported.
enum ImportError {
    /// A failure of the registry.
    Registry(Failure),
    /// A failure of the origin, or of this machine.
    Other(Failure),
}

impl From<Failure> for ImportError {
    fn from(failure: Failure) -> Self {
        Self::Other(failure)
    }
}

/// Imports the providers and modules of another registry.
pub(super) fn import(
    arguments: &RegistryImportArguments,
    registry: &RegistryArguments,
    output: &Output,
) -> Result<(), Failure> {
    let from = arguments.from.clone().ok_or_else(|| {
        Failure::Usage("--from is missing: it is the URL of the registry to import from".to_owned())
    })?;
    if registry_url(registry)?.is_some_and(|url| url.origin() == from.origin()) {
        return Err(Failure::Usage(format!(
            "--from and --url (TERRACE_URL) are both {from}: a registry cannot be imported into itself"
        )));
    }
    let client = match arguments.dry_run {
        true => connect_if_given(registry, output)?,
        false => Some(connect(registry, output)?),
    };
    let origin = Origin::find(&from, arguments, registry.retries, output)?;
    let mut report = Report {
        kind: "import",
        url: client.as_ref().map(|client| client.url().to_owned()),
        dry_run: arguments.dry_run,
        versions: Vec::new(),
        directory: None,
        unread: Vec::new(),
    };
    let names = Names::find(&origin, arguments, output)?;
    for (what, failure) in names.failures {
        note(&mut report, (what, None), Outcome::Failed(failure), output);
    }
    let mut found = Found::default();
    for address in names.providers {
        match origin.provider_versions(&address, output) {
            Ok(versions) => found.providers.push((address, versions)),
            Err(failure) => note(
                &mut report,
                (address.to_string(), None),
                Outcome::Failed(failure),
                output,
            ),
        }
    }
    for address in names.modules {
        match origin.module_versions(&address, output) {
            Ok(versions) => found.modules.push((address, versions)),
            Err(failure) => note(
                &mut report,
                (address.to_string(), None),
                Outcome::Failed(failure),
                output,
            ),
        }
    }
    match client {
        Some(client) if !arguments.dry_run => {
            let import = Import {
                origin,
                client: &client,
                keys: BTreeMap::new(),
                output,
            };
            import.run(found, report)
        }
        client => preview::show(&origin, client.as_ref(), &found, &report, output),
    }
}

fn note(
    report: &mut Report,
    (address, version): (String, Option<&Version>),
    outcome: Outcome,
    output: &Output,
) {
    let version = version.map(ToString::to_string);
    let version = VersionReport {
        address,
        version,
        outcome,
    };
    report.add(version, output);
}

impl<'a> Origin<'a> {
    fn find(
        from: &BaseUrl,
        arguments: &RegistryImportArguments,
        retries: u32,
        output: &'a Output,
    ) -> Result<Self, Failure> {
        let hostname: Hostname = from.host().parse().or_else(|_| {
            let unnamed = UNNAMED.parse();
            unnamed.map_err(|_| Failure::Unexpected(format!("{UNNAMED} is not a hostname")))
        })?;
        let token = arguments.from_token_env.as_deref().map(token_of_variable);
        let registry = HostOverride::at(hostname.clone(), from.clone(), token.transpose()?);
        let upstream =
            Upstream::of_registry(&registry, &arguments.archives.hosts, retries, output)?;
        let document = upstream.discovery_document(&hostname)?;
        let providers = match Service::read(&document) {
            Ok(service) => Some(service),
            Err(OriginError::NoProviders) => None,
            Err(error) => return Err(failure(from, &error)),
        };
        let modules = Service::read_modules(&document).map_err(|error| failure(from, &error))?;
        for (name, service) in [("providers", &providers), ("modules", &modules)] {
            if service.is_none() {
                output.progress(&format!("{from} has no registry of {name}"));
            }
        }
        Ok(Self {
            upstream,
            hostname,
            url: from.to_string(),
            providers,
            modules,
        })
    }
}

/// Returns the token in a variable that the user names.
fn token_of_variable(name: &str) -> Result<Token, Failure> {
    let value = std::env::var(name).map_err(|_| {
        Failure::Usage(format!(
            "--from-token-env: the variable {name} is not set, or its value is not UTF-8"
        ))
    })?;
    Token::parse(value.trim(), TokenPlace::Variable(name.to_owned()))
}

impl Import<'_> {
    /// Imports every version. One that fails does not stop the others.
    fn run(mut self, found: Found, mut report: Report) -> Result<(), Failure> {
        let output = self.output;
        let mut breaker = CircuitBreaker::default();
        let mut add = |address: String, version: &Version, tried: Option<Tried>| {
            let outcome = match tried {
                None => Outcome::NotTried,
                Some(Ok(done)) => Outcome::Done(done),
                Some(Err(ImportError::Registry(failure) | ImportError::Other(failure))) => {
                    Outcome::Failed(failure)
                }
            };
            note(&mut report, (address, Some(version)), outcome, output);
        };
        for (address, versions) in &found.providers {
            for found in versions {
                let version = &found.version;
                let tried = (!breaker.is_open()).then(|| self.provider(address, found));
                record(&mut breaker, &tried);
                add(address.to_string(), version, tried);
            }
        }
        for (address, versions) in &found.modules {
            for version in versions {
                let tried = (!breaker.is_open()).then(|| self.module(address, version));
                record(&mut breaker, &tried);
                add(address.to_string(), version, tried);
            }
        }
        report.tell(output)
    }

    /// Publishes a version.
    fn publish(&self, request: &PublishRequest) -> Result<Done, ImportError> {
        let sent = request.send(self.client, self.output, || Ok(()));
        let receipt = sent.map_err(ImportError::Registry)?;
        for warning in &receipt.warnings {
            let (address, version) = (&request.address, &request.version);
            self.output
                .warning(&format!("{address} {version}: {warning}"));
        }
        Ok(Done {
            status: receipt.status,
            text: String::new(),
            lines: Vec::new(),
            details: json!({ "kind": request.kind.as_str(), "uploaded": receipt.uploaded }),
        })
    }
}

/// The result of trying a version.
type Tried = Result<Done, ImportError>;

/// Records an outcome that depends on the registry.
fn record(breaker: &mut CircuitBreaker, tried: &Option<Tried>) {
    match tried {
        Some(Err(ImportError::Registry(failure))) => breaker.fail(failure),
        Some(Ok(_)) => breaker.succeed(),
        Some(Err(ImportError::Other(_))) | None => {}
    }
}
