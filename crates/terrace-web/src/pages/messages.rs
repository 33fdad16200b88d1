//! The page of an error.

use maud::html;
use terrace_core::api::route::PageRoute;

use crate::links::with_query;
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
    /// The path that was requested, to which a sign-in leads back.
    pub path: &'a str,
}

/// Returns the page of an error. A missing package and one that the reader may not see have the same page.
pub fn error(site: &Site, failure: &Failure<'_>) -> String {
    let may_be_hidden = matches!(failure.status, 401 | 403 | 404);
    let offers_sign_in = may_be_hidden && site.sign_in == SignIn::SignedOut;
    let sign_in = with_query(&PageRoute::SignIn.to_string(), &[("to", failure.path)]);
    let body = html! {
        main.inner.message #page-content {
            p.over { "Error " (failure.status) }
            h1 { (failure.title) }
            p dir="auto" { (failure.message) }
            @if offers_sign_in {
                p { "If it is private, sign in to see it." }
                p { a.button.primary href=(sign_in) rel="nofollow" { "Sign in" } " " a.button href="/" { "Start page" } }
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
