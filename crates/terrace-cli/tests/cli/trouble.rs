//! Failing networks and registries.

use std::net::TcpListener;
use std::time::Instant;

use super::support::http::Response;
use super::support::registry::{Fault, Registry, errors};
use super::support::{Dist, Ended, TOKEN, URL_SECRET, ended, run, terrace};

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
    assert!(
        ended.stderr.contains("storage did not answer; retrying in"),
        "{ended:?}"
    );
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
    let ended = publish(&registry, &["--retries", "2"]).expect(6);
    assert_eq!(ended.json()["status"], "unavailable");
    assert_eq!(ended.errors(), "storage did not answer");
    assert_eq!(registry.requests().len(), 3);
}

#[test]
fn a_request_that_the_registry_rejects_is_not_retried() {
    for (status, code) in [
        (400, 3),
        (401, 5),
        (403, 5),
        (404, 3),
        (409, 4),
        (413, 3),
        (422, 3),
    ] {
        let registry = Registry::start();
        registry.fail(
            "PUT",
            "/admin/",
            Fault::Answer(errors(status, &["a reason"])),
        );
        let ended = publish(&registry, &[]).expect(code);
        assert!(ended.errors().contains("a reason"), "{ended:?}");
        assert_eq!(registry.requests().len(), 1, "{status}");
    }
}

#[test]
fn a_missing_thing_is_reported_without_doubts_about_the_registry() {
    for (arguments, method, path, reason) in [
        (
            &["release", "revoke", "acme/vpc/aws@9.9.9", "--reason", "x"] as &[&str],
            "PUT",
            "/status",
            "acme/vpc/aws has no version 9.9.9",
        ),
        (
            &["key", "retire", "acme", "0123456789ABCDEF", "--reason", "x"],
            "PUT",
            "/keys/",
            "acme has no key 0123456789ABCDEF",
        ),
        (
            &["token", "rotate", "0123456789abcdef"],
            "POST",
            "/rotation",
            "there is no token with this ID",
        ),
    ] {
        let registry = Registry::start();
        let fail = |response| registry.fail(method, path, Fault::Answer(response));
        fail(errors(404, &[reason]));
        let ended = run(&registry, arguments).expect(3);
        let expected = format!("not found at {}: {reason}", registry.url());
        assert_eq!(ended.errors(), expected);
        let closed = "this registry has no admin routes: TERRACE_ADMIN_TOKEN is not set";
        for response in [errors(404, &[closed]), Response::new(404, "<html>")] {
            fail(response);
            run(&registry, arguments).expect(5);
        }
    }
}

#[test]
fn an_unknown_token_is_not_reported_as_revoked() {
    let registry = Registry::start();
    let (known, unknown) = ("0123456789abcdef", "fedcba9876543210");
    let revoke = |ids: &[&str], more: &[&str]| {
        for id in ids {
            let body = serde_json::json!({ "id": id, "known": *id == known }).to_string();
            registry.fail("DELETE", id, Fault::Answer(Response::new(200, body)));
        }
        let mut command = terrace(&[&["token", "revoke"], ids, more].concat());
        command.env("TERRACE_URL", registry.url());
        ended(command.env("TERRACE_TOKEN", TOKEN))
    };
    let one = revoke(&[unknown], &[]).expect(3);
    assert_eq!((one.stdout.as_str(), one.stderr.lines().count()), ("", 1));
    assert!(one.stderr.contains(unknown), "{one:?}");
    let two = revoke(&[known, unknown], &[]).expect(3);
    assert!(
        two.stdout.starts_with(&format!("{known} revoked;")),
        "{two:?}"
    );
    assert!(!two.stdout.contains(unknown), "{two:?}");
    let json = revoke(&[known, unknown], &["--json"]).expect(3).json();
    assert_eq!(json["unknown"], serde_json::json!([unknown]));
    assert_eq!(json["revoked"], serde_json::json!([known, unknown]));
    assert_eq!(json["status"], "refused");
    let json = revoke(&[known], &["--json"]).expect(0).json();
    assert_eq!(json["status"], "ok");
}

#[test]
fn the_status_of_a_missing_package_of_two_parts_is_refused_with_a_hint() {
    for (address, hint) in [("acme/vpc@1.0.0", true), ("acme/vpc/aws@1.0.0", false)] {
        let registry = Registry::start();
        let missing = errors(404, &["acme/vpc has no version 1.0.0"]);
        registry.fail("PUT", "/status", Fault::Answer(missing));
        let deprecate = ["release", "deprecate", address, "--reason", "x"];
        let message = run(&registry, &deprecate).expect(3).errors();
        assert_eq!(message.contains("such as acme/vpc/aws"), hint, "{message}");
    }
}

