//! `terrace publish modules`.

mod address;
mod plan;
mod planned;
mod report;
mod version;

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use terrace_core::model::address::ModuleAddress;
use terrace_core::model::package::Package;

use self::address::listed;
use self::plan::plan;
use self::planned::{Origin, Plan, PlannedModule, PlannedVersion};
use self::report::{Outcome, Report, Row};
use self::version::VersionPublisher;
use crate::args::{CollectionArguments, RegistryArguments};
use crate::commands::circuit_breaker::CircuitBreaker;
use crate::commands::connection::{connect, registry_url};
use crate::error::Failure;
use crate::output::{Output, plural};
use crate::parallel;
use crate::registry::client::Client;
use crate::source::git::Objects;

/// Publishes the modules of a collection: several at the same time, and the versions of each from the oldest to the newest.
pub(crate) fn publish(
    arguments: &CollectionArguments,
    registry: &RegistryArguments,
    output: &Output,
) -> Result<(), Failure> {
    // A missing URL or token is reported before the work of packing.
    let client = match arguments.dry_run {
        true => None,
        false => Some(connect(registry, output)?),
    };
    let url = registry_url(registry)?;
    let plan = plan(arguments, output)?;
    let versions: usize = plan
        .modules
        .iter()
        .map(|module| module.versions.len())
        .sum();
    output.progress(&format!(
        "found {} of {}",
        plural(versions, "version"),
        plural(plan.modules.len(), "module")
    ));
    if !plan.ignored_tags.is_empty() {
        let ignored: Vec<&String> = plan.ignored_tags.iter().collect();
        output.progress(&format!(
            "ignored {} without a version of a module: {}",
            plural(ignored.len(), "tag"),
            listed(&ignored)
        ));
    }
    let run = Run {
        arguments,
        plan: &plan,
        client: client.as_ref(),
        output,
        breaker: Mutex::default(),
    };
    let rows = parallel::map(&plan.modules, arguments.jobs.into(), |module| {
        run.module(module)
    });
    let mut rows: Vec<Row> = rows.into_iter().flatten().collect();
    rows.extend(plan.problems.iter().map(Row::of_problem));
    let report = Report {
        url: url.map(|url| url.to_string()),
        is_dry_run: arguments.dry_run,
        place: arguments.place.clone(),
        ignored_tags: plan.ignored_tags,
        rows,
    };
    report.tell(output)
}

/// A run.
struct Run<'a> {
    arguments: &'a CollectionArguments,
    plan: &'a Plan,
    /// The registry, unless this is a dry run.
    client: Option<&'a Client<'a>>,
    output: &'a Output,
    breaker: Mutex<CircuitBreaker>,
}

impl Run<'_> {
    /// Publishes the versions of a module.
    fn module(&self, module: &PlannedModule) -> Vec<Row> {
        // Each module has a git process of its own, because modules are published at the same time.
        let mut objects = None;
        let documented = self.documented(&module.address);
        let versions = module.versions.iter();
        versions
            .map(|version| {
                let mut row = Row::new(&module.address, version);
                if self.breaker().is_open() {
                    return row;
                }
                let is_documented = documented.contains(&version.version.to_string());
                row.outcome = match self.source(version, &mut objects) {
                    Ok((origin, objects)) => {
                        let publisher = VersionPublisher {
                            arguments: self.arguments,
                            address: &module.address,
                            version,
                            origin,
                            is_documented,
                            client: self.client,
                            output: self.output,
                        };
                        Outcome::of(publisher.publish(objects, &mut row))
                    }
                    Err(failure) => Outcome::Failed(failure),
                };
                self.record(&row.outcome);
                self.output.progress(&row.line());
                row
            })
            .collect()
    }

    /// Returns the versions that have documentation: another run need not send it again.
    fn documented(&self, address: &ModuleAddress) -> BTreeSet<String> {
        let package = Package::Module(address.clone());
        let is_asked = !self.arguments.no_docs && !self.breaker().is_open();
        let client = self.client.filter(|_| is_asked);
        // Without the catalogue, the documentation is sent.
        let details = client.and_then(|client| client.package(&package).ok());
        let versions = details.map(|details| details.value.versions);
        let versions = versions.into_iter().flatten();
        let documented = versions.filter(|line| line.is_documented);
        documented.map(|line| line.version).collect()
    }

    /// Returns the origin of a version, and the objects of its repository, if it has one.
    fn source<'o>(
        &self,
        version: &PlannedVersion,
        opened: &'o mut Option<(usize, Objects)>,
    ) -> Result<(&Origin, Option<&'o Objects>), Failure> {
        let index = version.origin;
        let origin = self.plan.origins.get(index);
        let origin =
            origin.ok_or_else(|| Failure::Unexpected("a version has no origin".to_owned()))?;
        let Some(repository) = &origin.repository else {
            return Ok((origin, None));
        };
        if opened.as_ref().is_none_or(|(of, _)| *of != index) {
            *opened = Some((index, repository.objects().map_err(Failure::Local)?));
        }
        Ok((origin, opened.as_ref().map(|(_, objects)| objects)))
    }

    fn breaker(&self) -> MutexGuard<'_, CircuitBreaker> {
        self.breaker.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn record(&self, outcome: &Outcome) {
        match outcome {
            Outcome::Done(_) => self.breaker().succeed(),
            Outcome::Failed(failure) => self.breaker().fail(failure),
            Outcome::NotTried | Outcome::Skipped(_) => {}
        }
    }
}
