//! CI jobs, which have no token of the registry but one of their CI.

use std::process::Command;

use super::support::actions::Actions;
use super::support::http::Response;
use super::support::registry::{Fault, Registry, errors};
use super::support::{Dist, JOB_SECRET, TOKEN, directory, ended, terrace};

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

fn exchanges(registry: &Registry) -> usize {
    let requests = registry.requests().into_iter();
    requests.filter(|request| request == EXCHANGE).count()
}

#[test]
fn a_job_of_github_actions_publishes_without_a_token() {
    let (registry, actions, dist) = (trusting(), Actions::making(&job_token()), Dist::new());
    let path = dist.path();
    let arguments = ["publish", "provider", &path, "--namespace", "acme"];
    let mut command = against(&registry, &arguments);
    let ended = ended(actions.run(&mut command)).expect(0);
    assert_eq!(ended.json()["status"], "created");
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
fn a_job_of_any_ci_publishes_with_the_token_in_its_environment() {
    let registry = trusting();
    let module = directory(&[("main.tf", "")]);
    let path = module.path().to_str().unwrap();
    let what = ["--address", "acme/vpc/aws", "--version", "1.0.0"];
    let mut command = against(
        &registry,
        &[&["publish", "module", path], &what[..]].concat(),
    );
    // The variable, as in GitLab, takes precedence over the token of Actions.
    let actions = Actions::making("another");
    actions.run(&mut command);
    let ended = ended(command.env("TERRACE_ID_TOKEN", job_token())).expect(0);
    assert_eq!(ended.json()["status"], "created");
    assert!(actions.asked().is_empty());
}

#[test]
fn a_configured_token_takes_precedence_unless_it_is_empty() {
    let registry = trusting();
    let list = || {
        let mut command = against(&registry, &["key", "list", "acme"]);
        command.env("TERRACE_ID_TOKEN", job_token());
        command
    };
    ended(list().env("TERRACE_TOKEN", TOKEN)).expect(0);
    assert_eq!(exchanges(&registry), 0);
    ended(list().env("TERRACE_TOKEN", "")).expect(0);
    assert_eq!(exchanges(&registry), 1);
}

#[test]
fn a_run_that_outlasts_its_token_gets_another_one() {
    let (registry, actions, dist) = (trusting(), Actions::making(&job_token()), Dist::new());
    let path = dist.path();
    let arguments = ["publish", "provider", &path, "--namespace", "acme"];
    // Before the first description arrives, the issued token has expired.
    registry.fail(
        "PUT",
        "/admin/",
        Fault::Answer(errors(401, &["it has expired"])),
    );
    let mut command = against(&registry, &arguments);
    ended(actions.run(&mut command)).expect(0);
    assert_eq!(actions.asked().len(), 2);
    assert_eq!(exchanges(&registry), 2);
}

#[test]
fn a_job_that_is_rejected_twice_is_not_retried() {
    let registry = trusting();
    for _ in 0..3 {
        registry.fail(
            "GET",
            "/keys",
            Fault::Answer(errors(401, &["not this one"])),
        );
    }
    let mut command = against(&registry, &["key", "list", "acme"]);
    let ended = ended(command.env("TERRACE_ID_TOKEN", job_token())).expect(5);
    assert!(ended.errors().contains("not this one"), "{ended:?}");
    assert!(
        ended.errors().contains("TERRACE_TRUSTED_PUBLISHERS"),
        "{ended:?}"
    );
    assert_eq!(exchanges(&registry), 2);
}

#[test]
fn a_job_that_lacks_a_scope_is_reported_with_the_source_of_its_scopes() {
    let registry = trusting();
    registry.fail(
        "GET",
        "/keys",
        Fault::Answer(errors(
            403,
            &["this request requires the scope publish:acme; the token has read"],
        )),
    );
    let mut command = against(&registry, &["key", "list", "acme"]);
    let ended = ended(command.env("TERRACE_ID_TOKEN", job_token())).expect(5);
    let message = ended.errors();
    let refused = "the token of this CI job is valid, and does not allow this: this request requires the scope publish:acme";
    assert!(message.contains(refused), "{message}");
    assert!(
        message.contains("Its scopes are those of the rules"),
        "{message}"
    );
}

#[test]
fn a_job_that_is_not_trusted_is_reported_with_advice() {
    let registry = Registry::start();
    let mut command = against(&registry, &["key", "list", "acme"]);
    let ended = ended(command.env("TERRACE_ID_TOKEN", job_token())).expect(5);
    assert_eq!(
        ended.errors(),
        "the registry does not trust this CI job: check the rules in its TERRACE_TRUSTED_PUBLISHERS, and those \
         that terrace trust list shows; its log contains the reason"
    );
    assert_eq!(registry.requests(), [EXCHANGE]);
}

#[test]
fn a_registry_that_trusts_no_jobs_is_distinguished_from_one_that_does_not_respond() {
    for (status, code, message) in [
        (
            404,
            5,
            "trusts no CI jobs: run terrace trust add, set TERRACE_TRUSTED_PUBLISHERS there, or TERRACE_TOKEN here",
        ),
        (503, 6, "the issuer is silent"),
    ] {
        let registry = trusting();
        let body = r#"{"error":"x","error_description":"the issuer is silent"}"#;
        let answer = Response::new(status, body).with("retry-after", "0");
        registry.fail("POST", "/oauth/", Fault::Answer(answer));
        let mut command = against(&registry, &["key", "list", "acme", "--retries", "0"]);
        let ended = ended(command.env("TERRACE_ID_TOKEN", job_token())).expect(code);
        assert!(ended.errors().contains(message), "{ended:?}");
    }
    let registry = trusting();
    let answer = Response::new(503, "{}").with("retry-after", "0");
    registry.fail("POST", "/oauth/", Fault::Answer(answer));
    let mut command = against(&registry, &["key", "list", "acme"]);
    ended(command.env("TERRACE_ID_TOKEN", job_token())).expect(0);
}

#[test]
fn a_response_of_actions_without_a_token_is_reported() {
    for (response, code, message) in [
        (Response::new(403, "{}"), 5, "responded with status 403"),
        (Response::new(200, "{}"), 1, "without a token for the job"),
        (
            Response::new(200, "<html>"),
            1,
            "without a token for the job",
        ),
        (
            Response::new(500, ""),
            6,
            "GitHub Actions responded with status 500",
        ),
    ] {
        let (registry, actions) = (trusting(), Actions::answering(response));
        let mut command = against(&registry, &["key", "list", "acme", "--retries", "0"]);
        let ended = ended(actions.run(&mut command)).expect(code);
        assert!(ended.errors().contains(message), "{ended:?}");
        assert!(registry.requests().is_empty());
    }
}

#[test]
fn a_missing_token_is_reported_with_the_variables_to_set() {
    let registry = trusting();
    let ended = ended(&mut against(&registry, &["key", "list", "acme"])).expect(2);
    for hint in ["TERRACE_TOKEN", "id-token: write", "TERRACE_ID_TOKEN"] {
        assert!(ended.errors().contains(hint), "{ended:?}");
    }
    assert!(registry.requests().is_empty());
}

#[test]
fn an_issued_token_is_not_kept_between_runs() {
    let registry = trusting();
    let list = || {
        let mut command = against(&registry, &["key", "list", "acme"]);
        ended(command.env("TERRACE_ID_TOKEN", job_token())).expect(0)
    };
    list();
    registry.expire_given();
    list();
    assert_eq!(exchanges(&registry), 2);
}

#[test]
fn a_job_s_credential_is_not_sent_over_plain_http_to_another_machine() {
    let registry = trusting();
    let mut command = against(&registry, &["key", "list", "acme", "--retries", "0"]);
    command.env(
        "ACTIONS_ID_TOKEN_REQUEST_URL",
        "http://runner.invalid/token?v=2",
    );
    command.env(
        "ACTIONS_ID_TOKEN_REQUEST_TOKEN",
        format!("runner-{JOB_SECRET}"),
    );
    let refused = ended(&mut command).expect(2);
    assert!(
        refused.errors().contains("http://runner.invalid/token "),
        "{refused:?}"
    );
    assert!(refused.errors().contains("--insecure"), "{refused:?}");
    ended(command.arg("--insecure")).expect(6);
    assert!(registry.requests().is_empty());
}

#[test]
fn a_token_service_with_an_invalid_url_is_a_usage_error() {
    let registry = trusting();
    for (url, reason) in [
        ("https://runner.invalid:99999/", "invalid port number"),
        ("runner.invalid/token", "without a base"),
    ] {
        let mut command = against(&registry, &["key", "list", "acme", "--retries", "0"]);
        command.env("ACTIONS_ID_TOKEN_REQUEST_URL", url);
        command.env("ACTIONS_ID_TOKEN_REQUEST_TOKEN", JOB_SECRET);
        let errors = ended(&mut command).expect(2).errors();
        assert!(errors.contains("ACTIONS_ID_TOKEN_REQUEST_URL"), "{errors}");
        assert!(errors.contains(reason), "{errors}");
    }
    assert!(registry.requests().is_empty());
}
