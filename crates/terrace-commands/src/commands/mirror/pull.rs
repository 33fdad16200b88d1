//! `terrace mirror add` and `terrace mirror sync`: copies of other registries' providers, checked as a client
//! would check them.

mod configuration;
mod files;
mod lock;
mod selection;
mod stored_packages;
mod toml_list;
mod version;

use std::time::Duration;

use terrace_core::model::name::Hostname;
use terrace_core::model::own_hosts::OwnHosts;
use terrace_core::model::status::Reason;
use terrace_core::model::version::Version;
use terrace_core::upstream::origin::{OriginVersion, OriginVersions, PublishedVersion, Service};

use super::report::{Outcome, Report, VersionReport};
use crate::args::{MirrorAddArguments, MirrorArguments, MirrorSyncArguments, RegistryArguments};
use crate::clock;
use crate::commands::circuit_breaker::CircuitBreaker;
use crate::commands::connection::{connect, connect_if_given, registry_url};
use crate::error::Failure;
use crate::output::Output;
use crate::registry::client::Client;
use crate::registry::publish::Kind;
use crate::upstream::{Upstream, failure};
use selection::{ProviderSelection, Selections, SkippedSource, VersionSelection};
use version::MirrorError;

/// Mirrors one provider.
pub(crate) fn add(
    arguments: &MirrorAddArguments,
    registry: &RegistryArguments,
    output: &Output,
) -> Result<(), Failure> {
    let versions = match &arguments.versions {
        Some(constraints) => VersionSelection::All(constraints.clone()),
        None => VersionSelection::Newest(None),
    };
    let selection = ProviderSelection {
        address: arguments.address.clone(),
        versions,
        platforms: arguments.mirror.platforms.clone(),
        lock: None,
    };
    let hostname = &arguments.address.hostname;
    if let Some(url) = registry_url(registry)?
        && OwnHosts::new(&url.origin(), &[]).include(hostname)
    {
        return Err(Failure::refused(format!(
            "{hostname} is the registry itself, whose mirror already contains its own providers"
        )));
    }
    let named = vec![hostname.clone()];
    let found = Selections::of(selection);
    run(
        (found, Vec::new()),
        (named, arguments.replace.as_ref()),
        &arguments.mirror,
        registry,
        output,
    )
}

/// Mirrors the providers that files require.
pub(crate) fn sync(
    arguments: &MirrorSyncArguments,
    registry: &RegistryArguments,
    output: &Output,
) -> Result<(), Failure> {
    let mut found = Selections::default();
    let (mut empty, mut failed) = (Vec::new(), Vec::new());
    for file in &arguments.files {
        for (source, read) in files::read(file, &arguments.default_host)? {
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

fn run(
    (found, failed): (Selections, Vec<Failure>),
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
    let is_one = !named.is_empty();
    let mut mirror = Mirror {
        upstream: upstream(arguments, named, registry, output)?,
        report: Report {
            kind: Kind::MirroredProvider.as_str(),
            url: client.as_ref().map(|client| client.url().to_owned()),
            dry_run: arguments.dry_run,
            versions: Vec::new(),
            directory: None,
            unread: failed.iter().flat_map(Failure::reasons).collect(),
        },
        client,
        output,
        breaker: CircuitBreaker::default(),
        is_one,
        replace,
        minimum_age: arguments.minimum_age,
    };
    for SkippedSource { source, reason } in found.skipped {
        mirror.note(source, None, Outcome::Skipped(reason));
    }
    for selection in &found.providers {
        mirror.provider(selection);
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
    /// The registry; a dry run needs none.
    client: Option<Client<'a>>,
    output: &'a Output,
    breaker: CircuitBreaker,
    /// Whether the command line names one provider. Then it is a failure if there is nothing to do.
    is_one: bool,
    /// The reason for which stored versions may be replaced.
    replace: Option<&'a Reason>,
    /// The minimum time since the publish of a version at its origin.
    minimum_age: Option<Duration>,
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
        let chosen = match choose(selection, &list) {
            Ok(chosen) => chosen,
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
                false => match self.too_new(selection, &service, version) {
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
        selection: &ProviderSelection,
        service: &Service,
        found: &OriginVersion,
    ) -> Result<Option<String>, Failure> {
        let Some(minimum_age) = self.minimum_age else {
            return Ok(None);
        };
        let (address, version) = (&selection.address, &found.version);
        let fetch = PublishedVersion::ask(service, address, version);
        let published = match self.upstream.fetch(&fetch, &address.hostname) {
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
            Ok(outcome) => outcome,
            // A list may admit the version for as long as its origin has it.
            Err(MirrorError::Registry(Failure::Erased(reasons))) if !self.is_one => {
                Outcome::Skipped(reasons.join("; "))
            }
            Err(MirrorError::Registry(failure)) => Outcome::Failed(failure),
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

/// Selects the requested versions, in ascending order.
fn choose<'l>(
    selection: &ProviderSelection,
    list: &'l OriginVersions,
) -> Result<Vec<&'l OriginVersion>, String> {
    let is_release = |version: &Version| version.as_semver().pre.is_empty();
    let mut chosen: Vec<&OriginVersion> = list
        .versions
        .iter()
        .filter(|found| match selection.versions.constraints() {
            Some(constraints) => constraints.admit(&found.version),
            None => is_release(&found.version),
        })
        .collect();
    if chosen.is_empty() {
        let asked = match selection.versions.constraints() {
            Some(constraints) => format!("version that meets \"{constraints}\""),
            None => "release".to_owned(),
        };
        let newest = list.versions.last().map_or_else(
            || "it has no versions".to_owned(),
            |newest| format!("its newest version is {}", newest.version),
        );
        return Err(format!("the origin has no {asked}; {newest}"));
    }
    if let VersionSelection::Newest(_) = selection.versions {
        chosen.drain(..chosen.len() - 1);
    }
    Ok(chosen)
}
