//! `terrace list`, and the list of what uses a package.

use clap::Args;
use terrace_core::api::details::ListedPackage;
use terrace_core::model::owner::Owner;
use terrace_core::model::package::Package;
use terrace_core::search::SearchKind;

use super::connection::connect_reader;
use crate::args::owner;
use crate::args::{PageArguments, RegistryArguments};
use crate::commands::search::RECENT;
use crate::error::Failure;
use crate::output::{Column, Output, Screen, Table, plural, shown};
use crate::registry::client::{Answer, Client, PageQuery};

/// List the namespaces of a registry, or the packages of a namespace
///
/// The list is whole, unless --limit is given. With --json, it is one page of the registry's own JSON.
#[derive(Debug, Args)]
#[command(
    after_help = "Example: terrace list acme\nToken scope: read:<namespace> or read, if the registry requires a token for reads"
)]
pub(crate) struct ListArguments {
    /// The namespace, or <hostname>/<namespace> for mirrored packages. Without it, the namespaces are listed
    #[arg(value_parser = owner)]
    pub(crate) namespace: Option<Owner>,
    /// Only packages of this kind: module or provider
    #[arg(long, requires = "namespace", value_parser = package_kind)]
    pub(crate) kind: Option<String>,
    #[command(flatten)]
    pub(crate) page: PageArguments,
}

fn package_kind(text: &str) -> Result<String, String> {
    match text.parse() {
        Ok(SearchKind::Module | SearchKind::Provider) => Ok(text.to_owned()),
        _ => Err("it is neither module nor provider".to_owned()),
    }
}

/// The number of lines that the registry returns at once, at most.
const MOST_LINES: u32 = 100;

/// Number of packages that a warning names, which is a line or two.
const SHOWN_CALLERS: u32 = 10;

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
    for line in &list.lines {
        table.row([
            line.namespace.clone(),
            line.modules.to_string(),
            line.providers.to_string(),
        ]);
    }
    let none = format!(
        "there are no namespaces at {} yet, or none that you may see; {RECENT}",
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
    let none = format!("{owner} has no packages that you may see");
    let table = package_table(&list.lines);
    list.print(&table, &none, "package", output);
    Ok(())
}

/// Lists the packages whose newest documented version uses a package.
pub(super) fn used_by(
    client: &Client<'_>,
    package: &Package,
    output: &Output,
) -> Result<(), Failure> {
    let list = List::read(PageQuery::default(), output, |query| {
        let Answer { value, text } = client.used_by(package, query)?;
        Ok((value.packages, value.next, text))
    })?;
    let none = format!(
        "the newest documented version of no module that you may see uses {}",
        package.address()
    );
    let table = package_table(&list.lines);
    list.print(&table, &none, "package", output);
    Ok(())
}

/// Names the packages that a change of a package affects, before it. Not knowing them prevents no change.
pub(super) fn warn_of_callers(client: &Client<'_>, package: &Package, output: &Output) {
    let query = PageQuery {
        limit: Some(SHOWN_CALLERS),
        ..PageQuery::default()
    };
    let address = package.address();
    let page = match client.used_by(package, &query) {
        Ok(Answer { value, .. }) => value,
        Err(failure) => {
            return output.warning(&format!("what uses {address} is unknown: {failure}"));
        }
    };
    let callers = page.packages.iter().map(|it| it.package.address.as_str());
    let callers: Vec<&str> = callers.collect();
    if callers.is_empty() {
        return;
    }
    let more = match page.next {
        Some(_) => format!(
            ", and others that {} lists",
            output.command(format!("show {address} --used-by"))
        ),
        None => String::new(),
    };
    let callers = callers.join(", ");
    output.warning(&format!(
        "{address} is used by the newest versions of {callers}{more}; older versions were not looked at"
    ));
}

fn package_table(lines: &[ListedPackage]) -> Table {
    let mut table = Table::new([
        Column::whole("PACKAGE"),
        Column::left_out(2, "KIND"),
        Column::whole("LATEST"),
        Column::left_out(3, "VERSIONS"),
        Column::left_out(1, "PUBLISHED"),
        Column::status("STATUS"),
        Column::cut("DESCRIPTION"),
    ]);
    for line in lines {
        table.row([
            line.package.address.clone(),
            line.package.kind.to_string(),
            line.latest.to_string(),
            line.versions.to_string(),
            shown(line.published_at.as_deref().map(date)),
            shown(line.state),
            line.description.clone(),
        ]);
    }
    table
}

/// Returns the date of a time in RFC 3339.
pub(super) fn date(time: &str) -> &str {
    time.split('T').next().unwrap_or_default()
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
