//! `terrace mirror add` and `terrace mirror sync`: copies of other registries' providers, checked as a client
//! would check them, and of their modules.

mod configuration;
pub(crate) mod files;
mod lock;
mod module_calls;
mod module_package;
mod modules;
mod selection;
mod stored_packages;
mod toml_list;
mod version;

use std::fmt::Display;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use serde_json::Value;
use terrace_core::model::address::{AddressError, ModuleAddress};
use terrace_core::model::name::{Hostname, PUBLIC_HOSTS};
use terrace_core::model::own_hosts::OwnHosts;
use terrace_core::model::package::Package;
use terrace_core::model::platform::Platform;
use terrace_core::model::status::Reason;
use terrace_core::model::version::Version;
use terrace_core::upstream::origin::{
    Constraints, OriginVersion, OriginVersions, PublishedVersion, Service,
};

use crate::args::{ArchiveHostArguments, RegistryArguments, duration};
use crate::clock;
use crate::commands::circuit_breaker::CircuitBreaker;
use crate::commands::connection::{connect, connect_if_given, registry_url};
use crate::commands::report::{Outcome, Report, VersionReport};
use crate::error::Failure;
use crate::output::Output;
use crate::registry::client::Client;
use crate::registry::publish::Kind;
use crate::upstream::{HostOverride, Upstream, failure};
use files::DefaultHosts;
use modules::Modules;
use selection::{ModuleSelection, ProviderSelection, Selections, SkippedSource, VersionSelection};
use version::MirrorError;

#[derive(Debug, Args)]
pub(crate) struct MirrorAddArguments {
    /// The provider, as hostname/namespace/type, such as registry.opentofu.org/hashicorp/random, or the module, as
    /// hostname/namespace/name/system
    #[arg(value_parser = package_to_add)]
    pub(crate) address: Package,

    /// Mirror all versions that meet these constraints, such as '~> 3.6'; without them, only the newest version
    #[arg(long, value_name = "CONSTRAINTS")]
    pub(crate) versions: Option<Constraints>,

    /// Replace stored versions that their origin has created anew, with all their platforms, for this reason; --versions names
    /// them. Lock files that were made before reject the new packages. Of providers only
    #[arg(
        long,
        value_name = "REASON",
        requires = "versions",
        conflicts_with = "platforms"
    )]
    pub(crate) replace: Option<Reason>,

    #[command(flatten)]
    pub(crate) mirror: MirrorArguments,
}

#[derive(Debug, Args)]
pub(crate) struct MirrorSyncArguments {
    /// TOML lists, lock files, .tf files, or directories with lock files or .tf files
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) mirror: MirrorArguments,
}

/// The options of all commands that download from other registries.
#[derive(Debug, Args)]
pub(crate) struct MirrorArguments {
    /// The registry of sources without a hostname. By default registry.terraform.io for the providers in .tf files, and
    /// registry.opentofu.org for modules
    #[arg(long, value_name = "HOSTNAME")]
    pub(crate) default_host: Option<Hostname>,

    /// Mirror this platform of providers only, such as linux_amd64; may be given several times. Without it, all platforms
    #[arg(long = "platform", value_name = "OS_ARCH")]
    pub(crate) platforms: Vec<Platform>,

    /// Use this URL for the registry of a hostname; it may be in a private network
    #[arg(long = "origin", value_name = "HOSTNAME=URL")]
    pub(crate) origins: Vec<HostOverride>,

    #[command(flatten)]
    pub(crate) archives: ArchiveHostArguments,

    /// Check everything except the zips of providers, list the versions to mirror, and send nothing. If both the registry and
    /// the token are set, also ask the registry which packages it already has
    #[arg(long)]
    pub(crate) dry_run: bool,

    /// Skip versions that their origin published later than this time ago, such as 3d. Origins need not publish dates;
    /// a version without one is mirrored
    #[arg(long, value_name = "DURATION", value_parser = duration::in_days)]
    pub(crate) minimum_age: Option<Duration>,
}

