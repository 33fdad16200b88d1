//! `terrace list`, and the list of what uses a package.

use clap::Args;
use clap::builder::PossibleValue;
use terrace_core::api::details::ListedPackage;
use terrace_core::model::owner::Owner;
use terrace_core::model::package::Package;

use super::connection::Session;
use crate::args::PageArguments;
use crate::args::owner;
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
    #[arg(long, requires = "namespace", value_parser = kinds())]
    pub(crate) kind: Option<String>,
    #[command(flatten)]
    pub(crate) page: PageArguments,
}

/// Returns the kinds of packages, of which the registry accepts the plurals, too.
fn kinds() -> [PossibleValue; 2] {
    [
        PossibleValue::new("module").alias("modules"),
        PossibleValue::new("provider").alias("providers"),
    ]
}

/// The number of lines that the registry returns at once, at most.
const MOST_LINES: u32 = 100;

/// Number of packages that a warning names, which is a line or two.
const SHOWN_CALLERS: u32 = 10;

/// Executes the command.
pub(crate) fn run(arguments: &ListArguments, session: Session<'_>) -> Result<(), Failure> {
    let output = session.output;
    let client = session.connect_reader()?;
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
    let none = format!(
        "no namespaces that you may see at {}; {RECENT}",
        client.url()
    );
    let page = |query: &PageQuery| {
        let Answer { value, text } = client.namespaces(query)?;
        Ok((value.namespaces, value.next, text))
    };
    let columns = [
        Column::whole("NAMESPACE"),
        Column::whole("MODULES"),
        Column::whole("PROVIDERS"),
    ];
    print(query, ("namespace", &none), output, page, |lines| {
        let rows = lines.iter().map(|line| {
            let (modules, providers) = (line.modules.to_string(), line.providers.to_string());
            [line.namespace.clone(), modules, providers]
        });
        Table::of(columns, rows)
    })
}

fn packages(
    client: &Client<'_>,
    owner: &Owner,
    query: PageQuery,
    output: &Output,
) -> Result<(), Failure> {
    let none = format!("{owner} has no packages that you may see");
    let page = |query: &PageQuery| {
        let Answer { value, text } = client.packages(owner, query)?;
        Ok((value.packages, value.next, text))
    };
    print(query, ("package", &none), output, page, package_table)
}

/// Lists the packages whose newest documented version uses a package.
pub(super) fn used_by(
    client: &Client<'_>,
    package: &Package,
    output: &Output,
) -> Result<(), Failure> {
    let none = format!(
        "the newest documented version of no module that you may see uses {}",
        package.address()
    );
    let page = |query: &PageQuery| {
        let Answer { value, text } = client.used_by(package, query)?;
        Ok((value.packages, value.next, text))
    };
    let query = PageQuery::default();
    print(query, ("package", &none), output, page, package_table)
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
    let columns = [
        Column::whole("PACKAGE"),
        Column::left_out(2, "KIND"),
        Column::whole("LATEST"),
        Column::left_out(3, "VERSIONS"),
        Column::left_out(1, "PUBLISHED"),
        Column::status("STATUS"),
        Column::cut("DESCRIPTION"),
    ];
    let rows = lines.iter().map(|line| {
        [
            line.package.address.clone(),
            line.package.kind.to_string(),
            line.latest.to_string(),
            line.versions.to_string(),
            shown(line.published_at.as_deref().map(date)),
            shown(line.state),
            line.description.clone(),
        ]
    });
    Table::of(columns, rows)
}

/// Returns the date of a time in RFC 3339.
pub(super) fn date(time: &str) -> &str {
    time.split('T').next().unwrap_or_default()
}

/// Prints a list: for people all pages, up to the limit that they give. Programs get one page, as the registry sends it.
fn print<T>(
    mut query: PageQuery,
    (noun, none): (&str, &str),
    output: &Output,
    page: impl Fn(&PageQuery) -> Result<(Vec<T>, Option<String>, String), Failure>,
    table: impl FnOnce(&[T]) -> Table,
) -> Result<(), Failure> {
    let is_whole = query.limit.is_none() && !output.is_json();
    if is_whole {
        query.limit = Some(MOST_LINES);
    }
    let after = query.after.clone();
    let mut all = Vec::new();
    let (next, json) = loop {
        let (lines, next, json) = page(&query)?;
        all.extend(lines);
        if !is_whole || next.is_none() || next == query.after {
            break (next, json);
        }
        query.after = next;
    };
    let mut screen = Screen::new();
    match (all.is_empty(), after) {
        (false, _) => screen.table(&table(&all)),
        (true, Some(after)) => screen.text(&format!("{none}, after {after}")),
        (true, None) => screen.text(none),
    }
    output.screen(screen, &json);
    if let Some(next) = next {
        let count = plural(all.len(), noun);
        output.progress(&format!("{count}; there are more: --after {next}"));
    }
    Ok(())
}
