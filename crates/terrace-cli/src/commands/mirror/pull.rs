//! `terrace mirror add` and `terrace mirror sync`: copies of what other registries have, checked as
//! a client would check it.

mod configuration;
mod files;
mod lock;
mod selection;
mod stored_packages;
mod syntax;
mod toml_list;
mod version;

use terrace_core::model::name::Hostname;
use terrace_core::model::own_hosts::OwnHosts;
use terrace_core::model::version::Version;
use terrace_core::upstream::origin::{OriginVersion, OriginVersions, Service};

use super::circuit_breaker::Endurance;
use super::report::{Outcome, Report, VersionReport};
use crate::args::{MirrorAddArguments, MirrorArguments, MirrorSyncArguments, RegistryArguments};
use crate::commands::connection::{connect, connect_if_given, registry_url};
use crate::error::Failure;
use crate::output::Output;
use crate::registry::client::Client;
use crate::upstream::{Origin, failure};
use selection::{Choice, Found, PassedOver, Wanted};
use version::Trouble;

/// Mirrors one provider.
pub(crate) fn add(
    arguments: &MirrorAddArguments,
    registry: &RegistryArguments,
    output: &Output,
) -> Result<(), Failure> {
    let choice = match &arguments.versions {
        Some(constraints) => Choice::All(constraints.clone()),
        None => Choice::Newest(None),
    };
    let wanted = Wanted {
        address: arguments.address.clone(),
        choice,
        platforms: arguments.mirror.platforms.clone(),
        lock: None,
    };
    let hostname = &arguments.address.hostname;
    if let Some(url) = registry_url(registry)?
        && OwnHosts::new(&url, &[]).include(hostname)
    {
        return Err(Failure::refused(format!(
            "{hostname} is the registry itself: what is published there is in its mirror"
        )));
    }
    let named = vec![hostname.clone()];
    let found = Found::of(wanted);
    run(found, named, &arguments.mirror, registry, output)
}

/// Mirrors what files ask for.
pub(crate) fn sync(
    arguments: &MirrorSyncArguments,
    registry: &RegistryArguments,
    output: &Output,
) -> Result<(), Failure> {
    let mut found = Found::default();
    for file in &arguments.files {
        found.extend(files::read(file, &arguments.default_host)?);
    }
    for wanted in &mut found.wanted {
        if !arguments.mirror.platforms.is_empty() {
            wanted.platforms.clone_from(&arguments.mirror.platforms);
        }
    }
    if let Some(url) = registry_url(registry)? {
        found.pass_over(|hostname| OwnHosts::new(&url, &[]).include(hostname));
    }
    run(found, Vec::new(), &arguments.mirror, registry, output)
}

fn run(
    found: Found,
    named: Vec<Hostname>,
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
        origin: Origin::new(&arguments.origins, named, registry.retries, output)?,
        report: Report {
            url: client.as_ref().map(|client| client.url().to_owned()),
            dry_run: arguments.dry_run,
            versions: Vec::new(),
            directory: None,
        },
        client,
        output,
        endurance: Endurance::default(),
        is_one,
    };
    for PassedOver { source, reason } in found.passed_over {
        mirror.note(source, None, Outcome::Skipped(reason));
    }
    for wanted in &found.wanted {
        mirror.provider(wanted);
    }
    mirror.report.tell(output)
}

/// A run: where things come from, where they go, and what became of them.
struct Mirror<'a> {
    origin: Origin<'a>,
    /// A dry run does without.
    client: Option<Client<'a>>,
    output: &'a Output,
    endurance: Endurance,
    /// Whether one provider was named, for which nothing to do is a failure.
    is_one: bool,
    report: Report,
}

