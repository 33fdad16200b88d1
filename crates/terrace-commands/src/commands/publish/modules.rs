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
use terrace_core::model::version::Version;

use self::plan::{PlannedModule, plan};
use self::report::{untried, version_of};
use self::version::{OpenedObjects, VersionPublisher};
use crate::commands::circuit_breaker::CircuitBreaker;
use crate::commands::connection::{Session, registry_url};
use crate::commands::publish::RepositoryArguments;
use crate::commands::publish::documentation::DocumentationChoice;
use crate::commands::publish::package::PackageArguments;
use crate::commands::report::{Outcome, Report, VersionReport};
use crate::error::Failure;
use crate::output::{Output, few, plural};
use crate::parallel;
use crate::registry::client::Client;
use crate::source::pattern::Pattern;

/// The number of names in a message.
const SHOWN_NAMES: usize = 5;

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

    #[command(flatten)]
    pub(crate) package: PackageArguments,

    #[command(flatten)]
    pub(crate) repository: RepositoryArguments,
    #[command(flatten)]
    pub(crate) documentation: DocumentationChoice,
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
    let client = (!arguments.dry_run).then(|| session.connect());
    let client = client.transpose()?;
    let url = registry_url(session.registry)?;
    let plan = plan(arguments, output)?;
    let versions = plan.modules.iter().map(|module| module.versions.len());
    output.progress(&format!(
        "found {} of {}",
        plural(versions.sum::<usize>(), "version"),
        plural(plan.modules.len(), "module")
    ));
    if !plan.ignored_tags.is_empty() {
        output.progress(&format!(
            "ignored {} without a version of a module: {}",
            plural(plan.ignored_tags.len(), "tag"),
            few(SHOWN_NAMES, &plan.ignored_tags)
        ));
    }
    let run = Run {
        arguments,
        client: client.as_ref(),
        output,
        breaker: Mutex::default(),
    };
    let jobs = arguments.jobs.into();
    let versions = parallel::map(&plan.modules, jobs, |module| run.module(module));
    let mut versions: Vec<VersionReport> = versions.into_iter().flatten().collect();
    versions.extend(plan.problems);
    arguments.package.warn_of_useless(versions.len(), output);
    let url = url.map(|url| url.to_string());
    let mut report = Report::new("modules", url, arguments.dry_run);
    report.details = json!({ "source": arguments.place, "ignored_tags": plan.ignored_tags });
    report::tell(versions, report, output)
}

/// A run.
struct Run<'a> {
    arguments: &'a CollectionArguments,
    /// The registry, unless this is a dry run.
    client: Option<&'a Client<'a>>,
    output: &'a Output,
    breaker: Mutex<CircuitBreaker>,
}

impl Run<'_> {
    /// Publishes the versions of a module.
    fn module(&self, module: &PlannedModule) -> Vec<VersionReport> {
        let documented = self.documented(&module.address);
        let mut objects = OpenedObjects::default();
        let publish = |version| {
            let (address, number) = (module.address.to_string(), version_of(version));
            let is_documented = number.as_ref().is_some_and(|it| documented.contains(it));
            let mut report = untried(address, number, version);
            if self.breaker().is_open() {
                return report;
            }
            let publisher = VersionPublisher {
                arguments: self.arguments,
                address: &module.address,
                version,
                is_documented,
                client: self.client,
                output: self.output,
            };
            report.outcome = Outcome::of(publisher.publish(&mut objects, &mut report.details));
            self.breaker().record(&report.outcome);
            report.announce(self.output);
            report
        };
        module.versions.iter().map(publish).collect()
    }

    /// Returns the versions that have documentation: another run need not send it again.
    fn documented(&self, address: &ModuleAddress) -> BTreeSet<String> {
        let package = Package::Module(address.clone());
        let is_asked = !self.arguments.documentation.no_docs && !self.breaker().is_open();
        let client = self.client.filter(|_| is_asked);
        // Without the catalogue, the documentation is sent.
        let details = client.and_then(|client| client.package(&package).ok());
        let versions = details.map(|details| details.value.versions);
        let versions = versions.into_iter().flatten();
        let documented = versions.filter(|line| line.is_documented);
        documented.map(|line| line.version.to_string()).collect()
    }

    fn breaker(&self) -> MutexGuard<'_, CircuitBreaker> {
        self.breaker.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
