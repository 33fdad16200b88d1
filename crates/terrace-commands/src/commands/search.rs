//! `terrace search`.

use super::connection::connect_reader;
use crate::args::{RegistryArguments, SearchArguments};
use crate::error::Failure;
use crate::output::{Column, Output, Screen, Table, shown};
use crate::registry::catalog::SearchResult;
use crate::registry::client::PageQuery;

/// The number of results that people get unless they ask for more: they fit on a screen.
const RESULTS: u32 = 20;

/// Executes the command.
pub(crate) fn run(
    arguments: &SearchArguments,
    registry: &RegistryArguments,
    output: &Output,
) -> Result<(), Failure> {
    let client = connect_reader(registry, output)?;
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
        screen.text(&format!("nothing that you may see matches: {words}"));
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
    let mut table = Table::new([
        Column::whole("KIND"),
        Column::whole("NAME"),
        Column::whole("PACKAGE"),
        Column::left_out(1, "VERSION"),
        Column::status("STATUS"),
        Column::cut("DESCRIPTION"),
    ]);
    for result in results {
        match result {
            SearchResult::Package(package) => table.row([
                package.kind.clone(),
                String::new(),
                package.address.clone(),
                shown(package.latest.as_ref()),
                shown(package.state.as_ref()),
                shown(package.description.as_ref()),
            ]),
            SearchResult::Symbol(symbol) => table.row([
                singular(&symbol.kind).to_owned(),
                symbol.name.clone(),
                symbol.provider.address.clone(),
                shown(symbol.version.as_ref()),
                String::new(),
                String::new(),
            ]),
            SearchResult::Unknown => {}
        }
    }
    table
}

/// Returns the kind of one result: the name in paths is a plural. `--kind` takes either.
fn singular(kind: &str) -> &str {
    kind.strip_suffix('s').unwrap_or(kind)
}
