//! `terrace doctor`: finds the faults of a registry, as its clients see it, and of this machine.
//!
//! `table.rs` lists all checks. A check that needs the result of another one is skipped if that failed, so that one fault is
//! reported once.

mod access;
mod connection;
mod downloads;
mod explanation;
mod finding;
mod local;
mod packages;
mod report;
mod stated;
mod table;
mod target;

use std::time::Duration;

use clap::Args;
use explanation::explanation;
use finding::Finding;
use serde_json::{Value, json};
use table::{CHECKS, Check, Run};
use target::Target;
use terrace_core::model::address::{ModuleAddress, ProviderAddress};

use crate::args::{ArchiveHostArguments, RegistryArguments, duration};
use crate::commands::account::{self, AccountArguments};
use crate::commands::connection::registry_url;
use crate::credentials::ClientConfiguration;
use crate::error::{Exit, Failure};
use crate::http::BaseUrl;
use crate::output::{Mark, Output, Screen};
use crate::parallel;

/// Find what is wrong with a registry, as its clients see it, and with this machine
///
/// Without a URL, only this machine is checked. With the token of an administrator, the registry also checks itself. Nothing
/// is changed. `--explain ID` describes a check.
#[derive(Debug, Args)]
#[command(after_help = "Example: terrace doctor https://registry.example.com")]
pub(crate) struct DoctorArguments {
    #[command(flatten)]
    pub(crate) account: AccountArguments,

    /// Make only these checks: IDs such as W1, or letters of groups such as W, separated by commas
    #[arg(long, value_name = "CHECKS", value_delimiter = ',')]
    pub(crate) only: Vec<String>,

    /// Leave these checks out
    #[arg(long, value_name = "CHECKS", value_delimiter = ',')]
    pub(crate) skip: Vec<String>,

    /// Print what a check is about: the symptom, its cause and its fix. Nothing is checked
    #[arg(long, value_name = "CHECK")]
    pub(crate) explain: Option<String>,

    /// End with exit code 1 if there are warnings
    #[arg(long)]
    pub(crate) strict: bool,

    /// Download archives of any size, too
    #[arg(long)]
    pub(crate) deep: bool,

    /// The time for each request
    #[arg(long, value_name = "DURATION", default_value = "10s", value_parser = duration::of_request)]
    pub(crate) timeout: Duration,

    /// The provider to try, instead of the first one that the registry lists
    #[arg(long, value_name = "NAMESPACE/TYPE", value_parser = provider)]
    pub(crate) provider: Option<ProviderAddress>,

    /// The module to try, instead of the first one that the registry lists
    #[arg(long, value_name = "NAMESPACE/NAME/SYSTEM", value_parser = module)]
    pub(crate) module: Option<ModuleAddress>,

    #[command(flatten)]
    pub(crate) archive_hosts: ArchiveHostArguments,
}

fn provider(text: &str) -> Result<ProviderAddress, String> {
    text.parse().map_err(|error| format!("{error}"))
}

fn module(text: &str) -> Result<ModuleAddress, String> {
    ModuleAddress::parse_hosted(text).map_err(|error| format!("{error}"))
}

/// The number of checks at the same time: most of them wait for the network, and more would look like an attack.
const CHECKS_AT_ONCE: usize = 6;

/// A check that was made.
struct Made {
    check: &'static Check,
    finding: Finding,
}

/// Executes the command.
pub(crate) fn run(
    arguments: &DoctorArguments,
    registry: &RegistryArguments,
    output: &Output,
) -> Result<(), Failure> {
    if let Some(id) = &arguments.explain {
        let (screen, document) = explained(id)?;
        output.report(screen, &document);
        return Ok(());
    }
    let checks = table::selected(&arguments.only, &arguments.skip)?;
    let target = target(arguments, registry, output)?;
    if target.is_none() && checks.iter().all(|it| needs_registry(it)) {
        return Err(Failure::Usage(
            "all of these checks need a registry, and none is named: give its URL as the argument, or set TERRACE_URL, \
             --url or --profile"
                .to_owned(),
        ));
    }
    let made = make(&checks, target.as_ref(), output);
    let is_unreachable = target.as_ref().is_some_and(|it| it.reached().is_err());
    let exit = exit(&made, is_unreachable, arguments.strict);
    let url = target.as_ref().map(|target| target.base().as_str());
    let subject = match url {
        Some(url) => format!("Checking {url}"),
        None => "Checking this machine; for a registry, give its URL".to_owned(),
    };
    let document = report::document(url, &made, exit);
    output.report(report::screen(&subject, &made), &document);
    match exit {
        Exit::Success => Ok(()),
        exit => Err(Failure::Reported(exit)),
    }
}

