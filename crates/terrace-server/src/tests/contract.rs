//! The contracts of [`terrace_app::host`], as tests that every store has to pass.
//!
//! Each function takes an empty store. `contract_tests!` makes a test of each.

use std::collections::BTreeMap;
use std::future::ready;
use std::io;

use bytes::Bytes;
use futures_util::{StreamExt as _, stream};
use terrace_app::host::{
    Archives, Condition, Facts, Indices, Inflated, Payload, Stored, UNSIZED_CHUNK_BYTES, Uploads,
};
use terrace_archive::ArchiveFormat;
use terrace_base::digest::{Sha256, Sha512};
use terrace_core::http::reply::Body;
use terrace_core::model::oci::{Digest, RepositoryName, Tag, UploadId};
use terrace_core::model::package::Package;
use terrace_core::read::{IndexForm, StoredIndex};
use terrace_core::storage::index_document::{IndexDocument, IndexMetadata};
use terrace_core::storage::key::{
    ArchiveKey, ArchiveKind, BytesKey, ChunkKey, FactKey, IndexKey, PushedFact, UPLOADS,
};

use crate::stream::ByteStream;

/// Makes tests of the contracts of a bucket, or of indices. `$open` returns a store and something that must outlive it.
macro_rules! contract_tests {
    (bucket: $open:expr) => {
        $crate::contract::contract_tests! { $open =>
            a_document_is_created_only_once,
            one_of_many_creators_succeeds,
            an_unchanged_document_is_replaced,
            no_concurrent_change_is_lost,
            each_write_has_its_own_revision,
            a_removed_document_can_be_created_again,
            a_list_has_the_metadata_of_each_document,
            a_list_is_in_the_order_of_keys_and_split_into_pages,
            bytes_are_stored_and_read_in_parts,
            a_read_ends_with_the_object,
            bytes_with_another_digest_are_not_stored,
            stored_bytes_are_listed,
            a_member_is_inflated_up_to_a_limit,
            an_upload_is_assembled_from_its_chunks,
            an_empty_upload_has_no_chunks,
        }
    };
    (indices: $open:expr) => {
        $crate::contract::contract_tests! { $open =>
            an_index_is_read_in_the_form_that_is_asked_for,
            keys_of_indices_are_listed_in_order,
        }
    };
    ($open:expr => $($contract:ident),+ $(,)?) => {
        $(
            #[tokio::test]
            async fn $contract() {
                let (store, _kept) = $open;
                crate::contract::$contract(&store).await;
            }
        )+
    };
}
pub(crate) use contract_tests;

/// Returns a short document's key, by a number.
fn fact(number: u64) -> FactKey {
    FactKey::Audit(number)
}

fn module() -> Package {
    Package::Module("acme/vpc/aws".parse().unwrap())
}

async fn put<S: Facts>(store: &S, key: &FactKey, text: &str, condition: Condition) -> bool {
    let written = store.put(key, text, &[], condition).await.unwrap();
    written.is_some()
}

async fn put_with<S: Facts>(store: &S, key: &FactKey, text: &str, metadata: &[(&str, String)]) {
    let written = store.put(key, text, metadata, Condition::Any).await;
    written.unwrap().unwrap();
}

async fn text<S: Facts>(store: &S, key: &FactKey) -> Option<String> {
    let found = store.get(key).await.unwrap();
    found.map(|found| String::from_utf8(found.bytes).unwrap())
}

async fn etag<S: Facts>(store: &S, key: &FactKey) -> String {
    store.get(key).await.unwrap().unwrap().etag
}

pub(crate) async fn a_document_is_created_only_once<S: Facts>(store: &S) {
    let key = fact(1);
    assert_eq!(text(store, &key).await, None);
    assert_eq!(store.revision(&key).await.unwrap(), None);
    assert!(put(store, &key, "first", Condition::Absent).await);
    assert!(!put(store, &key, "second", Condition::Absent).await);
    assert!(!put(store, &key, "first", Condition::Absent).await);
    assert_eq!(text(store, &key).await.as_deref(), Some("first"));
}

