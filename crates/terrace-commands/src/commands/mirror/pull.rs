//! `terrace mirror add` and `terrace mirror sync`: copies of other registries' providers, checked as a client
//! would check them, and of their modules.

mod configuration;
pub(crate) mod files;
mod lock;
mod module_calls;
mod module_package;
mod modules;
mod selection;
mod toml_list;
mod version;

use std::fmt::Display;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use terrace_core::model::name::{Hostname, PUBLIC_HOSTS};
use terrace_core::model::own_hosts::OwnHosts;
use terrace_core::model::package::Package;
use terrace_core::model::platform::Platform;
use terrace_core::model::status::Reason;
use terrace_core::model::version::Version;
use terrace_core::upstream::origin::{
    Constraints, OriginVersion, OriginVersions, PublishedVersion, Service,
};

use crate::args::{ArchiveHostArguments, duration};
use crate::clock;
use crate::commands::circuit_breaker::CircuitBreaker;
use crate::commands::connection::{Session, connect_if_given, registry_url};
use crate::commands::report::{Outcome, Report, Skipped};
use crate::error::Failure;
use crate::output::Output;
use crate::registry::client::Client;
use crate::registry::publish::Kind;
use crate::upstream::{HostOverride, Upstream, failure};
use files::DefaultHosts;
use modules::Modules;
use selection::{ModuleSelection, ProviderSelection, Selections, VersionSelection};

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

/// Parses the package of `mirror add`.
fn package_to_add(text: &str) -> Result<Package, String> {
    let [usual, _] = PUBLIC_HOSTS;
    let package = Package::parse_address(text).filter(|it| it.origin().is_some());
    package.ok_or_else(|| {
        format!(
            "it must be hostname/namespace/type for a provider, or hostname/namespace/name/system for a module, such as \
             {usual}/hashicorp/random; --versions selects versions"
        )
    })
}

/// Mirrors one provider or module.
pub(crate) fn add(arguments: &MirrorAddArguments, session: Session<'_>) -> Result<(), Failure> {
    let versions = match &arguments.versions {
        Some(constraints) => VersionSelection::All(constraints.clone()),
        None => VersionSelection::Newest(None),
    };
    let mut found = Selections::default();
    match &arguments.address {
        Package::Mirrored(address) => found.providers.push(ProviderSelection {
            address: address.clone(),
            versions,
            platforms: arguments.mirror.platforms.clone(),
            lock: None,
        }),
        Package::Module(address) => found.modules.push(ModuleSelection {
            address: address.clone(),
            versions: versions.of_modules(),
            installed: None,
        }),
        Package::Provider(_) => {}
    }
    if arguments.replace.is_some() && found.providers.is_empty() {
        return Err(Failure::Usage(
            "--replace is for providers: a stored version of a module is never replaced; find out why its origin changed it, and \
             use another version"
                .to_owned(),
        ));
    }
    let hostname = arguments.address.origin();
    let hostname = hostname.ok_or_else(|| {
        let address = arguments.address.address();
        Failure::Usage(format!("{address} has no hostname"))
    })?;
    if let Some(url) = registry_url(session.registry)?
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
        session,
    )
}

/// Mirrors the providers that files require, and the modules that they call.
pub(crate) fn sync(arguments: &MirrorSyncArguments, session: Session<'_>) -> Result<(), Failure> {
    let mut found = Selections::default();
    let mut failed = Vec::new();
    let hosts = arguments.mirror.default_hosts()?;
    for file in &arguments.files {
        for (source, read) in files::read(file, &hosts)? {
            let source = source.display().to_string();
            match read {
                Ok(read) if read.is_empty() => found.skipped.push(Skipped {
                    path: source,
                    reason: "it locks no provider".to_owned(),
                }),
                Ok(read) => found.extend(read),
                Err(failure) => failed.push(failure),
            }
        }
    }
    if found.providers.is_empty() && found.modules.is_empty() {
        let failed = failed.iter().flat_map(Failure::reasons);
        let skipped = found.skipped.iter().map(Skipped::to_string);
        return Err(Failure::Refused(failed.chain(skipped).collect()));
    }
    found.drop_repeated_locks();
    for selection in &mut found.providers {
        if !arguments.mirror.platforms.is_empty() {
            selection.platforms.clone_from(&arguments.mirror.platforms);
        }
    }
    if let Some(url) = registry_url(session.registry)? {
        let origin = url.origin();
        found.skip(|hostname| OwnHosts::new(&origin, &[]).include(hostname));
    }
    let none = (Vec::new(), None);
    run((found, failed), none, &arguments.mirror, session)
}

