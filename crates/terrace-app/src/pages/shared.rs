//! Parts of all pages: the registry that they describe, their headers, and the page of an error.

use terrace_base::percent::{Plus, decoded};
use terrace_core::auth::access::Caller;
use terrace_core::config::Config;
use terrace_core::http::accept::Accept;
use terrace_core::http::form::Form;
use terrace_core::http::problem::Problem;
use terrace_core::http::reply::{Body, CachePolicy, Reply};
use terrace_core::limits;
use terrace_core::model::package::Package;
use terrace_core::storage::index_document::short_etag;
use terrace_web::pages::Failure as ShownFailure;
use terrace_web::{SignIn, Site};

use crate::context::Context;
use crate::host::{Host, Request};
use crate::listing::unchanged;
use crate::outcome::{Call, Handled, Outcome};
use crate::sign_in::browser::is_by_token;

/// Returns the registry as the page for a call shows it.
pub(super) fn site_of_call<P: Host>(ctx: &Context<'_, P>, call: &Call) -> Site {
    Site {
        here: with_query(&call.path, &call.query),
        ..site(ctx, &call.origin, &call.caller)
    }
}

/// Returns the path of a page with its query, if it has one.
fn with_query(path: &str, query: &str) -> String {
    match query {
        "" => path.to_owned(),
        query => format!("{path}?{query}"),
    }
}

/// Returns the registry as a document for this caller shows it.
pub(crate) fn site<P: Host>(ctx: &Context<'_, P>, origin: &str, caller: &Caller) -> Site {
    let config = ctx.config;
    let hostname = origin.split_once("://").map_or(origin, |(_, host)| host);
    Site {
        origin: origin.to_owned(),
        hostname: hostname.to_owned(),
        name: config
            .brand
            .name
            .clone()
            .unwrap_or_else(|| hostname.to_owned()),
        logo: config.brand.logo.clone(),
        assets: ctx.host.cache().assets(&config.brand).names().clone(),
        sign_in: match caller.signed_in() {
            _ if !config.reads_sessions() => SignIn::Unavailable,
            Some(_) => SignIn::SignedIn,
            None => SignIn::SignedOut,
        },
        reader: caller.signed_in().map(ToString::to_string),
        here: String::new(),
        is_private: config.access.is_private(),
        has_login: config.login.is_some(),
        client_hosts: client_hosts(config),
        issuers: config.issuers().iter().map(ToString::to_string).collect(),
        problems: match caller.is_admin_in_browser() {
            true => config.warnings(),
            false => Vec::new(),
        },
    }
}

/// Returns the hosts of the applications that sign their users in.
fn client_hosts(config: &Config) -> Vec<String> {
    let login = config.login.as_deref();
    let hosts = login.map_or(&[][..], |login| &login.client_hosts);
    hosts.iter().map(ToString::to_string).collect()
}

/// Returns the registry as a page about a package, or about those of an owner, shows it: their visibility may not be that of
/// most packages.
pub(super) fn site_of<P: Host>(ctx: &Context<'_, P>, call: &Call, is_private: bool) -> Site {
    Site {
        is_private,
        ..site_of_call(ctx, call)
    }
}

/// Returns whether a client is a browser that shows a page.
pub(crate) fn accepts_html<R: Request>(request: &R) -> bool {
    let accept = request.header("accept").unwrap_or_default();
    Accept(&accept).names("text/html")
}

/// Returns whether a client prefers Markdown to a page.
pub(super) fn prefers_markdown<R: Request>(request: &R) -> bool {
    let accept = request.header("accept").unwrap_or_default();
    Accept(&accept).prefers("text/markdown", "text/html")
}

/// Marks an answer in the one of two formats that the client prefers.
pub(super) fn chosen_by_accept<S>(mut outcome: Outcome<S>) -> Outcome<S> {
    outcome.reply = outcome.reply.varying_by("accept");
    outcome
}

/// Returns the reply with a page, unless the client has it.
pub(super) fn html<S, R: Request>(
    call: &Call,
    request: &R,
    is_private: bool,
    html: String,
) -> Handled<S> {
    let etag = short_etag(&html);
    let reply = || Reply::page(200, CachePolicy::Revalidate, html);
    sent(call, request, is_private, etag, reply)
}

/// Returns the reply with a document other than a page, unless the client has it.
pub(super) fn document<S, R: Request>(
    call: &Call,
    request: &R,
    is_private: bool,
    content_type: &'static str,
    text: String,
) -> Handled<S> {
    let etag = short_etag(&text);
    let reply = || {
        Reply::new(200, CachePolicy::Revalidate)
            .with("content-type", content_type)
            .with_security_headers()
            .with_body(Body::Text(text))
    };
    sent(call, request, is_private, etag, reply)
}

