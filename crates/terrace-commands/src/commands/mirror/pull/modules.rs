//! The modules of other registries, each after the modules of registries that it calls: so what is mirrored is complete.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::json;
use terrace_base::digest::Sha256;
use terrace_core::api::details::ModuleView;
use terrace_core::documentation::{ModuleCall, ModulePart};
use terrace_core::model::address::ModuleAddress;
use terrace_core::model::commit::CommitId;
use terrace_core::model::name::Hostname;
use terrace_core::model::own_hosts::OwnHosts;
use terrace_core::model::package::Package;
use terrace_core::model::relative_path::RelativePath;
use terrace_core::model::source::SourceDocument;
use terrace_core::model::status::ReleaseState;
use terrace_core::model::version::Version;
use terrace_core::upstream::origin::{Constraints, OriginVersion, Service};
use terrace_metadata::ModuleSource;

use super::module_calls::{Called, ELSEWHERE, called, named};
use super::module_package::Loaded;
use super::selection::{ModuleSelection, VersionSelection};
use super::{Mirror, admitted};
use crate::commands::circuit_breaker::TryError;
use crate::commands::publish::module;
use crate::commands::report::{Done, Outcome};
use crate::error::Failure;
use crate::source::local_paths::{Place, local};
use crate::source::repository::ReleaseSource;
use crate::upstream::failure;
use crate::upstream::module_package::ModulePackage;
use crate::upstream::module_registry::{ModuleRegistry, path};

/// The most versions of modules that one run mirrors: far more than a company uses. The modules of a hostile registry could call
/// others without an end.
const MOST_VERSIONS: usize = 5_000;

/// The most modules of which each calls the next one: those in use have three.
const MOST_CALLERS: usize = 50;

/// The state of a run that concerns modules.
pub(super) struct Modules {
    /// The registry of calls without a hostname.
    default_host: Hostname,
    /// The URL of this registry, whose own modules are not mirrored.
    own: Option<String>,
    registries: BTreeMap<Hostname, ModuleRegistry>,
    /// The versions that the origin of each module lists.
    lists: BTreeMap<ModuleAddress, Result<Arc<Vec<OriginVersion>>, Failure>>,
    /// The versions that were tried, and whether they are mirrored. One that is being tried counts as mirrored: modules may call
    /// each other in a circle.
    tried: BTreeMap<(ModuleAddress, Version), bool>,
    /// The number of versions that are being tried: each calls the next one.
    callers: usize,
    /// The installed versions, which decide for the calls that admit them.
    installed: BTreeMap<ModuleAddress, Vec<Version>>,
}

impl Modules {
    pub(super) fn new(
        default_host: Hostname,
        own: Option<String>,
        selections: &[ModuleSelection],
    ) -> Self {
        let mut installed: BTreeMap<ModuleAddress, Vec<Version>> = BTreeMap::new();
        for selection in selections {
            let versions = installed.entry(selection.address.clone()).or_default();
            versions.extend(selection.installed.clone());
        }
        Self {
            default_host,
            own,
            registries: BTreeMap::new(),
            lists: BTreeMap::new(),
            tried: BTreeMap::new(),
            callers: 0,
            installed,
        }
    }
}

/// A version of a module at its origin.
struct OriginModule {
    source: ReleaseSource,
    /// What its users call.
    calls: Vec<ModuleSource>,
    /// What is to be published; `None` if the registry has it from the same commit or with the same files.
    new: Option<ModulePackage>,
}

