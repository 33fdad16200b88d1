//! `terrace check`: whether the versions that configurations use may still be used.

mod sarif;
mod uses;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use clap::Args;
use serde::Serialize;
use terrace_core::api::check::{
    CheckAnswer, CheckBody, CheckedPackage, PACKAGES_AT_ONCE, UseState, UsedPackage,
};
use terrace_core::api::endpoint::API_CHECK;
use terrace_core::model::package::Package;

use super::connection::Session;
use crate::error::{Exit, Failure};
use crate::output::{Column, Screen, Table, are, plural, shown};
use crate::registry::client::{Call, Client};
use uses::{Place, Uses};

/// Check whether the versions that configurations use may still be used
///
/// Reads lock files, what `init` installed, and the module calls that it did not install. A revoked or blocked version ends with
/// exit code 3, with --strict a withdrawn or deprecated one, too. Packages of other registries that are not
/// mirrored here are counted, not judged.
#[derive(Debug, Args)]
#[command(
    after_help = "Example: terrace check --sarif > terrace.sarif\nToken scope: read:<namespace> or read, if the registry requires a token for reads"
)]
pub(crate) struct CheckArguments {
    /// Directories with configurations; those below them are included
    #[arg(default_value = ".")]
    pub(crate) directories: Vec<PathBuf>,
    /// Fail for withdrawn and deprecated versions, too
    #[arg(long)]
    pub(crate) strict: bool,
    /// Print the result as SARIF 2.1.0, for code scanning
    #[arg(long, conflicts_with = "json")]
    pub(crate) sarif: bool,
}

/// A judged package, with the places that use it.
#[derive(Debug, Serialize)]
struct Judged {
    #[serde(flatten)]
    checked: CheckedPackage,
    places: BTreeSet<Place>,
}

/// The result, for programs.
#[derive(Debug, Serialize)]
struct Report {
    packages: Vec<Judged>,
    /// The number of packages of other registries that are not mirrored here.
    not_judged: usize,
}

/// Executes the command.
pub(crate) fn run(arguments: &CheckArguments, session: Session<'_>) -> Result<(), Failure> {
    let output = session.output;
    let client = session.connect_reader()?;
    let mut uses = Uses::default();
    for directory in &arguments.directories {
        uses.read(directory, &client.host())?;
    }
    let (packages, unknown): (Vec<_>, Vec<_>) =
        judged(&client, uses.0)?.into_iter().partition(|it| {
            let package = Package::parse_address(&it.checked.used.address);
            it.checked.state != UseState::Unknown || package.is_none_or(|it| it.origin().is_none())
        });
    let report = Report {
        packages,
        not_judged: unknown.len(),
    };
    match arguments.sarif {
        true => {
            let sarif = sarif::of(&report.packages);
            output.result(&sarif.lines().collect::<Vec<_>>(), &report);
        }
        false => output.report(screen(&report, client.url()), &report),
    }
    let least = match arguments.strict {
        true => UseState::Deprecated,
        false => UseState::Revoked,
    };
    match report.packages.iter().any(|it| it.checked.state >= least) {
        true => Err(Failure::Reported(Exit::Rejected)),
        false => Ok(()),
    }
}

/// Asks the registry about all packages, in as many requests as it takes.
fn judged(
    client: &Client<'_>,
    mut places: BTreeMap<UsedPackage, BTreeSet<Place>>,
) -> Result<Vec<Judged>, Failure> {
    let mut asked: Vec<UsedPackage> = places.keys().cloned().collect();
    let mut judged = Vec::new();
    while !asked.is_empty() {
        let rest = asked.split_off(asked.len().min(PACKAGES_AT_ONCE));
        let count = asked.len();
        let body = CheckBody { packages: asked };
        let answer: CheckAnswer = client.call(Call::post(&API_CHECK).json(&body)?)?;
        let (unchecked, checked): (Vec<_>, Vec<_>) = answer
            .packages
            .into_iter()
            .partition(|it| it.state == UseState::Unchecked);
        if unchecked.len() == count {
            let message = "the registry judged none of the packages: try again later";
            return Err(Failure::Unavailable(message.to_owned()));
        }
        judged.extend(checked.into_iter().map(|checked| Judged {
            places: places.remove(&checked.used).unwrap_or_default(),
            checked,
        }));
        asked = unchecked.into_iter().map(|it| it.used).collect();
        asked.extend(rest);
    }
    judged.sort_by_key(|it| Reverse(it.checked.state));
    Ok(judged)
}

/// Returns the packages that need attention, those with newer versions, and the counts.
fn screen(report: &Report, registry: &str) -> Screen {
    let mut screen = Screen::new();
    let packages = report.packages.iter();
    let needing = packages
        .clone()
        .filter(|it| it.checked.state > UseState::Active);
    let attention = needing.map(|Judged { checked, places }| {
        let places: Vec<String> = places.iter().map(ToString::to_string).collect();
        [
            checked.state.to_string(),
            checked.used.address.clone(),
            wanted(&checked.used),
            places.join(", "),
            message(checked),
        ]
    });
    let attention = Table::of(
        [
            Column::status("STATUS"),
            Column::whole("PACKAGE"),
            Column::whole("VERSION"),
            Column::cut("USED IN"),
            Column::wrapped("REASON"),
        ],
        attention,
    );
    let newer = packages.filter_map(|Judged { checked, .. }| {
        Some([
            checked.used.address.clone(),
            wanted(&checked.used),
            checked.newer.as_ref()?.to_string(),
            shown(checked.newer_in_major.as_ref()),
        ])
    });
    let newer = Table::of(
        [
            Column::whole("PACKAGE"),
            Column::whole("VERSION"),
            Column::whole("NEWER"),
            Column::left_out(1, "SAME MAJOR"),
        ],
        newer,
    );
    if !attention.is_empty() {
        screen.table(&attention);
    }
    if !newer.is_empty() {
        screen.title("Newer versions");
        screen.table(&newer);
    }
    screen.text(&summary(report, registry));
    screen
}

fn summary(report: &Report, registry: &str) -> String {
    let count = report.packages.len();
    let not_judged = match report.not_judged {
        0 => String::new(),
        count => format!(
            "; {} not mirrored here, and not judged",
            are(count, "package")
        ),
    };
    if count == 0 {
        return format!("nothing of {registry} is in use here{not_judged}");
    }
    let mut states: BTreeMap<Reverse<UseState>, usize> = BTreeMap::new();
    for Judged { checked, .. } in &report.packages {
        if checked.state > UseState::Active {
            *states.entry(Reverse(checked.state)).or_default() += 1;
        }
    }
    let states = states.iter();
    let states: Vec<String> = states
        .map(|(Reverse(state), count)| format!("{count} {state}"))
        .collect();
    let states = match states.is_empty() {
        true => "nothing is known against them".to_owned(),
        false => states.join(", "),
    };
    format!("{} checked: {states}{not_judged}", plural(count, "package"))
}

/// Returns the version in use, or the constraint of the one that will be.
fn wanted(used: &UsedPackage) -> String {
    match (&used.version, &used.constraint) {
        (None, Some(constraint)) => constraint.clone(),
        (version, _) => shown(version.as_ref()),
    }
}

/// Returns the sentence about a version that needs attention.
fn message(checked: &CheckedPackage) -> String {
    match (checked.state, &checked.reason) {
        (UseState::Missing, _) => "the registry has no such version".to_owned(),
        (UseState::Unknown, _) => "the registry has no such package that you may see".to_owned(),
        (_, reason) => shown(reason.as_ref()),
    }
}
