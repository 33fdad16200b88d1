//! The texts of documentation.

use crate::native::api::packages::published;
use crate::support::described::{MAIN, README, WIDGET_PAGE};
use crate::support::documentation::{Documentation, path_of};
use crate::support::faults::Break;
use crate::support::memory::Memory;
use crate::support::registry::Sent;
use crate::support::{ProviderFixture, Registry};

const PAGE: &str = "/api/v1/providers/acme/widget/1.0.0/docs/resources/widget";

#[test]
fn a_page_takes_one_kv_read_and_one_ranged_read() {
    let (memory, registry) = published(&[]);
    memory.forget_operations();
    let response = registry.get(PAGE).expect(200);
    assert_eq!(response.text(), WIDGET_PAGE);
    let operations = memory.operations();
    let kinds: Vec<&str> = operations.iter().map(|it| it.split_at(6).0).collect();
    assert_eq!(kinds, ["KV get", "R2 inf"], "{operations:?}");
}

#[test]
fn a_document_runs_nothing_in_a_browser() {
    let (_, registry) = published(&[]);
    for (path, content_type) in [
        (PAGE, "text/markdown; charset=utf-8"),
        (
            "/api/v1/modules/acme/vpc/aws/1.0.0/docs/examples/simple/main.tf",
            "text/plain; charset=utf-8",
        ),
    ] {
        let response = registry.get(path).expect(200);
        assert_eq!(response.header("content-type"), Some(content_type));
        assert_eq!(response.header("x-content-type-options"), Some("nosniff"));
        let policy = response.header("content-security-policy").unwrap();
        assert!(policy.contains("sandbox"), "{policy}");
    }
}

#[test]
fn the_documents_of_a_module_are_sent() {
    let (_, registry) = published(&[]);
    let text = |path: &str| {
        let path = format!("/api/v1/modules/acme/vpc/aws/1.0.0/docs/{path}");
        registry.get(&path).expect(200).text()
    };
    assert_eq!(text("readme"), README);
    assert_eq!(text("submodules/subnets"), "# Subnets\n");
    assert_eq!(text("examples/simple/main.tf"), MAIN);
}

#[test]
fn an_unknown_document_is_404_with_the_way_to_all_documents() {
    let (_, registry) = published(&[]);
    let response = registry.get(&format!("{PAGE}s")).expect(404);
    assert!(
        response.errors().contains("lists all documents"),
        "{}",
        response.errors()
    );
    let other = PAGE.replace("1.0.0", "9.9.9");
    let response = registry.get(&other).expect(404);
    assert!(
        response.errors().contains("no version 9.9.9"),
        "{}",
        response.errors()
    );
}

#[test]
fn a_document_that_the_client_has_is_304_without_a_ranged_read() {
    let (memory, registry) = published(&[]);
    let etag = registry
        .get(PAGE)
        .expect(200)
        .header("etag")
        .unwrap()
        .to_owned();
    memory.forget_operations();
    let sent = Sent::new("GET", PAGE).header("if-none-match", &etag);
    registry.send(&sent).expect(304);
    assert_eq!(memory.operations().len(), 1);
    let other = PAGE.replace("1.0.0", "1.1.0");
    let overview = PAGE.replace("resources/widget", "overview");
    let etag_of = |path: &str| {
        registry
            .get(path)
            .expect(200)
            .header("etag")
            .map(str::to_owned)
    };
    assert_ne!(etag_of(&overview), Some(etag.clone()));
    assert_eq!(registry.get(&other).expect(200).text(), WIDGET_PAGE);
}

#[test]
fn a_page_whose_archive_is_missing_or_damaged_is_never_a_server_error() {
    for damage in ["missing", "damaged"] {
        let (memory, registry) = published(&[]);
        let keys = memory.keys().into_iter();
        for key in keys.filter(|key| key.ends_with(".docs")) {
            match damage {
                "missing" => memory.remove_object(&key),
                _ => memory.put_object(&key, b"no gzip"),
            }
        }
        let response = registry.get(PAGE);
        assert_eq!(response.status, 404, "{damage}: {}", response.text());
    }
}

#[test]
fn a_damaged_page_is_read_without_a_write() {
    let memory = Memory::new();
    let registry = Registry::in_memory(&memory, &[]);
    ProviderFixture::of("acme", "widget", "1.0.0").publish(&registry);
    let documentation = Documentation::of_provider(&[("thing", "# Thing\n")]);
    let path = path_of("providers", "acme/widget", "1.0.0");
    documentation.add(&registry, &path).expect(201);
    let page = "/api/v1/providers/acme/widget/1.0.0/docs/resources/thing";
    assert_eq!(registry.get(page).expect(200).text(), "# Thing\n");
    let mut damaged = documentation.archive.clone();
    damaged[documentation.head_length..].fill(0);
    memory.put_object(&documentation.key(), &damaged);
    memory.forget_operations();
    registry.get(page).expect(404);
    let operations = memory.operations();
    let has_written = operations.iter().any(|it| it.starts_with("KV put"));
    assert!(!has_written, "{operations:?}");
}

#[test]
fn storage_that_does_not_answer_is_503() {
    let (memory, registry) = published(&[]);
    memory.forget_operations();
    let fault = memory.break_at(1, Break::Before);
    registry.get(PAGE).expect(503);
    assert!(fault.lift());
    registry.get(PAGE).expect(200);
}

#[test]
fn a_head_request_has_the_length_of_the_text() {
    let (_, registry) = published(&[]);
    let response = registry.head(PAGE).expect(200);
    let length = WIDGET_PAGE.len().to_string();
    assert_eq!(response.header("content-length"), Some(length.as_str()));
    assert_eq!(response.text(), "");
}