pub(crate) async fn one_of_many_creators_succeeds<S: Facts>(store: &S) {
    let key = fact(1);
    let texts: Vec<String> = (0..20).map(|number| number.to_string()).collect();
    let puts = texts
        .iter()
        .map(|text| put(store, &key, text, Condition::Absent));
    let created = futures_util::future::join_all(puts).await;
    assert_eq!(created.iter().filter(|created| **created).count(), 1);
    let winner = created.iter().position(|created| *created).unwrap();
    assert_eq!(text(store, &key).await, Some(texts[winner].clone()));
}

pub(crate) async fn an_unchanged_document_is_replaced<S: Facts>(store: &S) {
    let key = fact(1);
    let no_etag = Condition::Unchanged(Sha256::of(b"").to_string());
    assert!(!put(store, &key, "a", no_etag).await, "it does not exist");
    assert!(put(store, &key, "a", Condition::Any).await);
    let first = etag(store, &key).await;
    assert!(put(store, &key, "b", Condition::Unchanged(first.clone())).await);
    assert!(!put(store, &key, "c", Condition::Unchanged(first)).await);
    assert_eq!(text(store, &key).await.as_deref(), Some("b"));
}

pub(crate) async fn no_concurrent_change_is_lost<S: Facts>(store: &S) {
    let key = fact(1);
    assert!(put(store, &key, "0", Condition::Absent).await);
    let increment = async || {
        for _ in 0..5 {
            loop {
                let there = store.get(&key).await.unwrap().unwrap();
                let number: u64 = String::from_utf8(there.bytes).unwrap().parse().unwrap();
                let unchanged = Condition::Unchanged(there.etag);
                if put(store, &key, &(number + 1).to_string(), unchanged).await {
                    break;
                }
            }
        }
    };
    futures_util::future::join_all((0..8).map(|_| increment())).await;
    assert_eq!(text(store, &key).await.as_deref(), Some("40"));
}

pub(crate) async fn each_write_has_its_own_revision<S: Facts>(store: &S) {
    let key = fact(1);
    let mut seen = Vec::new();
    for _ in 0..20 {
        let written = store.put(&key, "same", &[], Condition::Any).await.unwrap();
        let revision = store.revision(&key).await.unwrap();
        assert_eq!(written, revision);
        assert!(!seen.contains(&revision));
        seen.push(revision);
    }
}

pub(crate) async fn a_removed_document_can_be_created_again<S: Facts>(store: &S) {
    let key = fact(1);
    store.delete(&key).await.unwrap();
    let metadata = [("name", "value".to_owned())];
    put_with(store, &key, "a", &metadata).await;
    store.delete(&key).await.unwrap();
    store.delete(&key).await.unwrap();
    assert_eq!(text(store, &key).await, None);
    assert!(put(store, &key, "a", Condition::Absent).await);
    let page = store.list("audit/", None, 10).await.unwrap();
    assert_eq!(page.facts.len(), 1);
    assert_eq!(page.facts[0].metadata, []);
}

pub(crate) async fn a_list_has_the_metadata_of_each_document<S: Facts>(store: &S) {
    let written = |number: u64| {
        let long = "ü".repeat(usize::try_from(number).unwrap());
        [("number", number.to_string()), ("text", long)]
    };
    for number in 1..=3 {
        for text in ["old", "new"] {
            put_with(store, &fact(number), text, &written(number)).await;
        }
    }
    put(store, &fact(4), "without", Condition::Absent).await;
    let page = store.list("audit/", None, 10).await.unwrap();
    assert!(!page.is_truncated);
    for (number, listed) in (1..).zip(&page.facts) {
        assert_eq!(listed.name, format!("{number:012}"));
        assert_eq!(listed.etag, etag(store, &fact(number)).await);
        let expected: BTreeMap<String, String> = match number {
            4 => BTreeMap::new(),
            _ => written(number)
                .map(|(name, it)| (name.to_owned(), it))
                .into(),
        };
        assert_eq!(
            listed.metadata.iter().cloned().collect::<BTreeMap<_, _>>(),
            expected
        );
    }
    assert_eq!(page.facts.len(), 4);
}

