//! The texts of documentation.

use serde_json::json;

use crate::native::api::packages::published;
use crate::support::described::{MAIN, README, WIDGET_PAGE};
use crate::support::documentation::{Documentation, member, path_of};
use crate::support::faults::Break;
use crate::support::fixtures::sha256;
use crate::support::registry::Sent;
use crate::support::{ModuleFixture, ProviderFixture, Registry};

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
    let markdown = Some("text/markdown; charset=utf-8");
    assert_eq!(response.header("content-type"), markdown);
    let head = registry.head(PAGE).expect(200);
    let length = WIDGET_PAGE.len().to_string();
    assert_eq!(head.header("content-length"), Some(length.as_str()));
    assert_eq!(head.text(), "");
}

#[test]
fn the_documents_of_a_module_are_sent() {
    let (_, registry) = published(&[]);
    let get = |path: &str| {
        let path = format!("/api/v1/modules/acme/vpc/aws/1.0.0/docs/{path}");
        registry.get(&path).expect(200)
    };
    assert_eq!(get("readme").text(), README);
    assert_eq!(get("submodules/subnets").text(), "# Subnets\n");
    let file = get("examples/simple/main.tf");
    assert_eq!(file.text(), MAIN);
    let plain = Some("text/plain; charset=utf-8");
    assert_eq!(file.header("content-type"), plain);
}

#[test]
fn a_document_that_the_client_has_is_304_without_a_ranged_read() {
    let (memory, registry) = published(&[]);
    let etag = registry.get(PAGE).etag();
    memory.forget_operations();
    let sent = Sent::new("GET", PAGE).header("if-none-match", &etag);
    registry.send(&sent).expect(304);
    assert_eq!(memory.operations().len(), 1);
    let other = PAGE.replace("1.0.0", "1.1.0");
    let overview = PAGE.replace("resources/widget", "overview");
    assert_ne!(registry.get(&overview).etag(), etag);
    assert_eq!(registry.get(&other).expect(200).text(), WIDGET_PAGE);
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
fn a_page_whose_archive_is_missing_or_damaged_is_404_and_a_damaged_page_is_read_without_a_write() {
    let (memory, registry) = Registry::with_memory(&[]);
    ProviderFixture::of("acme", "widget", "1.0.0").publish(&registry);
    let documentation = Documentation::of_provider(&[("thing", "# Thing\n")]);
    let path = path_of("providers", "acme/widget", "1.0.0");
    documentation.add(&registry, &path).expect(201);
    let page = "/api/v1/providers/acme/widget/1.0.0/docs/resources/thing";
    let html = "/providers/acme/widget/1.0.0/docs/resources/thing";
    assert_eq!(registry.get(page).expect(200).text(), "# Thing\n");
    let mut zeros = documentation.archive.clone();
    zeros[documentation.head_length..].fill(0);
    for damaged in [Some(&zeros[..]), Some(b"no gzip"), None] {
        match damaged {
            Some(bytes) => memory.put_object(&documentation.key(), bytes),
            None => memory.remove_object(&documentation.key()),
        }
        memory.forget_operations();
        registry.get(page).expect(404);
        registry.get(html).expect(404);
        let operations = memory.operations();
        let has_written = operations.iter().any(|it| it.starts_with("KV put"));
        // With its head, the archive still describes the version.
        let has_head = damaged.is_some_and(|bytes| bytes == zeros);
        assert!(!has_head || !has_written, "{operations:?}");
    }
}

#[test]
fn a_file_is_found_although_its_index_is_outdated() {
    let (memory, registry) = Registry::with_memory(&[]);
    ModuleFixture::of("acme", "1.0.0").publish(&registry);
    let file = json!({ "name": "LICENSE", "member": { "offset": 0, "length": 3, "size": 3 } });
    let module = json!({ "root": {}, "attachments": [file] });
    let head = json!({ "schema": 1, "contents": { "module": module } }).to_string();
    let documentation = Documentation::of_members(member(head.as_bytes()), &[b"MIT".to_vec()]);
    let path = path_of("modules", "acme/vpc/aws", "1.0.0");
    documentation.add(&registry, &path).expect(201);
    let key = "modules/acme/vpc/aws/about/1.0.0";
    let other_archive =
        (memory.index(key).text).replace(&sha256(&documentation.archive), &sha256(b""));
    for outdated in [other_archive.as_str(), "{}"] {
        memory.put_index(key, outdated);
        let file = "/api/v1/modules/acme/vpc/aws/1.0.0/docs/files/LICENSE";
        assert_eq!(registry.get(file).expect(200).text(), "MIT");
        assert_ne!(memory.index(key).text, outdated);
    }
}
