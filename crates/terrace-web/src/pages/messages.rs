//! The page of an error.

use maud::html;
use terrace_core::api::route::PageRoute;
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
                p { a.button.primary href=(sign_in_link(site)) rel="nofollow" { "Sign in" } " " a.button href="/" { "Start page" } }
            } @else if needs_token {
                p { "Ask the operator of this registry for a token, and give it to your client. " (install::token(site, "terraform")) }
                p { "To look for packages in a terminal, run " code { "terrace login " (site.origin) " --with-token" } ", then " code { "terrace search" } "." }
            } @else {
                p { a.button href="/" { "Start page" } }
            }
        }
    };
    let page = Page {
        title: failure.title,
        ..Page::default()
    };
    page.render(site, &body)
}