impl Mirror<'_> {
    /// Mirrors the versions of one provider. What is wrong with one does not keep the others.
    fn provider(&mut self, wanted: &Wanted) {
        let address = wanted.address.to_string();
        if self.endurance.is_over() {
            return self.note(address, None, Outcome::NotTried);
        }
        let (service, list) = match self.list(wanted) {
            Ok(asked) => asked,
            Err(failure) => return self.note(address, None, Outcome::Failed(failure)),
        };
        let chosen = match choose(wanted, &list) {
            Ok(chosen) => chosen,
            Err(reason) => {
                return self.note(address, None, Outcome::Failed(Failure::refused(reason)));
            }
        };
        let mut is_anywhere = chosen.is_empty();
        for version in chosen {
            if !self.has_platforms(wanted, version) {
                continue;
            }
            is_anywhere = true;
            let outcome = if self.endurance.is_over() {
                Outcome::NotTried
            } else {
                self.try_version(wanted, &service, version)
            };
            self.note(address.clone(), Some(version.version.to_string()), outcome);
        }
        if self.is_one && !is_anywhere {
            let reason = "no version that was asked for has any of these platforms";
            self.note(address, None, Outcome::Failed(Failure::refused(reason)));
        }
    }

    /// Whether the origin has a version for any platform that is wanted; tells which it lacks.
    fn has_platforms(&mut self, wanted: &Wanted, found: &OriginVersion) -> bool {
        let missing = wanted.missing(&found.platforms);
        if missing.is_empty() {
            return true;
        }
        let has_any = wanted
            .platforms
            .iter()
            .any(|named| !missing.contains(named));
        let missing: Vec<String> = missing.iter().map(ToString::to_string).collect();
        let reason = format!("the origin has it not for {}", missing.join(", "));
        let (address, version) = (wanted.address.to_string(), found.version.to_string());
        if wanted.lock.is_some() {
            // Whoever has a lock file depends on that very version.
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

    fn try_version(
        &mut self,
        wanted: &Wanted,
        service: &Service,
        version: &OriginVersion,
    ) -> Outcome {
        let outcome = match self.version(wanted, service, version) {
            Ok(outcome) => outcome,
            Err(Trouble::OfRegistry(failure)) => Outcome::Failed(failure),
            Err(Trouble::Other(failure)) => return Outcome::Failed(failure),
        };
        self.endurance.note(&outcome);
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

    /// Asks which versions there are.
    fn list(&self, wanted: &Wanted) -> Result<(Service, OriginVersions), Failure> {
        let address = &wanted.address;
        let service = self.origin.discover(&address.hostname)?;
        let fetch = OriginVersions::ask(&service, address);
        let fetched = self.origin.fetch(&fetch, &address.hostname)?;
        let list = OriginVersions::read(&fetch, &fetched)
            .map_err(|error| failure(&address.hostname, &error))?;
        for skipped in &list.skipped {
            self.output
                .warning(&format!("{address}: passed over: {skipped}"));
        }
        for warning in &list.warnings {
            self.output
                .warning(&format!("{address}: the origin says: {warning}"));
        }
        Ok((service, list))
    }
}

/// The versions that are asked for, ascending.
fn choose<'l>(wanted: &Wanted, list: &'l OriginVersions) -> Result<Vec<&'l OriginVersion>, String> {
    let is_release = |version: &Version| version.as_semver().pre.is_empty();
    let mut chosen: Vec<&OriginVersion> = list
        .versions
        .iter()
        .filter(|found| match wanted.choice.constraints() {
            Some(constraints) => constraints.admit(&found.version),
            None => is_release(&found.version),
        })
        .collect();
    if chosen.is_empty() {
        let asked = match wanted.choice.constraints() {
            Some(constraints) => format!("version that meets \"{constraints}\""),
            None => "release".to_owned(),
        };
        let newest = list.versions.last().map_or_else(
            || "it has no version at all".to_owned(),
            |newest| format!("its newest version is {}", newest.version),
        );
        return Err(format!("the origin has no {asked}; {newest}"));
    }
    if let Choice::Newest(_) = wanted.choice {
        chosen.drain(..chosen.len() - 1);
    }
    Ok(chosen)
}
