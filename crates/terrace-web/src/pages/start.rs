//! The start page.

use maud::{Markup, html};
use terrace_core::api::details::{ListedPackage, NamespaceView};
use terrace_core::api::route::{DOCUMENTATION, FeedScope, PageRoute};
use terrace_core::model::package::PackageKind;

use super::browse::namespaces;
use crate::parts::layout::Page;
use crate::parts::{banner, cards, code};
use crate::site::Site;
use crate::text::{RECENT, counted};

/// The contents of the start page, as the reader may see them.
#[derive(Debug, Clone, Copy, Default)]
pub struct Start<'a> {
    /// The packages that were published last, the newest first.
    pub recent: &'a [ListedPackage],
    /// The namespaces, ascending.
    pub namespaces: &'a [NamespaceView],
    /// Whether the lists are missing, because the catalogue is being rebuilt.
    pub is_being_rebuilt: bool,
}

/// Returns the start page. A registry without packages shows first steps.
pub fn start(site: &Site, start: &Start<'_>) -> String {
    let is_empty = start.recent.is_empty() && start.namespaces.is_empty();
    let body = html! {
        main #page-content {
            (welcome(site, start, is_empty))
            div.inner {
                @if start.is_being_rebuilt { (being_rebuilt()) }
                @else if is_empty { (first_steps(site)) }
                @else { (contents(start)) }
            }
        }
    };
    let description = format!(
        "Terraform and OpenTofu modules and providers of {}.",
        site.hostname
    );
    let page = Page {
        description: &description,
        path: Some(PageRoute::Home.to_string()),
        feed: Some(PageRoute::Feed(FeedScope::Registry).to_string()),
        class: "start",
        ..Page::default()
    };
    page.render(site, &body)
}

fn welcome(site: &Site, start: &Start<'_>, is_empty: bool) -> Markup {
    let sum = |count: fn(&NamespaceView) -> u32| {
        let sum: u32 = start.namespaces.iter().map(count).sum();
        usize::try_from(sum).unwrap_or_default()
    };
    html! {
        div.hero {
            div.inner {
                h1 dir="auto" { (site.name) }
                p.lead { "Modules and providers for Terraform and OpenTofu at " code { bdi { (site.hostname) } } }
                @if !is_empty {
                    ul.counts {
                        li { a href=(PageRoute::Browse(PackageKind::Module)) { (counted(sum(|it| it.modules), "module")) } }
                        li { a href=(PageRoute::Browse(PackageKind::Provider)) { (counted(sum(|it| it.providers), "provider")) } }
                        li { (counted(start.namespaces.len(), "namespace")) }
                    }
                }
            }
        }
    }
}

fn being_rebuilt() -> Markup {
    let body = html! {
        p { strong { "The lists of this registry are being rebuilt." } " They are back within a minute or two: reload this page then." }
        p { "Pages of packages work meanwhile, and so does a search within a namespace." }
    };
    banner::notice("info", &body)
}

fn contents(start: &Start<'_>) -> Markup {
    // The newest packages of the registry may all be ones that the reader does not see.
    if start.recent.is_empty() {
        return namespaces(start.namespaces, "", PackageKind::Module);
    }
    html! {
        div.with-aside {
            section {
                h2 #page-recent { "Recently published" }
                (cards::list(start.recent))
            }
            (namespaces(start.namespaces, "", PackageKind::Module))
        }
    }
}

fn first_steps(site: &Site) -> Markup {
    let host = &site.hostname;
    let publish = format!(
        "export TERRACE_URL={}\nterrace publish module ./vpc --address acme/vpc/aws --version 1.0.0\n",
        site.origin
    );
    let call = format!(
        "module \"vpc\" {{\n  source  = \"{host}/acme/vpc/aws\"\n  version = \"~> 1.0\"\n}}\n"
    );
    html! {
        section.steps {
            h2 #page-first-steps { "First steps" }
            p { "There is nothing to show yet. " (RECENT) " Publish a module in four steps." }
            ol {
                li {
                    h3 { "Get the command " code { "terrace" } }
                    p { a href={ (DOCUMENTATION) "/publishing.md" } rel="nofollow noopener" { "Install it" } ", or use the one that " code { "npm start" } " has put into " code { ".terrace/bin" } "." }
                }
                li { h3 { "Get a token" } (token(site)) }
                li {
                    h3 { "Publish a module" }
                    p { "Run this beside a folder " code { "vpc" } " with Terraform code. The command packs it, checks it, and extracts its documentation." }
                    (code::block("the commands that publish", &publish))
                }
                li {
                    h3 { "Use it" }
                    p { "Add the call to a configuration, and run " code { "terraform init" } " or " code { "tofu init" } "." }
                    (code::terraform("the module call", &call))
                }
            }
        }
    }
}

fn token(site: &Site) -> Markup {
    html! {
        @if site.has_login {
            p { "Sign in from a terminal. OpenTofu has the same command: " code { "tofu login" } "." }
            (code::block("the login command", &format!("terraform login {}\n", site.hostname)))
        } @else {
            p {
                "Take the administrator's token, or one that the administrator made for you with "
                code { "terrace token create" } ", and set it in the environment."
            }
            (code::block("the environment variable", "export TERRACE_TOKEN=…\n"))
        }
    }
}
