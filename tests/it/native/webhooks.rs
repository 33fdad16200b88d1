//! Webhooks: the events of changes, delivered to receivers.

use std::cell::Cell;
use std::rc::Rc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use futures_util::FutureExt as _;
use serde_json::{Value, json};
use terrace_app::host::WebhookRequest;
use terrace_base::mac::hmac;
use terrace_core::limits::{
    REPAIR_TURN_MINUTES, WEBHOOK_DELIVERIES, WEBHOOK_LEASE_SECONDS, WEBHOOKS,
};

use crate::support::faults::{Failure, When, at_each_write};
use crate::support::memory::Memory;
use crate::support::registry::{Response, Sent, TOKEN};
use crate::support::tokens::{add_rule, create, post};
use crate::support::{ModuleFixture, Registry};

const PATH: &str = "/admin/v1/webhooks";
const URL: &str = "https://hooks.example.com/services/s3cret";

/// A registry with a receiver that answers with a status, which a test may change; 0 is no answer.
struct Hooked {
    memory: Memory,
    registry: Registry,
    status: Rc<Cell<u16>>,
}

impl Hooked {
    fn new() -> Self {
        let (memory, registry) = Registry::with_memory(&[]);
        let status = Rc::new(Cell::new(204));
        let answer = Rc::clone(&status);
        memory.connect(move |_| {
            let headers = vec![(
                "location".to_owned(),
                "https://elsewhere.example".to_owned(),
            )];
            let status = answer.get();
            let body = Vec::new();
            (status > 0).then_some(Response {
                status,
                headers,
                body,
            })
        });
        Self {
            memory,
            registry,
            status,
        }
    }

    /// Adds a webhook with these members besides the URL. Returns its ID and its secret.
    fn add(&self, mut members: Value) -> (String, String) {
        members["url"] = json!(URL);
        let made = post(&self.registry, PATH, &members).expect(201).json();
        let text = |name: &str| made[name].as_str().unwrap().to_owned();
        (text("id"), text("secret"))
    }

    fn publish(&self, version: &str) {
        ModuleFixture::of("acme", version).publish(&self.registry);
    }

    fn state(&self, id: &str) -> Value {
        let path = format!("{PATH}/{id}");
        self.registry.read_as_admin(&path)
    }

    fn remove(&self, id: &str) -> Response {
        self.registry.admin("DELETE", &format!("{PATH}/{id}"), None)
    }

    /// Returns all webhooks.
    fn all(&self) -> Vec<Value> {
        let list = self.registry.admin("GET", PATH, None).json();
        list["webhooks"].as_array().unwrap().clone()
    }

    /// Returns whether the scheduled event after this time repairs something.
    fn repairs_after(&self, seconds: u64) -> bool {
        self.memory.forget_operations();
        self.cron_after(seconds);
        let operations = self.memory.operations();
        operations.contains(&"R2 put repair/cursor".to_owned())
    }

    /// Returns the versions that were sent, in this order.
    fn versions(&self) -> Vec<String> {
        let deliveries = self.memory.deliveries();
        deliveries.iter().map(version_of).collect()
    }

    fn cron_after(&self, seconds: u64) {
        self.memory.advance(seconds);
        self.registry.run_repair_step_if_due();
    }
}

fn version_of(sent: &WebhookRequest) -> String {
    let json: Value = serde_json::from_str(&sent.body).unwrap();
    json["data"]["version"]
        .as_str()
        .unwrap_or_default()
        .to_owned()
}

fn header<'r>(sent: &'r WebhookRequest, name: &str) -> &'r str {
    let found = sent.headers.iter().find(|(known, _)| *known == name);
    found.map(|(_, value)| value.as_str()).unwrap()
}

