//! `terrace compare`.

mod markdown;

use std::str::FromStr;

use clap::{Args, ValueEnum};
use serde_json::json;
use terrace_core::api::route::PageRoute;
use terrace_core::model::package::Package;
use terrace_core::model::version::Version;
use terrace_web::comparison::{self, Change, ChangeKind, ComparedVersion, Comparison};

use super::release::with_hint;
use crate::args::PackageSpec;
use crate::commands::connection::Session;
use crate::error::Failure;
use crate::output::{Mark, Screen, plural};
use crate::registry::client::Client;

/// The longest value of a property that is shown whole, in characters.
const VALUE_CHARS: usize = 100;

/// Show what changed between two versions of a package, and what may break configurations
///
/// Modules are compared by their interface and requirements, providers by their resources, and by the arguments of these if both
/// versions were published with a schema.
#[derive(Debug, Args)]
#[command(
    after_help = "Example: terrace compare acme/vpc/aws 1.2.0..2.0.0\nExample: terrace compare acme/vpc/aws 1.2.0..2.0.0 --only-breaking --format markdown\nToken scope: read:<namespace> or read, if the registry requires a token for reads"
)]
pub(crate) struct CompareArguments {
    /// The package: <namespace>/<type> for a provider, <namespace>/<name>/<system> for a module,
    /// after <hostname>/ if it is mirrored
    address: PackageSpec,
    /// The two versions: <old>..<new>
    versions: Versions,
    /// Show only the changes that may break configurations
    #[arg(long)]
    only_breaking: bool,
    /// The form of the result; Markdown is for pull requests
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    Text,
    Markdown,
}

/// Two versions on the command line.
#[derive(Debug, Clone)]
struct Versions {
    old: Version,
    new: Version,
}

impl FromStr for Versions {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let shape = "it must be two versions, such as 1.2.0..2.0.0";
        let (old, new) = text.split_once("..").ok_or(shape)?;
        // The addresses of pages have three dots.
        let new = new.strip_prefix('.').unwrap_or(new);
        let parse = |version: &str| version.parse().map_err(|error| format!("{shape}: {error}"));
        Ok(Self {
            old: parse(old)?,
            new: parse(new)?,
        })
    }
}

/// Two versions, and their differences.
struct Compared<'a> {
    package: &'a Package,
    versions: &'a Versions,
    comparison: Comparison,
    /// The number of changes that may break configurations.
    breaking: usize,
    /// The URL of the page that shows the same.
    page: String,
}

/// Executes the command.
pub(crate) fn run(arguments: &CompareArguments, session: Session<'_>) -> Result<(), Failure> {
    let output = session.output;
    let client = session.connect_reader()?;
    let versions = &arguments.versions;
    let PackageSpec { package, .. } = &arguments.address.at(&client.host())?;
    let comparison = compare(&client, package, versions)?;
    let (old, new) = (versions.old.clone(), versions.new.clone());
    let page = PageRoute::Comparison(package.clone(), old, new);
    let mut compared = Compared {
        package,
        versions,
        breaking: comparison.breaking(),
        comparison,
        page: format!("{}{page}", client.url().trim_end_matches('/')),
    };
    if arguments.only_breaking {
        compared.comparison.retain_breaking();
    }
    let document = json!({
        "status": "ok",
        "address": package.address(),
        "from": versions.old,
        "to": versions.new,
        "page": compared.page,
        "breaking": compared.breaking,
        "compares_names": compared.comparison.compares_names,
        "sections": compared.comparison.sections,
    });
    match arguments.format {
        Format::Text => output.report(compared.screen(), &document),
        Format::Markdown => output.result(&markdown::lines(&compared), &document),
    }
    Ok(())
}

