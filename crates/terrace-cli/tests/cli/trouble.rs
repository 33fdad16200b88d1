//! Failing networks and registries.

use std::net::TcpListener;
use std::time::Instant;

use serde_json::json;

use super::support::http::Response;
use super::support::registry::{Fault, Registry, errors};
use super::support::{
    Dist, Ended, URL_SECRET, assert_has, assert_lacks, run, run_at, run_for_people, words,
};

#[track_caller]
fn publish(registry: &Registry, more: &[&str]) -> Ended {
    let dist = Dist::new();
    let path = dist.path();
    let arguments = ["publish", "provider", &path, "--namespace", "acme"];
    run(registry, &[&arguments, more].concat())
}

fn count(requests: &[String], start: &str) -> usize {
    requests
        .iter()
        .filter(|line| line.starts_with(start))
        .count()
}

fn soon(status: u16) -> Fault {
    Fault::Answer(errors(status, &["storage did not answer"]).with("retry-after", "0"))
}

#[test]
fn a_registry_that_is_unavailable_twice_gets_three_requests() {
    let registry = Registry::start();
    registry.fail("PUT", "/admin/", soon(503));
    registry.fail("PUT", "/admin/", soon(429));
    registry.fail("GET", "/keys", soon(500));
    let ended = publish(&registry, &[]).expect(0);
    assert_eq!(ended.json()["status"], "created");
    assert_has!(ended.stderr, "storage did not answer; retrying in");
    let requests = registry.requests();
    assert_eq!(count(&requests, "PUT /admin/"), 4);
    assert_eq!(count(&requests, "GET /admin/"), 2);
}

#[test]
fn a_registry_that_stays_unavailable_is_reported() {
    let registry = Registry::start();
    for _ in 0..3 {
        registry.fail("PUT", "/admin/", soon(503));
    }
    publish(&registry, &["--retries", "2"]).fails(6, "storage did not answer");
    assert_eq!(registry.requests().len(), 3);
}

#[test]
fn a_request_that_the_registry_rejects_is_not_retried() {
    for (status, code) in [(400, 3), (401, 5), (403, 5), (404, 3), (409, 4), (422, 3)] {
        let registry = Registry::start();
        registry.refuse("PUT", "/admin/", status, &["a reason"]);
        publish(&registry, &[]).fails(code, "a reason");
        assert_eq!(registry.requests().len(), 1, "{status}");
    }
}

#[test]
fn a_missing_thing_is_reported_without_doubts_about_the_registry() {
    let (line, registry) = (words("token rotate 0123456789abcdef"), Registry::start());
    registry.refuse("POST", "/rotation", 404, &["there is no such thing"]);
    let expected = format!("not found at {}: there is no such thing", registry.url());
    run(&registry, &line).fails(3, &expected);
    let closed = "this registry has no admin routes: TERRACE_ADMIN_TOKEN is not set";
    for response in [errors(404, &[closed]), Response::new(404, "<html>")] {
        registry.fail("POST", "/rotation", Fault::Answer(response));
        run(&registry, &line).expect(5);
    }
}

#[test]
fn an_unknown_token_is_not_reported_as_revoked() {
    let registry = Registry::start();
    let (known, unknown) = ("0123456789abcdef", "fedcba9876543210");
    for id in [known, unknown, known, unknown] {
        let body = json!({ "id": id, "known": id == known });
        registry.answer("DELETE", id, &body);
    }
    let line = ["token", "revoke", known, unknown];
    let ended = run(&registry, &line).expect(3).json();
    assert_eq!(ended["unknown"], json!([unknown]));
    assert_eq!(ended["revoked"], json!([known, unknown]));
    let shown = run_for_people(&registry, &line).expect(3);
    assert_lacks!(shown.stdout, unknown);
    assert_has!(shown.stderr, unknown);
}

#[test]
fn a_reindex_of_a_package_that_does_not_exist_is_reported() {
    let registry = Registry::start();
    let reindex = |looked_at: u64, line: &str| {
        registry.answer("POST", "/reindex", &json!({ "looked_at": looked_at }));
        run(&registry, &words(line))
    };
    reindex(0, "admin reindex --package acme/nope").fails(3, "nothing is published as acme/nope");
    reindex(1, "admin reindex --package acme/nope").expect(0);
    reindex(0, "admin reindex").expect(0);
}

