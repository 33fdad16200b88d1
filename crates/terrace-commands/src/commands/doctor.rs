//! `terrace doctor`: finds the faults of a registry, as its clients see it, and of this machine.
//!
//! Each group of checks has its own file; `table.rs` lists all of them. A check that needs the result of another one is
//! skipped if that failed, so that one fault is reported once.

mod access;
mod admin;
mod check;
mod clocks;
mod discovery;
mod downloads;
mod edge;
mod engine;
mod local;
mod machine;
mod modules;
mod oci;
mod outcome;
mod providers;
mod report;
mod selection;
mod table;
mod target;
mod transport;

use check::{Check, Made, Run};
use engine::Subjects;
use machine::Machine;
use outcome::Status;
use target::Target;

use crate::args::{DoctorArguments, RegistryArguments};
use crate::clock::Stopwatch;
use crate::commands::account;
use crate::commands::connection::registry_url;
use crate::error::{Exit, Failure};
use crate::http::{BaseUrl, trusts_any};
use crate::output::Output;

/// The registry of a command line.
struct Named {
    registry: RegistryArguments,
    /// Whether the given token belongs to another registry, so that it is not sent.
    is_token_of_other: bool,
}

/// Executes the command.
pub(crate) fn run(
    arguments: &DoctorArguments,
    registry: &RegistryArguments,
    output: &Output,
) -> Result<(), Failure> {
    let watch = Stopwatch::start();
    let checks = selection::selected(arguments)?;
    let named = named(arguments, registry)?;
    let url = registry_url(&named.registry)?;
    require_registry(&checks, url.is_some())?;
    let machine = Machine::find(output);
    // Without certificates there is no connection, which L9 reports.
    let has_certificates = !checks.iter().any(|it| it.id == "L9") || trusts_any();
    let target = url.clone().filter(|_| has_certificates);
    let target = target.map(|url| find_target(url, arguments, &named, output));
    let target = target.transpose()?;
    let subjects = Subjects {
        machine: &machine,
        target: target.as_ref().ok_or(match url {
            Some(_) => "L9 failed",
            None => "no registry is named",
        }),
    };
    let made = engine::make(&checks, &subjects, output);
    let exit = exit(&made, subjects.is_unreachable(), arguments.strict);
    let url = url.as_ref().map(BaseUrl::as_str);
    let subject = match url {
        Some(url) => format!("Checking {url}"),
        None => "Checking this machine; for a registry, give its URL".to_owned(),
    };
    let document = report::document(url, &made, exit);
    output.report(report::screen(&subject, &made, watch.elapsed()), &document);
    match exit {
        Exit::Success => Ok(()),
        exit => Err(Failure::Reported(exit)),
    }
}

/// Returns the arguments for the registry that the command line or the settings name.
fn named(arguments: &DoctorArguments, registry: &RegistryArguments) -> Result<Named, Failure> {
    let given = arguments.account.registry.as_deref();
    if given.is_some_and(|text| text.trim().is_empty()) {
        return Err(Failure::Usage(
            "the URL is empty: give that of a registry, or leave the argument out to check this machine only"
                .to_owned(),
        ));
    }
    let has_token = registry.token.is_some();
    let registry = account::named(&arguments.account, registry);
    let is_token_of_other = has_token && registry.token.is_none();
    Ok(Named {
        registry,
        is_token_of_other,
    })
}

/// Checks that there is a registry if all checks need one.
fn require_registry(checks: &[&'static Check], is_named: bool) -> Result<(), Failure> {
    match is_named || !checks.iter().all(|it| needs_registry(it)) {
        true => Ok(()),
        false => Err(Failure::Usage(
            "all of these checks need a registry, and none is named: give its URL as the argument, or set TERRACE_URL, \
             --url or --profile"
                .to_owned(),
        )),
    }
}

fn needs_registry(check: &Check) -> bool {
    matches!(check.run, Run::Remote(_))
}

fn find_target(
    url: BaseUrl,
    arguments: &DoctorArguments,
    named: &Named,
    output: &Output,
) -> Result<Target, Failure> {
    let mut target = Target::new(url, arguments, &named.registry, output)?;
    if named.is_token_of_other && !target.has_token() {
        target.tokenless = "TERRACE_TOKEN is sent to the registry in TERRACE_URL only".to_owned();
    }
    Ok(target)
}

/// Returns how the command ends. A registry that cannot be reached prevents every check that needs one, whichever are chosen.
fn exit(made: &[Made], is_unreachable: bool, is_strict: bool) -> Exit {
    let worst = made.iter().map(|made| made.outcome.status).max();
    match worst {
        _ if is_unreachable && made.iter().any(|it| needs_registry(it.check)) => Exit::Unavailable,
        Some(Status::Fail) => Exit::Rejected,
        Some(Status::Warn) if is_strict => Exit::Unexpected,
        _ => Exit::Success,
    }
}
