//! Directories and processes: the lock, kills and restarts.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};

use terrace_app::host::{Archives as _, Condition, Facts as _, Indices as _, Payload, Stored};
use terrace_archive::ArchiveFormat;
use terrace_base::time::UnixTime;
use terrace_core::auth::access::RevocationDocument;
use terrace_core::read::IndexForm;
use terrace_core::storage::key::{ArchiveKey, ArchiveKind, FactKey, IndexKey, Lease};

use super::Directory;
use crate::stores::OpenError;

/// The variable that tells the child process its directory.
const CHILD: &str = "TERRACE_TEST_DIRECTORY";

fn archive_of(number: u64) -> (ArchiveKey, Vec<u8>) {
    let bytes = number.to_string().repeat(10_000).into_bytes();
    let key = ArchiveKey::of(&bytes, ArchiveKind::Archive(ArchiveFormat::Zip));
    (key, bytes)
}

/// Writes until it is killed, and prints the number of each round that is acknowledged.
#[tokio::test]
async fn child_that_writes() {
    let Some(place) = std::env::var_os(CHILD) else {
        return;
    };
    let directory = Directory::open(Path::new(&place)).unwrap();
    let counter = FactKey::AuditHead;
    for number in 0_u64.. {
        let there = directory.get(&counter).await.unwrap();
        let (condition, last) = match there {
            None => (Condition::Absent, 0),
            Some(fact) => {
                let last = String::from_utf8(fact.bytes).unwrap().parse().unwrap();
                (Condition::Unchanged(fact.etag), last)
            }
        };
        let next: u64 = last + 1;
        let (key, bytes) = archive_of(next);
        let stored = directory.store(key.into(), Payload::Bytes(bytes)).await;
        assert_eq!(stored.unwrap(), Stored::Yes);
        let metadata = [("at", next.to_string())];
        let text = format!("entry {next}");
        let entry = FactKey::Audit(next);
        let put = directory.put(&entry, &text, &metadata, Condition::Any);
        put.await.unwrap().unwrap();
        let text = next.to_string();
        let put = directory.put(&counter, &text, &[], condition);
        put.await.unwrap().unwrap();
        let mut output = std::io::stdout();
        writeln!(output, "acknowledged {next}").unwrap();
        output.flush().unwrap();
        assert!(number < 1_000_000, "the parent process is gone");
    }
}

#[tokio::test]
async fn a_killed_process_loses_nothing_that_it_acknowledged() {
    let place = tempfile::tempdir().unwrap();
    let mut acknowledged = 0;
    for round in 1..=4 {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args([
                "--exact",
                "disk::process_tests::child_that_writes",
                "--nocapture",
            ])
            .env(CHILD, place.path())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut count = 0;
        for line in lines {
            let line = line.unwrap();
            let Some((_, number)) = line.split_once("acknowledged ") else {
                continue;
            };
            acknowledged = number.parse().unwrap();
            count += 1;
            if count == 5 * round {
                // The child goes on meanwhile.
                std::thread::sleep(std::time::Duration::from_millis(7 * round));
                child.kill().unwrap();
            }
        }
        assert!(!child.wait().unwrap().success());
        let directory = Directory::open(place.path()).unwrap();
        let left = fs::read_dir(place.path().join(super::layout::NEW)).unwrap();
        assert_eq!(left.count(), 0);
        let counter = directory.get(&FactKey::AuditHead).await.unwrap().unwrap();
        let counter: u64 = String::from_utf8(counter.bytes).unwrap().parse().unwrap();
        assert!(counter >= acknowledged, "{counter} of {acknowledged}");
        let page = directory.list("audit/", None, 10_000).await.unwrap();
        for (number, listed) in (1..=acknowledged).zip(&page.facts) {
            assert_eq!(listed.name, format!("{number:012}"));
            let at = ("at".to_owned(), number.to_string());
            assert_eq!(listed.metadata, [at]);
            let fact = directory.get(&FactKey::Audit(number)).await.unwrap();
            assert_eq!(fact.unwrap().bytes, format!("entry {number}").into_bytes());
            let (key, _) = archive_of(number);
            let digest = directory.digest(key.into()).await.unwrap();
            assert_eq!(
                digest,
                Some(terrace_core::model::oci::Digest::Sha256(key.digest))
            );
        }
        assert!(page.facts.len() as u64 >= acknowledged);
    }
}

#[test]
fn a_directory_in_use_is_refused_with_the_id_of_its_process() {
    let place = tempfile::tempdir().unwrap();
    let first = Directory::open(place.path()).unwrap();
    let Err(OpenError::Unsuitable(reason)) = Directory::open(place.path()) else {
        panic!("it is in use");
    };
    let holder = format!("is in use by the process {}:", std::process::id());
    assert!(reason.contains(&holder), "{reason}");
    fs::remove_file(place.path().join(super::layout::LOCK)).unwrap();
    let error = Directory::open(place.path()).unwrap_err();
    assert!(error.to_string().contains("another process"), "{error}");
    drop(first);
    Directory::open(place.path()).unwrap();
}

