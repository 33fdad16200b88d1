//! The frame of all pages: head, header, search and footer.

use maud::{DOCTYPE, Markup, html};
use terrace_core::api::route::{DOCUMENTATION, FeedScope, PageRoute};
use terrace_core::model::package::PackageKind;

use super::icons;
use crate::assets::path_of;
use crate::escape::with_visible_controls;
use crate::links::sign_in_link;
use crate::site::{SignIn, Site};

/// The list of the checks of a deployment.
const CHECKS: &str = concat!(
    env!("CARGO_PKG_REPOSITORY"),
    "/blob/main/docs/troubleshooting.md#checks"
);

/// The ID of the form with the search field, which the filters of the page of results extend.
pub(crate) const SEARCH_FORM: &str = "page-search";

/// A page inside the frame.
pub(crate) struct Page<'a> {
    /// The title, without the registry's name.
    pub(crate) title: &'a str,
    /// The description for search engines and previews; empty if there is none.
    pub(crate) description: &'a str,
    /// The path without a query, which is also the canonical one; `None` for a page that search engines ignore.
    pub(crate) path: Option<String>,
    /// The path of a feed of the page's contents.
    pub(crate) feed: Option<String>,
    /// The text of the search field.
    pub(crate) query: &'a str,
    /// The class of the body, which decides about columns.
    pub(crate) class: &'static str,
}

impl Default for Page<'_> {
    fn default() -> Self {
        Self {
            title: "",
            description: "",
            path: None,
            feed: None,
            query: "",
            class: "page",
        }
    }
}

impl Page<'_> {
    /// Returns the whole document around `body`, which holds one `main`, and the ID `content` at its text.
    pub(crate) fn render(&self, site: &Site, body: &Markup) -> String {
        let document = html! {
            (DOCTYPE)
            html lang="en" {
                head { (self.head(site)) }
                body.(self.class) {
                    a.skip href="#page-content" { "Skip to content" }
                    (header(site, self.query))
                    (problems(site))
                    (body)
                    (footer(site))
                }
            }
        };
        with_visible_controls(document.into_string())
    }

    fn head(&self, site: &Site) -> Markup {
        let title = match self.title {
            "" => site.name.clone(),
            title => format!("{title} · {}", site.name),
        };
        let names = &site.assets;
        html! {
            meta charset="utf-8";
            meta name="viewport" content="width=device-width,initial-scale=1";
            title { (title) }
            meta name="color-scheme" content="light dark";
            link rel="stylesheet" href=(path_of(&names.stylesheet));
            link rel="icon" type="image/svg+xml" href=(path_of(&names.icon));
            link rel="search" type="application/opensearchdescription+xml" title=(site.name)
                href=(PageRoute::OpenSearch);
            @if let Some(feed) = &self.feed {
                link rel="alternate" type="application/atom+xml" title=(title) href=(feed);
            }
            (self.previews(site, &title))
            script src=(path_of(&names.script)) defer {}
        }
    }

    /// Returns the properties for search engines and previews, which pages of a private registry do not have.
    fn previews(&self, site: &Site, title: &str) -> Markup {
        let path = self.path.as_ref().filter(|_| !site.is_private);
        let Some(path) = path else {
            return html! { meta name="robots" content="noindex"; };
        };
        let url = format!("{}{path}", site.origin);
        html! {
            link rel="canonical" href=(url);
            meta property="og:type" content="website";
            meta property="og:site_name" content=(site.name);
            meta property="og:title" content=(title);
            meta property="og:url" content=(url);
            @if !self.description.is_empty() {
                meta name="description" content=(self.description);
                meta property="og:description" content=(self.description);
            }
        }
    }
}

fn header(site: &Site, query: &str) -> Markup {
    html! {
        header.top {
            div.bar {
                a.brand href=(PageRoute::Home) {
                    img src=(site.logo.clone().unwrap_or_else(|| path_of(&site.assets.icon))) alt="" width="28" height="28";
                    span dir="auto" { (site.name) }
                }
                (search_form(query))
                nav.links aria-label="Registry" {
                    a href=(PageRoute::Browse(PackageKind::Module)) { "Modules" }
                    a href=(PageRoute::Browse(PackageKind::Provider)) { "Providers" }
                    (sign_in(site))
                }
            }
        }
    }
}

fn search_form(query: &str) -> Markup {
    html! {
        form #(SEARCH_FORM) .search role="search" action=(PageRoute::Search) {
            label.hidden for="page-q" { "Search modules, providers and resources" }
            (icons::search())
            input #page-q type="search" name="q" value=(query) placeholder="Search modules, providers, resources" autocomplete="off"
                autocapitalize="off" spellcheck="false" enterkeyhint="search";
            kbd aria-hidden="true" { "/" }
        }
    }
}

fn sign_in(site: &Site) -> Markup {
    html! {
        @match site.sign_in {
            SignIn::Unavailable => {}
            SignIn::SignedOut => {
                a href=(sign_in_link(site)) rel="nofollow" { "Sign in" }
            }
            SignIn::SignedIn => form action=(PageRoute::SignOut) method="post" {
                button.link type="submit" { "Sign out" }
            },
        }
    }
}

/// Returns the notice about the configuration, which only administrators get.
fn problems(site: &Site) -> Markup {
    let count = site.problems.len();
    html! {
        @if count > 0 {
            aside.problems.inner aria-label="Configuration" {
                details.notice.warn {
                    summary {
                        strong { @if count == 1 { "A setting" } @else { (count) " settings" } " of this registry should be corrected." }
                        " Only administrators see this."
                    }
                    ul {
                        @for problem in &site.problems {
                            li { (problem) " (" a href=(CHECKS) rel="nofollow noopener" { "R3" } ")" }
                        }
                    }
                    p { code { "terrace doctor " (site.origin) } " checks the rest of the deployment." }
                }
            }
        }
    }
}

fn footer(site: &Site) -> Markup {
    html! {
        footer.bottom {
            p {
                bdi { (site.hostname) } " · a Terraform and OpenTofu registry · Terrace " (env!("CARGO_PKG_VERSION"))
                @if let Some(reader) = &site.reader { " · signed in as " bdi { (reader) } }
            }
            p {
                a href=(DOCUMENTATION) rel="nofollow noopener" { "Documentation" } " · "
                a href=(PageRoute::Assistants) { "Use with assistants and editors" } " · "
                a href=(PageRoute::Feed(FeedScope::Registry)) { "Feed" }
            }
        }
        div #page-live.hidden role="status" {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(problems: Vec<String>) -> String {
        let site = Site {
            problems,
            ..Site::at("registry.example.com")
        };
        Page::default().render(&site, &html! { main {} })
    }

    #[test]
    fn problems_of_the_configuration_are_listed_with_their_checks_and_escaped() {
        let warning = "rule <1> trusts forks".to_owned();
        let html = page(vec![warning.clone(), warning.clone()]);
        for part in [
            "2 settings of this registry should be corrected.",
            "rule &lt;1&gt; trusts forks",
            "docs/troubleshooting.md#checks",
            "terrace doctor https://registry.example.com",
        ] {
            assert!(html.contains(part), "{part}\n{html}");
        }
        assert!(page(vec![warning]).contains("A setting of this registry"));
    }

    #[test]
    fn a_page_without_problems_has_no_notice_about_them() {
        assert!(!page(Vec::new()).contains("<aside"));
    }
}
