//! What the Worker's entry answers by itself is what the registry answers, with the same line in the log and
//! the same point in the dataset; and it is every read that finds its index.

use serde_json::Value;
use terrace_app::host::Host as _;
use terrace_app::reads::{Reads, Step, Wanted};
use terrace_core::http::reply::Body;
use terrace_core::read::{Asked, Found};

use crate::support::memory::Memory;
use crate::support::registry::{Response, S3, Sent};
use crate::support::tokens::create;
use crate::support::{Registry, everything};

const TERRAFORM: &str = "Terraform/1.11.4 (+https://www.terraform.io)";

/// Reads of what `everything` has, that find their index.
const FOUND: [&str; 16] = [
    "/v1/providers/acme/widget/versions",
    "/v1/providers/acme/widget/1.0.0+b/download/linux/amd64",
    "/v1/providers/acme/widget/1.0.0+b/download/plan9/386",
    "/v1/providers/acme/widget/1.1.0+b/download/linux/amd64",
    "/v1/modules/acme/vpc/aws/versions",
    "/v1/modules/acme/vpc/aws/1.0.0/download",
    "/v1/modules/acme/vpc/aws/1.1.0/download",
    "/mirror/registry.test/acme/widget/index.json",
    "/mirror/registry.example.com/acme/gadget/index.json",
    "/mirror/registry.example.com/acme/gadget/1.0.0.json",
    "/v2/providers/registry.example.com/acme/gadget/tags/list",
    "/v2/providers/registry.example.com/acme/gadget/tags/list?n=1",
    "/v2/providers/registry.example.com/acme/gadget/manifests/1.0.0",
    "/v2/modules/acme/vpc/aws/manifests/1.0.0",
    "/v2/team/tools/tags/list",
    "/v2/team/tools/manifests/1.0",
];

/// Answers that need no index.
const NEEDS_NONE: [&str; 5] = [
    "/.well-known/terraform.json",
    "/nowhere",
    "/v1/providers/a_b/c/versions",
    "/",
    "/v1/modules/acme/vpc/aws/1.0/2/download",
];

/// What takes more than one read.
const OTHER: [&str; 8] = [
    "/admin/v1/nothing",
    "/v2/",
    "/healthz",
    "/v1/providers/nobody/nothing/versions",
    "/v1/modules/acme/vpc/aws/9.9.9/download",
    "/admin/v1/tokens",
    "/oauth/authorize",
    "/v2/team/tools/referrers/sha256:0000000000000000000000000000000000000000000000000000000000000000",
];

fn filled(vars: &[(&str, &str)]) -> (Memory, Registry) {
    let memory = Memory::new();
    let registry = Registry::in_memory(&memory, vars);
    everything::fill(&registry);
    (memory, registry)
}

fn asked(method: &str, path: &str) -> Sent {
    Sent::new(method, path).header("user-agent", TERRAFORM)
}

/// Asserts that the entry answers by itself, and as the registry does.
#[track_caller]
fn assert_same(memory: &Memory, registry: &Registry, sent: &Sent) -> Response {
    let by_entry = registry.by_entry(sent);
    let by_entry = by_entry.unwrap_or_else(|| panic!("left to the registry: {sent:?}"));
    let counted = memory.downloads().len();
    let response = registry.send(sent);
    assert_eq!(by_entry.response.status, response.status, "{sent:?}");
    assert_eq!(by_entry.response.headers, response.headers, "{sent:?}");
    assert_eq!(by_entry.response.text(), response.text(), "{sent:?}");
    assert_eq!(by_entry.line, memory.request_lines().pop(), "{sent:?}");
    let is_counted = memory.downloads().len() > counted;
    assert_eq!(by_entry.point.is_some(), is_counted, "{sent:?}");
    response
}

#[test]
fn a_read_of_at_most_one_index_is_answered_as_the_registry_answers_it() {
    for vars in [&[][..], &S3] {
        let (memory, registry) = filled(vars);
        for path in FOUND.iter().chain(&NEEDS_NONE) {
            for method in ["GET", "HEAD"] {
                let response = assert_same(&memory, &registry, &asked(method, path));
                if let Some(etag) = response.header("etag") {
                    let again = asked(method, path).header("if-none-match", etag);
                    assert_same(&memory, &registry, &again).expect(304);
                }
            }
        }
    }
}

#[test]
fn the_reads_of_this_file_find_their_index() {
    let (memory, registry) = filled(&[]);
    for path in FOUND {
        registry.send(&asked("GET", path));
        let line = memory.request_lines().pop().unwrap();
        let line: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(line["index"], "hit", "{path}");
    }
}

#[test]
fn a_request_that_takes_more_is_left_to_the_registry() {
    let (_, registry) = filled(&[]);
    for path in OTHER {
        assert!(registry.by_entry(&asked("GET", path)).is_none(), "{path}");
    }
}

#[test]
fn a_read_whose_index_is_lost_or_damaged_is_left_to_the_registry() {
    let (memory, registry) = filled(&[]);
    let download = asked("GET", "/v1/modules/acme/vpc/aws/1.0.0/download");
    memory.put_index("modules/acme/vpc/aws/version/1.0.0", "no JSON");
    assert!(registry.by_entry(&download).is_none());
    memory.lose_indices();
    for path in FOUND {
        assert!(registry.by_entry(&asked("GET", path)).is_none(), "{path}");
    }
}

