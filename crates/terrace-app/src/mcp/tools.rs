//! The calls of tools.

use terrace_base::json;
use terrace_core::api::route::PageRoute;
use terrace_core::auth::access::Owner;
use terrace_core::documentation::{DocumentPath, DocumentationKind};
use terrace_core::http::problem::Problem;
use terrace_core::http::reply::Reply;
use terrace_core::limits;
use terrace_core::mcp::answers::{
    ComparedChange, ComparisonAnswer, FindTypeAnswer, Links, ModuleAnswer, ProviderAnswer,
    SearchAnswer, VersionsAnswer,
};
use terrace_core::mcp::reply::Answered;
use terrace_core::mcp::{
    AnswerPage, AuthenticationAnswer, ReadsNeedToken, SignInWays, Tool, ToolCall,
};
use terrace_core::model::own_hosts::OwnHosts;
use terrace_core::model::package::Package;
use terrace_core::model::relative_path::RelativePath;
use terrace_core::model::version::RequestedVersion;
use terrace_core::model::version::Version;
use terrace_core::read::{PageSubject, PageView, VersionView};
use terrace_core::search::{Cursor, Query, Search, SearchKind};
use terrace_web::comparison::{Change, ChangeKind, Comparison};
use terrace_web::snippets::{self, Shown};

use crate::context::Context;
use crate::failure::Failure;
use crate::host::Host;
use crate::listings::search;
use crate::mcp::documents;
use crate::mcp::shared::{exact, tool_failure};
use crate::outcome::Call;
use crate::pages::{compared, read, site};

/// Maximum length of the snippet in an answer, in characters: a call with about a hundred required inputs.
const MCP_SNIPPET_CHARS: usize = 6_000;

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
    match answered(ctx, call, parsed).await {
        Ok(structured) => to.tool(&structured),
        Err(failure) => tool_failure(ctx, to, failure),
    }
}

/// Returns the structured contents of an answer, in JSON.
async fn answered<P: Host>(
    ctx: &Context<'_, P>,
    call: &Call,
    tool: ToolCall,
) -> Result<String, Failure> {
    match tool {
        ToolCall::Search {
            query,
            kind,
            owner,
            after,
        } => {
            let search = searching(query, kind, after);
            found(ctx, call, &search, owner.as_ref(), None).await
        }
        ToolCall::FindType {
            query,
            name,
            kind,
            after,
        } => {
            let kind = kind.unwrap_or(SearchKind::AnySymbol);
            let search = searching(query, Some(kind), after);
            found(ctx, call, &search, None, Some(&name)).await
        }
        ToolCall::Authentication => Ok(authentication(ctx, call)),
        ToolCall::Module {
            address,
            version,
            submodule,
            offset,
        } => {
            let about = About::Module(submodule);
            described(
                ctx,
                call,
                (Package::Module(address), version),
                about,
                offset,
            )
            .await
        }
        ToolCall::Provider {
            package,
            version,
            kind,
            offset,
        } => described(ctx, call, (package, version), About::Provider(kind), offset).await,
        ToolCall::Document {
            package,
            version,
            document,
            offset,
        } => {
            let about = About::Document(document);
            described(ctx, call, (package, version), about, offset).await
        }
        ToolCall::Versions { package, offset } => {
            described(ctx, call, (package, None), About::Versions, offset).await
        }
        ToolCall::Comparison {
            package,
            from,
            to,
            offset,
        } => described(ctx, call, (package, Some(from)), About::Change(to), offset).await,
    }
}

/// The question about a package, or about a version of it.
enum About {
    /// A version of a module, or its submodule of this name.
    Module(Option<RelativePath>),
    /// A version of a provider, with its documents of this kind.
    Provider(Option<DocumentationKind>),
    /// A document of a version.
    Document(DocumentPath),
    /// All versions.
    Versions,
    /// The differences between the version and this one.
    Change(Version),
}