impl MirrorArguments {
    fn default_hosts(&self) -> Result<DefaultHosts, Failure> {
        let [of_modules, of_providers] = PUBLIC_HOSTS;
        let host = |named: Option<&Hostname>, usual: &str| match named {
            Some(host) => Ok(host.clone()),
            None => usual
                .parse()
                .map_err(|error| Failure::Unexpected(format!("{usual}: {error}"))),
        };
        let named = self.default_host.as_ref();
        Ok(DefaultHosts {
            providers: host(named, of_providers)?,
            modules: host(named.filter(|it| !it.is_public()), of_modules)?,
        })
    }
}

/// The forms of the address of `mirror add`.
const FORMS: &str =
    "hostname/namespace/type for a provider, or hostname/namespace/name/system for a module";

/// Parses the package of `mirror add`, and leads on from a URL, from a version in the address and from a module without a hostname.
fn package_to_add(text: &str) -> Result<Package, String> {
    let parsed = |text: &str| match text.split('/').count() {
        3 => text.parse().map(Package::Mirrored),
        4 => text.parse().map(Package::Module),
        _ => Err(AddressError::Shape {
            what: "mirrored package's address",
            value: text.to_owned(),
            shape: FORMS,
        }),
    };
    let [usual, _] = PUBLIC_HOSTS;
    let failed = match parsed(text) {
        Ok(address) => return Ok(address),
        Err(_) if text.parse::<ModuleAddress>().is_ok() => {
            return Err(format!(
                "a module is mirrored by its address with a hostname: write {usual}/{text}"
            ));
        }
        Err(error) => AddressError::to_string(&error),
    };
    let path = text.split_once("://").map_or(text, |(_, path)| path);
    let path = path.trim_matches('/');
    let (address, version) = match path.split_once('@') {
        Some((address, version)) => (address, Some(version)),
        None => (path, None),
    };
    let meant = parsed(address).map(|meant| meant.address());
    match (meant, version.map(str::parse::<Version>)) {
        (Ok(meant), None) => Err(format!(
            "it is an address, not a URL, of the form {FORMS}: write {meant}"
        )),
        (Ok(meant), Some(Ok(version))) => Err(format!(
            "the version is an option of its own: write {meant} --versions {version}"
        )),
        _ => Err(failed),
    }
}

/// Mirrors one provider or module.
pub(crate) fn add(
    arguments: &MirrorAddArguments,
    registry: &RegistryArguments,
    output: &Output,
) -> Result<(), Failure> {
    let versions = match &arguments.versions {
        Some(constraints) => VersionSelection::All(constraints.clone()),
        None => VersionSelection::Newest(None),
    };
    let mut found = Selections::default();
    let hostname = match &arguments.address {
        Package::Mirrored(address) => {
            found.providers.push(ProviderSelection {
                address: address.clone(),
                versions,
                platforms: arguments.mirror.platforms.clone(),
                lock: None,
            });
            Some(&address.hostname)
        }
        Package::Module(address) => {
            let versions = match versions {
                VersionSelection::All(constraints) => {
                    VersionSelection::All(constraints.of_modules())
                }
                newest @ VersionSelection::Newest(_) => newest,
            };
            found.modules.push(ModuleSelection {
                address: address.clone(),
                versions,
                is_installed: false,
            });
            address.hostname.as_ref()
        }
        Package::Provider(_) => None,
    };
    if arguments.replace.is_some() && found.providers.is_empty() {
        return Err(Failure::Usage(
            "--replace is for providers: a stored version of a module is never replaced; find out why its origin changed it, and \
             use another version"
                .to_owned(),
        ));
    }
    let Some(hostname) = hostname else {
        return Err(Failure::Usage(format!(
            "{} has no hostname",
            arguments.address.address()
        )));
    };
    if let Some(url) = registry_url(registry)?
        && OwnHosts::new(&url.origin(), &[]).include(hostname)
    {
        return Err(Failure::refused(format!(
            "{hostname} is the registry itself, which already has its own providers and modules"
        )));
    }
    let named = vec![hostname.clone()];
    run(
        (found, Vec::new()),
        (named, arguments.replace.as_ref()),
        &arguments.mirror,
        registry,
        output,
    )
}