#[test]
fn a_reindex_of_a_package_that_does_not_exist_is_reported() {
    let registry = Registry::start();
    for (looked_at, package, code) in [(0, true, 3), (1, true, 0), (0, false, 0)] {
        let body = serde_json::json!({ "looked_at": looked_at }).to_string();
        registry.fail("POST", "/reindex", Fault::Answer(Response::new(200, body)));
        let more: &[&str] = if package {
            &["--package", "acme/nope"]
        } else {
            &[]
        };
        let ended = run(&registry, &[&["admin", "reindex"], more].concat()).expect(code);
        if code == 3 {
            let message = ended.errors();
            assert!(
                message.contains("nothing is published as acme/nope"),
                "{message}"
            );
        }
    }
}

#[test]
fn a_wrong_token_is_reported_with_advice() {
    let registry = Registry::start();
    let mut command = terrace(&["key", "list", "acme", "--url", registry.url()]);
    let ended = ended(command.env("TERRACE_TOKEN", "another-secret")).expect(5);
    assert!(
        ended
            .stderr
            .contains("TERRACE_TOKEN must be its admin token"),
        "{ended:?}"
    );
    assert!(!ended.stderr.contains("another-secret"));
    assert!(!ended.stderr.contains("this scope"), "{ended:?}");
    let lacking = "this requires the scope admin; the token has read";
    registry.fail("GET", "/keys", Fault::Answer(errors(403, &[lacking])));
    let message = run(&registry, &["key", "list", "acme"]).expect(5).errors();
    assert!(message.contains("or a token with this scope"), "{message}");
    assert!(
        message.contains("is valid, and does not allow this: this requires the scope admin"),
        "{message}"
    );
    assert!(!message.contains("rejects"), "{message}");
}

#[test]
fn an_interrupted_upload_is_retried_with_a_fresh_url_and_the_rest_is_not_sent_again() {
    let registry = Registry::start();
    registry.fail("PUT", "/bucket/", Fault::HangUpAfter(10));
    let ended = publish(&registry, &[]).expect(0);
    assert!(ended.stderr.contains("the upload failed"), "{ended:?}");
    let requests = registry.requests();
    assert_eq!(count(&requests, "PUT /bucket/"), 7, "{requests:?}");
    assert_eq!(count(&requests, "PUT /admin/"), 3, "{requests:?}");
}

#[test]
fn the_same_command_again_continues_where_it_stopped() {
    let registry = Registry::start();
    registry.fail("PUT", "/bucket/", Fault::HangUpAfter(10));
    publish(&registry, &["--retries", "0"]).expect(6);
    let sent = count(&registry.requests(), "PUT /bucket/") - 1;
    let report = publish(&registry, &["--retries", "0"]).expect(0).json();
    assert_eq!(report["uploaded"].as_array().unwrap().len(), 6 - sent);
    assert_eq!(count(&registry.requests(), "PUT /bucket/"), 6 - sent);
}

#[test]
fn an_archive_that_another_publisher_sent_meanwhile_is_accepted() {
    let registry = Registry::start();
    publish(&registry, &[]).expect(0);
    let other = Registry::start();
    let already_there = Response::new(412, "<Error><Code>PreconditionFailed</Code></Error>");
    for _ in 0..6 {
        other.fail("PUT", "/bucket/", Fault::Answer(already_there.clone()));
    }
    // The storage responds with 412 but does not have the archives, so the registry requests them again.
    let ended = publish(&other, &[]).expect(0);
    assert!(ended.stderr.contains("is already stored"), "{ended:?}");
}

#[test]
fn a_url_that_has_expired_is_replaced_by_a_fresh_one() {
    let registry = Registry::start();
    let expired = "<Error><Code>AccessDenied</Code><Message>Request has expired</Message></Error>";
    registry.fail(
        "PUT",
        "/bucket/",
        Fault::Answer(Response::new(403, expired)),
    );
    let ended = publish(&registry, &[]).expect(0);
    assert!(ended.stderr.contains("Request has expired"), "{ended:?}");
}

#[test]
fn a_storage_that_refuses_is_quoted_without_its_secrets() {
    let registry = Registry::start();
    let body = format!(
        "<Error><Code>BadDigest</Code><Message>The digest is wrong</Message>\
         <StringToSign>{URL_SECRET}</StringToSign></Error>"
    );
    registry.fail("PUT", "/bucket/", Fault::Answer(Response::new(400, body)));
    let ended = publish(&registry, &[]).expect(3);
    assert!(
        ended
            .errors()
            .contains("400: BadDigest: The digest is wrong"),
        "{ended:?}"
    );
}

