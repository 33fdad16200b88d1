//! A registry with one fault for each check: that check reports it, and no other one does.

mod access;
mod downloads;
mod edge;
mod outages;
mod packages;
mod stated;
mod transport;

use serde_json::Value;

use super::sound::{Build, Sound, http_date, now};
use super::{checks, doctor, with_status};
use crate::support::http::{Head, Response};
use crate::support::{Ended, ended};

/// Checks that exactly one check reports a problem, with this status, and that it explains it.
#[track_caller]
fn assert_found(id: &str, status: &str, ended: &Ended) {
    let mut problems = with_status(ended, "fail");
    problems.extend(with_status(ended, "warn"));
    assert_eq!(problems, [id], "{ended:#?}");
    let check = &checks(ended)[id];
    assert_eq!(check["status"], status, "{check}");
    for member in ["observed", "error", "fix"] {
        assert!(
            !check[member].as_str().unwrap().is_empty(),
            "{member}: {check}"
        );
    }
    assert_eq!(
        check["hint"],
        format!("docs/doctor.md#{}", id.to_lowercase())
    );
}

#[track_caller]
fn found(
    id: &str,
    build: Build,
    fault: impl Fn(&Head, Response) -> Response + Send + Sync + 'static,
) {
    let registry = Sound::build(build, fault);
    let ended = ended(&mut doctor(&registry.url, &[])).expect(3);
    assert_found(id, "fail", &ended);
}

/// Checks a fault in the responses for targets that contain `part`.
#[track_caller]
fn found_in(
    id: &str,
    part: &'static str,
    fault: impl Fn(Response) -> Response + Send + Sync + 'static,
) {
    found(id, Build::default(), move |head, response| {
        match head.target.contains(part) {
            true => fault(response),
            false => response,
        }
    });
}

const DISCOVERY: &str = "/.well-known/terraform.json";

fn edited(response: Response, edit: impl Fn(&mut Value)) -> Response {
    let mut document: Value = serde_json::from_slice(&response.body).unwrap();
    edit(&mut document);
    Response {
        body: document.to_string().into_bytes(),
        ..response
    }
}

fn html(status: u16) -> Response {
    let date = http_date(now());
    Response::new(status, "<html>Sign in</html>")
        .with("content-type", "text/html")
        .with("date", date)
}
