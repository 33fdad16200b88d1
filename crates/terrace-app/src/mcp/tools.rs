//! The calls of tools.

use serde::Serialize;
use terrace_base::json;
use terrace_core::api::check::CheckAnswer;
use terrace_core::api::route::PageRoute;
use terrace_core::http::form::encoded;
use terrace_core::http::problem::Problem;
use terrace_core::http::reply::Reply;
use terrace_core::mcp::answers::{self, AnswerPage, Bounded, Links, bounded};
use terrace_core::mcp::reply::Answered;
use terrace_core::mcp::{AuthenticationAnswer, Question, ReadsNeedToken, Tool, ToolCall};
use terrace_core::model::own_hosts::OwnHosts;
use terrace_core::model::package::Package;
use terrace_core::model::relative_path::RelativePath;
use terrace_core::model::version::{RequestedVersion, Version};
use terrace_core::read::{PageSubject, PageView, VersionView};
use terrace_web::comparison::ComparedSection;
use terrace_web::snippets::{self, Shown};

use crate::check;
use crate::context::Context;
use crate::failure::Failure;
use crate::host::Host;
use crate::listings;
use crate::listings::{namespaces, search};
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
        Err(error) => return to.tool_error(&error),
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
        ToolCall::Search(searched, owner) => {
            let page = search::found(ctx, &call.caller, &searched, owner.as_ref()).await?;
            Ok(answers::search(page))
        }
        ToolCall::Check(used) => {
            listings::ensure_may_search(ctx, &call.caller)?;
            let packages = check::checked(ctx, call, used).await?;
            Ok(json::to_string(&CheckAnswer { packages }))
        }
        ToolCall::Callers(package, after) => {
            let query = encoded(&[("after", &after)]);
            let listed = Call {
                query,
                ..call.clone()
            };
            let page = namespaces::used_by_page(ctx, &listed, &package).await?;
            Ok(json::to_string(&page))
        }
        ToolCall::Authentication => Ok(authentication(ctx, call)),
        ToolCall::Package {
            package,
            version,
            question,
            offset,
        } => described(ctx, call, (package, version), question, offset).await,
    }
}

/// Answers a question about a package by one read, as for its page. The newest version takes another one.
async fn described<P: Host>(
    ctx: &Context<'_, P>,
    call: &Call,
    (package, version): (Package, Option<Version>),
    question: Question,
    offset: usize,
) -> Result<String, Failure> {
    let subject = match &question {
        Question::Versions => PageSubject::Package(package.clone()),
        question => {
            let version = exact(ctx, call, &package, version).await?;
            match question {
                Question::Document(_) => PageSubject::Document(package.clone(), version),
                Question::Change(to) => {
                    PageSubject::Comparison(package.clone(), version, to.clone())
                }
                _ => PageSubject::Version(package.clone(), version),
            }
        }
    };
    let (view, _) = read(ctx, call, subject).await?;
    match (question, view) {
        (Question::Versions, PageView::Package(details)) => Ok(answers::versions(details, offset)),
        (Question::Change(_), PageView::Comparison(both)) => {
            Ok(comparison(call, package, &both, offset))
        }
        (Question::Document(document), PageView::Version(view)) => {
            documents::answer(ctx, call, package, *view, document, offset).await
        }
        (Question::Module(submodule), PageView::Version(view)) => {
            let submodule = submodule.as_ref();
            let links = links(ctx, call, &package, &view, submodule);
            let version = view.details.version.version.clone();
            let answer = answers::version(*view, submodule, None, links, offset);
            answer.ok_or_else(|| no_submodule(&package, &version, submodule).into())
        }
        (Question::Provider(kind), PageView::Version(view)) => {
            let links = links(ctx, call, &package, &view, None);
            let answer = answers::version(*view, None, kind, links, offset);
            answer.ok_or_else(|| Failure::corrupt("the page"))
        }
        _ => Err(Failure::corrupt("the page")),
    }
}

fn no_submodule(package: &Package, version: &Version, submodule: Option<&RelativePath>) -> Problem {
    let address = package.address();
    let name = submodule.map(RelativePath::to_string).unwrap_or_default();
    Problem::NotFound(format!(
        "version {version} of {address} has no submodule {name}: get_module without this argument lists all"
    ))
}

/// Returns the code that uses a package, or a submodule of it, and the links to it.
fn links<P: Host>(
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
    let (source, snippet) = match package {
        Package::Module(_) => {
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
            let whole = snippets::module(&site, package, shown, directory, part);
            let snippet = match whole.chars().count() > MCP_SNIPPET_CHARS {
                // The inputs are in the answer anyway.
                true => snippets::module(&site, package, shown, directory, None),
                false => whole,
            };
            (snippets::module_source(&site, package, directory), snippet)
        }
        Package::Mirrored(address) => {
            let snippet = snippets::provider(&site, package, shown);
            (address.to_string(), snippet)
        }
        Package::Provider(address) => {
            let snippet = snippets::provider(&site, package, shown);
            (format!("{}/{address}", site.hostname), snippet)
        }
    };
    Links {
        source,
        snippet,
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

/// The answer of `compare_versions`.
#[derive(Serialize)]
struct ComparisonAnswer {
    address: String,
    from: Version,
    to: Version,
    page: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<&'static str>,
    /// The number of changes that may break a configuration.
    breaking: usize,
    /// A list of [`ComparedSection`].
    sections: Bounded,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_offset: Option<usize>,
}

fn comparison(call: &Call, package: Package, both: &[VersionView; 2], offset: usize) -> String {
    let compared = compared(both);
    let note = "a comparison needs the documentation of both versions, and one has none";
    let names = "one version was published without its schema: only names were compared, arguments may have changed";
    let note = match &compared {
        None => Some(note),
        Some(compared) => compared.compares_names.then_some(names),
    };
    let compared = compared.unwrap_or_default();
    let breaking = compared.breaking();
    let mut sections: Vec<ComparedSection> = compared.sections;
    let mut page = AnswerPage::after(offset);
    for section in &mut sections {
        page.keep(&mut section.changes);
    }
    sections.retain(|section| !section.changes.is_empty());
    let [from, to] = both.each_ref().map(|it| it.details.version.version.clone());
    let address = package.address();
    let route = PageRoute::Comparison(package, from.clone(), to.clone());
    json::to_string(&ComparisonAnswer {
        address,
        from,
        to,
        page: format!("{}{route}", call.origin),
        note,
        breaking,
        sections: bounded(&sections),
        next_offset: page.next(),
    })
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
    json::to_string(&AuthenticationAnswer::new(
        &call.origin,
        reads,
        site.has_login,
        &site.client_hosts,
        variable.as_deref(),
    ))
}
