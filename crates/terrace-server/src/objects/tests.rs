//! The contracts of storage, of an object store in memory, and the probe of stores.

use std::sync::Arc;

use futures_util::StreamExt as _;
use futures_util::stream::BoxStream;
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{
    CopyOptions, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta, ObjectStore,
    PutMode, PutMultipartOptions, PutOptions, PutPayload, PutResult, Result,
};
use tempfile::TempDir;
use terrace_app::host::{Condition, Facts as _};
use terrace_core::storage::key::FactKey;

use super::{ObjectStorage, OpenError};
use crate::contract::contract_tests;

async fn open() -> (ObjectStorage, TempDir) {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("indices.redb");
    let opened = ObjectStorage::open(Arc::new(InMemory::new()), &file).await;
    (opened.unwrap(), place)
}

contract_tests! { open().await =>
    a_document_is_created_only_once,
    one_of_many_creators_succeeds,
    an_unchanged_document_is_replaced,
    no_concurrent_change_is_lost,
    each_write_has_its_own_revision,
    a_removed_document_can_be_created_again,
    a_list_has_the_metadata_of_each_document,
    a_list_is_in_the_order_of_keys_and_split_into_pages,
    the_releases_of_a_package_are_listed_with_their_entries,
    bytes_are_stored_and_read_in_parts,
    a_read_ends_with_the_object,
    bytes_with_another_digest_are_not_stored,
    stored_bytes_are_listed,
    a_member_is_inflated_up_to_a_limit,
    an_upload_is_assembled_from_its_chunks,
    an_empty_upload_has_no_chunks,
}

/// A store that ignores conditions of one kind, as stores do that do not know the header.
#[derive(Debug)]
struct Careless {
    store: InMemory,
    ignored: Ignored,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ignored {
    Creation,
    Change,
}

impl std::fmt::Display for Careless {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a careless store")
    }
}

#[async_trait::async_trait]
impl ObjectStore for Careless {
    async fn put_opts(
        &self,
        location: &Path,
        payload: PutPayload,
        mut options: PutOptions,
    ) -> Result<PutResult> {
        let is_ignored = match &options.mode {
            PutMode::Create => self.ignored == Ignored::Creation,
            PutMode::Update(_) => self.ignored == Ignored::Change,
            PutMode::Overwrite => false,
        };
        if is_ignored {
            options.mode = PutMode::Overwrite;
        }
        self.store.put_opts(location, payload, options).await
    }

    async fn put_multipart_opts(
        &self,
        location: &Path,
        options: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        self.store.put_multipart_opts(location, options).await
    }

    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        self.store.get_opts(location, options).await
    }

    fn delete_stream(
        &self,
        locations: BoxStream<'static, Result<Path>>,
    ) -> BoxStream<'static, Result<Path>> {
        self.store.delete_stream(locations)
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        self.store.list(prefix)
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        self.store.list_with_delimiter(prefix).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.store.copy_opts(from, to, options).await
    }
}

#[tokio::test]
async fn a_store_that_ignores_conditions_is_refused() {
    for ignored in [Ignored::Creation, Ignored::Change] {
        let place = tempfile::tempdir().unwrap();
        let careless = Careless {
            store: InMemory::new(),
            ignored,
        };
        let store: Arc<dyn ObjectStore> = Arc::new(careless);
        let file = place.path().join("indices.redb");
        let refused = ObjectStorage::open(Arc::clone(&store), &file).await;
        let Err(error @ OpenError::Unconditional { .. }) = refused else {
            panic!("{ignored:?}: {refused:?}");
        };
        assert!(
            error
                .to_string()
                .starts_with("a careless store cannot be used: it has replaced")
        );
        assert_eq!(
            store.list(None).count().await,
            0,
            "the probe leaves nothing"
        );
    }
}

#[tokio::test]
async fn metadata_are_found_by_another_process_without_the_local_file() {
    let store = Arc::new(InMemory::new());
    let listed = async |of: &str| {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("indices.redb");
        let objects = ObjectStorage::open(Arc::clone(&store) as _, &file)
            .await
            .unwrap();
        let metadata = [("at", "7".to_owned())];
        let key = FactKey::Audit(1);
        if of == "the writer" {
            let put = objects.put(&key, "{}", &metadata, Condition::Absent);
            put.await.unwrap().unwrap();
        }
        let page = objects.list("audit/", None, 10).await.unwrap();
        page.facts
            .into_iter()
            .map(|fact| fact.metadata)
            .collect::<Vec<_>>()
    };
    let expected = vec![vec![("at".to_owned(), "7".to_owned())]];
    assert_eq!(listed("the writer").await, expected);
    assert_eq!(listed("another process").await, expected);
}