/// Mirrors the providers that files require, and the modules that they call.
pub(crate) fn sync(
    arguments: &MirrorSyncArguments,
    registry: &RegistryArguments,
    output: &Output,
) -> Result<(), Failure> {
    let mut found = Selections::default();
    let (mut empty, mut failed) = (Vec::new(), Vec::new());
    let hosts = arguments.mirror.default_hosts()?;
    for file in &arguments.files {
        for (source, read) in files::read(file, &hosts)? {
            let source = source.display().to_string();
            match read {
                Ok(read) if read.is_empty() => empty.push(SkippedSource {
                    source,
                    reason: "it locks no provider".to_owned(),
                }),
                Ok(read) => found.extend(read),
                Err(failure) => failed.push(failure),
            }
        }
    }
    if found.is_empty() {
        let reasons = failed.iter().flat_map(Failure::reasons);
        let mut reasons: Vec<String> = reasons.collect();
        let empty = empty.iter();
        reasons.extend(empty.map(|it| format!("{}: {}", it.source, it.reason)));
        return Err(Failure::Refused(reasons));
    }
    found.skipped.extend(empty);
    found.drop_repeated_locks();
    for selection in &mut found.providers {
        if !arguments.mirror.platforms.is_empty() {
            selection.platforms.clone_from(&arguments.mirror.platforms);
        }
    }
    if let Some(url) = registry_url(registry)? {
        let origin = url.origin();
        found.skip(|hostname| OwnHosts::new(&origin, &[]).include(hostname));
    }
    run(
        (found, failed),
        (Vec::new(), None),
        &arguments.mirror,
        registry,
        output,
    )
}

/// Makes modules of one public registry those of the other, because one stored copy serves both names, and tells of it.
fn join_public(found: &mut Selections, arguments: &MirrorArguments, output: &Output) {
    let [stored, other] = PUBLIC_HOSTS;
    let is_other = |it: Option<&Hostname>| it.is_some_and(|it| it.as_str() == other);
    let mut is_named = is_other(arguments.default_host.as_ref()) && !found.modules.is_empty();
    for module in &mut found.modules {
        is_named |= is_other(module.address.hostname.as_ref());
        module.address = module.address.clone().mirrored();
    }
    if is_named {
        let mut text = format!(
            "modules of {other} are mirrored as those of {stored}, which clients find by both names"
        );
        // Either origin is that of the one copy.
        if !arguments.origins.iter().any(|it| it.hostname.is_public()) {
            text.push_str(&format!(
                ", and are fetched from there: to fetch them from {other}, use --origin {stored}=https://{other}"
            ));
        }
        output.warning(&text);
    }
}

fn run(
    (mut found, failed): (Selections, Vec<Failure>),
    (named, replace): (Vec<Hostname>, Option<&Reason>),
    arguments: &MirrorArguments,
    registry: &RegistryArguments,
    output: &Output,
) -> Result<(), Failure> {
    let client = if arguments.dry_run {
        connect_if_given(registry, output)?
    } else {
        Some(connect(registry, output)?)
    };
    join_public(&mut found, arguments, output);
    let is_one = !named.is_empty();
    let url = client.as_ref().map(|client| client.url().to_owned());
    let kind = Kind::MirroredProvider.as_str();
    let own = registry_url(registry)?.map(|url| url.origin());
    let mut report = Report::new(kind, url, arguments.dry_run);
    report.unread = failed.iter().flat_map(Failure::reasons).collect();
    let mut mirror = Mirror {
        upstream: upstream(arguments, named, registry, output)?,
        report,
        dry_run: arguments.dry_run,
        client,
        output,
        breaker: CircuitBreaker::default(),
        is_one,
        replace,
        minimum_age: arguments.minimum_age,
        modules: Modules::new(arguments.default_hosts()?.modules, own, &found.modules),
    };
    for SkippedSource { source, reason } in found.skipped {
        mirror.note(source, None, Outcome::Skipped(reason));
    }
    for selection in &found.providers {
        mirror.provider(selection);
    }
    // A list only admits what calls and installed modules need.
    let (listed, needed): (Vec<_>, Vec<_>) = found
        .modules
        .iter()
        .partition(|it| matches!(it.versions, VersionSelection::All(_)) && !it.is_installed);
    for selection in needed.into_iter().chain(listed) {
        mirror.module(selection);
    }
    mirror.report.tell(output)
}

