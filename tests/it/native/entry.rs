//! The Worker's entry alone answers every read that finds its index, and the application answers all other
//! requests from where the entry stopped. The responses, operations, log lines and downloads equal those of
//! the application alone.

use serde_json::Value;

use crate::support::faults::Break;
use crate::support::memory::Memory;
use crate::support::people::{LOGIN, session};
use crate::support::registry::{Response, S3, Sent};
use crate::support::tokens::create;
use crate::support::{Registry, everything};

const TERRAFORM: &str = "Terraform/1.11.4 (+https://www.terraform.io)";

/// A read that finds its index.
const LIST: &str = "/v1/providers/acme/widget/versions";

/// Returns the paths of reads that find their index.
fn found() -> impl Iterator<Item = String> {
    everything::reads()
}

/// Requests that need no index.
const NEEDS_NONE: [&str; 6] = [
    "/.well-known/terraform.json",
    "/v1/nowhere",
    "/v1/providers/a--b/c/versions",
    "/mirror/",
    "/v1/modules/acme/vpc/aws/1.0/2/download",
    "/admin/v1/nothing",
];

/// Requests that the entry does not answer alone.
const OTHER: [&str; 9] = [
    "/",
    "/nowhere",
    "/v2/",
    "/healthz",
    "/v1/providers/nobody/nothing/versions",
    "/v1/modules/acme/vpc/aws/9.9.9/download",
    "/admin/v1/tokens",
    "/oauth/authorize",
    "/v2/team/tools/referrers/sha256:0000000000000000000000000000000000000000000000000000000000000000",
];

fn filled(vars: &[(&str, &str)]) -> (Memory, Registry) {
    let (memory, registry) = Registry::with_memory(vars);
    everything::fill(&registry);
    everything::describe(&memory);
    (memory, registry)
}

fn asked(method: &str, path: &str) -> Sent {
    Sent::new(method, path).header("user-agent", TERRAFORM)
}

/// Asserts that the entry answers by itself, with the registry's response.
#[track_caller]
fn assert_same(memory: &Memory, registry: &Registry, sent: &Sent) -> Response {
    let by_entry = registry.by_entry(sent);
    let by_entry = by_entry.unwrap_or_else(|| panic!("the entry did not answer: {sent:?}"));
    let counted = memory.downloads().len();
    let response = registry.send(sent);
    let downloads = memory.downloads().split_off(counted);
    assert_eq!(by_entry.response.status, response.status, "{sent:?}");
    assert_eq!(by_entry.response.headers, response.headers, "{sent:?}");
    assert_eq!(by_entry.response.text(), response.text(), "{sent:?}");
    assert_eq!(by_entry.line, memory.request_lines().pop(), "{sent:?}");
    assert_eq!(Vec::from_iter(by_entry.download), downloads, "{sent:?}");
    response
}

/// Asserts that the application completes the Worker's response, and that it equals that of the application
/// alone over the same storage.
#[track_caller]
fn assert_resumed(memory: &Memory, vars: &[(&str, &str)], sent: &Sent) -> Response {
    let registry = Registry::in_memory(&memory.copy(), vars);
    assert!(registry.by_entry(sent).is_none(), "{sent:?}");
    let (ours, theirs) = (memory.copy(), memory.copy());
    let response = Registry::in_memory(&ours, vars).by_worker(sent, 0);
    let other = Registry::in_memory(&theirs, vars).send(sent);
    assert_eq!(response.status, other.status, "{sent:?}");
    assert_eq!(response.headers, other.headers, "{sent:?}");
    assert_eq!(response.text(), other.text(), "{sent:?}");
    let noted = |memory: &Memory| {
        let lines = (memory.request_lines(), memory.log());
        (lines, memory.downloads(), memory.operations())
    };
    assert_eq!(noted(&ours), noted(&theirs), "{sent:?}");
    assert_eq!(ours.request_lines().len(), 1, "{sent:?}");
    assert_eq!(ours.documents(), theirs.documents(), "{sent:?}");
    response
}

#[test]
fn a_read_of_at_most_one_index_is_answered_as_the_registry_answers_it() {
    for vars in [&[][..], &S3] {
        let (memory, registry) = filled(vars);
        for path in found().chain(NEEDS_NONE.map(str::to_owned)) {
            for method in ["GET", "HEAD"] {
                let response = assert_same(&memory, &registry, &asked(method, &path));
                let line = memory.request_lines().pop().unwrap();
                let is_hit = line.contains("\"index\":\"hit\"");
                assert_eq!(is_hit, !NEEDS_NONE.contains(&path.as_str()), "{path}");
                if let Some(etag) = response.header("etag") {
                    let again = asked(method, &path).header("if-none-match", etag);
                    assert_same(&memory, &registry, &again).expect(304);
                }
            }
        }
    }
}

#[test]
fn a_request_that_needs_more_than_one_index_is_continued_by_the_application() {
    let (memory, registry) = filled(&[]);
    for path in OTHER {
        assert_resumed(&memory, &[], &asked("GET", path));
    }
    assert_resumed(&memory, &[], &asked("HEAD", "/healthz"));
    let bearer = format!("Bearer {}", registry.token());
    let tokens = asked("GET", "/admin/v1/tokens").header("authorization", &bearer);
    let response = assert_resumed(&memory, &[], &tokens).expect(200);
    assert!(response.header("server-timing").is_some());
}

#[test]
fn a_read_whose_index_is_lost_or_damaged_is_continued_by_the_application() {
    for vars in [&[][..], &S3] {
        let (memory, _) = filled(vars);
        let download = asked("GET", "/v1/modules/acme/vpc/aws/1.0.0/download");
        let damaged = memory.copy();
        damaged.put_index("modules/acme/vpc/aws/version/1.0.0", "no JSON");
        assert_resumed(&damaged, vars, &download);
        memory.lose_indices();
        for path in &found().collect::<Vec<_>>() {
            for method in ["GET", "HEAD"] {
                assert_resumed(&memory, vars, &asked(method, path));
            }
        }
    }
}