fn compare(
    client: &Client<'_>,
    package: &Package,
    versions: &Versions,
) -> Result<Comparison, Failure> {
    let version = |version| {
        let details = client.version(package, version);
        let details = details
            .map_err(|failure| with_hint(failure, package))?
            .value;
        Ok((details, client.documents(package, version)?.value))
    };
    let [old, new] = [version(&versions.old)?, version(&versions.new)?];
    let of = |(details, navigation)| ComparedVersion {
        details,
        navigation,
    };
    comparison::versions(of((&old.0, &old.1)), of((&new.0, &new.1))).ok_or_else(|| {
        let message = "one of the versions has no documentation, so they cannot be compared: its publisher can add it \
                       with terrace docs add";
        Failure::Missing(message.to_owned())
    })
}

impl Compared<'_> {
    fn title(&self) -> String {
        let Versions { old, new } = self.versions;
        format!("{} {old} to {new}", self.package.address())
    }

    /// Returns what the differences mean for configurations, in sentences.
    fn verdict(&self) -> String {
        let old = &self.versions.old;
        let breaking = match self.breaking {
            0 if self.comparison.compares_names => String::new(),
            0 => {
                "No change of the documented interface needs a change of configurations.".to_owned()
            }
            count => format!(
                "{} may break configurations that work with {old}.",
                plural(count, "change")
            ),
        };
        let names = match self.comparison.compares_names {
            true => {
                "Only names were compared, because one version was published without its schema: arguments may have changed."
            }
            false => "",
        };
        format!("{breaking} {names}").trim().to_owned()
    }

    fn screen(&self) -> Screen {
        let mut screen = Screen::new();
        screen.title(&self.title());
        screen.text(&self.verdict());
        screen.text(&self.page);
        for section in &self.comparison.sections {
            screen.title(&format!("{}: {}", section.title, section.summary()));
            for change in &section.changes {
                let (mark, sign) = match change.kind {
                    ChangeKind::Removed => (Mark::Failed, '-'),
                    ChangeKind::Changed => (Mark::Warning, '~'),
                    ChangeKind::Raised => (Mark::Skipped, '↑'),
                    ChangeKind::Added => (Mark::Passed, '+'),
                };
                let remark = if change.is_breaking { "may break" } else { "" };
                screen.signed(mark, sign, &change.name, remark);
                let fields = fields(change, str::to_owned);
                let fields = fields.map(|(field, text)| (format!("      {field}"), text));
                let fields: Vec<_> = fields.collect();
                let fields = fields.iter().map(|(name, text)| (&**name, text.clone()));
                screen.fields(&fields.collect::<Vec<_>>());
            }
        }
        screen
    }
}

/// Returns the properties that differ with their values, of which `write` writes the beginnings. Those of an added thing are shown if
/// they may break configurations.
fn fields(
    change: &Change,
    write: impl Fn(&str) -> String,
) -> impl Iterator<Item = (&'static str, String)> {
    let is_added = change.kind == ChangeKind::Added;
    let shown = change.fields.iter();
    let shown = shown.filter(move |_| !is_added || change.is_breaking);
    shown.map(move |it| {
        let [old, new] = [&it.old, &it.new].map(|value| {
            let text = value.as_deref().map(beginning);
            text.map_or_else(|| "none".to_owned(), |text| write(&text))
        });
        match is_added {
            true => (it.field, new),
            false => (it.field, format!("{old} → {new}")),
        }
    })
}

/// Returns the beginning of a value on one line: types may have hundreds of lines.
fn beginning(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let words = words.join(" ");
    match words.char_indices().nth(VALUE_CHARS) {
        Some((end, _)) => format!("{}…", words.get(..end).unwrap_or_default()),
        None => words,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_divided_by_two_dots_or_three() {
        for text in ["1.0.0..2.0.0-rc.1", "1.0.0...2.0.0-rc.1"] {
            let Versions { old, new } = text.parse().unwrap();
            assert_eq!(
                (old.to_string().as_str(), new.to_string().as_str()),
                ("1.0.0", "2.0.0-rc.1")
            );
        }
        for text in ["1.0.0", "1.0.0.2.0.0", "..1.0.0", "1.0.0..", "a..b"] {
            assert!(text.parse::<Versions>().is_err(), "{text}");
        }
    }
}
