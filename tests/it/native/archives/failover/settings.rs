//! The settings of the second bucket: none, those of another bucket or of a registry's own, and secrets.

use serde_json::{Value, json};

use super::{MINUTE, PATH, Two};
use crate::support::ModuleFixture;
use crate::support::memory::second_bucket::{EndpointFault, FALLBACK};
use crate::support::registry::{Registry, S3};
use crate::support::tokens::post;

#[test]
fn a_bucket_with_the_documents_of_a_registry_is_no_second_bucket() {
    let two = Two::copied(&S3);
    two.memory.put_copy("audit/000000000001", b"{}");
    let forced = json!({ "serving": "fallback", "reason": "a test", "force": true });
    two.send(&forced).refuses(409, "TERRACE_S3_FALLBACK_BUCKET");
    two.compare(&json!({})).expect(409);
    ModuleFixture::of("acme", "1.1.0").publish(&two.registry);
    two.copy();
    let left = two.erase()["left_in_fallback"].to_string();
    assert!(left.contains(&two.key()), "{left}");
    let copies = two.memory.copies().len();
    assert_eq!(copies, 2, "nothing is copied to it, or removed from it");
    let error = two.state()["copy"]["error"].to_string();
    assert!(error.contains("audit/"), "{error}");
}

#[test]
fn a_state_of_another_second_bucket_has_no_effect_and_can_be_ended_without_any() {
    let two = Two::copied(&S3);
    two.switch("fallback").expect(200);
    let mut other = FALLBACK;
    other[1] = ("TERRACE_S3_FALLBACK_BUCKET", "empty");
    let memory = two.memory.at(1);
    for settings in [&other[..], &[]] {
        let registry = Registry::in_memory(&memory, &[&S3[..], settings].concat());
        let state = registry.read_as_admin(PATH);
        assert_eq!(state["serving"], "main");
        assert_eq!(state["by"], Value::Null);
        let location = registry.read(&two.fixture.download())["location"].to_string();
        assert!(!location.contains("copies.test"), "{location}");
        for _ in 0..2 {
            memory.advance(MINUTE);
            registry.run_repair_step();
        }
    }
    let serving = two.state()["serving"].clone();
    assert_eq!(serving, "fallback", "its own settings are back");
    let registry = Registry::in_memory(&memory, &S3);
    let off = json!({ "serving": "main", "reason": "it is gone" });
    registry.put(PATH, &off).expect(200);
    memory.advance(MINUTE);
    assert_eq!(two.state()["serving"], "main");
}

#[test]
fn a_registry_without_a_second_bucket_reads_no_state_and_cannot_be_switched() {
    let (memory, registry) = Registry::with_memory(&S3);
    let fixture = ModuleFixture::of("acme", "1.0.0");
    fixture.publish(&registry);
    memory.forget_operations();
    registry.get(&fixture.download()).expect(200);
    assert_eq!(memory.operations().len(), 1);
    let refused = registry.put(PATH, &json!({ "serving": "fallback", "reason": "a test" }));
    refused.refuses(409, "TERRACE_S3_FALLBACK_");
    post(&registry, "/admin/v1/replication", &json!({})).expect(409);
    assert_eq!(registry.read_as_admin(PATH)["configured"], false);
}

#[test]
fn no_answer_and_no_line_of_the_log_contains_a_secret_of_a_bucket() {
    let two = Two::copied(&S3);
    two.memory.set_second_down(true);
    two.memory.set_endpoint_fault(Some(EndpointFault::NoAnswer));
    two.minutes(10);
    two.switch("fallback").expect(502);
    let doctor = two.registry.admin("GET", "/admin/v1/doctor", None);
    let told = format!("{}\n{}", doctor.text(), two.memory.log().join("\n"));
    assert!(told.contains("the second bucket cannot"), "{told}");
    for secret in ["other secret", "X-Amz-Signature", "X-Amz-Credential"] {
        assert!(!told.contains(secret), "{secret}: {told}");
    }
}
