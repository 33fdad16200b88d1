//! Changes that bypass the registry, and unusual answers of the platform.

use terrace_app::host::StoreError;
use terrace_base::time::UnixTime;
use terrace_core::maintenance::repair::CursorDocument;
use terrace_core::storage::index_document::{IndexDocument, IndexMetadata};

use super::Memory;
use super::edge::Edge;

impl Memory {
    /// Stores an object as an S3 upload does: without a checksum.
    pub fn put_object(&self, key: &str, bytes: &[u8]) {
        self.insert(key, bytes, &[]);
    }

    /// Makes both walks of the periodic repair due; the one that was due first stays the first.
    pub fn make_repair_due(&self) {
        let key = "repair/cursor".to_owned();
        if !self.keys().contains(&key) {
            return;
        }
        let cursor = serde_json::from_slice::<CursorDocument>(&self.object_bytes(&key));
        let Ok(mut cursor) = cursor else {
            return;
        };
        let facts_first = cursor.due <= cursor.keys.due;
        cursor.due = (!facts_first).then_some(UnixTime(1));
        cursor.keys.due = facts_first.then_some(UnixTime(1));
        self.put_object(&key, &serde_json::to_vec(&cursor).unwrap());
    }

    /// Stores a release that is read only by listings.
    pub fn put_release(&self, key: &str, metadata: &[(&str, &str)]) {
        let metadata: Vec<(&str, String)> = metadata
            .iter()
            .map(|(name, value)| (*name, (*value).to_owned()))
            .collect();
        self.insert(key, b"{}", &metadata);
    }

    /// Removes an object that exists.
    pub fn remove_object(&self, key: &str) {
        self.bucket_mut().remove(key).expect("an object");
    }

    /// Removes the metadata of every object, as a copy of the bucket without metadata does.
    pub fn lose_metadata(&self) {
        let mut objects = self.bucket_mut();
        objects.iter_mut().for_each(|(_, it)| it.metadata.clear());
    }

    /// Makes the next page of a listing of documents empty and marked as truncated.
    pub fn list_nothing(&self) {
        self.world.lists_nothing.set(true);
    }

    /// Empties KV, as after binding a new namespace.
    pub fn lose_indices(&self) {
        self.world.kv.documents.borrow_mut().clear();
    }

    /// Removes an index.
    pub fn lose_index(&self, key: &str) {
        self.world.kv.documents.borrow_mut().remove(key);
    }

    /// Writes an index.
    pub fn put_index(&self, key: &str, text: &str) {
        let metadata = IndexMetadata {
            etag: "\"x\"".to_owned(),
            ..IndexMetadata::default()
        };
        let text = text.to_owned();
        self.restore_index(key, IndexDocument { text, metadata });
    }

    /// Restores an older index, as an edge that has not seen the newer one would serve it.
    pub fn restore_index(&self, key: &str, document: IndexDocument) {
        let mut documents = self.world.kv.documents.borrow_mut();
        documents.insert(key.to_owned(), document);
    }

    /// Gives an index an ETag that no header can hold.
    pub fn damage_etag(&self, key: &str) {
        let mut documents = self.world.kv.documents.borrow_mut();
        let index = documents.get_mut(key).expect("an index");
        index.metadata.etag = "\"a\nb\"".to_owned();
    }

    /// Limits pages of index listings to `keys` keys.
    pub fn index_page(&self, keys: usize) {
        self.world.kv.keys_per_page.set(Some(keys));
    }

    /// Makes the platform's own limit report too many failed authentications after `count` of them.
    pub fn let_failures_pass(&self, count: usize) {
        self.world.failures_let_pass.set(Some(count));
    }

    fn insert(&self, key: &str, bytes: &[u8], metadata: &[(&str, String)]) {
        let (bytes, now_ms) = (bytes.to_vec(), self.now_ms());
        let mut objects = self.bucket_mut();
        objects.insert(key.to_owned(), bytes, metadata, None, now_ms);
    }

    /// Rejects a write of an object that was just written, if the platform's rules apply.
    pub(super) fn refuse_frequent_object(&self, key: &str) -> Result<(), StoreError> {
        let written_ms = self.bucket().get(key).map(|object| object.written_ms);
        let refuse = |edge: &mut Edge| edge.refuse_frequent(key, written_ms, self.now_ms());
        self.world.kv.with_edge(refuse).unwrap_or(Ok(()))
    }
}