impl Mirror<'_> {
    /// Mirrors the versions of one module. An invalid version does not stop the others.
    pub(super) fn module(&mut self, selection: &ModuleSelection) {
        let address = &selection.address;
        if self.breaker.is_open() {
            return self.note(address.to_string(), None, Outcome::NotTried);
        }
        let chosen = match &selection.versions {
            VersionSelection::Newest(constraints) => {
                let newest = self.newest(address, constraints.as_ref());
                newest.map(|version| vec![version])
            }
            VersionSelection::All(_) => self.admitted(address, &selection.versions),
        };
        let chosen = match chosen {
            Ok(chosen) => chosen,
            Err(failure) => {
                return self.note(address.to_string(), None, Outcome::Failed(failure));
            }
        };
        let is_all = matches!(selection.versions, VersionSelection::All(_));
        for version in chosen {
            let checked = match is_all {
                true => self.check_module_age(address, &version),
                false => Ok(()),
            };
            match checked {
                Ok(()) => {
                    let is_needed = !is_all || selection.installed.is_some();
                    self.mirror_module(address, &version, is_needed);
                }
                Err(outcome) => self.note(address.to_string(), Some(version.to_string()), outcome),
            }
        }
    }

    /// Returns the newest version that constraints admit and that is old enough.
    fn newest(
        &mut self,
        address: &ModuleAddress,
        constraints: Option<&Constraints>,
    ) -> Result<Version, Failure> {
        let selection = VersionSelection::Newest(constraints.cloned());
        let mut newest = None;
        for version in self.admitted(address, &selection)?.into_iter().rev() {
            match self.check_module_age(address, &version) {
                Ok(()) => return Ok(version),
                Err(Outcome::Failed(failure)) => return Err(failure),
                Err(too_new) => newest = newest.or(Some(too_new.into_failure())),
            }
        }
        Err(newest.unwrap_or_else(|| Failure::refused("it has no versions")))
    }

    /// Returns the versions that a selection admits, in ascending order.
    fn admitted(
        &mut self,
        address: &ModuleAddress,
        selection: &VersionSelection,
    ) -> Result<Vec<Version>, Failure> {
        let list = self.module_list(address)?;
        let admitted = admitted(selection, &list).map_err(Failure::refused)?;
        Ok(admitted.into_iter().map(|it| it.version.clone()).collect())
    }

    fn check_module_age(
        &mut self,
        address: &ModuleAddress,
        version: &Version,
    ) -> Result<(), Outcome> {
        let registry = self.module_registry(address).map_err(Outcome::Failed)?;
        let of = (&registry.hostname, &registry.service);
        self.check_age(of, path(address), version)
    }

    fn module_list(&mut self, address: &ModuleAddress) -> Result<Arc<Vec<OriginVersion>>, Failure> {
        if let Some(known) = self.modules.lists.get(address) {
            return known.clone();
        }
        let listed = self.module_registry(address).and_then(|registry| {
            let versions = registry.versions(&self.upstream, address, self.output)?;
            Ok(Arc::new(versions))
        });
        self.modules.lists.insert(address.clone(), listed.clone());
        listed
    }

    fn module_registry(&mut self, address: &ModuleAddress) -> Result<ModuleRegistry, Failure> {
        let hostname = address.hostname.as_ref();
        let hostname = hostname.unwrap_or(&self.modules.default_host);
        let hostname = self.upstream.module_host(hostname).clone();
        if let Some(known) = self.modules.registries.get(&hostname) {
            return Ok(known.clone());
        }
        let document = self.upstream.discovery_document(&hostname)?;
        let service = Service::read_modules(&document);
        let service = service.map_err(|error| failure(&hostname, &error))?;
        let missing = || Failure::refused(format!("{hostname} has no registry of modules"));
        let registry = ModuleRegistry {
            shown: hostname.to_string(),
            service: service.ok_or_else(missing)?,
            token_options: "",
            hostname,
        };
        let known = &mut self.modules.registries;
        known.insert(registry.hostname.clone(), registry.clone());
        Ok(registry)
    }

    /// Mirrors a version once, after the modules that it calls. Returns whether it is mirrored. One that is not needed is only
    /// among those that a list admits.
    fn mirror_module(
        &mut self,
        address: &ModuleAddress,
        version: &Version,
        is_needed: bool,
    ) -> bool {
        let key = (address.clone(), version.clone());
        if let Some(known) = self.modules.tried.get(&key) {
            return *known;
        }
        let is_beyond =
            self.modules.tried.len() >= MOST_VERSIONS || self.modules.callers >= MOST_CALLERS;
        self.modules.tried.insert(key.clone(), true);
        self.modules.callers += 1;
        let outcome = match self.breaker.is_open() {
            true => Outcome::NotTried,
            false if is_beyond => Outcome::Failed(Failure::refused(format!(
                "one run mirrors at most {MOST_VERSIONS} versions of modules, and follows at most {MOST_CALLERS} calls from module \
                 to module: mirror what this module calls first, in a run of its own"
            ))),
            false => self.try_module(address, version, is_needed),
        };
        self.modules.callers -= 1;
        let is_mirrored = matches!(outcome, Outcome::Done(_));
        self.modules.tried.insert(key, is_mirrored);
        self.note(address.to_string(), Some(version.to_string()), outcome);
        is_mirrored
    }

    fn try_module(
        &mut self,
        address: &ModuleAddress,
        version: &Version,
        is_needed: bool,
    ) -> Outcome {
        let tried = self.at_origin(address, version).and_then(|module| {
            let reasons = module.calls.iter().filter_map(|call| self.follow(call));
            let reasons: Vec<String> = reasons.collect();
            // A stored version stays as it is; what has happened to its calls is reported with them.
            match reasons.is_empty() || module.new.is_none() {
                true => self.publish_module(address, version, module),
                false => Err(Failure::Refused(reasons).into()),
            }
        });
        self.breaker.judge(tried, self.is_one || is_needed)
    }

    /// Mirrors the module that a call means. Returns the reason why it cannot be.
    fn follow(&mut self, call: &ModuleSource) -> Option<String> {
        let about = |reason: String| Some(format!("{}: {reason}", named(call)));
        let (address, constraints) = match called(call, &self.modules.default_host) {
            Ok(Called::Module(address, constraints)) => (address, constraints),
            Ok(Called::Inside | Called::Elsewhere) => return None,
            Err(reason) => return about(reason),
        };
        let is_own = |own: &String| {
            let hostname = address.hostname.as_ref();
            hostname.is_some_and(|hostname| OwnHosts::new(own, &[]).include(hostname))
        };
        if self.modules.own.as_ref().is_some_and(is_own) {
            return None;
        }
        let installed = self.modules.installed.get(&address);
        let installed = installed.into_iter().flatten().filter(|version| {
            let admits = |it: &Constraints| it.admit(version);
            constraints.as_ref().is_none_or(admits)
        });
        let version = match installed.max().cloned() {
            Some(version) => {
                let checked = self.check_module_age(&address, &version);
                checked.map(|()| version).map_err(Outcome::into_failure)
            }
            None => self.newest(&address, constraints.as_ref()),
        };
        match version {
            Ok(version) if self.mirror_module(&address, &version, true) => None,
            Ok(version) => about(format!("{address} {version} is not mirrored")),
            Err(failure) => about(failure.reasons().join("; ")),
        }
    }

    /// Finds out what the origin has as a version. It is downloaded and checked unless the registry has the same commit and knows
    /// its calls.
    fn at_origin(
        &mut self,
        address: &ModuleAddress,
        version: &Version,
    ) -> Result<OriginModule, TryError> {
        let registry = self.module_registry(address)?;
        let location = registry.locate(&self.upstream, address, version)?;
        let located = self.upstream.located(location, &registry.hostname)?;
        let known = match &self.client {
            Some(client) => client.known_version(&Package::Module(address.clone()), version),
            None => Ok(None),
        };
        let known = known.map_err(TryError::Registry)?;
        let refused = known.as_ref().and_then(|known| {
            // A blocked package has no versions.
            let mut statuses = known.version.status.iter().chain(&known.package_status);
            let status = statuses.find(|it| it.state >= ReleaseState::Revoked)?;
            Some((known, status))
        });
        if let Some((known, status)) = refused {
            let (state, reason) = (status.state, &status.reason);
            // Only an erased version has no archive.
            if known.archive.is_none() {
                let reason = format!("the registry never stores it again: {reason}");
                return Err(TryError::Registry(Failure::Erased(vec![reason])));
            }
            self.output.warning(&format!(
                "{address} {version}: the version is {state}, so no client can install it: {reason}"
            ));
        }
        let stored = known.as_ref().and_then(|it| it.version.source.as_ref());
        let check = |found: &ReleaseSource| match stored.and_then(|it| moved(it, found)) {
            Some(reason) => Err(TryError::Registry(Failure::Conflict(vec![reason]))),
            None => Ok(()),
        };
        if let Some(source) = located.source()? {
            check(&source)?;
            let documented = known.as_ref().and_then(|it| it.module.as_ref());
            if let (Some(_), Some(calls)) = (stored, documented.and_then(documented_calls)) {
                let new = None;
                return Ok(OriginModule { source, calls, new });
            }
        }
        let about = format!("{address} {version}");
        let package = self
            .upstream
            .module_package(&located, &registry.hostname, about);
        let mut package = package?;
        if package.source.commit.is_none() {
            let tree = package.archive.tree(package.format);
            package.source.tree = Some(tree.map_err(Failure::refused)?);
            check(&package.source)?;
        }
        let loaded = Loaded::read(&package).map_err(Failure::refused)?;
        if !loaded.reasons.is_empty() {
            return Err(Failure::Refused(loaded.reasons).into());
        }
        Ok(OriginModule {
            source: package.source.clone(),
            calls: loaded.calls,
            new: stored.is_none().then_some(package),
        })
    }

    /// Publishes a version whose calls are mirrored, unless the registry has it.
    fn publish_module(
        &self,
        address: &ModuleAddress,
        version: &Version,
        module: OriginModule,
    ) -> Result<Done, TryError> {
        let is_elsewhere = |call: &&ModuleSource| {
            let called = called(call, &self.modules.default_host);
            matches!(called, Ok(Called::Elsewhere))
        };
        let elsewhere = module.calls.iter().filter(is_elsewhere);
        let elsewhere: Vec<String> = elsewhere.map(named).collect();
        let line = |call: &String| format!("{:<11}  {call}: {ELSEWHERE}", "");
        let commit = module.source.commit.as_ref();
        let mut done = Done {
            status: "unchanged",
            text: commit.map_or_else(String::new, |commit| format!(", commit {commit}")),
            lines: elsewhere.iter().map(line).collect(),
            details: json!({ "kind": "module", "elsewhere": elsewhere }),
        };
        let Some(package) = module.new else {
            return Ok(done);
        };
        let subdir = package.subdir.as_ref();
        let request = module::describe(
            (package.archive, package.format),
            (address, version),
            subdir,
            package.source,
            self.output,
        )?;
        let Some(client) = self.client.as_ref().filter(|_| !self.dry_run) else {
            done.status = "dry_run";
            return Ok(done);
        };
        let of = (address, version, subdir);
        let receipt = module::publish_quietly(&request, of, client, self.output);
        let receipt = receipt.map_err(TryError::Registry)?;
        receipt.warn(&format!("{address} {version}"), self.output);
        done.status = receipt.status;
        Ok(done)
    }
}

