//! `terrace webhook`.

use serde_json::{Value, json};
use terrace_core::http::idempotency_key::IdempotencyKey;

use super::support::http::Response;
use super::support::registry::{Fault, Registry};
use super::support::{TOKEN, ended, run, terrace};

const ID: &str = "0123456789abcdef";
const SECRET: &str = "whsec_C6nv0snOmgBgij3kbHSCB0kl5JVVguFhCXRKlidiUpg=";

fn webhook(more: Value) -> Value {
    let mut webhook = json!({
        "id": ID, "host": "hooks.example.com", "events": ["publish", "key"], "namespaces": ["acme"], "format": "slack",
        "created": "2026-11-23T06:30:00Z", "by": "root", "delivered": 7, "failures": 0,
    });
    let members = more.as_object().unwrap().clone();
    webhook.as_object_mut().unwrap().extend(members);
    webhook
}

fn answer(registry: &Registry, method: &str, path: &str, status: u16, body: &Value) {
    let response = Response::new(status, body.to_string());
    registry.fail(method, path, Fault::Answer(response));
}

#[test]
fn the_secret_of_a_new_webhook_is_alone_on_standard_output() {
    let registry = Registry::start();
    let added = webhook(json!({ "secret": SECRET }));
    answer(&registry, "POST", "/admin/v1/webhooks", 201, &added);
    let url = "https://hooks.example.com/services/s3cret";
    let mut command = terrace(&["webhook", "add", url, "--namespace", "acme"]);
    command.env("TERRACE_URL", registry.url());
    let ended = ended(command.env("TERRACE_TOKEN", TOKEN)).expect(0);
    assert_eq!(ended.stdout, format!("{SECRET}\n"));
    assert!(ended.stderr.contains("hooks.example.com"), "{ended:?}");
    assert!(!ended.stderr.contains("s3cret"), "{ended:?}");
    assert_eq!(registry.requests(), ["POST /admin/v1/webhooks"]);
}

#[test]
fn a_new_webhook_in_json_prints_nothing_but_json_and_warnings() {
    let registry = Registry::start();
    let added = webhook(json!({ "secret": SECRET }));
    let url = "https://hooks.example.com";
    let add = ["webhook", "add", url, "--namespace", "acme"];
    answer(&registry, "POST", "/admin/v1/webhooks", 201, &added);
    let ended = run(&registry, &add).expect(0);
    assert_eq!(ended.json()["webhook"]["secret"], SECRET);
    assert_eq!(ended.stderr, "");
    answer(&registry, "POST", "/admin/v1/webhooks", 201, &added);
    let ended = run(
        &registry,
        &[&add[..], &["--events", "publish,token"]].concat(),
    )
    .expect(0);
    assert!(
        ended
            .stderr
            .starts_with("warning: the webhook is sent no events of the kinds token,"),
        "{ended:?}"
    );
}

#[test]
fn the_attempts_of_one_creation_have_one_idempotency_key_and_other_creations_others() {
    let registry = Registry::start();
    let added = webhook(json!({ "secret": SECRET }));
    let add = || {
        registry.fail("POST", "/admin/v1/webhooks", Fault::HangUpAfter(1));
        answer(&registry, "POST", "/admin/v1/webhooks", 201, &added);
        run(
            &registry,
            &[
                "webhook",
                "add",
                "https://hooks.example.com",
                "--retries",
                "2",
            ],
        )
        .expect(0);
        registry.headers("idempotency-key")
    };
    let (first, second) = (add(), add());
    for keys in [&first, &second] {
        assert_eq!(keys.len(), 2, "the first answer was lost: {keys:?}");
        assert_eq!(keys[0], keys[1]);
        assert!(keys[0].parse::<IdempotencyKey>().is_ok(), "{keys:?}");
    }
    assert_ne!(first, second);
}

#[test]
fn webhooks_are_listed_with_their_states() {
    let registry = Registry::start();
    let failing = webhook(json!({
        "failures": 3, "last_result": "500", "next_attempt": "2026-11-23T07:00:00Z",
    }));
    let disabled =
        webhook(json!({ "failures": 9, "last_result": "410", "disabled": "2026-11-23T06:31:00Z" }));
    let all = json!({ "webhooks": [webhook(json!({})), failing, disabled] });
    registry.set("/admin/v1/webhooks", Response::new(200, all.to_string()));
    let mut command = terrace(&["webhook", "list"]);
    command.env("TERRACE_URL", registry.url());
    let ended = ended(command.env("TERRACE_TOKEN", TOKEN)).expect(0);
    for state in [
        "publish key",
        "BY",
        "root",
        "delivered up to entry 7",
        "3 failed, next attempt 2026-11-23T07:00:00Z: 500",
        "disabled since 2026-11-23T06:31:00Z: 410",
    ] {
        assert!(ended.stdout.contains(state), "{state}: {ended:?}");
    }
    let document = run(&registry, &["webhook", "list"]).expect(0).json();
    assert_eq!(document["webhooks"][1]["failures"], 3);
}

#[test]
fn a_test_that_the_receiver_rejects_is_an_error_with_its_status() {
    let registry = Registry::start();
    for (delivered, result, code) in [(true, "204", 0), (false, "500", 3)] {
        let tested = json!({ "delivered": delivered, "result": result });
        answer(&registry, "POST", "/test", 200, &tested);
        let ended = run(&registry, &["webhook", "test", ID]).expect(code);
        assert!(ended.stdout.contains(result), "{ended:?}");
        registry.forget_faults();
    }
    let path = format!("POST /admin/v1/webhooks/{ID}/test");
    assert_eq!(registry.requests(), [path.as_str(), path.as_str()]);
}

#[test]
fn a_secret_is_printed_again_and_a_webhook_is_removed_by_its_id() {
    let registry = Registry::start();
    let path = format!("/admin/v1/webhooks/{ID}");
    let known = webhook(json!({ "secret": SECRET }));
    registry.set(&path, Response::new(200, known.to_string()));
    let secret = run(&registry, &["webhook", "secret", ID]).expect(0).json();
    assert_eq!(secret["webhook"]["secret"], SECRET);
    answer(&registry, "DELETE", &path, 200, &webhook(json!({})));
    run(&registry, &["webhook", "remove", ID]).expect(0);
    run(&registry, &["webhook", "remove", "x"]).expect(2);
    run(&registry, &["webhook", "test", "0123456789abcdee"]).expect(3);
}

#[test]
fn an_event_that_does_not_exist_is_an_error_of_usage() {
    let registry = Registry::start();
    let add = ["webhook", "add", "https://a.example", "--events", "pubish"];
    let message = run(&registry, &add).expect(2).errors();
    assert!(
        message.contains("pubish") && message.contains("erase"),
        "{message}"
    );
    assert!(registry.requests().is_empty());
}
