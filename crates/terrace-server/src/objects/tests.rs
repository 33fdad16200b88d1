//! The contracts of storage, of an object store in memory.

use std::sync::Arc;

use futures_util::StreamExt as _;
use object_store::ObjectStore;
use object_store::memory::InMemory;
use terrace_app::host::{Condition, Facts, Indices};
use terrace_core::http::reply::Body;
use terrace_core::model::package::Package;
use terrace_core::read::IndexForm;
use terrace_core::storage::key::{FactKey, IndexKey, Lease};

use super::{LocalPlace, ObjectStorage};
use crate::contract::contract_tests;
use crate::stores::{Bucket as _, OpenError};

async fn open() -> (ObjectStorage, ()) {
    (process(&shared()).await, ())
}

fn shared() -> Arc<dyn ObjectStore> {
    Arc::new(InMemory::new())
}

/// Returns the storage of a process that shares a store with others.
async fn process(store: &Arc<dyn ObjectStore>) -> ObjectStorage {
    let opened = ObjectStorage::open(Arc::clone(store).into(), LocalPlace::Temporary).await;
    opened.unwrap()
}

contract_tests! { bucket: open().await }

#[tokio::test]
async fn metadata_are_found_by_another_process_without_the_local_file() {
    let store = shared();
    let listed = async |of: &str| {
        let objects = process(&store).await;
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

fn package() -> Package {
    Package::parse_key("modules/acme/vpc/aws").unwrap()
}

/// Changes the marker of the package, as the last step of a change.
async fn commit(objects: &ObjectStorage, marker: &str) {
    let key = FactKey::Change(package());
    let put = Facts::put(objects, &key, marker, &[], Condition::Any).await;
    put.unwrap().unwrap();
}

async fn index(objects: &ObjectStorage, key: &IndexKey) {
    let document = crate::contract::index("{}");
    objects.indices().put(key, &document).await.unwrap();
}

async fn is_indexed(objects: &ObjectStorage, key: &IndexKey) -> bool {
    let indices = objects.indices();
    let found = indices.get(key, IndexForm::Text, 0).await.unwrap();
    found.is_some_and(|found| matches!(found.body, Body::Text(_)))
}

#[tokio::test]
async fn a_change_of_another_process_removes_the_indices_that_follow_from_it() {
    let store = shared();
    let (ours, theirs) = (process(&store).await, process(&store).await);
    let versions = IndexKey::Versions(package());
    let other = IndexKey::Versions(Package::parse_key("modules/acme/vpc/gcp").unwrap());
    commit(&theirs, "1").await;
    ours.look().await.unwrap();
    for key in [&versions, &other] {
        index(&ours, key).await;
    }
    ours.look().await.unwrap();
    assert!(is_indexed(&ours, &versions).await);
    commit(&theirs, "2").await;
    assert!(is_indexed(&ours, &versions).await);
    ours.look().await.unwrap();
    assert!(!is_indexed(&ours, &versions).await);
    assert!(is_indexed(&ours, &other).await);
}

#[tokio::test]
async fn the_indices_of_its_own_change_stay() {
    let ours = process(&shared()).await;
    let versions = IndexKey::Versions(package());
    for marker in ["1", "2", "3"] {
        commit(&ours, marker).await;
        index(&ours, &versions).await;
        ours.look().await.unwrap();
        assert!(is_indexed(&ours, &versions).await);
    }
}

/// A revocation by another process, and then a publish by this one, which writes no index of the revoked version.
#[tokio::test]
async fn its_own_change_does_not_hide_that_of_another_process() {
    let store = shared();
    let (ours, theirs) = (process(&store).await, process(&store).await);
    let version = IndexKey::Version(package(), "1.0.0".parse().unwrap());
    commit(&ours, "1").await;
    index(&ours, &version).await;
    commit(&theirs, "2").await;
    commit(&ours, "3").await;
    ours.look().await.unwrap();
    assert!(!is_indexed(&ours, &version).await);
    theirs.look().await.unwrap();
    index(&theirs, &version).await;
    theirs.look().await.unwrap();
    assert!(is_indexed(&theirs, &version).await);
}

#[tokio::test]
async fn documents_about_indices_are_those_of_the_process() {
    let store = shared();
    let (ours, theirs) = (process(&store).await, process(&store).await);
    for key in [
        FactKey::RepairCursor,
        FactKey::Lease(Lease::Catalog),
        FactKey::Written(IndexKey::MergedCatalog(1)),
    ] {
        let put = Facts::put(&ours, &key, "{}", &[], Condition::Absent).await;
        let revision = put.unwrap();
        assert!(revision.is_some());
        assert_eq!(ours.revision(&key).await.unwrap(), revision);
        assert!(Facts::get(&theirs, &key).await.unwrap().is_none(), "{key}");
        Facts::delete(&ours, &key).await.unwrap();
        assert!(Facts::get(&ours, &key).await.unwrap().is_none(), "{key}");
    }
    assert_eq!(store.list(None).count().await, 0);
}

#[tokio::test]
async fn metadata_that_no_header_can_contain_are_computed_from_the_document() {
    let store = shared();
    let rule = FactKey::parse("rules/0123456789abcdef").unwrap();
    let document = r#"{"kind":"role","rule":"{\"claims\":{\"sub\":\"*\"},\"scopes\":[\"read\"]}","created":1,"by":"root"}"#;
    let expected = crate::index::documents::metadata_of(&rule.to_string(), document.as_bytes());
    assert!(!expected.is_empty(), "an active rule has metadata");
    let listed = async |objects: ObjectStorage| {
        let page = Facts::list(&objects, "rules/", None, 10).await.unwrap();
        let mut facts = page.facts.into_iter();
        facts.next().map(|fact| fact.metadata).unwrap()
    };
    for value in ["é".to_owned(), " x".to_owned(), "x".repeat(2_048)] {
        let ours = process(&store).await;
        let metadata = [("rule", value.clone())];
        let put = Facts::put(&ours, &rule, document, &metadata, Condition::Any).await;
        put.unwrap().unwrap();
        assert_eq!(listed(ours).await, [("rule".to_owned(), value)]);
        assert_eq!(listed(process(&store).await).await, expected);
    }
}

#[tokio::test]
async fn a_list_begins_at_its_prefix() {
    let ours = process(&shared()).await;
    for repository in ["acme/app", "acme/app-2", "acme/app2", "acme/zoo"] {
        let key = FactKey::parse(&format!("oci/tags/{repository}:1.0.0")).unwrap();
        let put = Facts::put(&ours, &key, "{}", &[], Condition::Absent).await;
        put.unwrap().unwrap();
    }
    let names = async |prefix: &str, after: Option<&str>| -> Vec<String> {
        let page = Facts::list(&ours, prefix, after, 10).await.unwrap();
        page.facts.into_iter().map(|fact| fact.name).collect()
    };
    assert_eq!(names("oci/tags/acme/app2:", None).await, ["1.0.0"]);
    assert_eq!(names("oci/tags/acme/app2:1.0.0", None).await, [""]);
    assert_eq!(names("oci/tags/acme/a", None).await.len(), 3);
    let rest = names("oci/tags/", Some("acme/app2:")).await;
    assert_eq!(
        rest,
        ["acme/app2:1.0.0", "acme/app:1.0.0", "acme/zoo:1.0.0"]
    );
    let rest = names("oci/tags/acme/", Some("app/")).await;
    assert_eq!(rest, ["app2:1.0.0", "app:1.0.0", "zoo:1.0.0"]);
}

#[tokio::test]
async fn a_directory_with_a_registry_or_another_process_is_refused() {
    let place = tempfile::tempdir().unwrap();
    let local = LocalPlace::Directory(place.path());
    let refused = async || match ObjectStorage::open(shared().into(), local).await {
        Err(OpenError::Unsuitable(reason)) => reason,
        other => panic!("{other:?}"),
    };
    let first = ObjectStorage::open(shared().into(), local).await.unwrap();
    assert!(refused().await.contains("is in use by the process"));
    drop(first);
    std::fs::create_dir(place.path().join("facts")).unwrap();
    assert!(refused().await.contains("contains a registry"));
}
