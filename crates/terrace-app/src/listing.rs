//! Parameters and replies of lists.

use serde::Serialize;
use terrace_base::json;
use terrace_base::untrusted::{QUOTED_CHARS, line, quoted};
use terrace_core::auth::access::Caller;
use terrace_core::http::form::Form;
use terrace_core::http::problem::Problem;
use terrace_core::http::reply::{CachePolicy, Reply};
use terrace_core::limits;
use terrace_core::read::matches_etag;
use terrace_core::storage::index_document::short_etag;

use crate::host::Request;
use crate::outcome::Call;

/// Returns a parameter of the query, decoded as browsers encode forms; an empty one counts as missing.
pub(crate) fn parameter(call: &Call, name: &str) -> Result<Option<String>, Problem> {
    let value = Form(&call.query).value(name);
    value.map_err(|error| Problem::BadRequest(format!("the parameter {name} {error}")))
}

/// Checks that a request has no other parameters. A misspelt one, or one of another route, must not be ignored: the answer would
/// be that to another question.
pub(crate) fn only(call: &Call, names: &[&str]) -> Result<(), Problem> {
    let Some((name, value)) = call.query().unknown(names) else {
        return Ok(());
    };
    let shown = |text: &str| line(text).at_most(QUOTED_CHARS).to_string();
    let takes = match names {
        [] => "no parameters".to_owned(),
        names => names.join(", "),
    };
    Err(Problem::BadRequest(format!(
        "the parameter {} is {}: this path has no such parameter; it takes {takes}",
        shown(&name),
        shown(&value),
    )))
}

/// The parameters of a list with a cursor.
pub(crate) const CURSOR: &[&str] = &["after"];

/// Returns the number in a parameter of a list of the admin API.
pub(crate) fn number_of(name: &str, text: Option<&str>) -> Result<Option<u64>, Problem> {
    let Some(text) = text.filter(|text| !text.is_empty()) else {
        return Ok(None);
    };
    let number = text.parse().map(Some);
    number.map_err(|_| invalid(name, text, "must be a number, 0 or more"))
}

/// Returns a parsed parameter.
pub(crate) fn parsed<T>(call: &Call, name: &str) -> Result<Option<T>, Problem>
where
    T: std::str::FromStr<Err: std::fmt::Display>,
{
    let Some(text) = parameter(call, name)? else {
        return Ok(None);
    };
    let parsed = text.parse().map(Some);
    parsed.map_err(|error: T::Err| invalid(name, &text, &error.to_string()))
}

/// Returns whether a parameter is `true`.
pub(crate) fn flag(call: &Call, name: &str) -> Result<bool, Problem> {
    match parameter(call, name)?.as_deref() {
        None | Some("false") => Ok(false),
        Some("true") => Ok(true),
        Some(other) => Err(invalid(name, other, "must be true or false")),
    }
}

/// Returns the maximum number of entries of a page.
pub(crate) fn limit(call: &Call) -> Result<usize, Problem> {
    let most = limits::MAX_LISTED_AT_ONCE;
    number(call, "limit", limits::LISTED_AT_ONCE, 1, most)
}

/// Returns a number in a parameter.
pub(crate) fn number(
    call: &Call,
    name: &str,
    default: usize,
    least: usize,
    most: usize,
) -> Result<usize, Problem> {
    let Some(text) = parameter(call, name)? else {
        return Ok(default);
    };
    let number = text.parse::<usize>().ok();
    let number = number.filter(|number| (least..=most).contains(number));
    number.ok_or_else(|| {
        let rule = format!("must be a number from {least} to {most}");
        invalid(name, &text, &rule)
    })
}

/// Returns the error for a parameter with a value that breaks a rule.
pub(crate) fn invalid(name: &str, text: &str, rule: &str) -> Problem {
    let text = match text {
        "" => quoted(text),
        text => line(text).at_most(QUOTED_CHARS),
    };
    Problem::BadRequest(format!("the parameter {name} is {text}: it {rule}"))
}

/// Returns the reply with a document, unless the client has it. A reply to a caller with a token is not for shared caches.
pub(crate) fn reply<S, R: Request>(
    caller: &Caller,
    request: &R,
    document: &impl Serialize,
) -> Reply<S> {
    let text = json::to_string(document);
    let etag = short_etag(&text);
    let reply = unchanged(request, &etag)
        .unwrap_or_else(|| Reply::json(200, CachePolicy::Revalidate, text).with("etag", etag));
    match caller {
        Caller::Anonymous => reply,
        Caller::Root(_) | Caller::Bearer(_) | Caller::Browser(_) | Caller::Client(_) => {
            reply.private()
        }
    }
}

/// Returns the reply to a client that has the response with this entity tag; `None` for any other client.
pub(crate) fn unchanged<S, R: Request>(request: &R, etag: &str) -> Option<Reply<S>> {
    let header = request.header("if-none-match")?;
    let reply = || Reply::new(304, CachePolicy::Revalidate).with("etag", etag.to_owned());
    matches_etag(&header, etag).then(reply)
}