#[test]
fn uploads_to_a_storage_that_always_rejects_them_end() {
    let registry = Registry::start();
    for _ in 0..100 {
        registry.fail("PUT", "/bucket/", Fault::Answer(Response::new(403, "no")));
    }
    let ended = publish(&registry, &["--retries", "2"]).expect(5);
    assert!(ended.errors().contains("403"), "{ended:?}");
    assert!(registry.requests().len() < 40);
}

#[test]
fn a_publish_ends_if_the_registry_never_finds_the_uploads() {
    let registry = Registry::start();
    registry.forget_archives();
    let ended = publish(&registry, &["--retries", "1"]).expect(1);
    assert!(
        ended
            .errors()
            .contains("keeps requesting archives that were uploaded"),
        "{ended:?}"
    );
    assert_eq!(count(&registry.requests(), "PUT /admin/"), 3);
}

#[test]
fn a_registry_that_requests_a_foreign_archive_gets_nothing() {
    let registry = Registry::start();
    let body = serde_json::json!({ "status": "incomplete", "missing": [{
        "filename": "id_rsa", "sha256": "0".repeat(64), "size": 1,
        "upload": { "method": "PUT", "url": registry.url(), "headers": {} },
    }]});
    registry.fail(
        "PUT",
        "/admin/",
        Fault::Answer(Response::new(202, body.to_string())),
    );
    let ended = publish(&registry, &[]).expect(1);
    assert!(
        ended.errors().contains("not part of this release"),
        "{ended:?}"
    );
}

#[test]
fn a_redirect_is_not_followed_with_the_token() {
    let registry = Registry::start();
    let elsewhere = Registry::start();
    let target = format!("{}/admin", elsewhere.url());
    registry.fail(
        "PUT",
        "/admin/",
        Fault::Answer(Response::new(308, "").with("location", target)),
    );
    let ended = publish(&registry, &[]).expect(1);
    assert!(ended.errors().contains(elsewhere.url()), "{ended:?}");
    assert!(elsewhere.requests().is_empty());
}

#[test]
fn a_server_that_is_not_a_terrace_registry_is_reported() {
    let registry = Registry::start();
    registry.fail(
        "PUT",
        "/admin/",
        Fault::Answer(Response::new(200, "<html>welcome</html>")),
    );
    let ended = publish(&registry, &[]).expect(1);
    assert!(
        ended.errors().contains("is it a Terrace registry"),
        "{ended:?}"
    );
}

#[test]
fn a_server_without_the_errors_of_terrace_is_not_a_terrace_registry() {
    for status in [404, 405, 501] {
        let registry = Registry::start();
        let fault = || Fault::Answer(Response::new(status, "<html>no</html>"));
        registry.fail("GET", "/keys", fault());
        let message = run(&registry, &["key", "list", "acme"]).expect(5).errors();
        let url = registry.url();
        assert_eq!(message.matches(url).count(), 1, "{message}");
        assert!(
            message.starts_with(&format!("{url} responded with status {status}")),
            "{message}"
        );
        assert!(
            message.contains("this is not a Terrace registry"),
            "{message}"
        );
        assert_eq!(registry.requests().len(), 1, "{status}");
    }
    // A gateway may respond in place of a registry that is overloaded.
    let registry = Registry::start();
    registry.fail(
        "GET",
        "/keys",
        Fault::Answer(Response::new(502, "<html>no</html>")),
    );
    let arguments = ["key", "list", "acme", "--retries", "0"];
    run(&registry, &arguments).expect(6);
}

#[test]
fn a_refused_connection_is_reported_as_a_network_failure() {
    let address = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let start = Instant::now();
    let mut command = terrace(&["key", "list", "acme", "--json", "--retries", "1"]);
    command.env("TERRACE_URL", format!("http://{address}"));
    let ended = ended(command.env("TERRACE_TOKEN", TOKEN)).expect(6);
    let reasons = ended.errors();
    assert!(reasons.contains("cannot be reached"), "{reasons}");
    assert!(
        reasons.contains("; check TERRACE_URL and the network, then run it again"),
        "{reasons}"
    );
    assert!(ended.stderr.contains("retrying"), "{ended:?}");
    assert!(
        start.elapsed().as_millis() >= 250,
        "it waits before it tries again"
    );
}
