//! `terrace admin import --from`: the providers and modules of another registry, read by the protocols of clients.
//!
//! Everything is published through the ordinary API, so the registry checks it as if its author had published it.

mod names;
mod preview;
mod provider;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use clap::{Args, ValueHint};
use serde_json::json;
use terrace_core::model::address::{ModuleAddress, ProviderAddress};
use terrace_core::model::name::{Hostname, ModuleNamespace, Namespace};
use terrace_core::model::package::Package;
use terrace_core::model::version::Version;
use terrace_core::upstream::origin::{OriginError, OriginVersion, Service};

use crate::args::ArchiveHostArguments;
use crate::commands::circuit_breaker::{CircuitBreaker, TryError};
use crate::commands::connection::{Session, connect_if_given, registry_url};
use crate::commands::publish::module;
use crate::commands::report::{Done, Outcome, Report};
use crate::credentials::{Token, TokenPlace};
use crate::error::Failure;
use crate::http::BaseUrl;
use crate::output::Output;
use crate::registry::client::Client;
use crate::registry::publish::PublishRequest;
use crate::source::repository::ReleaseSource;
use crate::upstream::module_registry::ModuleRegistry;
use crate::upstream::{HostOverride, Upstream, failure};
use names::Names;

#[derive(Debug, Args)]
#[command(next_help_heading = "Another registry")]
pub(crate) struct RegistryImportArguments {
    /// Import from this registry, such as https://old.example.com. It may be in a private network
    #[arg(long, value_name = "URL", value_parser = https_url, value_hint = ValueHint::Url)]
    pub(crate) from: Option<BaseUrl>,
    /// Import everything in this namespace that the registry lists. May be given several times
    #[arg(long = "namespace", value_name = "NAMESPACE", requires = "from")]
    pub(crate) namespaces: Vec<ModuleNamespace>,
    /// Import this provider. May be given several times
    #[arg(long = "provider", value_name = "NAMESPACE/TYPE", requires = "from")]
    pub(crate) providers: Vec<ProviderAddress>,
    /// Import this module. May be given several times
    #[arg(
        long = "module",
        value_name = "NAMESPACE/NAME/SYSTEM",
        value_parser = ModuleAddress::parse_hosted,
        requires = "from"
    )]
    pub(crate) modules: Vec<ModuleAddress>,
    /// Import the providers and modules in a file, which has one address on each line
    #[arg(long, value_name = "FILE", requires = "from")]
    pub(crate) list: Option<PathBuf>,
    /// The variable with the token for the other registry
    #[arg(long, value_name = "VARIABLE", requires = "from")]
    pub(crate) from_token_env: Option<String>,
    #[command(flatten)]
    pub(crate) archives: ArchiveHostArguments,
    /// Print what would be imported, and download nothing
    #[arg(long, requires = "from")]
    pub(crate) dry_run: bool,
}

fn https_url(text: &str) -> Result<BaseUrl, String> {
    let rule = "write it as https://HOST[:PORT]: clients discover registries by https only";
    match BaseUrl::parse(text) {
        Ok(url) if url.is_https() => Ok(url),
        Ok(_) => Err(rule.to_owned()),
        Err(error) => Err(format!("{error}: {rule}")),
    }
}

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
    modules: Option<ModuleRegistry>,
}

/// The packages that are to be imported, with their versions.
type Found = Vec<(Package, Vec<OriginVersion>)>;

/// The state of an import.
struct Import<'a> {
    origin: Origin<'a>,
    client: &'a Client<'a>,
    /// The fingerprints of the signing keys of each namespace, once they are known.
    keys: BTreeMap<Namespace, BTreeSet<String>>,
    output: &'a Output,
}

