//! The fact `format`: a version that is older than the stored documents reads, and changes nothing.

use serde_json::json;
use terrace_core::api::route::Route;
use terrace_core::storage::format::FORMAT_SECONDS;

use crate::native::access::paths;
use crate::support::memory::Memory;
use crate::support::registry::{Sent, TOKEN};
use crate::support::{ModuleFixture, Registry};

/// A document that allows changes only to newer versions than this one.
const NEWER: &str = r#"{"oldest_writer":"99.0.0"}"#;

const CURRENT: &[u8] = br#"{"oldest_writer":"0.1.0"}"#;

const MESSAGE: &str = "this registry can only be changed by Terrace 99.0.0 or newer";

/// Returns a registry whose `format` was written by a newer version, as seen from another isolate.
fn outgrown() -> (Memory, Registry, ModuleFixture) {
    let memory = Memory::new();
    let module = ModuleFixture::of("acme", "1.0.0");
    module.publish(&Registry::in_memory(&memory, &[]));
    memory.put_object("format", NEWER.as_bytes());
    let memory = memory.elsewhere();
    let registry = Registry::in_memory(&memory, &[]);
    (memory, registry, module)
}

#[test]
fn the_first_change_of_a_registry_stores_the_version_that_may_write() {
    let (memory, registry) = Registry::with_memory(&[]);
    let module = ModuleFixture::of("acme", "1.0.0");
    registry.get("/admin/v1/tokens");
    registry.get(&module.versions()).expect(404);
    assert_eq!(memory.keys(), [""; 0], "a read stores nothing");
    module.publish(&registry);
    assert_eq!(memory.object_bytes("format"), CURRENT);
}

#[test]
fn an_isolate_reads_the_format_once_a_minute() {
    let memory = Memory::new();
    ModuleFixture::of("acme", "1.0.0").publish(&Registry::in_memory(&memory, &[]));
    let memory = memory.elsewhere();
    let registry = Registry::in_memory(&memory, &[]);
    let reads = |version: &str| {
        memory.forget_operations();
        ModuleFixture::of("acme", version).publish(&registry);
        memory.count("R2 get format")
    };
    assert_eq!(reads("1.1.0"), 1);
    memory.advance(FORMAT_SECONDS - 1);
    assert_eq!(reads("1.2.0"), 0);
    memory.advance(1);
    assert_eq!(reads("1.3.0"), 1);
}

#[test]
fn an_older_version_answers_each_read_and_refuses_each_change() {
    let (memory, registry, module) = outgrown();
    let before = memory.objects();
    let (mut changes, mut reads) = (0, 0);
    for path in paths() {
        let route = Route::parse(path.split('?').next().unwrap()).unwrap();
        for action in route.endpoint().actions {
            let sent = Sent::new(action.method.as_str(), &path).bearing(TOKEN);
            let response = registry.send(&sent.body(b""));
            let text = response.text();
            let is_refused = response.status == 409 && text.contains(MESSAGE);
            assert_eq!(is_refused, action.writes, "{path} {action:?}: {text}");
            match action.writes {
                true => changes += 1,
                false => reads += 1,
            }
        }
    }
    assert!(changes > 20 && reads > 50, "{changes}, {reads}");
    assert!(memory.objects() == before, "nothing was stored");
    registry.get(&module.download()).expect(200);
}

#[test]
fn an_older_version_answers_from_facts_and_writes_no_index() {
    let (memory, registry, module) = outgrown();
    memory.lose_indices();
    registry.get(&module.versions()).expect(200);
    assert_eq!(memory.indices().len(), 0);
}

#[test]
fn an_older_version_repairs_nothing() {
    let (memory, registry, _) = outgrown();
    memory.lose_indices();
    let before = memory.objects();
    memory.forget_operations();
    registry.run_repair_step();
    assert_eq!(memory.count("R2 get repair/"), 0);
    assert!(memory.objects() == before && memory.indices().is_empty());
}

#[test]
fn a_copy_of_a_newer_version_is_not_imported() {
    let (memory, registry) = Registry::with_memory(&[]);
    let facts = json!({ "facts": [{ "key": "format", "document": NEWER }] });
    registry
        .put("/admin/v1/facts", &facts)
        .refuses(409, MESSAGE);
    assert_eq!(memory.object_bytes("format"), CURRENT);
}

#[test]
fn a_version_that_raises_the_format_waits_a_minute_before_it_writes() {
    let memory = Memory::new();
    memory.put_object("format", br#"{"oldest_writer":"0.0.1"}"#);
    let registry = Registry::in_memory(&memory, &[]);
    let module = ModuleFixture::of("acme", "1.0.0");
    let refused = module.put(&registry);
    assert_eq!(refused.header("retry-after"), Some("60"));
    refused.refuses(503, "in 60 seconds");
    let raised = r#"{"oldest_writer":"0.1.0","raised_at":1800000000}"#;
    assert_eq!(memory.object_bytes("format"), raised.as_bytes());
    memory.advance(FORMAT_SECONDS);
    module.publish(&registry);
}