#[test]
fn a_change_is_delivered_after_its_answer_with_a_signature() {
    let hooked = Hooked::new();
    hooked.publish("0.9.0");
    let (id, secret) = hooked.add(json!({}));
    hooked.publish("1.0.0");
    let deliveries = hooked.memory.deliveries();
    assert_eq!(
        hooked.versions(),
        ["1.0.0"],
        "a webhook begins with the next change"
    );
    let sent = &deliveries[0];
    assert_eq!(sent.url, URL);
    let json: Value = serde_json::from_str(&sent.body).unwrap();
    assert_eq!(json["type"], "release.published");
    assert_eq!(json["data"]["package"], "acme/vpc/aws");
    let (message, time) = (
        header(sent, "webhook-id"),
        header(sent, "webhook-timestamp"),
    );
    assert!(message.starts_with(&format!("msg_{id}_")), "{message}");
    let secret = STANDARD
        .decode(secret.strip_prefix("whsec_").unwrap())
        .unwrap();
    let mac = hmac(
        &secret,
        format!("{message}.{time}.{}", sent.body).as_bytes(),
    );
    let signature = format!("v1,{}", STANDARD.encode(mac));
    assert_eq!(header(sent, "webhook-signature"), signature);
    assert_eq!(hooked.state(&id)["last_result"], "204");
}

#[test]
fn a_webhook_is_sent_only_its_events_and_namespaces() {
    let hooked = Hooked::new();
    hooked.add(json!({ "events": ["status"], "namespaces": ["acme"], "format": "slack" }));
    hooked.publish("0.9.0");
    create(&hooked.registry, &["read"], None);
    let status = |namespace: &str| {
        let module = ModuleFixture::of(namespace, "1.0.0");
        module.publish(&hooked.registry);
        let path = format!("{}/status", module.admin_path());
        let body = br#"{"state":"revoked","reason":"a <leak>"}"#;
        hooked.registry.admin("PUT", &path, Some(body)).expect(200);
    };
    status("globex");
    status("acme");
    let deliveries = hooked.memory.deliveries();
    let texts: Vec<&str> = deliveries.iter().map(|sent| sent.body.as_str()).collect();
    assert_eq!(texts.len(), 1, "{texts:?}");
    assert!(
        texts[0].contains("1.0.0 is now revoked (a &lt;leak&gt;) by root (key "),
        "{texts:?}"
    );
}

#[test]
fn a_receiver_that_fails_delays_no_change_and_gets_each_event_again_in_order() {
    for broken in [500, 302, 404, 0] {
        let hooked = Hooked::new();
        let (id, _) = hooked.add(json!({}));
        hooked.status.set(broken);
        hooked.publish("1.0.0");
        hooked.publish("1.1.0");
        assert_eq!(
            hooked.versions(),
            ["1.0.0"],
            "{broken}: the second waits for the first"
        );
        let state = hooked.state(&id);
        assert_eq!(state["failures"], 1);
        assert!(
            hooked
                .memory
                .log()
                .iter()
                .all(|line| !line.contains("s3cret"))
        );
        hooked.cron_after(10);
        assert_eq!(hooked.versions().len(), 1, "the pause is not over");
        hooked.cron_after(21);
        assert_eq!(hooked.versions(), ["1.0.0", "1.0.0"]);
        hooked.status.set(200);
        hooked.cron_after(61);
        assert_eq!(hooked.versions(), ["1.0.0", "1.0.0", "1.0.0", "1.1.0"]);
        let deliveries = hooked.memory.deliveries();
        let id_of = |at: usize| header(&deliveries[at], "webhook-id");
        assert_eq!(id_of(0), id_of(2));
        assert_ne!(id_of(0), id_of(3));
        assert_eq!(hooked.state(&id)["failures"], 0);
    }
}

