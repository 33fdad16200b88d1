//! The registry's examination of itself.

use serde_json::json;
use terrace_core::api::admin::{ArchiveSource, DoctorAnswer};

use crate::support::faults::is_write;
use crate::support::memory::Memory;
use crate::support::registry::Registry;
use crate::support::{ModuleFixture, ProviderFixture};

const PATH: &str = "/admin/v1/doctor";

fn published(vars: &[(&str, &str)]) -> (Memory, Registry, ModuleFixture) {
    let (memory, registry) = Registry::with_memory(vars);
    ProviderFixture::new("1.0.0").publish(&registry);
    let module = ModuleFixture::new("1.0.0");
    module.publish(&registry);
    memory.forget_operations();
    (memory, registry, module)
}

fn examined(registry: &Registry, path: &str) -> DoctorAnswer {
    let text = registry.admin("GET", path, None).expect(200).text();
    serde_json::from_str(&text).unwrap()
}

#[test]
fn a_sound_registry_states_no_problem_and_writes_nothing() {
    let (memory, registry, _) = published(&[]);
    registry.run_repair_step();
    memory.forget_operations();
    let facts = examined(&registry, PATH);
    let operations = memory.operations();
    assert!(operations.iter().all(|it| !is_write(it)), "{operations:?}");
    assert!(operations.len() < 40, "{operations:?}");
    assert_eq!(facts.version, env!("CARGO_PKG_VERSION"));
    assert!(facts.warnings.is_empty(), "{facts:?}");
    assert_eq!(facts.archives, ArchiveSource::Registry);
    assert_eq!((facts.repair.enabled, facts.repair.overdue), (true, 0));
    assert!(facts.repair.last.is_some());
    assert!(facts.audit.complete && facts.audit.head > 0, "{facts:?}");
    assert_eq!(facts.indices.packages, 2);
    assert!(facts.indices.compared > 4, "{facts:?}");
    assert!(
        facts.indices.missing.is_empty() && facts.indices.stale.is_empty(),
        "{facts:?}"
    );
    assert!(facts.services.is_empty());
}

#[test]
fn an_index_that_is_missing_or_differs_is_named() {
    let (memory, registry, module) = published(&[]);
    let lists = format!("modules/{}/versions", module.address);
    let tags = format!("modules/{}/tags", module.address);
    memory.lose_index(&tags);
    memory.put_index(&lists, "{}");
    let indices = examined(&registry, PATH).indices;
    assert_eq!(indices.missing, [tags]);
    assert_eq!(indices.stale, [lists]);
}

#[test]
fn a_repair_that_does_not_run_is_overdue() {
    let (memory, registry, _) = published(&[]);
    assert_eq!(examined(&registry, PATH).repair.last, None);
    memory.advance(3_600);
    let never = examined(&registry, PATH).repair;
    assert!((3_600..3_700).contains(&never.overdue), "{never:?}");
    registry.run_repair_step();
    assert_eq!(examined(&registry, PATH).repair.overdue, 0);
    memory.advance(30 * 86_400);
    let stopped = examined(&registry, PATH).repair;
    assert!(stopped.overdue > 20 * 86_400, "{stopped:?}");
    let (_, off, _) = published(&[("TERRACE_REPAIR_OPERATIONS", "0")]);
    assert!(!examined(&off, PATH).repair.enabled);
}

#[test]
fn a_removed_entry_of_the_audit_log_is_stated() {
    let (memory, registry, _) = published(&[]);
    let head = examined(&registry, PATH).audit.head;
    memory.remove_object(&format!("audit/{head:012}"));
    let facts = examined(&registry, PATH);
    assert!(!facts.audit.complete, "{facts:?}");
}

#[test]
fn settings_with_warnings_and_servers_that_do_not_answer_are_stated() {
    let rules = json!([{
        "issuer": "https://token.actions.githubusercontent.com",
        "claims": { "repository": "acme/widget" },
        "scopes": ["publish:acme"],
    }]);
    let vars = [
        ("TERRACE_TRUSTED_PUBLISHERS", &*rules.to_string()),
        ("TERRACE_PULL_THROUGH", "registry.opentofu.org/hashicorp/*"),
    ];
    let (memory, registry, _) = published(&vars);
    memory.connect(|_| None);
    let facts = examined(&registry, PATH);
    let named: Vec<_> = facts
        .services
        .iter()
        .map(|it| (&*it.kind, &*it.name))
        .collect();
    let issuer = "https://token.actions.githubusercontent.com";
    assert_eq!(
        named,
        [("origin", "registry.opentofu.org"), ("issuer", issuer)]
    );
    assert!(
        facts.services.iter().all(|it| it.error.is_some()),
        "{facts:?}"
    );
    assert!(!facts.warnings.is_empty(), "{facts:?}");
}