/// Returns the calls of a stored version by its documentation; `None` if it also calls directories that are not documented.
fn documented_calls(module: &ModuleView) -> Option<Vec<ModuleSource>> {
    let submodules = module.submodules.iter();
    let submodules = submodules.map(|it| (format!("modules/{}", it.name), &it.part));
    let mut parts: BTreeMap<String, &ModulePart> = submodules.collect();
    parts.insert(String::new(), &module.root);
    let mut calls = Vec::new();
    for (directory, part) in &parts {
        for ModuleCall {
            name,
            source,
            version,
        } in &part.calls
        {
            match local(directory, source) {
                Some(Place::Inside(place)) if parts.contains_key(&place) => continue,
                Some(_) => return None,
                None => {}
            }
            // The text of an expression is no constraint.
            let is_text = |version: &String| version.parse::<Constraints>().is_err();
            calls.push(ModuleSource {
                file: format!("module {name:?}"),
                line: None,
                source: source.clone(),
                is_computed: version.as_ref().is_some_and(is_text),
                version: version.clone(),
            });
        }
    }
    Some(calls)
}

/// Returns why a stored version is not the one of its origin, if it is another one.
fn moved(stored: &SourceDocument, found: &ReleaseSource) -> Option<String> {
    let text =
        |commit: Option<&CommitId>, tree: Option<&Sha256>, directory: Option<&RelativePath>| {
            let at = directory.map_or_else(String::new, |it| format!(" in {it}"));
            match (commit, tree) {
                (Some(commit), _) => format!("the commit {commit}{at}"),
                (None, Some(tree)) => format!("files with the sha256 {tree}{at}"),
                (None, None) => format!("unknown files{at}"),
            }
        };
    let (at, tree) = (stored.directory.as_ref(), stored.tree.as_ref());
    let stored = text(stored.commit.as_ref(), tree, at);
    let (at, tree) = (found.directory.as_ref(), found.tree.as_ref());
    let found = text(found.commit.as_ref(), tree, at);
    (stored != found).then(|| {
        format!(
            "it is stored from {stored}, but its origin has {found} now, and nothing is replaced: an origin that moves a tag \
             cannot be followed"
        )
    })
}