/// Imports the providers and modules of another registry.
pub(super) fn import(
    arguments: &RegistryImportArguments,
    session: Session<'_>,
) -> Result<(), Failure> {
    let Session { registry, output } = session;
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
        false => Some(session.connect()?),
    };
    let origin = Origin::find(&from, arguments, registry.retries, output)?;
    let url = client.as_ref().map(|client| client.url().to_owned());
    let mut report = Report::new("import", url, arguments.dry_run);
    let names = Names::find(&origin, arguments, output)?;
    for (what, failure) in names.failures {
        report.note(what, None, Outcome::Failed(failure), output);
    }
    let mut found = Found::new();
    for package in names.packages.into_values() {
        match origin.versions(&package, output) {
            Ok(versions) => found.push((package, versions)),
            Err(failure) => {
                report.note(package.address(), None, Outcome::Failed(failure), output);
            }
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

impl<'a> Origin<'a> {
    /// Returns the versions of a package, in ascending order.
    fn versions(&self, package: &Package, output: &Output) -> Result<Vec<OriginVersion>, Failure> {
        match package {
            Package::Provider(address) => self.provider_versions(address, output),
            Package::Module(address) => self.module_versions(address, output),
            Package::Mirrored(_) => Ok(Vec::new()),
        }
    }

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
        let hosts = &arguments.archives.hosts;
        let upstream = Upstream::new(&[registry], hosts, None, retries, output)?;
        let document = upstream.discovery_document(&hostname)?;
        let providers = match Service::read(&document) {
            Ok(service) => Some(service),
            Err(OriginError::NoProviders) => None,
            Err(error) => return Err(failure(from, &error)),
        };
        let modules = Service::read_modules(&document).map_err(|error| failure(from, &error))?;
        let modules = modules.map(|service| ModuleRegistry {
            hostname: hostname.clone(),
            shown: from.to_string(),
            service,
            token_options: "--from-token-env, ",
        });
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
        for (package, versions) in &found {
            for found in versions {
                let outcome = match breaker.is_open() {
                    true => Outcome::NotTried,
                    false => breaker.judge(self.version(package, found), true),
                };
                let version = Some(found.version.to_string());
                report.note(package.address(), version, outcome, output);
            }
        }
        report.tell(output)
    }

    fn version(&mut self, package: &Package, found: &OriginVersion) -> Tried {
        match package {
            Package::Provider(address) => self.provider(address, found),
            Package::Module(address) => self.module(address, &found.version),
            Package::Mirrored(_) => Err(Failure::refused("a mirrored provider").into()),
        }
    }

    /// Publishes a version.
    fn publish(&self, request: &PublishRequest) -> Result<Done, TryError> {
        let sent = request.send(self.client, self.output, || Ok(()));
        let receipt = sent.map_err(TryError::Registry)?;
        let about = format!("{} {}", request.address, request.version);
        receipt.warn(&about, self.output);
        let details = json!({ "kind": request.kind.as_str(), "uploaded": receipt.uploaded });
        Ok(Done::plain(receipt.status, details))
    }
}

impl Origin<'_> {
    /// Returns the versions of a module, in ascending order. Warns about those that no client can request.
    fn module_versions(
        &self,
        address: &ModuleAddress,
        output: &Output,
    ) -> Result<Vec<OriginVersion>, Failure> {
        self.module_registry()?
            .versions(&self.upstream, address, output)
    }

    fn module_registry(&self) -> Result<&ModuleRegistry, Failure> {
        let url = &self.url;
        let missing = || Failure::refused(format!("{url} has no registry of modules"));
        self.modules.as_ref().ok_or_else(missing)
    }
}

impl Import<'_> {
    /// Imports one version of a module.
    fn module(&self, address: &ModuleAddress, version: &Version) -> Tried {
        let Origin {
            upstream, hostname, ..
        } = &self.origin;
        let registry = self.origin.module_registry()?;
        let location = registry.locate(upstream, address, version)?;
        let located = upstream.located(location, hostname)?;
        let package =
            upstream.module_package(&located, hostname, format!("{address} {version}"))?;
        // The URL of an archive is not that of a repository.
        let source = match package.source.commit {
            Some(_) => package.source,
            None => ReleaseSource::default(),
        };
        let request = module::describe(
            (package.archive, package.format),
            (address, version),
            package.subdir.as_ref(),
            source,
            self.output,
        )?;
        self.publish(&request)
    }
}

/// The result of trying a version.
type Tried = Result<Done, TryError>;