pub(crate) async fn a_list_is_in_the_order_of_keys_and_split_into_pages<S: Facts>(store: &S) {
    let repository = |name: &str| RepositoryName::parse(name).unwrap();
    let tag = |name: &str, tag: &str| {
        FactKey::Pushed(PushedFact::Tag(repository(name), Tag::parse(tag).unwrap()))
    };
    let long = format!("a/{}", "b".repeat(200));
    let mut keys = vec![FactKey::Format, FactKey::AuditHead, fact(1), fact(2)];
    for name in ["a", "a-b", "a.json/b", "a/b", "a/b/c", "a0", &long] {
        keys.push(FactKey::Pushed(PushedFact::Change(repository(name))));
        keys.extend(["v1", "v-1", "V1", "v"].map(|text| tag(name, text)));
    }
    for key in &keys {
        assert!(put(store, key, "{}", Condition::Absent).await, "{key}");
    }
    let mut names: Vec<String> = keys.iter().map(ToString::to_string).collect();
    names.sort();
    for prefix in [
        "",
        "a",
        "audit",
        "audit/",
        "oci/tags/a",
        "oci/tags/a:",
        "oci/changes/a/",
        "x",
    ] {
        let expected = names.iter().filter_map(|name| name.strip_prefix(prefix));
        let expected: Vec<&str> = expected.collect();
        for limit in [1, 3, 1_000] {
            let mut found: Vec<String> = Vec::new();
            loop {
                let after = found.last().map(String::as_str);
                let page = store.list(prefix, after, limit).await.unwrap();
                assert!(page.facts.len() <= usize::try_from(limit).unwrap());
                found.extend(page.facts.into_iter().map(|fact| fact.name));
                assert_eq!(page.is_truncated, found.len() < expected.len());
                if !page.is_truncated {
                    break;
                }
            }
            assert_eq!(found, expected, "{prefix:?} by {limit}");
        }
    }
}

/// Returns a stream in pieces of this length, which the reader does not choose.
fn streamed(bytes: &[u8], length: usize) -> ByteStream {
    let pieces: Vec<Bytes> = bytes.chunks(length).map(Bytes::copy_from_slice).collect();
    Box::pin(stream::iter(pieces).map(Ok))
}

async fn collected(mut stream: ByteStream) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    while let Some(piece) = stream.next().await {
        bytes.extend_from_slice(&piece?);
    }
    Ok(bytes)
}

/// Returns bytes that do not repeat.
fn noise(length: usize) -> Vec<u8> {
    let mut state = 1_u32;
    let next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        u8::try_from(state >> 24).unwrap()
    };
    std::iter::repeat_with(next).take(length).collect()
}

fn archive(bytes: &[u8]) -> ArchiveKey {
    ArchiveKey::of(bytes, ArchiveKind::Archive(ArchiveFormat::Zip))
}