#[test]
fn a_receiver_that_is_gone_is_disabled_until_a_test_succeeds() {
    let hooked = Hooked::new();
    let (id, _) = hooked.add(json!({}));
    hooked.status.set(410);
    hooked.publish("1.0.0");
    assert!(hooked.state(&id)["disabled"].is_string());
    hooked.cron_after(100_000);
    let test = format!("{PATH}/{id}/test");
    let failed = post(&hooked.registry, &test, &json!({})).found();
    assert_eq!(failed, json!({ "delivered": false, "result": "410" }));
    hooked.status.set(200);
    hooked.cron_after(100_000);
    assert_eq!(hooked.versions(), ["1.0.0", ""], "it is disabled still");
    post(&hooked.registry, &test, &json!({})).expect(200);
    assert_eq!(hooked.versions(), ["1.0.0", "", "", "1.0.0"]);
    let types = hooked.memory.deliveries();
    assert!(types[1].body.contains("webhook.test"), "{}", types[1].body);
}

#[test]
fn deliveries_beyond_the_limit_of_a_run_are_left_to_the_next() {
    let hooked = Hooked::new();
    hooked.add(json!({}));
    hooked.status.set(0);
    let count = WEBHOOK_DELIVERIES as usize + 2;
    for number in 0..count {
        hooked.publish(&format!("1.{number}.0"));
    }
    hooked.status.set(200);
    let before = hooked.versions().len();
    hooked.cron_after(3_600);
    assert_eq!(
        hooked.versions().len() - before,
        WEBHOOK_DELIVERIES as usize
    );
    hooked.cron_after(60);
    let versions = hooked.versions();
    let sent: Vec<&String> = versions.iter().skip(before).collect();
    let expected: Vec<String> = (0..count).map(|number| format!("1.{number}.0")).collect();
    assert_eq!(sent, expected.iter().collect::<Vec<_>>());
}

/// Every write of a delivery is broken. The change has its answer, and no event is lost or out of order.
#[test]
fn a_delivery_that_breaks_anywhere_is_repeated_and_loses_nothing() {
    for failure in [Failure::Error, Failure::Kill] {
        at_each_write(2, |at, when| {
            let hooked = Hooked::new();
            hooked.add(json!({}));
            let fault = hooked.memory.fail("R2 put webhooks/", at, when, failure);
            let publish = |version: &str| {
                let module = ModuleFixture::of("acme", version);
                module.upload(&hooked.registry);
                let sent = Sent::new("PUT", &module.admin_path());
                let sent = sent.bearing(TOKEN).body(module.description().to_string());
                let answered = hooked.registry.answer(&sent).now_or_never();
                if let Some(response) = answered {
                    response.expect(201);
                }
            };
            publish("1.0.0");
            let is_reached = fault.lift();
            publish("1.1.0");
            hooked.cron_after(u64::from(WEBHOOK_LEASE_SECONDS) + 1);
            hooked.cron_after(3_600);
            let mut versions = hooked.versions();
            versions.dedup();
            let is_in_order = versions.ends_with(&["1.0.0".to_owned(), "1.1.0".to_owned()]);
            assert!(is_in_order, "{failure:?} {at} {when:?}: {versions:?}");
            is_reached
        });
    }
}

#[test]
fn concurrent_changes_are_delivered_once_each_in_the_order_of_the_log() {
    for turns in 0..40 {
        let hooked = Hooked::new();
        hooked.add(json!({}));
        let requests = ["1.0.0", "1.1.0", "1.2.0"].map(|version| {
            let module = ModuleFixture::of("acme", version);
            module.upload(&hooked.registry);
            let sent = Sent::new("PUT", &module.admin_path());
            sent.bearing(TOKEN).body(module.description().to_string())
        });
        hooked.memory.interleave();
        let answers = hooked
            .registry
            .send_after(&requests, &[0, turns, 2 * turns]);
        hooked.memory.stop_interleaving();
        assert!(answers.iter().all(|answer| answer.status == 201));
        hooked.cron_after(60);
        let numbers: Vec<u64> = hooked.memory.deliveries().iter().map(entry_of).collect();
        assert_eq!(numbers.len(), 3, "{turns}: {numbers:?}");
        assert!(numbers.is_sorted(), "{turns}: {numbers:?}");
    }
}

