//! `terrace publish modules`.

mod address;
mod plan;
mod planned;
mod report;
mod version;

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use clap::Args;
use serde_json::json;
use terrace_core::model::address::ModuleAddress;
use terrace_core::model::package::Package;
use terrace_core::model::source_url::SourceUrl;
use terrace_core::model::version::Version;

use self::address::listed;
use self::plan::plan;
use self::planned::{Origin, Plan, PlannedModule, PlannedVersion};
use self::report::Row;
use self::version::VersionPublisher;
use crate::commands::circuit_breaker::CircuitBreaker;
use crate::commands::connection::{Session, registry_url};
use crate::commands::report::{Outcome, Report};
use crate::error::Failure;
use crate::output::{Output, plural};
use crate::parallel;
use crate::registry::client::Client;
use crate::source::git::Objects;
use crate::source::pattern::Pattern;

#[derive(Debug, Args)]
pub(crate) struct CollectionArguments {
    /// The repository, a directory that contains repositories, or a URL to clone (https, ssh or file)
    #[arg(value_name = "DIR|GIT-URL", default_value = ".")]
    pub(crate) place: String,

    /// The address of each module, such as 'acme/{name}/{system}' or 'acme/{name}/aws'. {name} and {system} come from
    /// --path; otherwise the system is that of the only provider that the newest version of the module requires
    #[arg(long, value_name = "PATTERN")]
    pub(crate) address: Pattern,

    /// The directories of the modules, such as 'modules/{name}' or '{system}/{name}'; '.' is the top. May be given several
    /// times. By default the first of modules/{name}, modules/{system}/{name}, {name} and {system}/{name} that has modules;
    /// for a directory with repositories terraform-{system}-{name}, or else {name}
    #[arg(long = "path", value_name = "PATTERN")]
    pub(crate) paths: Vec<Pattern>,

    /// The tags, such as '{name}/v{version}' or '{path}-{version}'; {version} also stands for one with a leading v. A tag
    /// without {name} and {path} names a version of every module. May be given several times. By default {path} or {name},
    /// then /, - or @, then {version}; or, if there are no such tags, {version}
    #[arg(long = "tag", value_name = "PATTERN", conflicts_with = "version")]
    pub(crate) tags: Vec<Pattern>,

    /// Publish the files of the working tree as this version, without git
    #[arg(long)]
    pub(crate) version: Option<Version>,

    /// Publish only modules whose name, directory or address is this text, in which * stands for any characters. May be
    /// given several times
    #[arg(long, value_name = "PATTERN")]
    pub(crate) only: Vec<String>,

    /// Publish only the newest version of each module
    #[arg(long)]
    pub(crate) latest: bool,

    /// Publish only this version of each module and newer ones
    #[arg(long, value_name = "VERSION")]
    pub(crate) since: Option<Version>,

    /// The number of modules that are published at the same time
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u8).range(1..=16))]
    pub(crate) jobs: u8,

    /// Publish this file although it looks as if it holds secrets: its exact path in a package. May be given several
    /// times
    #[arg(long, value_name = "FILE")]
    pub(crate) allow_secrets: Vec<String>,

    /// Publish this configuration file although it looks as if no client could parse it: its exact path in a package. May
    /// be given several times
    #[arg(long, value_name = "FILE")]
    pub(crate) allow_unparsed: Vec<String>,

    /// The URL of the repository, where update tools look for release notes. By default that of the CI job or of the
    /// only git remote, unless they differ. The commits of the tags are published with it
    #[arg(long, value_name = "URL", conflicts_with = "no_source")]
    pub(crate) source: Option<SourceUrl>,

    /// Publish without the URL of the repository
    #[arg(long)]
    pub(crate) no_source: bool,

    /// Publish without documentation
    #[arg(long)]
    pub(crate) no_docs: bool,

    /// Fail for versions without documentation, or whose documentation cannot be stored
    #[arg(long, conflicts_with = "no_docs")]
    pub(crate) require_docs: bool,

    /// Check everything that can be checked locally, list the versions, and send nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}

/// Publishes the modules of a collection: several at the same time, and the versions of each from the oldest to the newest.
pub(crate) fn publish(
    arguments: &CollectionArguments,
    session: Session<'_>,
) -> Result<(), Failure> {
    let output = session.output;
    // A missing URL or token is reported before the work of packing.
    let client = match arguments.dry_run {
        true => None,
        false => Some(session.connect()?),
    };
    let url = registry_url(session.registry)?;
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
    rows.extend(plan.problems);
    let url = url.map(|url| url.to_string());
    let mut report = Report::new("modules", url, arguments.dry_run);
    report.details = json!({ "source": arguments.place, "ignored_tags": plan.ignored_tags });
    report::tell(rows, report, output)
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
                let (number, tag) = (version.version.to_string(), version.tag.as_ref());
                let is_documented = documented.contains(&number);
                let address = module.address.to_string();
                let mut row = Row::new(address, Some(number), &version.directory, tag);
                if self.breaker().is_open() {
                    return row;
                }
                row.report.outcome = match self.source(version, &mut objects) {
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
                row.report.outcome.record(&mut self.breaker());
                row.report.announce(self.output);
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
        documented.map(|line| line.version.to_string()).collect()
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
}