#[test]
fn an_interrupted_upload_is_retried_with_a_fresh_url_and_the_rest_is_not_sent_again() {
    let registry = Registry::start();
    registry.fail("PUT", "/bucket/", Fault::HangUpAfter(10));
    let ended = publish(&registry, &[]).expect(0);
    assert_has!(ended.stderr, "the upload failed");
    let requests = registry.requests();
    assert_eq!(count(&requests, "PUT /bucket/"), 7, "{requests:?}");
    assert_eq!(count(&requests, "PUT /admin/"), 3, "{requests:?}");
}

#[test]
fn the_same_command_again_continues_where_it_stopped() {
    let registry = Registry::start();
    registry.fail("PUT", "/bucket/", Fault::HangUpAfter(10));
    let ended = publish(&registry, &["--retries", "0"]).expect(6);
    assert_lacks!(ended.stderr, "retrying");
    let sent = count(&registry.requests(), "PUT /bucket/") - 1;
    let report = publish(&registry, &["--retries", "0"]).expect(0).json();
    assert_eq!(report["uploaded"].as_array().unwrap().len(), 6 - sent);
    assert_eq!(count(&registry.requests(), "PUT /bucket/"), 6 - sent);
}

#[test]
fn an_archive_that_another_publisher_sent_meanwhile_is_accepted() {
    let registry = Registry::start();
    let already_there = Response::new(412, "<Error><Code>PreconditionFailed</Code></Error>");
    for _ in 0..6 {
        registry.fail("PUT", "/bucket/", Fault::Answer(already_there.clone()));
    }
    // The storage responds with 412 but does not have the archives, so the registry requests them again.
    let ended = publish(&registry, &[]).expect(0);
    assert_has!(ended.stderr, "is already stored");
}

#[test]
fn a_storage_that_refuses_is_quoted_without_its_secrets() {
    let registry = Registry::start();
    let body = format!(
        "<Error><Code>BadDigest</Code><Message>The digest is wrong</Message>\
         <StringToSign>{URL_SECRET}</StringToSign></Error>"
    );
    registry.fail("PUT", "/bucket/", Fault::Answer(Response::new(400, body)));
    publish(&registry, &[]).fails(3, "400: BadDigest: The digest is wrong");
}

#[test]
fn uploads_to_a_storage_that_always_rejects_them_end() {
    let registry = Registry::start();
    for _ in 0..100 {
        registry.fail("PUT", "/bucket/", Fault::Answer(Response::new(403, "no")));
    }
    publish(&registry, &["--retries", "2"]).fails(5, "403");
    assert!(registry.requests().len() < 40);
}

#[test]
fn a_publish_ends_if_the_registry_never_finds_the_uploads() {
    let registry = Registry::start();
    registry.forget_archives();
    let ended = publish(&registry, &["--retries", "1"]).expect(1);
    assert_has!(
        ended.errors(),
        "keeps requesting archives that were uploaded"
    );
    assert_eq!(count(&registry.requests(), "PUT /admin/"), 3);
}

#[test]
fn a_registry_that_requests_a_foreign_archive_gets_nothing() {
    let registry = Registry::start();
    let body = json!({ "status": "incomplete", "missing": [{
        "filename": "id_rsa", "sha256": "0".repeat(64), "size": 1,
        "upload": { "method": "PUT", "url": registry.url(), "headers": {} },
    }]});
    registry.answer("PUT", "/admin/", &body);
    publish(&registry, &[]).fails(1, "not part of this release");
}

#[test]
fn a_server_without_the_errors_of_terrace_is_not_a_terrace_registry() {
    // A gateway may respond with 502 in place of a registry that is overloaded.
    for (status, code) in [(404, 5), (405, 5), (501, 5), (502, 6)] {
        let registry = Registry::start();
        let page = Response::new(status, "<html>no</html>");
        registry.fail("GET", "/keys", Fault::Answer(page));
        let ended = run(&registry, &words("key list acme --retries 0")).expect(code);
        if code == 5 {
            let start = format!("{} responded with status {status}", registry.url());
            assert_has!(ended.errors(), start, "this is not a Terrace registry");
        }
    }
}

#[test]
fn a_refused_connection_is_reported_as_a_network_failure() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let start = Instant::now();
    let ended = run_at(&url, &words("key list acme --retries 1")).expect(6);
    assert_has!(ended.errors(), "cannot be reached", "check its address");
    assert_has!(ended.stderr, "retrying");
    let waited = start.elapsed().as_millis();
    assert!(waited >= 250, "it waits before it tries again");
}
