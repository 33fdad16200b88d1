//! The calls of tools.

use terrace_core::api::route::{PageRoute, RequestedVersion};
use terrace_core::auth::access::Owner;
use terrace_core::documentation::{DocumentationKind, PageName};
use terrace_core::http::problem::Problem;
use terrace_core::http::reply::Reply;
use terrace_core::limits;
use terrace_core::mcp::answers::{
    ComparedChange, ComparisonAnswer, FindTypeAnswer, Links, ModuleAnswer, ProviderAnswer,
    SearchAnswer, VersionsAnswer,
};
use terrace_core::mcp::reply::Answered;
use terrace_core::mcp::{AnswerPage, AuthenticationAnswer, ReadsNeedToken, Tool, ToolCall};
use terrace_core::model::address::ModuleAddress;
use terrace_core::model::own_hosts::OwnHosts;
use terrace_core::model::package::Package;
use terrace_core::model::version::Version;
use terrace_core::read::{PageSubject, PageView, VersionView};
use terrace_core::search::{Search, SearchKind};
use terrace_web::comparison::{Change, ChangeKind, Comparison};
use terrace_web::snippets::{self, Shown};

use crate::context::Context;
use crate::failure::Failure;
use crate::handlers::mcp::documents;
use crate::handlers::mcp::shared::{exact, tool_failure};
use crate::handlers::outcome::Call;
use crate::handlers::pages::{compared, details, read, site, version_view};
use crate::handlers::search;
use crate::host::Host;

/// Calls a tool with its arguments, in JSON.
pub(super) async fn call<P: Host>(
    ctx: &Context<'_, P>,
    call: &Call,
    to: &Answered,
    tool: Tool,
    arguments: Option<&str>,
) -> Reply<P::Stream> {
    let own = OwnHosts::new(&call.origin, &ctx.config.hostnames);
    let parsed = match ToolCall::parse(tool, arguments, &own) {
        Ok(parsed) => parsed,
        Err(error) => return to.tool_error(&error.to_string()),
    };
    let answered = answered(ctx, call, to, parsed).await;
    answered.unwrap_or_else(|failure| tool_failure(ctx, to, failure))
}

async fn answered<P: Host>(
    ctx: &Context<'_, P>,
    call: &Call,
    to: &Answered,
    tool: ToolCall,
) -> Result<Reply<P::Stream>, Failure> {
    Ok(match tool {
        ToolCall::Search {
            query,
            kind,
            owner,
            after,
        } => {
            let search = Search {
                after,
                ..searching(query, kind)
            };
            let found = search::found(ctx, &call.caller, &search, owner.as_ref()).await?;
            to.tool(&SearchAnswer::from(found))
        }
        ToolCall::FindType {
            query,
            name,
            kind,
            after,
        } => {
            let kind = kind.unwrap_or(SearchKind::AnySymbol);
            let search = Search {
                after,
                ..searching(query, Some(kind))
            };
            let found = search::found(ctx, &call.caller, &search, None::<&Owner>).await?;
            to.tool(&FindTypeAnswer::new(&name, found))
        }
        ToolCall::Module {
            address,
            version,
            submodule,
            offset,
        } => to.tool(&module(ctx, call, address, version, submodule, offset).await?),
        ToolCall::Provider {
            package,
            version,
            kind,
            offset,
        } => to.tool(&provider(ctx, call, package, version, kind, offset).await?),
        ToolCall::Document {
            package,
            version,
            document,
            offset,
        } => {
            let requested = (package, version);
            to.tool(&documents::answer(ctx, call, requested, document, offset).await?)
        }
        ToolCall::Versions { package, offset } => {
            let found = details(ctx, call, package).await?;
            let mut page = AnswerPage::after(offset);
            to.tool(&VersionsAnswer::new(found.value, &mut page))
        }
        ToolCall::Comparison {
            package,
            from,
            to: newer,
            offset,
        } => to.tool(&comparison(ctx, call, package, [from, newer], offset).await?),
        ToolCall::Authentication => to.tool(&authentication(ctx, call)),
    })
}

fn searching(query: terrace_core::search::Query, kind: Option<SearchKind>) -> Search {
    Search {
        query,
        kind,
        system: None,
        after: None,
        offset: 0,
        limit: limits::LISTED_AT_ONCE,
    }
}

async fn module<P: Host>(
    ctx: &Context<'_, P>,
    call: &Call,
    address: ModuleAddress,
    version: Option<Version>,
    submodule: Option<PageName>,
    offset: usize,
) -> Result<ModuleAnswer, Failure> {
    let package = Package::Module(address);
    let (version, view) = version_of(ctx, call, &package, version).await?;
    let links = module_links(ctx, call, &package, &view, submodule.as_ref());
    let mut page = AnswerPage::after(offset);
    let answer = ModuleAnswer::new(view, submodule.as_ref(), links, &mut page);
    answer.ok_or_else(|| {
        let address = package.address();
        let name = submodule.map(|name| name.to_string()).unwrap_or_default();
        Problem::NotFound(format!(
            "version {version} of {address} has no submodule {name}: get_module without this argument lists all"
        ))
        .into()
    })
}