fn needs_registry(check: &Check) -> bool {
    matches!(check.run, Run::Remote(_))
}

/// Returns the registry that the command line or the settings name, if they do.
fn target(
    arguments: &DoctorArguments,
    registry: &RegistryArguments,
    output: &Output,
) -> Result<Option<Target>, Failure> {
    let given = arguments.account.registry.as_deref();
    if given.is_some_and(|text| text.trim().is_empty()) {
        return Err(Failure::Usage(
            "the URL is empty: give that of a registry, or leave the argument out to check this machine only"
                .to_owned(),
        ));
    }
    let named = account::named(&arguments.account, registry);
    let Some(url): Option<BaseUrl> = registry_url(&named)? else {
        return Ok(None);
    };
    let mut target = Target::new(url, arguments, &named, output)?;
    if registry.token.is_some() && named.token.is_none() && !target.has_token() {
        target.tokenless = "TERRACE_TOKEN is sent to the registry in TERRACE_URL only".to_owned();
    }
    Ok(Some(target))
}

/// Makes the checks in parallel. Returns them in the same order.
fn make(checks: &[&'static Check], target: Option<&Target>, output: &Output) -> Vec<Made> {
    let configuration = ClientConfiguration::find();
    let files = configuration.files.len();
    output.detail(&format!("read {files} files of terraform and tofu"));
    let progress = output.counter(checks.len());
    let is_unreachable = target.is_some_and(|it| it.reached().is_err());
    parallel::map(checks, CHECKS_AT_ONCE, |check| {
        progress.begin(check.title);
        let judged = match (check.run, target) {
            (Run::Local(run), target) => run(&configuration, target),
            (Run::Remote(_), None) => Err(Finding::skip("no registry is named")),
            // The checks of the connection explain it.
            (Run::Remote(_), Some(_)) if is_unreachable && check.group() != "T" => {
                Err(Finding::skip("the registry cannot be reached"))
            }
            (Run::Remote(run), Some(target)) => run(target),
        };
        progress.advance(1);
        let finding = judged.map_or_else(|it| it.seen_by(check.id), Finding::pass);
        Made { check, finding }
    })
}

/// Returns how the command ends. A registry that cannot be reached prevents every check that needs one, whichever are chosen.
fn exit(made: &[Made], is_unreachable: bool, is_strict: bool) -> Exit {
    let worst = made.iter().map(|made| made.finding.mark).max();
    match worst {
        _ if is_unreachable && made.iter().any(|it| needs_registry(it.check)) => Exit::Unavailable,
        Some(Mark::Failed) => Exit::Rejected,
        Some(Mark::Warning) if is_strict => Exit::Unexpected,
        _ => Exit::Success,
    }
}

/// Returns what a check is about, for people and for programs.
///
/// # Errors
/// A name that is not the ID of a check.
fn explained(name: &str) -> Result<(Screen, Value), Failure> {
    let id = name.trim().to_ascii_uppercase();
    let check = CHECKS.iter().find(|check| check.id == id);
    let Some((check, [symptom, cause, fix])) = check.zip(explanation(&id)) else {
        return Err(table::unknown("--explain", name));
    };
    let mut screen = Screen::new();
    screen.title(&format!("{id}  {}", check.title));
    let fields = [("symptom", symptom), ("cause", cause), ("fix", fix)];
    screen.fields(&fields.map(|(name, text)| (name, text.to_owned())));
    let document = json!({
        "status": "ok", "id": id, "title": check.title, "symptom": symptom, "cause": cause, "fix": fix,
    });
    Ok((screen, document))
}