#[test]
fn a_part_of_a_blob_is_asked_for_where_the_blob_is() {
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
fn only_a_token_that_is_known_to_be_good_is_let_through() {
    let (memory, registry) = filled(&[("TERRACE_ACCESS", "private")]);
    let (id, token) = create(&registry, &["read"], None);
    let path = FOUND[0];
    let bearing = || asked("GET", path).bearing(&token);
    // Nobody has read yet which ones are revoked.
    assert!(registry.by_entry(&bearing()).is_none());
    registry.send(&bearing()).expect(200);
    for path in FOUND {
        assert_same(&memory, &registry, &asked("GET", path).bearing(&token));
    }
    assert_same(&memory, &registry, &asked("GET", path)).expect(401);
    let forged = asked("GET", path).bearing(&token.replace("terrace_", "terrace_0"));
    assert!(registry.by_entry(&forged).is_none());
    // It is time to look again.
    memory.advance(10);
    assert!(registry.by_entry(&bearing()).is_none());
    registry.send(&bearing()).expect(200);
    assert_same(&memory, &registry, &bearing()).expect(200);
    crate::support::tokens::revoke(&registry, &id).expect(200);
    memory.advance(10);
    registry.send(&bearing());
    assert!(registry.by_entry(&bearing()).is_none());
    registry.send(&bearing()).expect(401);
}

#[test]
fn a_download_is_a_point_with_its_package() {
    let (_, registry) = filled(&[]);
    let path = "/v1/providers/acme/widget/1.0.0+b/download/linux/amd64";
    let point = registry.by_entry(&asked("GET", path)).unwrap().point;
    assert_eq!(
        serde_json::from_str::<Value>(&point.unwrap()).unwrap(),
        serde_json::json!({
            "indexes": ["acme/widget"],
            "blobs": ["acme/widget", "1.0.0+b", "provider_download", "Terraform", "1.11.4"],
            "doubles": [1.0],
        })
    );
}

#[test]
fn downloads_are_no_points_where_nobody_counts_them() {
    let (memory, registry) = filled(&[]);
    let path = "/v1/modules/acme/vpc/aws/1.0.0/download";
    let reads = reads(&registry, &memory);
    let wanted = begun(&reads, path, None).unwrap();
    let answer = reads.finish(wanted.ticket, found(&memory, &wanted), None, false, 0);
    assert_eq!(answer.unwrap().point, None);
}

#[test]
fn lines_are_written_as_the_configuration_says() {
    let (_, registry) = filled(&[("TERRACE_LOG_REQUESTS", "failures")]);
    let line = |path| registry.by_entry(&asked("GET", path)).unwrap().line;
    assert_eq!(line(FOUND[0]), None);
    assert!(line("/nowhere").is_some());
}

/// Nobody may get the answer of somebody else.
#[test]
fn a_read_that_was_given_up_for_another_is_left_to_the_registry() {
    let (memory, registry) = filled(&[]);
    let reads = reads(&registry, &memory);
    let finished =
        |wanted: &Wanted| reads.finish(wanted.ticket, found(&memory, wanted), None, false, 0);
    let first = begun(&reads, "/v1/modules/acme/vpc/aws/1.0.0/download", None).unwrap();
    let other = "/v1/modules/acme/vpc/aws/1.1.0/download";
    let others: Vec<Wanted> = (0..1024)
        .map(|_| begun(&reads, other, None).unwrap())
        .collect();
    assert!(finished(&first).is_none());
    for other in &others {
        assert!(finished(other).is_some(), "{other:?}");
        assert!(finished(other).is_none(), "only once");
    }
}

/// A client that goes, or finds nothing, leaves behind what waits with it.
#[test]
fn a_read_that_would_hold_much_memory_is_left_to_the_registry() {
    let (memory, registry) = filled(&[]);
    let reads = reads(&registry, &memory);
    let long = "x".repeat(2_000);
    for (path, if_none_match) in [
        (FOUND[0].to_owned(), Some(long.as_str())),
        (format!("/v2/team/tools/tags/list?last={long}"), None),
    ] {
        assert!(begun(&reads, &path, if_none_match).is_none(), "{path}");
        let sent = asked("GET", &path).header("if-none-match", if_none_match.unwrap_or("x"));
        registry.send(&sent).expect(200);
    }
}

#[test]
fn an_index_that_no_header_can_hold_is_rebuilt() {
    let (memory, registry) = filled(&[]);
    memory.damage_etag("providers/hosted/acme/widget/versions");
    assert!(registry.by_entry(&asked("GET", FOUND[0])).is_none());
    let response = registry.send(&asked("GET", FOUND[0])).expect(200);
    assert!(!response.header("etag").unwrap().contains('\n'));
}

fn reads<'r>(registry: &'r Registry, memory: &'r Memory) -> Reads<'r> {
    let Registry::Memory { config, .. } = registry else {
        panic!("it is in memory")
    };
    Reads::new(config, memory.cache(), 0)
}

fn begun(reads: &Reads<'_>, target: &str, if_none_match: Option<&str>) -> Option<Wanted> {
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let asked = Asked {
        method: "GET",
        origin: "https://registry.test",
        path,
        query,
        if_none_match,
        authorization: None,
        user_agent: None,
    };
    match reads.begin(&asked, 0)? {
        Step::Read(wanted) => Some(wanted),
        Step::Answer(answer) => panic!("{answer:?}"),
    }
}

fn found(memory: &Memory, wanted: &Wanted) -> Option<Found<()>> {
    let document = memory.read_index(&wanted.key, 0)?;
    let (metadata, body) = (document.metadata, Body::Text(document.text));
    Some(Found { metadata, body })
}
