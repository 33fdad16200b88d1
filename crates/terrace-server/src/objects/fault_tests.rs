//! An object store of which some operations fail.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use futures_util::StreamExt as _;
use futures_util::stream::{self, BoxStream};
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{
    CopyOptions, Error, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta,
    ObjectStore, PutMode, PutMultipartOptions, PutOptions, PutPayload, PutResult, Result,
    UploadPart,
};
use terrace_app::host::{Archives as _, Condition, Facts, Indices as _, Payload, StoreError};
use terrace_base::digest::Sha256;
use terrace_core::http::reply::Body;
use terrace_core::model::oci::{Digest, RepositoryName};
use terrace_core::read::IndexForm;
use terrace_core::storage::key::{BytesKey, FactKey, IndexKey, PushedFact, PushedIndex};

use super::{LocalPlace, ObjectStorage};
use crate::stores::{Bucket as _, OpenError};
use crate::stream::ByteStream;

/// The operation that fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Broken {
    /// The completion of an upload in parts.
    Completion,
    /// The list of the objects below a path.
    List(&'static str),
    /// The replacement of an object without a condition: the bucket was removed.
    Replacement,
    /// A write that must create an object: the condition is ignored, as by stores that do not know the header.
    Creation,
    /// A write that must change a known object: the condition is ignored.
    Change,
}

/// A store with one operation that fails.
#[derive(Debug)]
struct Faulty {
    store: InMemory,
    broken: Broken,
    aborted: Arc<AtomicUsize>,
}

impl Faulty {
    fn new(broken: Broken) -> Arc<Self> {
        Arc::new(Self {
            store: InMemory::new(),
            broken,
            aborted: Arc::default(),
        })
    }
}

fn broken() -> Error {
    Error::Generic {
        store: "faulty",
        source: "the operation is broken".into(),
    }
}

impl std::fmt::Display for Faulty {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a faulty store")
    }
}

/// An upload whose completion may fail.
#[derive(Debug)]
struct Upload {
    upload: Box<dyn MultipartUpload>,
    is_broken: bool,
    aborted: Arc<AtomicUsize>,
}

#[async_trait::async_trait]
impl MultipartUpload for Upload {
    fn put_part(&mut self, data: PutPayload) -> UploadPart {
        self.upload.put_part(data)
    }

    async fn complete(&mut self) -> Result<PutResult> {
        match self.is_broken {
            true => Err(broken()),
            false => self.upload.complete().await,
        }
    }

    async fn abort(&mut self) -> Result<()> {
        self.aborted.fetch_add(1, Ordering::SeqCst);
        self.upload.abort().await
    }
}

#[async_trait::async_trait]
impl ObjectStore for Faulty {
    async fn put_opts(
        &self,
        location: &Path,
        payload: PutPayload,
        mut options: PutOptions,
    ) -> Result<PutResult> {
        match (self.broken, &options.mode) {
            (Broken::Creation, PutMode::Create) | (Broken::Change, PutMode::Update(_)) => {
                options.mode = PutMode::Overwrite;
                self.store.put_opts(location, payload, options).await
            }
            (Broken::Replacement, PutMode::Overwrite) => Err(Error::NotFound {
                path: location.to_string(),
                source: "the bucket does not exist".into(),
            }),
            _ => self.store.put_opts(location, payload, options).await,
        }
    }

    async fn put_multipart_opts(
        &self,
        location: &Path,
        options: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        let upload = self.store.put_multipart_opts(location, options).await?;
        Ok(Box::new(Upload {
            upload,
            is_broken: self.broken == Broken::Completion,
            aborted: Arc::clone(&self.aborted),
        }))
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
        match (self.broken, prefix) {
            (Broken::List(path), Some(prefix)) if prefix.as_ref() == path => {
                stream::once(async { Err(broken()) }).boxed()
            }
            _ => self.store.list(prefix),
        }
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        self.store.list_with_delimiter(prefix).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.store.copy_opts(from, to, options).await
    }
}

