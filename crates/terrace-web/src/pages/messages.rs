//! The page of an error.

use maud::{Markup, html};
use terrace_base::url::{authority, split_port};
use terrace_core::api::route::PageRoute;
use terrace_core::http::guard::is_loopback;
use terrace_core::model::package::Package;

use crate::links::sign_in_link;
use crate::pages::install;
use crate::parts::layout::Page;
use crate::site::{SignIn, Site};

/// An answer that is an error.
#[derive(Debug, Clone, Copy)]
pub struct Failure<'a> {
    /// The HTTP status.
    pub status: u16,
    /// The heading, such as `This page does not exist`.
    pub title: &'a str,
    /// The message of the error.
    pub message: &'a str,
    /// Whether a sign-in in the browser may help.
    pub may_sign_in: bool,
    /// The package of a version or document that does not exist, if the reader may see the package.
    pub package: Option<&'a Package>,
    /// The words of a search for what the reader wanted.
    pub words: &'a str,
}

/// Returns the page of an error. A missing package and one that the reader may not see have the same page.
pub fn error(site: &Site, failure: &Failure<'_>) -> String {
    let may_be_hidden = matches!(failure.status, 401 | 403 | 404);
    let offers_sign_in = may_be_hidden && failure.may_sign_in && site.sign_in == SignIn::SignedOut;
    let needs_token = failure.status == 401 && !offers_sign_in;
    let body = html! {
        main.inner.message #page-content {
            p.over { "Error " (failure.status) }
            h1 { (failure.title) }
            p dir="auto" { (failure.message) }
            @if let Some(package) = failure.package {
                p { a href=(PageRoute::Versions(package.clone())) { "See all versions of " bdi { (package.address()) } } "." }
            }
            @if offers_sign_in {
                p { "If it is private, sign in to see it." }
                p { a.button.primary href=(sign_in_link(site)) rel="nofollow" { "Sign in" } " " (start_page()) }
            } @else if needs_token {
                p { "Ask the operator of this registry for a token, and give it to your client. " (install::token(site, "terraform")) }
                p { "To look for packages in a terminal, run " code { "terrace login " (site.origin) " --with-token" } ", then " code { "terrace search" } "." }
            } @else if failure.status != 429 {
                p { (start_page()) }
            }
            @if matches!(failure.status, 404 | 429) && !offers_sign_in { (search(failure.words)) }
        }
    };
    let page = Page {
        title: failure.title,
        ..Page::default()
    };
    page.render(site, &body)
}

fn start_page() -> Markup {
    html! { a.button href=(PageRoute::Home) { "Start page" } }
}

fn search(words: &str) -> Markup {
    html! {
        form.refine action=(PageRoute::Search) {
            label { span { "Search for" } input type="search" name="q" value=(words) autocapitalize="off" spellcheck="false"; }
            button.button.primary type="submit" { "Search" }
        }
    }
}

/// Returns the page on which a reader signs in with a token, and then returns to the page `to`.
pub fn token_form(site: &Site, to: &str, error: Option<&str>) -> String {
    let title = "Sign in with a token";
    let host = split_port(authority(&site.origin)).0;
    let is_secure = site.origin.starts_with("https://") || is_loopback(host);
    let body = html! {
        main.inner.message #page-content {
            h1 { (title) }
            @if let Some(error) = error { div.notice.warn role="alert" { p { "The token was not accepted: " (error) "." } } }
            @if is_secure {
                p { "Reading here needs a token of this registry. Ask its operator for one, or run " code { "terrace token create" } " if you may." }
                form.refine action=(PageRoute::SignIn) method="post" {
                    input type="hidden" name="to" value=(to);
                    label { span { "Token" } input type="password" name="token" required autocomplete="off" autocapitalize="off" spellcheck="false"; }
                    button.button.primary type="submit" { "Sign in" }
                }
                p.small { "This browser can then read what the token can read, for at most half a day, and change nothing." }
            } @else {
                p { "Reading here needs a token of this registry, and browsers keep no sign-in for an unencrypted page: open this registry at an address that begins with " code { "https://" } "." }
            }
            p { "Terraform, OpenTofu and " code { "terrace" } " send a token themselves. " (install::token(site, "terraform")) }
        }
    };
    let page = Page {
        title,
        ..Page::default()
    };
    page.render(site, &body)
}
