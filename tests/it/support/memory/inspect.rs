//! Methods with which a test inspects the platform.

use std::collections::BTreeMap;

use terrace_app::host::LogLevel;
use terrace_core::storage::index_document::IndexDocument;
use terrace_server::memory::Object;

use super::Memory;
use super::edge::Edge;

impl Memory {
    /// Returns every operation since the last [`Memory::forget_operations`], such as `KV get …`.
    pub fn operations(&self) -> Vec<String> {
        self.world.journal.operations.borrow().clone()
    }

    /// Returns how many of these operations begin with a text.
    pub fn count(&self, start: &str) -> usize {
        let operations = self.world.journal.operations.borrow();
        operations.iter().filter(|it| it.starts_with(start)).count()
    }

    pub fn forget_operations(&self) {
        self.world.journal.operations.borrow_mut().clear();
    }

    /// Returns the log line of each request.
    pub fn request_lines(&self) -> Vec<String> {
        self.world.journal.request_lines.borrow().clone()
    }

    /// Returns the downloads that were counted.
    pub fn downloads(&self) -> Vec<String> {
        self.world.journal.downloads.borrow().clone()
    }

    /// Notes an answer as the host does.
    pub fn note_answer(&self, line: Option<String>, download: Option<String>) {
        let journal = &self.world.journal;
        journal.request_lines.borrow_mut().extend(line);
        journal.downloads.borrow_mut().extend(download);
    }

    pub fn log(&self) -> Vec<String> {
        let log = self.world.journal.log.borrow();
        log.iter().map(|(_, line)| line.clone()).collect()
    }

    /// Asserts that a line of the log contains this text.
    #[track_caller]
    pub fn assert_logged(&self, text: &str) {
        let log = self.log();
        assert!(log.iter().any(|line| line.contains(text)), "{log:#?}");
    }

    /// Returns the lines of the log that were written at this level.
    pub fn log_at(&self, level: LogLevel) -> Vec<String> {
        let log = self.world.journal.log.borrow();
        let lines = log.iter().filter(|(at, _)| *at == level);
        lines.map(|(_, line)| line.clone()).collect()
    }

    /// Returns the contents of the bucket.
    pub fn objects(&self) -> BTreeMap<String, Vec<u8>> {
        let objects = self.bucket();
        let entry = |(key, object): (&String, &Object)| (key.clone(), object.bytes.to_vec());
        objects.iter().map(entry).collect()
    }

    /// Returns all objects. The contents of change markers are random, and are replaced by the same text.
    pub fn objects_but_for_markers(&self) -> BTreeMap<String, Vec<u8>> {
        let mut objects = self.objects();
        for (key, bytes) in &mut objects {
            if key.starts_with("changes/") || key.starts_with("oci/changes/") {
                let is_digit = |byte: &u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
                assert!(bytes.len() == 32 && bytes.iter().all(is_digit), "{key}");
                *bytes = b"a change marker".to_vec();
            }
        }
        objects
    }

    /// Returns what a change leaves behind: all objects without the log, which may contain a repeated change twice, the markers of
    /// waiting writers, leases and staged uploads.
    pub fn lasting_objects(&self) -> BTreeMap<String, Vec<u8>> {
        let aside = ["audit/", "audit-head", "written/", "incoming/", "leases/"];
        let mut objects = self.objects_but_for_markers();
        objects.retain(|key, _| !aside.iter().any(|it| key.starts_with(it)));
        objects
    }

    /// Returns all keys in the bucket.
    pub fn keys(&self) -> Vec<String> {
        self.bucket().iter().map(|(key, _)| key.clone()).collect()
    }

    /// Returns the keys that contain this text.
    pub fn keys_with(&self, part: &str) -> Vec<String> {
        let mut keys = self.keys();
        keys.retain(|key| key.contains(part));
        keys
    }

    /// Returns the objects below `prefix` in the order of their creation, with its time.
    pub fn created(&self, prefix: &str) -> Vec<(String, u64)> {
        let objects = self.bucket();
        let below = objects.iter().filter(|(key, _)| key.starts_with(prefix));
        let below = below.map(|(key, object)| (object.created, key.clone()));
        let mut below: Vec<_> = below.collect();
        below.sort();
        let created = |((_, created_ms), key)| (key, created_ms);
        below.into_iter().map(created).collect()
    }

    /// Returns the metadata of an object that exists.
    pub fn metadata(&self, key: &str) -> Vec<(String, String)> {
        self.bucket().get(key).expect("an object").metadata.clone()
    }

    /// Returns the bytes of an object that exists.
    pub fn object_bytes(&self, key: &str) -> Vec<u8> {
        self.bucket().get(key).expect("an object").bytes.to_vec()
    }

    /// Returns everything in KV, with its metadata.
    pub fn documents(&self) -> BTreeMap<String, IndexDocument> {
        self.world.kv.documents.borrow().clone()
    }

    /// Returns everything in KV, as text.
    pub fn indices(&self) -> BTreeMap<String, String> {
        let text = |(key, document): (String, IndexDocument)| (key, document.text);
        self.documents().into_iter().map(text).collect()
    }

    /// Returns an index that exists.
    pub fn index(&self, key: &str) -> IndexDocument {
        let documents = self.world.kv.documents.borrow();
        documents.get(key).expect("an index").clone()
    }

    /// Returns how long the edge may cache the last index that was read.
    pub fn cache_seconds(&self) -> u32 {
        self.world.kv.cache_seconds.get()
    }

    /// Returns how many writes were refused because their keys were written too often.
    pub fn refused_writes(&self) -> usize {
        let refused = |edge: &mut Edge| edge.refused();
        self.world.kv.with_edge(refused).unwrap_or_default()
    }
}