/// Answers a question about a package by one read, as for its page. The newest version takes another one.
async fn described<P: Host>(
    ctx: &Context<'_, P>,
    call: &Call,
    (package, version): (Package, Option<Version>),
    about: About,
    offset: usize,
) -> Result<String, Failure> {
    let subject = match &about {
        About::Versions => PageSubject::Package(package.clone()),
        about => {
            let version = exact(ctx, call, &package, version).await?;
            match about {
                About::Document(_) => PageSubject::Document(package.clone(), version),
                About::Change(to) => PageSubject::Comparison(package.clone(), version, to.clone()),
                _ => PageSubject::Version(package.clone(), version),
            }
        }
    };
    let (view, _) = read(ctx, call, subject).await?;
    let mut page = AnswerPage::after(offset);
    match (about, view) {
        (About::Document(document), PageView::Version(view)) => {
            documents::answer(ctx, call, package, *view, document, offset).await
        }
        (About::Module(submodule), PageView::Version(view)) => {
            Ok(module(ctx, call, &package, *view, submodule, &mut page)?)
        }
        (About::Provider(kind), PageView::Version(view)) => {
            Ok(provider(ctx, call, &package, *view, kind, &mut page))
        }
        (About::Versions, PageView::Package(details)) => {
            Ok(json::to_string(&VersionsAnswer::new(details, &mut page)))
        }
        (About::Change(_), PageView::Comparison(both)) => {
            Ok(comparison(call, package, &both, &mut page))
        }
        _ => Err(Failure::corrupt("the page")),
    }
}

fn searching(query: Query, kind: Option<SearchKind>, after: Option<Cursor>) -> Search {
    Search {
        query,
        kind,
        system: None,
        after,
        offset: 0,
        limit: limits::LISTED_AT_ONCE,
    }
}

/// Answers a search: for types if `name` is one's name.
async fn found<P: Host>(
    ctx: &Context<'_, P>,
    call: &Call,
    search: &Search,
    owner: Option<&Owner>,
    name: Option<&str>,
) -> Result<String, Failure> {
    let page = search::found(ctx, &call.caller, search, owner).await?;
    Ok(match name {
        None => json::to_string(&SearchAnswer::from(page)),
        Some(name) => json::to_string(&FindTypeAnswer::new(name, page)),
    })
}

fn module<P: Host>(
    ctx: &Context<'_, P>,
    call: &Call,
    package: &Package,
    view: VersionView,
    submodule: Option<RelativePath>,
    page: &mut AnswerPage,
) -> Result<String, Problem> {
    let links = module_links(ctx, call, package, &view, submodule.as_ref());
    let version = view.details.version.version.clone();
    let answer = ModuleAnswer::new(view, submodule.as_ref(), links, page);
    let answer = answer.ok_or_else(|| {
        let address = package.address();
        let name = submodule.map(|name| name.to_string()).unwrap_or_default();
        Problem::NotFound(format!(
            "version {version} of {address} has no submodule {name}: get_module without this argument lists all"
        ))
    })?;
    Ok(json::to_string(&answer))
}

fn provider<P: Host>(
    ctx: &Context<'_, P>,
    call: &Call,
    package: &Package,
    view: VersionView,
    kind: Option<DocumentationKind>,
    page: &mut AnswerPage,
) -> String {
    let site = site(ctx, &call.origin, &call.caller);
    let version = &view.details.version.version;
    let shown = Shown {
        version,
        latest: view.details.latest.as_ref(),
    };
    let links = Links {
        source: match package {
            Package::Mirrored(address) => address.to_string(),
            package => format!("{}/{}", site.hostname, package.address()),
        },
        snippet: snippets::provider(&site, package, shown),
        page: page_of(call, package, version),
    };
    json::to_string(&ProviderAnswer::new(view, kind, links, page))
}

fn module_links<P: Host>(
    ctx: &Context<'_, P>,
    call: &Call,
    package: &Package,
    view: &VersionView,
    submodule: Option<&RelativePath>,
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
        snippet: match snippet.chars().count() > MCP_SNIPPET_CHARS {
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

fn comparison(
    call: &Call,
    package: Package,
    both: &[VersionView; 2],
    page: &mut AnswerPage,
) -> String {
    let versions = both.each_ref().map(|it| it.details.version.version.clone());
    let changes = compared(both).map(|comparison| changes(&comparison));
    let address = package.address();
    let [from, to] = versions.clone();
    let route = PageRoute::Comparison(package, from, to);
    let url = format!("{}{route}", call.origin);
    let answer = ComparisonAnswer::new(address, versions, changes.as_deref(), url, page);
    json::to_string(&answer)
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

fn authentication<P: Host>(ctx: &Context<'_, P>, call: &Call) -> String {
    let access = &ctx.config.access;
    let reads = match (access.guards_reads(), access.guards_all_reads()) {
        (false, _) => ReadsNeedToken::None,
        (true, false) => ReadsNeedToken::Some,
        (true, true) => ReadsNeedToken::All,
    };
    let site = site(ctx, &call.origin, &call.caller);
    let variable = site.token_variable();
    let sign_in = SignInWays {
        has_login: site.has_login,
        client_hosts: &site.client_hosts,
        variable: variable.as_deref(),
    };
    json::to_string(&AuthenticationAnswer::new(&call.origin, reads, &sign_in))
}
