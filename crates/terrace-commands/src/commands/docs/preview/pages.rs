//! The pages of the preview, at the paths that they have in a registry.

use maud::{Markup, html};
use terrace_core::api::route::{ApiRoute, PageRoute, Route};
use terrace_core::documentation::DocumentPath;
use terrace_core::http::reply::{Body, CachePolicy, Reply};
use terrace_core::model::version::RequestedVersion;
use terrace_web::assets::Assets;
use terrace_web::pages::{self, Failure};
use terrace_web::views::{self, DocumentPage};
use terrace_web::{SignIn, Site};

use super::contents::Contents;
use crate::commands::local_server::Response;
use crate::output::plural;

/// The path of the script that reloads a page when the files have changed.
pub(super) const SCRIPT_PATH: &str = "/_preview/reload.js";

/// The hostname in source addresses.
const HOSTNAME: &str = "registry.example.com";

/// The number of problems above a page. `terrace docs check` lists all.
const SHOWN_PROBLEMS: usize = 20;

/// The parts of pages that do not depend on the documentation.
pub(super) struct Pages {
    site: Site,
    assets: Assets,
}

impl Pages {
    /// Creates the pages of the server at this origin.
    pub(super) fn new(origin: String) -> Self {
        let assets = Assets::new(None);
        let site = Site {
            origin,
            hostname: HOSTNAME.to_owned(),
            name: "Preview".to_owned(),
            logo: None,
            assets: assets.names().clone(),
            sign_in: SignIn::Unavailable,
            reader: None,
            // The preview reads no queries, and shows READMEs whole.
            here: "?tab=readme".to_owned(),
            is_private: false,
            has_login: false,
            client_hosts: Vec::new(),
            issuers: Vec::new(),
            problems: Vec::new(),
        };
        Self { site, assets }
    }

    /// Answers the request for a path.
    pub(super) fn answer(&self, path: &str, contents: &Contents) -> Response {
        let found = match Route::parse(path) {
            Ok(Route::Page(PageRoute::Asset(name))) => self.asset(&name),
            Ok(Route::Page(route)) => self.page(route, contents),
            Ok(Route::Api(ApiRoute::Document(package, RequestedVersion::Exact(version), path)))
                if package == contents.package && version == contents.version =>
            {
                text(contents, &path)
            }
            _ => None,
        };
        found.unwrap_or_else(|| self.missing(contents))
    }

    fn page(&self, route: PageRoute, contents: &Contents) -> Option<Response> {
        let Contents {
            package,
            version,
            view,
            ..
        } = contents;
        let exact = RequestedVersion::Exact(version.clone());
        if route == PageRoute::Home {
            let first = PageRoute::Version(package.clone(), exact);
            return Some(Reply::redirect(first.to_string()));
        }
        if route.package() != Some(package) {
            return None;
        }
        match route {
            PageRoute::Package(_)
            | PageRoute::Version(_, RequestedVersion::Latest)
            | PageRoute::Document(_, RequestedVersion::Latest, _)
            | PageRoute::Text(_, RequestedVersion::Latest, _) => {
                Some(Reply::redirect(route.at(version.clone()).to_string()))
            }
            PageRoute::Version(_, requested) if requested == exact => {
                let page = views::version(&self.site, package, view);
                Some(finished(200, &page, contents))
            }
            PageRoute::Document(_, requested, path) if requested == exact => {
                let page = DocumentPage::find(package, view, &path)?;
                let text = page.source().map(|source| contents.text(&source));
                let text = text.map(Option::unwrap_or_default);
                let page = page.render(&self.site, text.as_deref());
                Some(finished(200, &page, contents))
            }
            PageRoute::Text(_, requested, path) if requested == exact => text(contents, &path),
            _ => None,
        }
    }

    fn asset(&self, name: &str) -> Option<Response> {
        let (file, _) = self.assets.file(name)?;
        let reply = Reply::new(200, CachePolicy::NoStore).with("content-type", file.content_type);
        let reply = reply.with_security_headers();
        Some(reply.with_body(Body::Text(file.contents.to_owned())))
    }

    fn missing(&self, contents: &Contents) -> Response {
        let failure = Failure {
            status: 404,
            title: "The preview has no such page",
            message: "The preview shows the documentation in one directory. Its registry has the other pages.",
            may_sign_in: false,
            package: None,
            words: "",
        };
        finished(404, &pages::error(&self.site, &failure), contents)
    }
}

/// Returns the text of a document as the registry sends it: a browser saves it.
fn text(contents: &Contents, path: &DocumentPath) -> Option<Response> {
    let text = contents.text(path)?;
    let reply = Reply::new(200, CachePolicy::NoStore);
    let reply = reply.with_stored_type(path.content_type());
    Some(reply.with_body(Body::Text(text)))
}

/// Returns a page with the script of the preview, and the problems of the documentation above its contents.
fn finished(status: u16, page: &str, contents: &Contents) -> Response {
    let script = script(&contents.revision()).into_string();
    let problems = problems(&contents.problems).into_string();
    // Texts of the documentation are escaped, so the first tags are those of the page.
    let page = page.replacen("</head>", &format!("{script}</head>"), 1);
    let page = page.replacen("<main", &format!("{problems}<main"), 1);
    Reply::page(status, CachePolicy::NoStore, page)
}

fn script(revision: &str) -> Markup {
    html! { script src=(SCRIPT_PATH) data-revision=(revision) defer {} }
}

fn problems(problems: &[String]) -> Markup {
    let others = problems.len().saturating_sub(SHOWN_PROBLEMS);
    html! {
        @if !problems.is_empty() {
            aside.inner aria-label="Problems" {
                div.notice.warn {
                    p { strong { (plural(problems.len(), "problem")) " of the documentation" } }
                    ul { @for problem in problems.iter().take(SHOWN_PROBLEMS) { li dir="auto" { (problem) } } }
                    @if others > 0 { p { "terrace docs check lists " (others) " more." } }
                }
            }
        }
    }
}