pub(crate) async fn bytes_are_stored_and_read_in_parts<S: Archives<Stream = ByteStream>>(
    store: &S,
) {
    let bytes = noise(1_000_000);
    let staged = archive(&bytes).staged_for(&module(), &"1.0.0".parse().unwrap());
    for key in [
        BytesKey::Archive(archive(&bytes)),
        BytesKey::Staged(staged),
        BytesKey::Blob(Digest::Sha256(Sha256::of(&bytes))),
        BytesKey::Blob(Digest::Sha512(Sha512::of(&bytes))),
    ] {
        assert_eq!(store.head(key).await.unwrap(), None);
        assert_eq!(store.digest(key).await.unwrap(), None);
        assert!(store.open(key).await.unwrap().is_none());
        assert!(store.open_part(key, 0, 1).await.unwrap().is_none());
        let payload = Payload::Stream(streamed(&bytes, 33_333));
        assert_eq!(store.store(key, payload).await.unwrap(), Stored::Yes);
        let head = store.head(key).await.unwrap().unwrap();
        assert_eq!(head.size, 1_000_000);
        assert!(head.sha256.is_none_or(|it| it == Sha256::of(&bytes)));
        assert_eq!(store.digest(key).await.unwrap(), Some(key.digest()));
        let (length, stream) = store.open(key).await.unwrap().unwrap();
        assert_eq!(length, 1_000_000);
        assert_eq!(collected(stream).await.unwrap(), bytes);
        for (offset, length) in [(0, 10), (999_990, 10), (300_000, 600_000), (1_000_000, 0)] {
            let part = store.open_part(key, offset as u64, length as u64);
            let part = collected(part.await.unwrap().unwrap()).await.unwrap();
            assert_eq!(part, bytes[offset..offset + length]);
        }
        store.discard(key).await.unwrap();
        store.discard(key).await.unwrap();
        assert_eq!(store.head(key).await.unwrap(), None);
    }
}

pub(crate) async fn a_read_ends_with_the_object<S: Archives<Stream = ByteStream>>(store: &S) {
    let bytes = noise(1_000);
    let key = archive(&bytes);
    assert!(store.read(key, 0, 10).await.unwrap().is_empty());
    let stored = store.store(key.into(), Payload::Bytes(bytes.clone()));
    assert_eq!(stored.await.unwrap(), Stored::Yes);
    assert_eq!(store.read(key, 10, 20).await.unwrap(), bytes[10..30]);
    assert_eq!(store.read(key, 990, u64::MAX).await.unwrap(), bytes[990..]);
    assert!(store.read(key, 1_000, 1).await.unwrap().is_empty());
    assert!(store.open_part(key.into(), 990, 11).await.is_err());
}

pub(crate) async fn bytes_with_another_digest_are_not_stored<S: Archives<Stream = ByteStream>>(
    store: &S,
) {
    let key = BytesKey::Archive(archive(b"right"));
    let stored = store.store(key, Payload::Bytes(b"wrong".to_vec())).await;
    assert_eq!(stored.unwrap(), Stored::DigestMismatch);
    let stored = store
        .store(key, Payload::Stream(streamed(b"righ", 2)))
        .await;
    assert_eq!(stored.unwrap(), Stored::DigestMismatch);
    let broken = stream::iter([
        Ok(Bytes::from_static(b"right")),
        Err(io::Error::other("it broke")),
    ]);
    let stored = store.store(key, Payload::Stream(Box::pin(broken))).await;
    stored.unwrap_err();
    assert_eq!(store.head(key).await.unwrap(), None);
    let page = store.list_bytes("", None, 10).await.unwrap();
    assert_eq!(page.objects, []);
}

pub(crate) async fn stored_bytes_are_listed<S: Archives<Stream = ByteStream>>(store: &S) {
    let mut names = Vec::new();
    for number in 0..25_u8 {
        let bytes = vec![number; usize::from(number)];
        let key = archive(&bytes);
        let stored = store.store(key.into(), Payload::Bytes(bytes));
        assert_eq!(stored.await.unwrap(), Stored::Yes);
        names.push((key.file_name(), u64::from(number)));
    }
    let blob = BytesKey::Blob(Digest::Sha256(Sha256::of(b"")));
    store.store(blob, Payload::Bytes(Vec::new())).await.unwrap();
    names.sort();
    let mut found: Vec<(String, u64)> = Vec::new();
    loop {
        let after = found.last().map(|(name, _)| name.as_str());
        let page = store.list_bytes("archives/", after, 10).await.unwrap();
        let objects = page.objects.into_iter();
        found.extend(objects.map(|it| (it.name, it.size)));
        if !page.is_truncated {
            break;
        }
    }
    assert_eq!(found, names);
}