/// Returns whether the index that an earlier process has written is there.
async fn has_index(place: &Path) -> bool {
    let directory = Directory::open(place).unwrap();
    let found = directory
        .indices()
        .get(&IndexKey::Rules, IndexForm::Text, 60)
        .await;
    found.unwrap().is_some()
}

/// Writes an index, and ends the use of the directory in this way.
async fn write_index(place: &Path, is_closed: bool) {
    let directory = Directory::open(place).unwrap();
    let indices = directory.indices();
    let index = crate::contract::index("text");
    indices.put(&IndexKey::Rules, &index).await.unwrap();
    if is_closed {
        directory.close().unwrap();
    }
}

#[tokio::test]
async fn indices_are_kept_only_if_the_directory_was_closed() {
    let place = tempfile::tempdir().unwrap();
    write_index(place.path(), true).await;
    assert!(has_index(place.path()).await);
    // That process did not close it.
    assert!(!has_index(place.path()).await);
    write_index(place.path(), false).await;
    assert!(!has_index(place.path()).await);
}

#[tokio::test]
async fn a_damaged_or_missing_file_of_indices_is_replaced_by_an_empty_one() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join(super::layout::INDICES);
    for bytes in [None, Some(b"".to_vec()), Some(vec![7; 10_000])] {
        write_index(place.path(), true).await;
        match bytes {
            Some(bytes) => fs::write(&file, bytes).unwrap(),
            None => fs::remove_file(&file).unwrap(),
        }
        assert!(!has_index(place.path()).await);
    }
}

#[tokio::test]
async fn a_copy_is_served_as_it_is() {
    let place = tempfile::tempdir().unwrap();
    let write = |path: &str, text: &str| {
        let path = place.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    let (archive, bytes) = archive_of(1);
    write("facts/audit/000000000001.json", "entry 1");
    let revocation = RevocationDocument {
        from: UnixTime(1_800_000_000),
        expires: None,
    };
    let text = serde_json::to_string(&revocation).unwrap();
    write("facts/revocations/0123456789abcdef.json", &text);
    write("facts/oci/tags/team/app%3Av1.json", "{}");
    write(&archive.to_string(), std::str::from_utf8(&bytes).unwrap());
    write("SHA256SUMS", "");
    write("export.json", "{\"sha256sums\": \"00\"}");
    write_index(place.path(), true).await;
    let directory = Directory::open(place.path()).unwrap();
    let found = directory.get(&FactKey::Audit(1)).await.unwrap().unwrap();
    assert_eq!(found.bytes, b"entry 1");
    let page = directory.list("", None, 100).await.unwrap();
    let metadata = &page.facts.last().unwrap().metadata;
    assert_eq!(
        RevocationDocument::from_metadata(metadata),
        Some(revocation)
    );
    let names: Vec<String> = page.facts.into_iter().map(|fact| fact.name).collect();
    let archive_key = archive.to_string();
    let expected = [
        archive_key.as_str(),
        "audit/000000000001",
        "oci/tags/team/app:v1",
        "revocations/0123456789abcdef",
    ];
    assert_eq!(names, expected);
    assert_eq!(directory.read(archive, 0, 3).await.unwrap(), b"111");
    directory.close().unwrap();
    drop(directory);
    // A newer copy was carried here: indices of the older one would be wrong.
    write("export.json", "{\"sha256sums\": \"01\"}");
    assert!(!has_index(place.path()).await);
    for (path, text) in [("export.json", "{}"), ("new/export.json", "{}")] {
        write("export.json", "{\"sha256sums\": \"01\"}");
        write(path, text);
        let Err(OpenError::Failed(reason)) = Directory::open(place.path()) else {
            panic!("{path}");
        };
        assert!(reason.contains("an export that did not finish"), "{reason}");
    }
}

#[tokio::test]
async fn a_directory_without_its_indices_has_no_record_of_the_catalogue() {
    let place = tempfile::tempdir().unwrap();
    let documents = [
        FactKey::Written(IndexKey::MergedCatalog(1)),
        FactKey::Lease(Lease::Catalog),
    ];
    let are_there = async |directory: &Directory| {
        let mut there = Vec::new();
        for key in &documents {
            there.push(directory.get(key).await.unwrap().is_some());
        }
        there
    };
    let first = Directory::open(place.path()).unwrap();
    for key in &documents {
        let put = first.put(key, "1 x", &[], Condition::Absent).await;
        put.unwrap().unwrap();
    }
    first.close().unwrap();
    drop(first);
    let closed = Directory::open(place.path()).unwrap();
    assert_eq!(are_there(&closed).await, [true, true]);
    // It ends without being closed.
    drop(closed);
    let killed = Directory::open(place.path()).unwrap();
    assert_eq!(are_there(&killed).await, [false, false]);
}
