//! `terrace list`.

use terrace_core::model::owner::Owner;

use super::connection::connect_reader;
use crate::args::{ListArguments, RegistryArguments};
use crate::error::Failure;
use crate::output::{Column, Output, Screen, Table, plural, shown};
use crate::registry::catalog::{NamespaceLine, PackageLine};
use crate::registry::client::{Answer, Client, PageQuery};

/// The number of lines that the registry returns at once, at most.
const MOST_LINES: u32 = 100;

/// Executes the command.
pub(crate) fn run(
    arguments: &ListArguments,
    registry: &RegistryArguments,
    output: &Output,
) -> Result<(), Failure> {
    let client = connect_reader(registry, output)?;
    let query = PageQuery {
        kind: arguments.kind.clone(),
        limit: arguments.page.limit,
        after: arguments.page.after.clone(),
    };
    match &arguments.namespace {
        None => namespaces(&client, query, output),
        Some(owner) => packages(&client, owner, query, output),
    }
}

fn namespaces(client: &Client<'_>, query: PageQuery, output: &Output) -> Result<(), Failure> {
    let list = List::read(query, output, |query| {
        let Answer { value, text } = client.namespaces(query)?;
        Ok((value.namespaces, value.next, text))
    })?;
    let mut table = Table::new([
        Column::whole("NAMESPACE"),
        Column::whole("MODULES"),
        Column::whole("PROVIDERS"),
    ]);
    for NamespaceLine {
        namespace,
        modules,
        providers,
    } in &list.lines
    {
        table.row([
            namespace.clone(),
            shown(modules.as_ref()),
            shown(providers.as_ref()),
        ]);
    }
    let none = format!(
        "there are no namespaces at {} that you may see",
        client.url()
    );
    list.print(&table, &none, "namespace", output);
    Ok(())
}

fn packages(
    client: &Client<'_>,
    owner: &Owner,
    query: PageQuery,
    output: &Output,
) -> Result<(), Failure> {
    let list = List::read(query, output, |query| {
        let Answer { value, text } = client.packages(owner, query)?;
        Ok((value.packages, value.next, text))
    })?;
    let mut table = Table::new([
        Column::whole("PACKAGE"),
        Column::left_out(2, "KIND"),
        Column::whole("LATEST"),
        Column::left_out(3, "VERSIONS"),
        Column::left_out(1, "PUBLISHED"),
        Column::status("STATUS"),
        Column::cut("DESCRIPTION"),
    ]);
    for package in &list.lines {
        let PackageLine {
            kind,
            address,
            latest,
            versions,
            published_at,
            state,
            description,
        } = package;
        table.row([
            address.clone(),
            kind.clone(),
            shown(latest.as_ref()),
            shown(versions.as_ref()),
            shown(published_at.as_ref()),
            shown(state.as_ref()),
            shown(description.as_ref()),
        ]);
    }
    let none = format!("{owner} has no packages that you may see");
    list.print(&table, &none, "package", output);
    Ok(())
}

/// The lines of a list.
struct List<T> {
    lines: Vec<T>,
    /// The cursor that the user has given, if any.
    after: Option<String>,
    /// The cursor of the next page, if there is one.
    next: Option<String>,
    /// The JSON of the last page.
    json: String,
}

impl<T> List<T> {
    /// Reads all pages for people, up to the limit that they give. Programs get one page, as the registry sends it.
    fn read(
        mut query: PageQuery,
        output: &Output,
        page: impl Fn(&PageQuery) -> Result<(Vec<T>, Option<String>, String), Failure>,
    ) -> Result<Self, Failure> {
        let is_whole = query.limit.is_none() && !output.is_json();
        if is_whole {
            query.limit = Some(MOST_LINES);
        }
        let after = query.after.clone();
        let mut all = Vec::new();
        loop {
            let (lines, next, json) = page(&query)?;
            all.extend(lines);
            if !is_whole || next.is_none() || next == query.after {
                let lines = all;
                return Ok(Self {
                    lines,
                    after,
                    next,
                    json,
                });
            }
            query.after = next;
        }
    }

    fn print(self, table: &Table, none: &str, noun: &str, output: &Output) {
        let mut screen = Screen::new();
        if let Some(after) = self.after.filter(|_| table.is_empty()) {
            screen.text(&format!(
                "there is no {noun} after {after}: the list ends before"
            ));
        } else if table.is_empty() {
            screen.text(none);
        } else {
            screen.table(table);
        }
        output.screen(screen, &self.json);
        if let Some(next) = self.next {
            let count = plural(self.lines.len(), noun);
            output.progress(&format!("{count}; there are more: --after {next}"));
        }
    }
}