/// Returns the reply with a text in Markdown, unless the client has it. The text is unchecked, so a browser runs nothing in
/// it.
pub(super) fn markdown<S, R: Request>(
    call: &Call,
    request: &R,
    is_private: bool,
    text: String,
) -> Handled<S> {
    let etag = short_etag(&text);
    let reply = || {
        Reply::new(200, CachePolicy::Revalidate)
            .with_stored_type("text/markdown; charset=utf-8")
            .with_body(Body::Text(text))
    };
    sent(call, request, is_private, etag, reply)
}

/// Returns the reply, unless the client has it. The entity tag covers every byte, and so the origin, the caller and the
/// version of Terrace. No shared cache may store an answer that depends on the caller.
fn sent<S, R: Request>(
    call: &Call,
    request: &R,
    is_private: bool,
    etag: String,
    reply: impl FnOnce() -> Reply<S>,
) -> Handled<S> {
    let reply = match unchanged(request, &etag) {
        Some(unchanged) => unchanged,
        None => reply().with("etag", etag),
    };
    Ok(match is_private || call.caller != Caller::Anonymous {
        true => reply.private(),
        false => reply,
    }
    .into())
}

/// A request that is answered with the page of an error.
pub(crate) struct FailedVisit<'a> {
    pub(crate) origin: &'a str,
    pub(crate) path: &'a str,
    pub(crate) query: &'a str,
    /// Decides only whether the page offers to sign in or out.
    pub(crate) reader: &'a Caller,
    /// Whether a sign-in in the browser may help.
    pub(crate) may_sign_in: bool,
    /// The package of a version or document that does not exist, if the caller may see the package.
    pub(crate) package: Option<&'a Package>,
}

/// Returns the page of an error.
pub(crate) fn problem_page<P: Host>(
    ctx: &Context<'_, P>,
    visit: &FailedVisit<'_>,
    problem: &Problem,
) -> Reply<P::Stream> {
    let status = problem.status();
    let site = Site {
        here: with_query(visit.path, visit.query),
        ..site(ctx, visit.origin, visit.reader)
    };
    let may_sign_in = visit.may_sign_in && site.sign_in == SignIn::SignedOut;
    let query = Form(visit.query).value("q").ok().flatten();
    let words = query.unwrap_or_else(|| words_of(visit.path));
    let failure = ShownFailure {
        status,
        title: title(status, may_sign_in),
        message: &sentences(&problem.messages()),
        may_sign_in,
        package: visit.package,
        words: &words,
    };
    let html = match status == 401 && may_sign_in && is_by_token(ctx) {
        true => terrace_web::pages::token_form(&site, &site.here, None),
        false => terrace_web::pages::error(&site, &failure),
    };
    let plain = problem.reply::<()>();
    let page = Reply::page(status, CachePolicy::NoStore, html);
    ["retry-after", "www-authenticate"]
        .into_iter()
        .fold(page, |page, name| match plain.header(name) {
            Some(value) => page.with(name, value.to_owned()),
            None => page,
        })
}

/// Returns the words of a path for a search: names, without those of routes, versions and hostnames.
fn words_of(path: &str) -> String {
    const OF_ROUTES: [&str; 9] = [
        "",
        "modules",
        "providers",
        "mirrored",
        "namespaces",
        "latest",
        "docs",
        "versions",
        "compare",
    ];
    let decoded = decoded(path, Plus::Plus).unwrap_or_default();
    let is_name = |word: &&str| !OF_ROUTES.contains(word) && !word.contains('.');
    let names = decoded.split(['/', ' ']).filter(is_name);
    names
        .take(limits::SEARCH_WORDS)
        .collect::<Vec<_>>()
        .join(" ")
}

/// Returns messages, which begin in lower case for terminals, as sentences.
fn sentences(messages: &[String]) -> String {
    let sentence = |message: &String| {
        let mut chars = message.chars();
        let first: String = chars
            .next()
            .into_iter()
            .flat_map(char::to_uppercase)
            .collect();
        format!("{first}{}.", chars.as_str().trim_end_matches('.'))
    };
    let sentences: Vec<String> = messages.iter().map(sentence).collect();
    sentences.join(" ")
}

fn title(status: u16, may_sign_in: bool) -> &'static str {
    match status {
        400 => "This address is not valid",
        401 if may_sign_in => "Sign in to see this page",
        401 => "Reading needs a token",
        403 => "You may not see this page",
        404 => "This page does not exist",
        405 => "This page can only be read",
        410 => "This version was revoked",
        429 => "Too many requests",
        503 => "This page is not available yet",
        _ => "This page cannot be shown",
    }
}
