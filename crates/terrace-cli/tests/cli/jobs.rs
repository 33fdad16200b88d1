//! CI jobs, which have no token of the registry but one of their CI.

use std::process::Command;

use super::support::actions::Actions;
use super::support::http::Response;
use super::support::registry::{Fault, Registry};
use super::support::{Dist, Ended, JOB_SECRET, TOKEN, assert_has, ended, terrace, words};

const EXCHANGE: &str = "POST /oauth/exchange";

fn job_token() -> String {
    format!("eyJ.{JOB_SECRET}.sig")
}

/// Starts a registry that trusts the job with [`job_token`].
fn trusting() -> Registry {
    let registry = Registry::start();
    registry.trust_job(&job_token());
    registry
}

fn against(registry: &Registry, arguments: &[&str]) -> Command {
    let mut command = terrace(arguments);
    command.arg("--json").env("TERRACE_URL", registry.url());
    command
}

/// Returns a short command.
fn list_keys(registry: &Registry) -> Command {
    against(registry, &words("key list acme --retries 0"))
}

/// Returns the command of a job with [`job_token`].
fn list(registry: &Registry) -> Command {
    let mut command = list_keys(registry);
    command.env("TERRACE_ID_TOKEN", job_token());
    command
}

/// Publishes a provider as a job of GitHub Actions.
#[track_caller]
fn publish_by(actions: &Actions, registry: &Registry) -> Ended {
    let dist = Dist::new();
    let path = dist.path();
    let line = ["publish", "provider", &path, "--namespace", "acme"];
    ended(actions.run(&mut against(registry, &line))).expect(0)
}

fn exchanges(registry: &Registry) -> usize {
    let requests = registry.requests().into_iter();
    requests.filter(|request| request == EXCHANGE).count()
}

#[test]
fn a_job_of_github_actions_publishes_without_a_token() {
    let (registry, actions) = (trusting(), Actions::making(&job_token()));
    let published = publish_by(&actions, &registry);
    assert_eq!(published.json()["status"], "created");
    // The token is requested for this registry, once for the whole run.
    let audience = registry.url().replace("://", "%3A%2F%2F");
    let (host, port) = audience.rsplit_once(':').unwrap();
    assert_eq!(
        actions.asked(),
        [format!("/token?api-version=2.0&audience={host}%3A{port}")]
    );
    assert_eq!(exchanges(&registry), 1);
}

#[test]
fn a_configured_token_takes_precedence_unless_it_is_empty() {
    let registry = trusting();
    // A token issued to a job is not kept between runs.
    for (token, expected) in [(TOKEN, 0), ("", 1), ("", 1)] {
        ended(list(&registry).env("TERRACE_TOKEN", token)).expect(0);
        assert_eq!(exchanges(&registry), expected);
    }
}

#[test]
fn a_run_that_outlasts_its_token_gets_another_one() {
    let (registry, actions) = (trusting(), Actions::making(&job_token()));
    // Before the first description arrives, the issued token has expired.
    registry.refuse("PUT", "/admin/", 401, &["it has expired"]);
    publish_by(&actions, &registry);
    assert_eq!(actions.asked().len(), 2);
    assert_eq!(exchanges(&registry), 2);
}

#[test]
fn a_job_that_is_rejected_twice_is_not_retried() {
    let registry = trusting();
    for _ in 0..3 {
        registry.refuse("GET", "/keys", 401, &["not this one"]);
    }
    let errors = ended(&mut list(&registry)).fails(5, "not this one");
    assert_has!(errors, "TERRACE_TRUSTED_PUBLISHERS");
    assert_eq!(exchanges(&registry), 2);
}

#[test]
fn a_registry_that_trusts_no_jobs_is_distinguished_from_one_that_does_not_respond() {
    let registry = trusting();
    let silent = r#"{"error":"x","error_description":"the issuer is silent"}"#;
    let fail = |status| {
        let answer = Response::new(status, silent).with("retry-after", "0");
        registry.fail("POST", "/oauth/", Fault::Answer(answer));
    };
    fail(404);
    ended(&mut list(&registry)).fails(5, "trusts no CI jobs");
    fail(503);
    ended(&mut list(&registry)).fails(6, "the issuer is silent");
    fail(503);
    let mut again = against(&registry, &["key", "list", "acme"]);
    ended(again.env("TERRACE_ID_TOKEN", job_token())).expect(0);
}

#[test]
fn a_response_of_actions_without_a_token_is_reported() {
    let registry = trusting();
    for (status, body, code, message) in [
        (403, "{}", 5, "responded with status 403"),
        (200, "{}", 1, "without a token for the job"),
        (200, "<html>", 1, "without a token for the job"),
        (500, "", 6, "GitHub Actions responded with status 500"),
    ] {
        let actions = Actions::answering(Response::new(status, body));
        ended(actions.run(&mut list_keys(&registry))).fails(code, message);
    }
    assert_eq!(registry.requests(), [""; 0]);
}

/// Returns a command of a job of GitHub Actions whose token service has this URL.
fn list_by(registry: &Registry, url: &str) -> Command {
    let mut command = list_keys(registry);
    command.env("ACTIONS_ID_TOKEN_REQUEST_URL", url);
    command.env("ACTIONS_ID_TOKEN_REQUEST_TOKEN", JOB_SECRET);
    command
}

#[test]
fn a_job_s_credential_is_not_sent_over_plain_http_to_another_machine() {
    let registry = trusting();
    let mut command = list_by(&registry, "http://runner.invalid/token?v=2");
    let errors = ended(&mut command).fails(2, "http://runner.invalid/token ");
    assert_has!(errors, "--insecure");
    ended(command.arg("--insecure")).expect(6);
    for (url, reason) in [
        ("https://runner.invalid:99999/", "invalid port number"),
        ("runner.invalid/token", "without a base"),
    ] {
        let errors = ended(&mut list_by(&registry, url)).fails(2, reason);
        assert_has!(errors, "ACTIONS_ID_TOKEN_REQUEST_URL");
    }
    assert_eq!(registry.requests(), [""; 0]);
}