pub(crate) async fn a_member_is_inflated_up_to_a_limit<S: Archives<Stream = ByteStream>>(
    store: &S,
) {
    use std::io::Write as _;
    let contents = vec![7; 100_000];
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(&contents).unwrap();
    let member = encoder.finish().unwrap();
    let length = u32::try_from(member.len()).unwrap();
    let bytes = [b"before".as_slice(), &member, b"after"].concat();
    let key = archive(&bytes);
    let inflate = async |length, limit| store.inflate(key, 6, length, limit).await.unwrap();
    assert_eq!(inflate(length, 100_000).await, Inflated::Missing);
    store
        .store(key.into(), Payload::Bytes(bytes))
        .await
        .unwrap();
    assert_eq!(inflate(length, 100_000).await, Inflated::Contents(contents));
    assert_eq!(inflate(length, 99_999).await, Inflated::TooLong);
    assert_eq!(inflate(length - 1, 100_000).await, Inflated::Damaged);
    assert_eq!(inflate(length + 1, 100_000).await, Inflated::Damaged);
    assert_eq!(inflate(u32::MAX, 100_000).await, Inflated::Damaged);
    assert_eq!(
        store.inflate(key, 0, length, 9).await.unwrap(),
        Inflated::Damaged
    );
}

fn upload(number: u8) -> UploadId {
    UploadId::new(terrace_base::time::UnixTime(1_800_000_000), [number; 16])
}

pub(crate) async fn an_upload_is_assembled_from_its_chunks<S>(store: &S)
where
    S: Facts + Archives<Stream = ByteStream> + Uploads<Stream = ByteStream>,
{
    let bytes = noise(2 * usize::try_from(UNSIZED_CHUNK_BYTES).unwrap() + 1_000);
    let first = ChunkKey {
        upload: upload(1),
        offset: 0,
        writer: 7,
    };
    let session = FactKey::Pushed(PushedFact::Upload(first.upload));
    assert!(put(store, &session, "{}", Condition::Absent).await);
    let lengths = store.store_chunks(first, streamed(&bytes, 100_001));
    let lengths = lengths.await.unwrap();
    let chunk = u64::from(UNSIZED_CHUNK_BYTES);
    assert_eq!(lengths, [chunk, chunk, 1_000]);
    let last = ChunkKey {
        offset: 2 * chunk + 1_000,
        ..first
    };
    let payload = Payload::Bytes(b"the end".to_vec());
    store.store_chunk(last, payload).await.unwrap();
    let mut chunks: Vec<(ChunkKey, u64)> = Vec::new();
    for (offset, length) in [0, chunk, 2 * chunk].into_iter().zip(lengths) {
        chunks.push((ChunkKey { offset, ..first }, length));
    }
    chunks.push((last, 7));
    let whole = [bytes.as_slice(), b"the end"].concat();
    let digest = Digest::Sha512(Sha512::of(&whole));
    let wrong = Digest::Sha256(Sha256::of(&bytes));
    let assembled = store.assemble(&chunks, wrong).await.unwrap();
    assert_eq!(assembled, Some(Stored::DigestMismatch));
    let mut lacking = chunks.clone();
    lacking[1].1 -= 1;
    assert_eq!(store.assemble(&lacking, digest).await.unwrap(), None);
    lacking[1].0.writer = 8;
    assert_eq!(store.assemble(&lacking, digest).await.unwrap(), None);
    assert_eq!(store.head(BytesKey::Blob(digest)).await.unwrap(), None);
    let assembled = store.assemble(&chunks, digest).await.unwrap();
    assert_eq!(assembled, Some(Stored::Yes));
    let (_, stream) = store.open(BytesKey::Blob(digest)).await.unwrap().unwrap();
    assert_eq!(collected(stream).await.unwrap(), whole);
    // The sweep of abandoned uploads lists documents and chunks together.
    let page = store.list(UPLOADS, None, 100).await.unwrap();
    let names: Vec<String> = page.facts.into_iter().map(|fact| fact.name).collect();
    let mut expected: Vec<String> = chunks.iter().map(|(key, _)| key.name()).collect();
    expected.push(upload(1).to_string());
    expected.sort();
    assert_eq!(names, expected);
    store.remove(names.clone()).await.unwrap();
    store.remove(names).await.unwrap();
    assert_eq!(store.list(UPLOADS, None, 100).await.unwrap().facts.len(), 0);
}