fn entry_of(sent: &WebhookRequest) -> u64 {
    let json: Value = serde_json::from_str(&sent.body).unwrap();
    json["data"]["entry"].as_u64().unwrap()
}

#[test]
fn a_change_without_webhooks_costs_one_read_after_its_answer() {
    let hooked = Hooked::new();
    hooked.publish("1.0.0");
    hooked.memory.forget_operations();
    create(&hooked.registry, &["read"], None);
    let operations = hooked.memory.operations();
    let of_webhooks = operations.iter().filter(|it| it.contains("webhooks"));
    let of_webhooks: Vec<&String> = of_webhooks.collect();
    assert_eq!(of_webhooks, ["R2 get webhooks/list"], "{operations:?}");
}

#[test]
fn a_list_shows_no_more_of_a_url_than_its_host_and_no_secret() {
    let hooked = Hooked::new();
    let (id, secret) = hooked.add(json!({}));
    let listed = hooked.registry.admin("GET", PATH, None).expect(200).text();
    assert!(
        listed.contains("hooks.example.com") && listed.contains(&id),
        "{listed}"
    );
    assert!(
        !listed.contains("s3cret") && !listed.contains(&secret),
        "{listed}"
    );
    assert_eq!(hooked.state(&id)["secret"], secret);
    let log = hooked.registry.admin("GET", "/admin/v1/audit", None).text();
    assert!(!log.contains("s3cret"), "{log}");
}

#[test]
fn an_invalid_webhook_is_rejected_with_the_reason_and_without_its_url() {
    let hooked = Hooked::new();
    let refused = |body: &Value, reason: &str| {
        let errors = post(&hooked.registry, PATH, body).expect(422).errors();
        assert!(errors.contains(reason), "{errors}");
        assert!(!errors.contains("s3cret"), "{errors}");
    };
    for (name, value, reason) in [
        ("url", json!("http://hooks.example.com/s3cret"), "https://"),
        ("url", json!("https://127.0.0.1/s3cret"), "127.0.0.1"),
        ("url", json!("https://localhost/s3cret"), "localhost"),
        ("url", json!("https://user:s3cret@hooks.example.com"), "URL"),
        ("url", json!("s3cret"), "URL"),
        ("events", json!(["pubish"]), "pubish"),
        ("namespaces", json!(["a b"]), "a b"),
        ("format", json!("xml"), "xml"),
        ("name", json!("a\nb"), "name"),
    ] {
        let mut body = json!({ "url": URL });
        body[name] = value;
        refused(&body, reason);
    }
    let of_namespaces =
        |events: &[&str]| json!({ "url": URL, "namespaces": ["acme"], "events": events });
    refused(&of_namespaces(&["token", "rule"]), "have no namespace");
    post(&hooked.registry, PATH, &of_namespaces(&["token", "erase"])).expect(201);
    for path in [format!("{PATH}/x"), format!("{PATH}/X/test")] {
        post(&hooked.registry, &path, &json!({})).expect(400);
    }
    let unknown = format!("{PATH}/0123456789abcdef");
    hooked.registry.admin("GET", &unknown, None).expect(404);
    hooked.remove("0123456789abcdef").expect(404);
    post(&hooked.registry, &format!("{unknown}/test"), &json!({})).expect(404);
}

#[test]
fn the_number_of_webhooks_is_limited_and_a_removed_one_is_sent_nothing() {
    let hooked = Hooked::new();
    let add = |number| hooked.add(json!({ "name": format!("hook {number}") })).0;
    let added: Vec<String> = (0..WEBHOOKS).map(add).collect();
    post(&hooked.registry, PATH, &json!({ "url": URL })).expect(409);
    for id in &added {
        hooked.remove(id).expect(200);
    }
    hooked.publish("1.0.0");
    assert_eq!(hooked.versions(), [""; 0]);
    let mut left = hooked.memory.keys();
    left.retain(|key| key.starts_with("webhooks/"));
    assert_eq!(left, ["webhooks/list"]);
}