#[test]
fn a_read_whose_index_cannot_be_read_is_continued_by_the_application() {
    let (filled, _) = filled(&[]);
    for path in &found().collect::<Vec<_>>() {
        let answers = [true, false].map(|is_by_worker| {
            let memory = filled.copy();
            let registry = Registry::in_memory(&memory, &[]);
            memory.forget_operations();
            let fault = memory.break_at(0, Break::Before);
            let response = match is_by_worker {
                true => registry.by_worker(&asked("GET", path), 0),
                false => registry.send(&asked("GET", path)),
            };
            assert!(fault.lift(), "{path}");
            let line = memory.request_lines().pop();
            (response.status, response.text(), memory.log(), line)
        });
        assert_eq!(answers[0], answers[1], "{path}");
    }
}

#[test]
fn the_time_of_a_kv_read_is_logged_once() {
    let (memory, registry) = filled(&[]);
    for (path, r2) in [(LIST, 0), ("/v1/providers/nobody/nothing/versions", 1)] {
        registry.by_worker(&asked("GET", path), 7);
        let line = memory.request_lines().pop().unwrap();
        let line: Value = serde_json::from_str(&line).unwrap();
        let took = ["ms", "kv", "kv_ms", "r2", "r2_ms"].map(|it| line[it].as_u64().unwrap());
        assert_eq!(took, [7, 1, 7, r2, 0], "{line}");
    }
}

#[test]
fn a_blob_with_or_without_a_range_is_answered_by_the_entry() {
    let (memory, registry) = filled(&[]);
    let manifest = registry.get("/v2/team/tools/manifests/1.0").expect(200);
    let digest = manifest.json()["layers"][0]["digest"].clone();
    let path = format!("/v2/team/tools/blobs/{}", digest.as_str().unwrap());
    for sent in [
        asked("GET", &path),
        asked("GET", &path).header("range", "bytes=0-1"),
        asked("GET", &path).header("range", "bytes=999999999-"),
        asked("HEAD", &path),
    ] {
        assert_same(&memory, &registry, &sent);
    }
}

#[test]
fn the_entry_accepts_only_a_token_that_is_known_to_be_valid() {
    let vars = [("TERRACE_ACCESS", "private")];
    let (memory, registry) = filled(&vars);
    let (id, token) = create(&registry, &["read"], None);
    let path = LIST;
    let bearing = || asked("GET", path).bearing(&token);
    // The list of revoked tokens has not been read yet.
    for path in &found().collect::<Vec<_>>() {
        assert_resumed(&memory, &vars, &asked("GET", path).bearing(&token));
    }
    assert!(registry.by_entry(&bearing()).is_none());
    registry.send(&bearing()).expect(200);
    for path in &found().collect::<Vec<_>>() {
        assert_same(&memory, &registry, &asked("GET", path).bearing(&token));
    }
    assert_same(&memory, &registry, &asked("GET", path)).expect(401);
    let forged = asked("GET", path).bearing(&token.replace("terrace_", "terrace_0"));
    assert_resumed(&memory, &vars, &forged).expect(401);
    // The cached list of revoked tokens is due for a refresh.
    memory.advance(10);
    assert!(registry.by_entry(&bearing()).is_none());
    registry.send(&bearing()).expect(200);
    assert_same(&memory, &registry, &bearing()).expect(200);
    crate::support::tokens::revoke(&registry, &id).expect(200);
    memory.advance(10);
    registry.send(&bearing());
    assert!(registry.by_entry(&bearing()).is_none());
    registry.by_worker(&bearing(), 0).expect(401);
    registry.send(&bearing()).expect(401);
}

#[test]
fn only_a_read_that_a_session_may_identify_is_left_to_the_application_for_its_cookies() {
    let vars = [&[("TERRACE_ACCESS", "private")], &LOGIN[..]].concat();
    let (memory, registry) = filled(&vars);
    let cookie = session("read", 1_800_000_000);
    for path in &found().collect::<Vec<_>>() {
        let sent = asked("GET", path).header("cookie", &cookie);
        if path.starts_with("/api/") {
            let status = assert_resumed(&memory, &vars, &sent).status;
            assert!([200, 302].contains(&status), "{path}: {status}");
            assert_resumed(&memory, &vars, &asked("GET", path)).expect(401);
        } else {
            assert_same(&memory, &registry, &sent).expect(401);
        }
    }
    // Where nothing is private, no cookie is read.
    let registry = Registry::in_memory(&memory, &LOGIN);
    for path in &found().collect::<Vec<_>>() {
        let sent = asked("GET", path).header("cookie", &cookie);
        let response = assert_same(&memory, &registry, &sent);
        assert_eq!(response.header("vary"), None, "{path}");
    }
}

#[test]
fn the_entry_logs_requests_as_configured() {
    let (_, registry) = filled(&[("TERRACE_LOG_REQUESTS", "failures")]);
    let line = |path| registry.by_entry(&asked("GET", path)).unwrap().line;
    assert_eq!(line(LIST), None);
    assert!(line("/v1/nowhere").is_some());
}

#[test]
fn an_index_that_no_header_can_hold_is_rebuilt() {
    let (memory, registry) = filled(&[]);
    memory.damage_etag("providers/hosted/acme/widget/versions");
    assert_resumed(&memory, &[], &asked("GET", LIST));
    let response = registry.send(&asked("GET", LIST)).expect(200);
    assert!(!response.header("etag").unwrap().contains('\n'));
}