/// Makes modules of one public registry those of the other, because one stored copy serves both names, and tells of it.
fn join_public(found: &mut Selections, arguments: &MirrorArguments, output: &Output) {
    let [stored, other] = PUBLIC_HOSTS;
    let is_other = |it: &ModuleSelection| {
        let hostname = it.address.hostname.as_ref();
        hostname.is_some_and(|it| it.as_str() == other)
    };
    if found.modules.iter().any(is_other) {
        // Either origin is that of the one copy.
        let has_origin = arguments.origins.iter().any(|it| it.hostname.is_public());
        let advice = match has_origin {
            true => String::new(),
            false => {
                format!(": to fetch them from {other}, use --origin {stored}=https://{other}")
            }
        };
        output.warning(&format!(
            "modules of {other} are mirrored as those of {stored}, which clients find by both names{advice}"
        ));
    }
    for module in &mut found.modules {
        module.address = module.address.clone().mirrored();
    }
}

fn run(
    (mut found, failed): (Selections, Vec<Failure>),
    (named, replace): (Vec<Hostname>, Option<&Reason>),
    arguments: &MirrorArguments,
    session: Session<'_>,
) -> Result<(), Failure> {
    let Session { registry, output } = session;
    let client = match arguments.dry_run {
        true => connect_if_given(registry, output)?,
        false => Some(session.connect()?),
    };
    join_public(&mut found, arguments, output);
    let is_one = !named.is_empty();
    let url = client.as_ref().map(|client| client.url().to_owned());
    let kind = Kind::MirroredProvider.as_str();
    let own = registry_url(registry)?.map(|url| url.origin());
    let mut report = Report::new(kind, url, arguments.dry_run);
    report.unread = failed.iter().flat_map(Failure::reasons).collect();
    let mut mirror = Mirror {
        upstream: Upstream::new(
            &arguments.origins,
            &arguments.archives.hosts,
            named,
            registry.retries,
            output,
        )?,
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
    for Skipped { path, reason } in found.skipped {
        mirror.note(path, None, Outcome::Skipped(reason));
    }
    for selection in &found.providers {
        mirror.provider(selection);
    }
    // A list only admits what calls and installed modules need.
    let (listed, needed): (Vec<_>, Vec<_>) = found
        .modules
        .iter()
        .partition(|it| matches!(it.versions, VersionSelection::All(_)) && it.installed.is_none());
    for selection in needed.into_iter().chain(listed) {
        mirror.module(selection);
    }
    mirror.report.tell(output)
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
        if let Err(failure) = self.try_provider(selection) {
            self.note(address, None, Outcome::Failed(failure));
        }
    }

    fn try_provider(&mut self, selection: &ProviderSelection) -> Result<(), Failure> {
        let address = &selection.address;
        let (service, list) = self.list(selection)?;
        let chosen = admitted(&selection.versions, &list.versions).map_err(Failure::refused)?;
        let skipped = match selection.versions {
            VersionSelection::Newest(_) => chosen.len().saturating_sub(1),
            VersionSelection::All(_) => 0,
        };
        let mut is_anywhere = false;
        for found in chosen.into_iter().skip(skipped) {
            if !self.has_platforms(selection, found) {
                continue;
            }
            is_anywhere = true;
            let version = &found.version;
            let origin = (&address.hostname, &service);
            let outcome = match self.breaker.is_open() {
                true => Outcome::NotTried,
                false => match self.check_age(origin, &address.provider, version) {
                    Ok(()) => {
                        let tried = self.version(selection, &service, found);
                        self.breaker.judge(tried, self.is_one)
                    }
                    Err(outcome) => outcome,
                },
            };
            self.note(address.to_string(), Some(version.to_string()), outcome);
        }
        match self.is_one && !is_anywhere {
            true => Err(Failure::refused(
                "none of the requested versions is available for any of these platforms",
            )),
            false => Ok(()),
        }
    }

    /// Returns whether the origin has a version for any selected platform. Warns about the missing ones.
    fn has_platforms(&mut self, selection: &ProviderSelection, found: &OriginVersion) -> bool {
        let (wanted, missing) = selection.platforms_of(&found.platforms);
        if missing.is_empty() {
            return true;
        }
        let has_any = !wanted.is_empty();
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

    /// Checks that a version is old enough, if its origin says when it was published.
    ///
    /// # Errors
    /// The version is skipped, or the origin cannot be reached: whether it has dates is then not known.
    fn check_age(
        &self,
        (hostname, service): (&Hostname, &Service),
        path: impl Display,
        version: &Version,
    ) -> Result<(), Outcome> {
        let Some(minimum_age) = self.minimum_age else {
            return Ok(());
        };
        let fetch = PublishedVersion::ask(service, path, version);
        let published = match self.upstream.fetch(&fetch, hostname) {
            Ok(fetched) => PublishedVersion::read(&fetch, &fetched, version),
            Err(failure @ Failure::Unavailable(_)) => return Err(Outcome::Failed(failure)),
            Err(_) => None,
        };
        match published.map(|it| it.published_at) {
            Some(at) if clock::now().since(at) < minimum_age.as_secs() => {
                let age = humantime::format_duration(minimum_age);
                Err(Outcome::Skipped(format!(
                    "its origin published it at {at}, and --minimum-age is {age}"
                )))
            }
            _ => Ok(()),
        }
    }

    fn note(&mut self, address: String, version: Option<String>, outcome: Outcome) {
        self.report.note(address, version, outcome, self.output);
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