#[test]
fn a_damaged_or_removed_audit_entry_does_not_stop_deliveries() {
    let hooked = Hooked::new();
    hooked.add(json!({}));
    hooked.status.set(0);
    hooked.publish("1.0.0");
    hooked.publish("1.1.0");
    hooked.publish("1.2.0");
    let mut entries = hooked.memory.keys();
    entries.retain(|key| key.starts_with("audit/"));
    let [.., first, second, _] = entries.as_slice() else {
        panic!("{entries:?}");
    };
    hooked.memory.put_object(first, b"{");
    hooked.memory.remove_object(second);
    hooked.status.set(200);
    hooked.cron_after(3_600);
    assert_eq!(hooked.versions().last().unwrap(), "1.2.0");
}

#[test]
fn an_entry_that_is_written_while_the_end_of_the_log_is_looked_at_is_not_missed() {
    let hooked = Hooked::new();
    hooked.add(json!({}));
    let other = Registry::in_memory(&hooked.memory, &[]);
    // The log has two entries: the creation of the webhook, and the first publish.
    let missing = "R2 get audit/000000000003";
    let fault = hooked.memory.run(missing, 0, When::After, move || {
        ModuleFixture::of("acme", "1.1.0").publish(&other);
    });
    hooked.publish("1.0.0");
    assert!(fault.lift());
    hooked.cron_after(3_600);
    assert_eq!(hooked.versions(), ["1.0.0", "1.1.0"]);
}

#[test]
fn a_webhook_that_is_removed_during_a_delivery_is_sent_nothing_more() {
    let hooked = Hooked::new();
    let (id, _) = hooked.add(json!({}));
    hooked.publish("1.0.0");
    let other = Registry::in_memory(&hooked.memory, &[]);
    let path = format!("{PATH}/{id}");
    let taken = format!("R2 put webhooks/{id}");
    let fault = hooked.memory.run(&*taken, 0, When::After, move || {
        other.admin("DELETE", &path, None).expect(200);
    });
    hooked.publish("1.1.0");
    assert!(fault.lift());
    hooked.cron_after(3_600);
    assert_eq!(hooked.versions(), ["1.0.0", "1.1.0"]);
    let left = hooked.memory.keys();
    assert!(!left.contains(&format!("webhooks/{id}")), "{left:?}");
}

#[test]
fn a_rule_that_is_added_or_removed_is_an_event_for_the_whole_registry() {
    let hooked = Hooked::new();
    hooked.add(json!({ "events": ["rule"] }));
    hooked.add(json!({ "events": ["rule", "erase"], "namespaces": ["acme"] }));
    let rule = json!({
        "scopes": ["publish:acme"],
        "issuer": "https://gitlab.com",
        "claims": { "project_path": "acme/widget" },
    });
    let added = add_rule(&hooked.registry, "trust", &rule)
        .expect(201)
        .json();
    // An equal rule is no change.
    add_rule(&hooked.registry, "trust", &rule).expect(200);
    let path = format!("/admin/v1/rules/{}", added["id"].as_str().unwrap());
    hooked.registry.admin("DELETE", &path, None).expect(200);
    let sent = hooked.memory.deliveries();
    let events: Vec<(Value, Value)> = sent
        .iter()
        .map(|sent| {
            let json: Value = serde_json::from_str(&sent.body).unwrap();
            (json["type"].clone(), json["data"]["rule"].clone())
        })
        .collect();
    let id = &added["id"];
    let expected = [
        (json!("rule.added"), id.clone()),
        (json!("rule.removed"), id.clone()),
    ];
    assert_eq!(events, expected);
}