async fn provider<P: Host>(
    ctx: &Context<'_, P>,
    call: &Call,
    package: Package,
    version: Option<Version>,
    kind: Option<DocumentationKind>,
    offset: usize,
) -> Result<ProviderAnswer, Failure> {
    let (version, view) = version_of(ctx, call, &package, version).await?;
    let site = site(ctx, &call.origin, &call.caller);
    let shown = Shown {
        version: &version,
        latest: view.details.latest.as_ref(),
    };
    let links = Links {
        source: match &package {
            Package::Mirrored(address) => address.to_string(),
            package => format!("{}/{}", site.hostname, package.address()),
        },
        snippet: snippets::provider(&site, &package, shown),
        page: page_of(call, &package, &version),
    };
    let mut page = AnswerPage::after(offset);
    Ok(ProviderAnswer::new(view, kind, links, &mut page))
}

/// Reads a version: one operation, and one more for the newest.
async fn version_of<P: Host>(
    ctx: &Context<'_, P>,
    call: &Call,
    package: &Package,
    version: Option<Version>,
) -> Result<(Version, VersionView), Failure> {
    let version = exact(ctx, call, package, version).await?;
    let subject = PageSubject::Version(package.clone(), version.clone());
    let found = version_view(ctx, call, subject).await?;
    Ok((version, found.value))
}

fn module_links<P: Host>(
    ctx: &Context<'_, P>,
    call: &Call,
    package: &Package,
    view: &VersionView,
    submodule: Option<&PageName>,
) -> Links {
    let site = site(ctx, &call.origin, &call.caller);
    let version = &view.details.version.version;
    let shown = Shown {
        version,
        latest: view.details.latest.as_ref(),
    };
    let directory = submodule.map(|name| format!("modules/{name}"));
    let directory = directory.as_deref();
    let module = view.details.module.as_ref();
    let part = module.and_then(|module| match submodule {
        None => Some(&module.root),
        Some(name) => {
            let mut submodules = module.submodules.iter();
            submodules.find(|it| it.name == *name).map(|it| &it.part)
        }
    });
    let snippet = snippets::module(&site, package, shown, directory, part);
    Links {
        source: snippets::module_source(&site, package, directory),
        // The inputs are in the answer anyway.
        snippet: match snippet.chars().count() > limits::MCP_SNIPPET_CHARS {
            true => snippets::module(&site, package, shown, directory, None),
            false => snippet,
        },
        page: page_of(call, package, version),
    }
}

/// Returns the URL of the page about a version.
fn page_of(call: &Call, package: &Package, version: &Version) -> String {
    let version = RequestedVersion::Exact(version.clone());
    format!(
        "{}{}",
        call.origin,
        PageRoute::Version(package.clone(), version)
    )
}

async fn comparison<P: Host>(
    ctx: &Context<'_, P>,
    call: &Call,
    package: Package,
    [from, to]: [Version; 2],
    offset: usize,
) -> Result<ComparisonAnswer, Failure> {
    let subject = PageSubject::Comparison(package.clone(), from.clone(), to.clone());
    let (view, _) = read(ctx, call, subject).await?;
    let PageView::Comparison(both) = view else {
        return Err(Failure::corrupt("the comparison"));
    };
    let changes = compared(&both).map(|comparison| changes(&comparison));
    let address = package.address();
    let route = PageRoute::Comparison(package, from.clone(), to.clone());
    Ok(ComparisonAnswer::new(
        address,
        [from, to],
        changes.as_deref(),
        format!("{}{route}", call.origin),
        &mut AnswerPage::after(offset),
    ))
}

fn changes(comparison: &Comparison) -> Vec<ComparedChange> {
    let sections = comparison.sections.iter();
    let changes = sections.flat_map(|section| section.changes.iter().map(move |it| (section, it)));
    let change = changes.map(|(section, change)| {
        let Change {
            name,
            kind,
            is_breaking,
            fields,
        } = change;
        ComparedChange {
            section: section.title.clone(),
            name: name.clone(),
            change: match kind {
                ChangeKind::Added => "added",
                ChangeKind::Removed => "removed",
                ChangeKind::Changed => "changed",
            },
            is_breaking: *is_breaking,
            fields: fields
                .iter()
                .map(|it| (it.field, it.old.clone(), it.new.clone()))
                .collect(),
        }
    });
    change.collect()
}

fn authentication<P: Host>(ctx: &Context<'_, P>, call: &Call) -> AuthenticationAnswer {
    let access = &ctx.config.access;
    let reads = match (access.guards_reads(), access.guards_all_reads()) {
        (false, _) => ReadsNeedToken::None,
        (true, false) => ReadsNeedToken::Some,
        (true, true) => ReadsNeedToken::All,
    };
    let site = site(ctx, &call.origin, &call.caller);
    let variable = site.token_variable();
    AuthenticationAnswer::new(&call.origin, reads, site.has_login, variable.as_deref())
}
