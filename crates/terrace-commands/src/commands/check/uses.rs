//! The packages that configurations use, with the places that name them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::Path;

use serde::Serialize;
use serde_json::Value;
use terrace_core::api::check::UsedPackage;
use terrace_core::model::package::{Package, PackageKind};
use terrace_core::model::version::Version;
use terrace_core::upstream::origin::Constraints;
use terrace_metadata::{ModuleSource, native_as_json};

use crate::commands::mirror::pull::files::{self, INSTALLED, Installed, LOCK, calls};
use crate::error::Failure;

/// A place in a file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(super) struct Place {
    pub(super) file: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) line: Option<usize>,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}:{line}", self.file),
            None => f.write_str(&self.file),
        }
    }
}

/// Packages that the registry may have, its own and mirrored ones, with the places that use them.
#[derive(Debug, Default)]
pub(super) struct Uses(pub(super) BTreeMap<UsedPackage, BTreeSet<Place>>);

/// The version in use, or the constraint that the newest one has to meet.
type Wanted = (Option<Version>, Option<String>);

impl Uses {
    /// Adds what a directory and those below it use. `host` is the hostname of the registry, with a port if it has one.
    ///
    /// # Errors
    /// A file cannot be read.
    pub(super) fn read(&mut self, directory: &Path, host: &str) -> Result<(), Failure> {
        let directories = files::directories(directory)
            .map_err(|error| Failure::Usage(format!("{}: {error}", directory.display())))?;
        for directory in directories {
            let lock = directory.join(LOCK);
            if lock.is_file() {
                self.add_locked(&lock, host)?;
            }
            self.add_modules(&directory, host)?;
        }
        Ok(())
    }

    /// Adds the providers of a lock file.
    fn add_locked(&mut self, path: &Path, host: &str) -> Result<(), Failure> {
        let text = files::text(path)?;
        let unreadable = |message: String| Failure::Usage(format!("{}: {message}", path.display()));
        let root = native_as_json(&text)
            .map_err(|(line, message)| unreadable(format!("line {line}: {message}")))?;
        let providers = root.get("provider").and_then(Value::as_object);
        for (source, body) in providers.into_iter().flatten() {
            let version = body
                .get("version")
                .and_then(Value::as_str)
                .unwrap_or_default();
            let version = version
                .parse()
                .map_err(|error| unreadable(format!("{source}: {error}")))?;
            let named = format!("\"{source}\"");
            let line = text.lines().position(|line| line.contains(&named));
            let place = place(path, line.map(|index| index + 1));
            let wanted = (Some(version), None);
            self.add(PackageKind::Provider, source, wanted, (host, place));
        }
        Ok(())
    }

    /// Adds the modules that are installed in a directory, and the calls of its files that none of them meets: since the last
    /// `init`, or because it failed.
    fn add_modules(&mut self, directory: &Path, host: &str) -> Result<(), Failure> {
        let calls = calls(directory)?;
        let modules = Installed::read(directory)?.map(|it| it.modules);
        let installed: Vec<(String, Version)> = modules
            .into_iter()
            .flatten()
            .filter_map(|it| Some((it.source, it.version?)))
            .collect();
        let list = directory.join(INSTALLED);
        for (source, version) in &installed {
            let call = calls.iter().find(|call| is_met(call, source, version));
            let place = match call {
                Some(call) => place(Path::new(&call.file), call.line),
                None => place(&list, None),
            };
            let wanted = (Some(version.clone()), None);
            self.add(PackageKind::Module, source, wanted, (host, place));
        }
        let is_installed = |call: &&ModuleSource| {
            let mut installed = installed.iter();
            installed.any(|(source, version)| is_met(call, source, version))
        };
        for call in calls.iter().filter(|call| !is_installed(call)) {
            let wanted = wanted(call.version.as_deref());
            let place = place(Path::new(&call.file), call.line);
            self.add(PackageKind::Module, &call.source, wanted, (host, place));
        }
        Ok(())
    }

    /// Adds the package of a source as configurations and lock files contain it. Sources that are not of a registry are ignored.
    fn add(
        &mut self,
        kind: PackageKind,
        source: &str,
        wanted: Wanted,
        (host, place): (&str, Place),
    ) {
        let address = source.split("//").next().unwrap_or_default();
        let own = address
            .strip_prefix(host)
            .and_then(|it| it.strip_prefix('/'));
        let package = Package::parse_address(own.unwrap_or(address));
        let package = package.filter(|it| it.kind() == kind);
        let package = package.map(|package| match package {
            Package::Module(address) if own.is_none() => Package::Module(address.mirrored()),
            package => package,
        });
        if let Some(package) = package {
            let (version, constraint) = wanted;
            let used = UsedPackage {
                address: package.address(),
                version,
                constraint,
            };
            self.0.entry(used).or_default().insert(place);
        }
    }
}

/// Returns whether an installed module is one that a call admits.
fn is_met(call: &ModuleSource, source: &str, version: &Version) -> bool {
    let constraints = call.version.as_deref().map(str::parse::<Constraints>);
    let constraints = constraints.and_then(Result::ok);
    let admits = constraints.is_none_or(|it| it.of_modules().admit(version));
    admits && source.ends_with(call.source.as_str())
}

/// Parses the constraint of a module call. An expression is none.
fn wanted(constraint: Option<&str>) -> Wanted {
    let text = constraint.unwrap_or_default().trim();
    match text.trim_start_matches('=').trim().parse() {
        Ok(version) => (Some(version), None),
        Err(_) => {
            let constraint = Some(text).filter(|it| !it.is_empty());
            let constraint = constraint.filter(|it| it.parse::<Constraints>().is_ok());
            (None, constraint.map(str::to_owned))
        }
    }
}

fn place(path: &Path, line: Option<usize>) -> Place {
    let file = path.display().to_string().replace('\\', "/");
    let file = file.strip_prefix("./").unwrap_or(&file).to_owned();
    Place { file, line }
}