#[test]
fn a_second_webhook_for_the_same_receiver_needs_a_name_of_its_own() {
    let hooked = Hooked::new();
    let add = |name: &str, value: Value| {
        let mut body = json!({ "url": URL });
        body[name] = value;
        post(&hooked.registry, PATH, &body)
    };
    let first = add("events", json!(["publish"])).expect(201).json();
    let refused = add("events", json!(["status"])).expect(409).errors();
    assert!(refused.contains(first["id"].as_str().unwrap()), "{refused}");
    assert!(!refused.contains("s3cret"), "{refused}");
    add("namespaces", json!(["acme"])).expect(201);
    let named = add("name", json!("alerts")).expect(201).json();
    assert_eq!(named["name"], "alerts");
    add("name", json!("alerts")).refuses(409, "(alerts)");
}

#[test]
fn an_idempotency_key_with_another_body_is_refused_and_adds_no_webhook() {
    let hooked = Hooked::new();
    let add = |body: &Value| {
        let sent = Sent::new("POST", PATH).bearing(TOKEN);
        let sent = sent.header("idempotency-key", "8e03978e-40d5-43dd-bc93-6894a57f9324");
        hooked.registry.send(&sent.body(body.to_string()))
    };
    let first = add(&json!({ "url": URL })).expect(201).json();
    assert_eq!(
        add(&json!({ "url": URL, "format": "json" }))
            .expect(201)
            .json(),
        first
    );
    for other in [
        json!({ "url": format!("{URL}/other") }),
        json!({ "url": URL, "events": ["rule"] }),
        json!({ "url": URL, "format": "slack" }),
        json!({ "url": URL, "name": "alerts" }),
        json!({ "url": URL, "namespaces": ["acme"] }),
    ] {
        add(&other).refuses(422, "8e03978e-40d5-43dd-bc93-6894a57f9324");
    }
    assert_eq!(hooked.all().len(), 1);
}

#[test]
fn a_creation_that_breaks_at_any_write_and_is_repeated_leaves_one_webhook() {
    at_each_write(3, |at, when| {
        let hooked = Hooked::new();
        let sent = Sent::new("POST", PATH).bearing(TOKEN);
        let sent = sent.header("idempotency-key", "8e03978e-40d5-43dd-bc93-6894a57f9324");
        let sent = sent.body(json!({ "url": URL }).to_string());
        let fault = hooked.memory.fail("R2 put ", at, when, Failure::Error);
        hooked.registry.send(&sent);
        let is_reached = fault.lift();
        let again = hooked.registry.send(&sent).expect(201).json();
        let webhooks = hooked.all();
        assert_eq!(webhooks.len(), 1, "{at} {when:?}: {webhooks:?}");
        assert_eq!(webhooks[0]["id"], again["id"]);
        is_reached
    });
}

/// A receiver that accepts nothing, with more changes than one run looks at in each minute.
#[test]
fn a_webhook_with_entries_in_each_minute_does_not_stop_the_repair() {
    let hooked = Hooked::new();
    let (id, _) = hooked.add(json!({ "events": ["erase"] }));
    let state = format!("webhooks/{id}");
    hooked.publish("1.0.0");
    let mut repaired = 0;
    for _ in 0..REPAIR_TURN_MINUTES {
        // There is always an entry that the webhook has not looked at.
        hooked.memory.put_object(&state, br#"{"delivered":1}"#);
        repaired += u64::from(hooked.repairs_after(60));
    }
    assert_eq!(repaired, 1);
}

#[test]
fn the_repair_waits_while_entries_are_skipped() {
    let hooked = Hooked::new();
    let (id, _) = hooked.add(json!({ "events": ["erase"] }));
    let state = format!("webhooks/{id}");
    let taken = br#"{"delivered":1,"busy_until":1900000000}"#;
    hooked.memory.put_object(&state, taken);
    hooked.publish("1.0.0");
    hooked.publish("1.1.0");
    hooked.memory.put_object(&state, br#"{"delivered":1}"#);
    let repairs = || hooked.repairs_after(60);
    assert!(!repairs(), "the platform limits both together");
    assert!(repairs());
    assert_eq!(hooked.state(&id)["delivered"], 3);
}