async fn process(store: &Arc<Faulty>) -> ObjectStorage {
    let store: Arc<dyn ObjectStore> = Arc::clone(store) as _;
    let opened = ObjectStorage::open(store.into(), LocalPlace::Temporary).await;
    opened.unwrap()
}

/// Stores a blob of several parts that has, or has not, its digest. Returns whether that succeeded, and the number of uploads
/// that were given up.
async fn stored(broken: Broken, is_intact: bool) -> (std::result::Result<(), StoreError>, usize) {
    let store = Faulty::new(broken);
    let objects = process(&store).await;
    let pieces = || (0..3).map(|piece| Bytes::from(vec![piece; 8 * 1024 * 1024]));
    let mut whole: Vec<u8> = pieces().flatten().collect();
    if !is_intact {
        whole.push(0);
    }
    let digest = Digest::Sha256(Sha256::of(&whole));
    let arriving: ByteStream = Box::pin(stream::iter(pieces().map(Ok)));
    let stored = objects.store(BytesKey::Blob(digest), Payload::Stream(arriving));
    let result = stored.await;
    (result.map(drop), store.aborted.load(Ordering::SeqCst))
}

#[tokio::test]
async fn an_upload_that_cannot_be_completed_is_given_up() {
    let (result, aborted) = stored(Broken::Completion, true).await;
    let error = result.unwrap_err().to_string();
    assert!(error.contains("the operation is broken"), "{error}");
    assert_eq!(aborted, 1);
    assert!(matches!(stored(Broken::List(""), true).await, (Ok(()), 0)));
    assert!(matches!(stored(Broken::List(""), false).await, (Ok(()), 1)));
}

#[tokio::test]
async fn changes_of_repositories_are_seen_although_those_of_packages_cannot_be_listed() {
    let store = Faulty::new(Broken::List("changes"));
    let (ours, theirs) = (process(&store).await, process(&store).await);
    let repository = RepositoryName::parse("acme/app").unwrap();
    let key = IndexKey::Pushed(PushedIndex::Tags(repository.clone()));
    let document = crate::contract::index("{}");
    ours.indices().put(&key, &document).await.unwrap();
    let marker = FactKey::Pushed(PushedFact::Change(repository));
    let put = Facts::put(&theirs, &marker, "1", &[], Condition::Any).await;
    put.unwrap().unwrap();
    let error = ours.look().await.unwrap_err().to_string();
    assert!(error.contains("list changes/"), "{error}");
    let found = ours.indices().get(&key, IndexForm::Text, 0).await.unwrap();
    assert!(found.is_none_or(|found| !matches!(found.body, Body::Text(_))));
}

#[tokio::test]
async fn a_replacement_that_the_store_refuses_is_an_error_and_not_an_unmet_condition() {
    let store = Faulty::new(Broken::Replacement);
    let (ours, theirs) = (process(&store).await, process(&store).await);
    let marker = FactKey::Pushed(PushedFact::Change(
        RepositoryName::parse("acme/app").unwrap(),
    ));
    let put = async |objects| Facts::put(objects, &marker, "1", &[], Condition::Any).await;
    assert!(put(&ours).await.unwrap().is_some());
    let error = put(&theirs).await.unwrap_err().to_string();
    assert!(error.contains("does not exist"), "{error}");
}

#[tokio::test]
async fn a_store_that_ignores_conditions_is_refused() {
    for broken in [Broken::Creation, Broken::Change] {
        let store: Arc<dyn ObjectStore> = Faulty::new(broken);
        let opened = ObjectStorage::open(Arc::clone(&store).into(), LocalPlace::Temporary).await;
        let Err(OpenError::Unsuitable(reason)) = opened else {
            panic!("{broken:?}: {opened:?}");
        };
        let told = "a faulty store cannot be used: it has replaced";
        assert!(reason.starts_with(told), "{reason}");
        assert_eq!(
            store.list(None).count().await,
            0,
            "the probe leaves nothing"
        );
    }
}