fn upstream<'a>(
    arguments: &MirrorArguments,
    named: Vec<Hostname>,
    registry: &RegistryArguments,
    output: &'a Output,
) -> Result<Upstream<'a>, Failure> {
    let (origins, archives) = (&arguments.origins, &arguments.archives.hosts);
    Upstream::new(origins, archives, named, registry.retries, output)
}

/// The state of a run: the upstream, the registry, and the results.
struct Mirror<'a> {
    upstream: Upstream<'a>,
    dry_run: bool,
    /// The registry; a dry run needs none.
    client: Option<Client<'a>>,
    output: &'a Output,
    breaker: CircuitBreaker,
    /// Whether the command line names one provider or module. Then it is a failure if there is nothing to do.
    is_one: bool,
    /// The reason for which stored versions may be replaced.
    replace: Option<&'a Reason>,
    /// The minimum time since the publish of a version at its origin.
    minimum_age: Option<Duration>,
    modules: Modules,
    report: Report,
}

impl Mirror<'_> {
    /// Mirrors the versions of one provider. An invalid version does not stop the others.
    fn provider(&mut self, selection: &ProviderSelection) {
        let address = selection.address.to_string();
        if self.breaker.is_open() {
            return self.note(address, None, Outcome::NotTried);
        }
        let (service, list) = match self.list(selection) {
            Ok(asked) => asked,
            Err(failure) => return self.note(address, None, Outcome::Failed(failure)),
        };
        let chosen = match admitted(&selection.versions, &list.versions) {
            Ok(mut chosen) => {
                if let VersionSelection::Newest(_) = selection.versions {
                    chosen.drain(..chosen.len().saturating_sub(1));
                }
                chosen
            }
            Err(reason) => {
                return self.note(address, None, Outcome::Failed(Failure::refused(reason)));
            }
        };
        let mut is_anywhere = chosen.is_empty();
        for version in chosen {
            if !self.has_platforms(selection, version) {
                continue;
            }
            is_anywhere = true;
            let outcome = match self.breaker.is_open() {
                true => Outcome::NotTried,
                false => match self.too_new(
                    (&selection.address.hostname, &service),
                    &selection.address.provider,
                    &version.version,
                ) {
                    Ok(None) => self.try_version(selection, &service, version),
                    Ok(Some(reason)) => Outcome::Skipped(reason),
                    Err(failure) => Outcome::Failed(failure),
                },
            };
            self.note(address.clone(), Some(version.version.to_string()), outcome);
        }
        if self.is_one && !is_anywhere {
            let reason = "none of the requested versions is available for any of these platforms";
            self.note(address, None, Outcome::Failed(Failure::refused(reason)));
        }
    }

    /// Returns whether the origin has a version for any selected platform. Warns about the missing ones.
    fn has_platforms(&mut self, selection: &ProviderSelection, found: &OriginVersion) -> bool {
        let missing = selection.missing(&found.platforms);
        if missing.is_empty() {
            return true;
        }
        let has_any = selection
            .platforms
            .iter()
            .any(|named| !missing.contains(named));
        let missing: Vec<String> = missing.iter().map(ToString::to_string).collect();
        let reason = format!("not available from the origin for {}", missing.join(", "));
        let (address, version) = (selection.address.to_string(), found.version.to_string());
        if selection.lock.is_some() {
            // A lock file depends on this exact version.
            let failed = Outcome::Failed(Failure::refused(reason));
            self.note(address, Some(version), failed);
        } else if has_any {
            self.output
                .warning(&format!("{address} {version}: {reason}"));
        } else {
            self.note(address, Some(version), Outcome::Skipped(reason));
        }
        has_any
    }

    /// Returns the reason why a version is skipped: its origin says that it is too new.
    ///
    /// # Errors
    /// The origin cannot be reached. Whether it has dates is then not known.
    fn too_new(
        &self,
        (hostname, service): (&Hostname, &Service),
        path: impl Display,
        version: &Version,
    ) -> Result<Option<String>, Failure> {
        let Some(minimum_age) = self.minimum_age else {
            return Ok(None);
        };
        let fetch = PublishedVersion::ask(service, path, version);
        let published = match self.upstream.fetch(&fetch, hostname) {
            Ok(fetched) => PublishedVersion::read(&fetch, &fetched, version),
            Err(failure @ Failure::Unavailable(_)) => return Err(failure),
            Err(_) => None,
        };
        Ok(published.and_then(|it| {
            let is_new = clock::now().since(it.published_at) < minimum_age.as_secs();
            is_new.then(|| {
                format!(
                    "its origin published it at {}, and --minimum-age is {}",
                    it.published_at,
                    humantime::format_duration(minimum_age)
                )
            })
        }))
    }

    fn try_version(
        &mut self,
        selection: &ProviderSelection,
        service: &Service,
        version: &OriginVersion,
    ) -> Outcome {
        let outcome = match self.version(selection, service, version) {
            Ok(done) => Outcome::Done(done),
            Err(MirrorError::Registry(failure)) if self.is_one => Outcome::Failed(failure),
            // A list may admit the version for as long as its origin has it.
            Err(MirrorError::Registry(failure)) => Outcome::of(Err(failure)),
            Err(MirrorError::Other(failure)) => return Outcome::Failed(failure),
        };
        outcome.record(&mut self.breaker);
        outcome
    }

    fn note(&mut self, address: String, version: Option<String>, outcome: Outcome) {
        let version = VersionReport {
            address,
            version,
            outcome,
            details: Value::Null,
        };
        self.report.add(version, self.output);
    }

    /// Requests the list of versions from the origin.
    fn list(&self, selection: &ProviderSelection) -> Result<(Service, OriginVersions), Failure> {
        let address = &selection.address;
        let service = self.upstream.discover(&address.hostname)?;
        let fetch = OriginVersions::ask(&service, address);
        let fetched = self.upstream.fetch(&fetch, &address.hostname)?;
        let list = OriginVersions::read(&fetch, &fetched)
            .map_err(|error| failure(&address.hostname, &error))?;
        for skipped in &list.skipped {
            self.output
                .warning(&format!("{address}: skipped: {skipped}"));
        }
        for warning in &list.warnings {
            self.output
                .warning(&format!("{address}: warning from the origin: {warning}"));
        }
        Ok((service, list))
    }
}

/// Returns the versions of a list that a selection admits, in ascending order: at least one.
fn admitted<'l>(
    selection: &VersionSelection,
    list: &'l [OriginVersion],
) -> Result<Vec<&'l OriginVersion>, String> {
    let is_release = |version: &Version| version.as_semver().pre.is_empty();
    let admitted = list.iter().filter(|found| match selection.constraints() {
        Some(constraints) => constraints.admit(&found.version),
        None => is_release(&found.version),
    });
    let admitted: Vec<&OriginVersion> = admitted.collect();
    if !admitted.is_empty() {
        return Ok(admitted);
    }
    let asked = match selection.constraints() {
        Some(constraints) => format!("version that meets \"{constraints}\""),
        None => "release".to_owned(),
    };
    let newest = list.last().map_or_else(
        || "it has no versions".to_owned(),
        |newest| format!("its newest version is {}", newest.version),
    );
    Err(format!("the origin has no {asked}; {newest}"))
}
