//! Repeated reads of packages that do not exist.

use crate::support::memory::Memory;
use crate::support::registry::{Sent, TOKEN};
use crate::support::released::Released;
use crate::support::tokens::create;
use crate::support::{Registry, Response};
use terrace_app::absences::ABSENCE_SECONDS;

fn all_kinds() -> [Released; 4] {
    [
        Released::provider("1.0.0"),
        Released::mirrored("1.0.0"),
        Released::module("1.0.0"),
        Released::mirrored_module("1.0.0"),
    ]
}

fn publish(memory: &Memory, registry: &Registry, released: &Released) {
    released.prepare(registry);
    released.store_archives(memory);
    let published: Response = registry.send(&released.request(registry));
    assert_eq!(published.status, 201, "{}", published.text());
}

/// Returns the numbers of operations of KV and of R2 that a request for a missing list takes.
fn operations_of_miss(memory: &Memory, registry: &Registry, sent: &Sent) -> (usize, usize) {
    memory.forget_operations();
    registry.send(sent).expect(404);
    let of_kv = memory.count("KV ");
    (of_kv, memory.operations().len() - of_kv)
}

#[test]
fn a_missing_list_is_looked_up_in_r2_once_in_30_seconds() {
    for path in all_kinds().iter().flat_map(Released::lists) {
        let (memory, registry) = Registry::with_memory(&[]);
        let sent = Sent::new("GET", &path);
        let miss = || operations_of_miss(&memory, &registry, &sent);
        let (of_kv, of_r2) = miss();
        assert!((of_kv, of_r2) >= (1, 1), "{path}: {of_kv}, {of_r2}");
        assert_eq!(miss(), (1, 0), "{path}");
        memory.advance(ABSENCE_SECONDS - 1);
        assert_eq!(miss(), (1, 0), "{path}");
        memory.advance(1);
        assert_eq!(miss(), (of_kv, of_r2), "{path}");
    }
}

#[test]
fn a_hidden_list_takes_the_operations_of_a_missing_one_however_often_it_is_requested() {
    let memory = Memory::new();
    let public = Registry::in_memory(&memory, &[]);
    let module = Released::module("1.0.0");
    publish(&memory, &public, &module);
    let hidden = module.lists().swap_remove(0);
    let namespace = hidden.split('/').nth(3).unwrap();
    let missing = hidden.replace(namespace, "nowhere");
    let vars = [("TERRACE_ACCESS_EXCEPT", namespace)];
    let registry = Registry::in_memory(&memory, &vars);
    for round in 0..3 {
        let [hidden, missing] = [&hidden, &missing]
            .map(|path| operations_of_miss(&memory, &registry, &Sent::new("GET", path)));
        assert_eq!(hidden, missing, "round {round}");
        assert_eq!(missing.1 == 0, round > 0, "round {round}: {missing:?}");
    }
}

#[test]
fn a_list_that_is_remembered_as_hidden_is_shown_to_callers_with_access() {
    let memory = Memory::new();
    let public = Registry::in_memory(&memory, &[]);
    let module = Released::module("1.0.0");
    publish(&memory, &public, &module);
    let list = module.lists().swap_remove(0);
    let namespace = list.split('/').nth(3).unwrap();
    let reader = create(&public, &[&format!("read:{namespace}")], None).1;
    let registry = Registry::in_memory(&memory, &[("TERRACE_ACCESS_EXCEPT", namespace)]);
    for _ in 0..2 {
        registry.get(&list).expect(404);
        registry.get_as(&reader, &list).expect(200);
        registry.get_as(TOKEN, &list).expect(200);
    }
}

#[test]
fn a_package_is_listed_at_once_by_the_isolate_that_published_it() {
    for released in all_kinds() {
        let (memory, registry) = Registry::with_memory(&[]);
        let lists = released.lists();
        for path in lists.iter().chain(&lists) {
            registry.get(path).expect(404);
        }
        publish(&memory, &registry, &released);
        for path in &lists {
            registry.get(path).expect(200);
        }
    }
}

#[test]
fn a_package_that_was_missing_a_moment_ago_is_installable_at_once_and_listed_after_30_seconds() {
    for released in all_kinds() {
        let memory = Memory::new();
        memory.at_an_edge();
        let here = Registry::in_memory(&memory, &[]);
        let [lists, installs] = [1, 1].map(|at| Registry::in_memory(&memory.at(at), &[]));
        for path in released.lists().iter().chain(&released.downloads()) {
            lists.get(path).expect(404);
            installs.get(path).expect(404);
        }
        publish(&memory, &here, &released);
        for path in released.downloads() {
            installs.get(&path).expect(200);
        }
        for path in released.lists() {
            lists.get(&path).expect(404);
        }
        memory.advance(ABSENCE_SECONDS);
        for path in released.lists() {
            lists.get(&path).expect(200);
        }
    }
}
