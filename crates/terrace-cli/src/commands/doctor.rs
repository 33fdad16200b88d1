//! `terrace doctor`: finds what is wrong with a registry, as its clients see it, and with this machine.
//!
//! Each group of checks has its own file; `table.rs` lists all of them. A check that needs the result of another one is
//! skipped if that failed, so that one fault is reported once.

mod access;
mod admin;
mod before;
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
mod plan;
mod providers;
mod report;
mod selection;
mod table;
mod target;
mod transport;
mod wrangler;

use std::fs;

use check::Made;
use engine::Subjects;
use machine::Machine;
use outcome::Status;
use plan::Plan;
use target::Target;

use crate::args::{DoctorArguments, RegistryArguments};
use crate::clock::Stopwatch;
use crate::commands::account::named;
use crate::commands::connection::registry_url;
use crate::error::{Exit, Failure};
use crate::output::Output;

/// Executes the command.
pub(crate) fn run(
    arguments: &DoctorArguments,
    registry: &RegistryArguments,
    output: &Output,
) -> Result<(), Failure> {
    let watch = Stopwatch::start();
    let checks = selection::selected(arguments)?;
    let machine = Machine::find(output);
    let (target, plan) = match arguments.pre {
        true => (None, Some(Plan::new(arguments, output))),
        false => (find_target(arguments, registry, output)?, None),
    };
    let subjects = Subjects {
        machine: &machine,
        target: target.as_ref(),
        plan: plan.as_ref(),
    };
    let made = engine::make(&checks, &subjects, output);
    if let Some(path) = &arguments.junit {
        let text = output.without_secrets(&report::junit(&made, arguments.strict));
        fs::write(path, text)
            .map_err(|error| Failure::Local(format!("{}: {error}", path.display())))?;
    }
    let is_unreachable = target.as_ref().is_some_and(|it| it.reached().is_err());
    let exit = exit(&made, is_unreachable, arguments.strict);
    let url = target.as_ref().map(Target::url);
    let subject = match (url, &plan) {
        (Some(url), _) => format!("Checking {url}"),
        (None, Some(plan)) => plan.subject(),
        (None, None) => "Checking this machine; for a registry, give its URL".to_owned(),
    };
    let document = report::document(url, &made, exit);
    output.report(report::screen(&subject, &made, watch.elapsed()), &document);
    match exit {
        Exit::Success => Ok(()),
        exit => Err(Failure::Reported(exit)),
    }
}

/// Returns the registry that the command line or the settings name.
fn find_target(
    arguments: &DoctorArguments,
    registry: &RegistryArguments,
    output: &Output,
) -> Result<Option<Target>, Failure> {
    let has_token = registry.token.is_some();
    let registry = named(&arguments.account, registry);
    let is_of_other = has_token && registry.token.is_none();
    let url = registry_url(&registry)?;
    let target = url.map(|url| Target::new(url, arguments, &registry, output));
    let mut target = target.transpose()?;
    if let Some(target) = target
        .as_mut()
        .filter(|target| !target.has_token() && is_of_other)
    {
        target.tokenless = "TERRACE_TOKEN is sent to the registry in TERRACE_URL only".to_owned();
    }
    Ok(target)
}

fn exit(made: &[Made], is_unreachable: bool, is_strict: bool) -> Exit {
    let worst = made.iter().map(|made| made.outcome.status).max();
    match worst {
        Some(Status::Fail) if is_unreachable => Exit::Unavailable,
        Some(Status::Fail) => Exit::Rejected,
        Some(Status::Warn) if is_strict => Exit::Unexpected,
        _ => Exit::Success,
    }
}
