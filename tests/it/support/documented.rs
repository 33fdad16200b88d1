//! Documentation of versions, stored as its publisher stores it.

use serde_json::{Value, json};
use terrace_base::digest::Sha256;
use terrace_base::time::UnixTime;
use terrace_core::storage::documentation::{DocumentationArchive, DocumentationDocument};

use super::documentation::{Documentation, member};
use super::memory::Memory;

/// Stores the documentation of a version of a package, by the key of the package, and returns the key of its archive.
/// It is stored before the release, or makes no difference until the indices are written again.
pub fn document(memory: &Memory, package: &str, version: &str, head: &Value) -> String {
    let head = member(head.to_string().as_bytes());
    let documentation = Documentation::of_members(head, &[member(b"# A page\n")]);
    let archived = DocumentationArchive {
        sha256: Sha256::of(&documentation.archive),
        size: documentation.archive.len() as u64,
        head_length: documentation.head_length as u64,
        license: None,
        origin: None,
    };
    let at = UnixTime(1_800_000_000);
    let document = DocumentationDocument::after(None, archived, at, "root".to_owned());
    memory.put_object(&documentation.key(), &documentation.archive);
    let fact = format!("docs/{package}/{version}");
    memory.put_object(&fact, document.to_document().as_bytes());
    documentation.key()
}

/// Stores the documentation of a version of a provider, which has one resource. Its address has a hostname if it is
/// mirrored.
pub fn document_provider(memory: &Memory, address: &str, version: &str) -> String {
    let (host, name) = match address.splitn(3, '/').collect::<Vec<_>>()[..] {
        [_, name] => ("hosted/", name),
        [_, _, name] => ("", name),
        _ => panic!("{address} is not an address"),
    };
    let head = json!({
        "schema": 1,
        "contents": { "provider": {
        "pages": [{
            "kind": "overview",
            "name": "index",
            "title": name,
            "description": format!("Manages {name} of version {version}."),
            "member": { "offset": 0, "length": 20, "size": 9 },
        }],
        "symbols": [{ "kind": "resources", "name": format!("{name}_thing"), "page": "thing" }],
        } },
    });
    document(
        memory,
        &format!("providers/{host}{address}"),
        version,
        &head,
    )
}

/// Stores the documentation of a version of a module, which has two inputs.
pub fn document_module(memory: &Memory, address: &str, version: &str) -> String {
    let head = json!({
        "schema": 1,
        "contents": { "module": { "root": {
            "readme": format!("# A module\n\nCreates things, as of {version}.\n"),
            "inputs": [{ "name": "optional", "default": "1" }, { "name": "required" }],
        } } },
    });
    document(memory, &format!("modules/{address}"), version, &head)
}
