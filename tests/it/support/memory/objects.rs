//! The bucket, with R2's behaviour.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::ops::Bound;

use terrace_app::host::Revision;
use terrace_base::digest::Sha256;
use terrace_base::time::UnixTime;
use terrace_core::index::ListedRelease;
use terrace_core::model::package::Package;
use terrace_core::storage::key::FactKey;

use terrace_app::host::ReleasePage;

/// The maximum number of objects in a page of a listing.
pub const OBJECTS_PER_LISTING: usize = 1_000;

/// The objects of a bucket.
#[derive(Default)]
pub struct Bucket {
    objects: RefCell<BTreeMap<String, Object>>,
    revision: Cell<u64>,
    /// Whether the next page of documents is empty and marked as truncated.
    is_next_page_empty: Cell<bool>,
}

/// A stored object.
#[derive(Debug, Clone)]
pub struct Object {
    pub bytes: Vec<u8>,
    pub metadata: Vec<(String, String)>,
    pub revision: u64,
    pub written_ms: u64,
    /// The revision and the time of its first write.
    pub created: (u64, u64),
    /// R2 keeps a checksum of objects written through the binding, and not always of other uploads.
    pub checksum: Option<Sha256>,
}

impl Object {
    /// Returns the ETag: as in R2 it depends on the bytes alone, so writing them again does not change it.
    pub fn etag(&self) -> String {
        Sha256::of(&self.bytes).to_string()
    }
}

impl Bucket {
    pub fn copy_from(&self, other: &Self) {
        self.objects.replace(other.objects.borrow().clone());
        self.revision.set(other.revision.get());
    }

    pub fn insert(
        &self,
        key: &str,
        bytes: &[u8],
        metadata: &[(&str, String)],
        checksum: Option<Sha256>,
        now_ms: u64,
    ) -> Revision {
        let revision = self.revision.get() + 1;
        self.revision.set(revision);
        let metadata = metadata
            .iter()
            .map(|(name, value)| ((*name).to_owned(), value.clone()))
            .collect();
        let first = self.get(key).map(|object| object.created);
        let object = Object {
            bytes: bytes.to_vec(),
            metadata,
            revision,
            written_ms: now_ms,
            created: first.unwrap_or((revision, now_ms)),
            checksum,
        };
        self.objects.borrow_mut().insert(key.to_owned(), object);
        Revision(revision.to_string())
    }

    pub fn get(&self, key: &str) -> Option<Object> {
        self.objects.borrow().get(key).cloned()
    }

    pub fn remove(&self, key: &str) -> Option<Object> {
        self.objects.borrow_mut().remove(key)
    }

    /// Returns a view of each object, in the order of their keys.
    pub fn all<T>(&self, mut view: impl FnMut(&str, &Object) -> T) -> Vec<T> {
        let objects = self.objects.borrow();
        objects
            .iter()
            .map(|(key, object)| view(key, object))
            .collect()
    }

    /// Changes every object.
    pub fn change_all(&self, change: impl FnMut(&mut Object)) {
        self.objects.borrow_mut().values_mut().for_each(change);
    }

    /// Makes the next page of documents empty and marked as truncated.
    pub fn empty_next_page(&self) {
        self.is_next_page_empty.set(true);
    }

    /// Returns whether this page must be empty and marked as truncated.
    pub fn is_page_empty(&self) -> bool {
        self.is_next_page_empty.take()
    }

    /// Returns a view of at most `most` objects with keys that start with `prefix`, after the name `after`,
    /// and whether there are more.
    pub fn page<T>(
        &self,
        prefix: &str,
        after: Option<&str>,
        limit: u32,
        view: impl Fn(String, &Object) -> T,
    ) -> (Vec<T>, bool) {
        let objects = self.objects.borrow();
        let limit = usize::try_from(limit).unwrap();
        let from = match after {
            Some(after) => Bound::Excluded(format!("{prefix}{after}")),
            None => Bound::Included(prefix.to_owned()),
        };
        let mut below = objects
            .range((from, Bound::Unbounded))
            .map_while(|(key, object)| Some((key.strip_prefix(prefix)?.to_owned(), object)));
        let page = below.by_ref().take(limit);
        let page = page.map(|(name, object)| view(name, object)).collect();
        (page, below.next().is_some())
    }

    /// Returns the releases of `package`, from the key `cursor` on.
    pub fn releases(&self, package: &Package, cursor: Option<String>) -> ReleasePage {
        let objects = self.objects.borrow();
        let prefix = FactKey::releases_of(package);
        let mut page = ReleasePage::default();
        let from = cursor.unwrap_or_else(|| prefix.clone());
        let rest = objects
            .range(from..)
            .take_while(|(key, _)| key.starts_with(&prefix));
        for (key, object) in rest {
            if page.releases.len() == OBJECTS_PER_LISTING {
                page.cursor = Some(key.clone());
                break;
            }
            let version = FactKey::version_in(key).expect("a release's key");
            let metadata = |name: &str| {
                let found = object.metadata.iter().find(|(known, _)| known == name);
                found.map(|(_, value)| value.as_str())
            };
            let stored_at = UnixTime(object.written_ms / 1_000);
            let listed =
                ListedRelease::from_metadata(package, version.clone(), stored_at, metadata);
            page.releases.push((version, listed));
        }
        page
    }
}
