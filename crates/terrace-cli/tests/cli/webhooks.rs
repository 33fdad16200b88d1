//! `terrace webhook`.

use serde_json::{Value, json};
use terrace_core::http::idempotency_key::IdempotencyKey;

use super::support::registry::{Fault, Registry};
use super::support::{assert_has, assert_lacks, run, run_for_people, with, words};

const ID: &str = "0123456789abcdef";
const SECRET: &str = "whsec_C6nv0snOmgBgij3kbHSCB0kl5JVVguFhCXRKlidiUpg=";

fn webhook(more: Value) -> Value {
    let webhook = json!({
        "id": ID, "host": "hooks.example.com", "events": ["publish", "key"], "namespaces": ["acme"], "format": "slack",
        "created": "2026-11-23T06:30:00Z", "by": "root", "delivered": 7, "failures": 0,
    });
    with(webhook, &more)
}

#[test]
fn the_secret_of_a_new_webhook_is_alone_on_standard_output() {
    let registry = Registry::start();
    let added = webhook(json!({ "secret": SECRET }));
    let url = "https://hooks.example.com/services/s3cret";
    let add = ["webhook", "add", url, "--namespace", "acme"];
    registry.answer("POST", "/admin/v1/webhooks", &added);
    let ended = run_for_people(&registry, &add).expect(0);
    assert_eq!(ended.stdout, format!("{SECRET}\n"));
    assert_has!(ended.stderr, "hooks.example.com");
    assert_lacks!(ended.stderr, "s3cret");
    assert_eq!(registry.requests(), ["POST /admin/v1/webhooks"]);
    registry.answer("POST", "/admin/v1/webhooks", &added);
    let line = [&add[..], &["--events", "publish,token"]].concat();
    let ended = run(&registry, &line);
    assert_eq!(ended.json()["webhook"]["secret"], SECRET);
    let warning = "warning: the webhook is sent no events of the kinds token,";
    assert!(ended.expect(0).stderr.starts_with(warning));
}

#[test]
fn the_attempts_of_one_creation_have_one_idempotency_key_and_other_creations_others() {
    let registry = Registry::start();
    let added = webhook(json!({ "secret": SECRET }));
    let add = || {
        registry.fail("POST", "/admin/v1/webhooks", Fault::HangUpAfter(1));
        registry.answer("POST", "/admin/v1/webhooks", &added);
        let line = words("webhook add https://hooks.example.com --retries 2");
        run(&registry, &line).expect(0);
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
fn a_test_that_the_receiver_rejects_is_an_error_with_its_status() {
    let registry = Registry::start();
    for (delivered, result, code) in [(true, "204", 0), (false, "500", 3)] {
        let tested = json!({ "delivered": delivered, "result": result });
        registry.answer("POST", "/test", &tested);
        let ended = run(&registry, &["webhook", "test", ID]).expect(code);
        assert_has!(ended.stdout, result);
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
    registry.set_json(&path, &known);
    let secret = run(&registry, &["webhook", "secret", ID]).expect(0).json();
    assert_eq!(secret["webhook"]["secret"], SECRET);
    registry.answer("DELETE", &path, &webhook(json!({})));
    run(&registry, &["webhook", "remove", ID]).expect(0);
    run(&registry, &["webhook", "remove", "x"]).expect(2);
}
