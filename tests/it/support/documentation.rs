//! Documentation archives, and the requests about them.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};

use super::fixtures::{sha256, upload};
use super::registry::{Registry, Response};

/// The documentation of a version, to add to it.
#[derive(Debug, Clone)]
pub struct Documentation {
    /// The first member of the archive.
    pub head_length: usize,
    pub archive: Vec<u8>,
}

/// Returns a gzip member with these contents.
pub fn member(contents: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(contents).unwrap();
    encoder.finish().unwrap()
}

/// Returns the path of the documentation of a version.
pub fn path_of(kind: &str, address: &str, version: &str) -> String {
    format!("/admin/v1/{kind}/{address}/{version}/documentation")
}

impl Documentation {
    /// Returns an archive of these members.
    pub fn of_members(head: Vec<u8>, pages: &[Vec<u8>]) -> Self {
        let head_length = head.len();
        let archive = [&[head], pages].concat().concat();
        Self {
            head_length,
            archive,
        }
    }

    /// Returns an archive that contains only this head.
    pub fn of_head(head: &Value) -> Self {
        Self::of_members(member(head.to_string().as_bytes()), &[])
    }

    /// Returns the documentation of a module with this README text.
    pub fn of_module(readme: &str) -> Self {
        let details = json!({ "root": { "readme": readme } });
        Self::of_head(&json!({ "schema": 1, "contents": { "module": details } }))
    }

    /// Returns the documentation of a provider with one page for each of these resources.
    pub fn of_provider(resources: &[(&str, &str)]) -> Self {
        let (mut pages, mut members, mut offset) = (Vec::new(), Vec::new(), 0);
        for (name, text) in resources {
            let page = member(text.as_bytes());
            pages.push(json!({
                "kind": "resources",
                "name": name,
                "title": name,
                "member": { "offset": offset, "length": page.len(), "size": text.len() },
            }));
            offset += page.len();
            members.push(page);
        }
        let head = json!({ "schema": 1, "contents": { "provider": { "pages": pages } } });
        Self::of_members(member(head.to_string().as_bytes()), &members)
    }

    /// Returns the storage key of the archive.
    pub fn key(&self) -> String {
        format!("archives/{}.docs", sha256(&self.archive))
    }

    /// Returns the body of the request that adds it.
    pub fn description(&self) -> Value {
        json!({
            "sha256": sha256(&self.archive),
            "size": self.archive.len(),
            "head_length": self.head_length,
        })
    }

    pub fn put(&self, registry: &Registry, path: &str) -> Response {
        let body = self.description().to_string();
        registry.admin("PUT", path, Some(body.as_bytes()))
    }

    /// Uploads the archive, which is missing.
    #[track_caller]
    pub fn upload(&self, registry: &Registry, path: &str) {
        upload(
            registry,
            &self.put(registry, path).expect(202),
            &[&self.archive],
        );
    }

    /// Adds the documentation, after an upload if the archive is missing.
    #[track_caller]
    pub fn add(&self, registry: &Registry, path: &str) -> Response {
        let first = self.put(registry, path);
        if first.status != 202 {
            return first;
        }
        upload(registry, &first, &[&self.archive]);
        self.put(registry, path)
    }
}