pub(crate) async fn an_empty_upload_has_no_chunks<S: Uploads<Stream = ByteStream>>(store: &S) {
    let first = ChunkKey {
        upload: upload(1),
        offset: 0,
        writer: 7,
    };
    let empty = Box::pin(stream::once(ready(Ok(Bytes::new()))));
    assert!(store.store_chunks(first, empty).await.unwrap().is_empty());
    let empty = Digest::Sha256(Sha256::of(b""));
    let assembled = store.assemble(&[], empty).await.unwrap();
    assert_eq!(assembled, Some(Stored::Yes));
}

pub(crate) fn index(text: &str) -> IndexDocument {
    IndexDocument {
        text: text.to_owned(),
        metadata: IndexMetadata {
            revoked: Some("a reason".to_owned()),
            is_blocked: true,
            etag: format!("\"{text}\""),
            content: None,
            pull: None,
        },
    }
}

/// Returns an index as text, whatever its form.
async fn index_text(found: StoredIndex<ByteStream>) -> String {
    let text = match found.body {
        Body::Text(text) => text,
        Body::Stream(stream) => String::from_utf8(collected(stream).await.unwrap()).unwrap(),
        Body::Empty => panic!("an index has a body"),
    };
    assert_eq!(found.metadata, index(&text).metadata);
    text
}

pub(crate) async fn an_index_is_read_in_the_form_that_is_asked_for<S>(store: &S)
where
    S: Indices<Stream = ByteStream>,
{
    let key = IndexKey::Revocations;
    let get = async |form| store.get(&key, form, 60).await.unwrap();
    assert!(get(IndexForm::Text).await.is_none());
    for text in ["first", "second"] {
        store.put(&key, &index(text)).await.unwrap();
        let found = get(IndexForm::Text).await.unwrap();
        assert!(matches!(found.body, Body::Text(_)));
        assert_eq!(index_text(found).await, text);
        let found = get(IndexForm::Stream).await.unwrap();
        assert!(matches!(found.body, Body::Stream(_)));
        assert_eq!(index_text(found).await, text);
    }
    store.put(&IndexKey::Rules, &index("rules")).await.unwrap();
    store.delete(&key).await.unwrap();
    store.delete(&key).await.unwrap();
    let found = store.get_all(&[&key, &IndexKey::Rules], 60).await.unwrap();
    let Ok([None, Some(rules)]) = <[_; 2]>::try_from(found) else {
        panic!("only the second index exists");
    };
    assert_eq!(index_text(rules).await, "rules");
}

pub(crate) async fn keys_of_indices_are_listed_in_order<S: Indices<Stream = ByteStream>>(
    store: &S,
) {
    let mut keys = Vec::new();
    for number in 0..1_050 {
        let version = format!("1.{number}.0").parse().unwrap();
        let key = IndexKey::Version(module(), version);
        store.put(&key, &index("x")).await.unwrap();
        keys.push(key.to_string());
    }
    store.put(&IndexKey::Rules, &index("x")).await.unwrap();
    keys.sort();
    let (mut found, mut cursor) = (Vec::new(), None);
    loop {
        let page = store.list_keys("modules/", cursor).await.unwrap();
        assert!(page.keys.len() <= 1_000);
        found.extend(page.keys);
        cursor = page.cursor;
        if cursor.is_none() {
            break;
        }
    }
    assert_eq!(found, keys);
}
