//! `terrace search`.

use clap::Args;
use terrace_core::api::details::SearchResult;
use terrace_core::model::owner::Owner;
use terrace_core::search::SearchKind;

use crate::args::{PageArguments, owner};
use crate::commands::connection::Session;
use crate::error::Failure;
use crate::output::{Column, Screen, Table, shown};
use crate::registry::client::PageQuery;

/// Search for packages, and for the resources, data sources and functions of providers
///
/// The first 20 results are shown, unless --limit is given, with the words that only the inputs, outputs, resources and
/// submodules of a module have. With --json, they are one page of the registry's own
/// JSON.
#[derive(Debug, Args)]
#[command(
    after_help = "Example: terrace search network --kind module\nToken scope: read:<namespace> or read, if the registry requires a token for reads"
)]
pub(crate) struct SearchArguments {
    /// The words to search for, all of which must match
    #[arg(required = true)]
    pub(crate) words: Vec<String>,
    /// Only results of this kind, such as module, provider, resource, data-source or function, or the plural of one
    #[arg(long, value_parser = kind)]
    pub(crate) kind: Option<String>,
    /// Only results of this namespace
    #[arg(long, value_parser = owner)]
    pub(crate) namespace: Option<Owner>,
    #[command(flatten)]
    pub(crate) page: PageArguments,
}

fn kind(text: &str) -> Result<String, String> {
    let kind = text.parse::<SearchKind>();
    kind.map(|_| text.to_owned())
        .map_err(|error| format!("it {error}"))
}

/// The line about a search or list without entries: the catalogue reaches every place by and by.
pub(crate) const RECENT: &str = "packages published in the last minute or two may be missing";

/// The number of results that people get unless they ask for more: they fit on a screen.
const RESULTS: u32 = 20;

/// Executes the command.
pub(crate) fn run(arguments: &SearchArguments, session: Session<'_>) -> Result<(), Failure> {
    let output = session.output;
    let client = session.connect_reader()?;
    let limit = arguments.page.limit;
    let query = PageQuery {
        kind: arguments.kind.clone(),
        limit: limit.or((!output.is_json()).then_some(RESULTS)),
        after: arguments.page.after.clone(),
    };
    let words = arguments.words.join(" ");
    let found = client.search(&words, arguments.namespace.as_ref(), &query)?;
    let mut screen = Screen::new();
    let table = table(&found.value.results);
    if table.is_empty() {
        let hint = match &found.value.did_you_mean {
            Some(meant) => format!("did you mean {meant}?"),
            None => RECENT.to_owned(),
        };
        screen.text(&format!("no results for {words}; {hint}"));
    } else {
        screen.table(&table);
    }
    output.screen(screen, &found.text);
    if let Some(next) = &found.value.next {
        output.progress(&format!("there are more results: --after {next}"));
    }
    Ok(())
}

fn table(results: &[SearchResult]) -> Table {
    let columns = [
        Column::whole("KIND"),
        Column::whole("NAME"),
        Column::whole("PACKAGE"),
        Column::left_out(1, "VERSION"),
        Column::status("STATUS"),
        Column::left_out(2, "WORDS"),
        Column::cut("DESCRIPTION"),
    ];
    let rows = results.iter().map(|result| match result {
        SearchResult::Package {
            package: found,
            words,
            ..
        } => [
            found.package.kind.to_string(),
            String::new(),
            found.package.address.clone(),
            found.latest.to_string(),
            shown(found.state),
            words.join(" "),
            found.description.clone(),
        ],
        SearchResult::Symbol {
            kind,
            name,
            provider,
            version,
            ..
        } => [
            kind.to_string(),
            name.clone(),
            provider.address.clone(),
            version.to_string(),
            String::new(),
            String::new(),
            String::new(),
        ],
    });
    Table::of(columns, rows)
}
