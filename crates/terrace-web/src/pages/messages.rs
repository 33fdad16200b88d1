//! Pages without packages: errors, and the ends of a sign-in.

use maud::html;

use crate::links::with_query;
use crate::parts::code;
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
    let sign_in = with_query(Site::SIGN_IN_PATH, &[("to", failure.path)]);
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

/// Returns the page that asks the reader to sign in. `return_to` is the path to come back to.
pub fn sign_in(site: &Site, return_to: &str) -> String {
    let body = html! {
        main.inner.message #page-content {
            h1 { "Sign in" }
            p { "Reading " strong dir="auto" { (site.name) } " in a browser needs a sign-in." }
            form action=(Site::SIGN_IN_PATH) method="post" {
                input type="hidden" name="return" value=(return_to);
                button.button.primary type="submit" { "Continue to sign-in" }
            }
            @if site.has_login {
                p.small { "Terminals have their own:" }
                (code::block("the login command", &format!("terraform login {}\n", site.hostname)))
            }
        }
    };
    let page = Page {
        title: "Sign in",
        ..Page::default()
    };
    page.render(site, &body)
}

/// Returns the page after a sign-out.
pub fn signed_out(site: &Site) -> String {
    let body = html! {
        main.inner.message #page-content {
            h1 { "You are signed out" }
            p { "This browser can no longer see private packages of this registry. Tokens of terminals stay valid." }
            p { a.button href="/" { "Start page" } }
        }
    };
    let page = Page {
        title: "Signed out",
        ..Page::default()
    };
    page.render(site, &body)
}
