//! Tests of complete copies.

use super::*;

#[test]
fn a_path_stays_in_the_copy() {
    let root = tempfile::tempdir().unwrap();
    let copy = Backup::create(root.path(), "https://a.test").unwrap();
    for path in ["../x", "facts/../../x", "/x", "a//b", "a\\b", ""] {
        assert!(copy.place(path).is_err(), "{path}");
    }
}

const KEYS: &str = "facts/keys/acme.json";

/// Creates a copy with one document.
fn copied(root: &Path, document: &[u8]) -> (Backup, Sums) {
    let copy = Backup::create(root, "https://a.test").unwrap();
    let mut summary = Summary::new("https://a.test");
    summary.documents = 1;
    copy.begin_with(&summary).unwrap();
    copy.stage(KEYS, document).unwrap();
    let sums = Sums::from([(KEYS.to_owned(), Sha256::of(document))]);
    copy.finish(summary, &sums).unwrap();
    (copy, sums)
}

#[test]
fn a_copy_is_complete_when_its_summary_has_the_digest() {
    let root = tempfile::tempdir().unwrap();
    let copy = Backup::create(root.path(), "https://a.test").unwrap();
    copy.begin_with(&Summary::new("https://a.test")).unwrap();
    assert!(Backup::open(root.path()).is_err());
    let (copy, sums) = (copy, copied(root.path(), b"{}").1);
    let (_, _, read) = Backup::open(root.path()).unwrap();
    assert_eq!(read, sums);
    assert!(!root.path().join(STAGING).exists());
    copy.write(SUMS, b"").unwrap();
    assert!(Backup::open(root.path()).is_err());
    assert!(Backup::create(root.path(), "https://b.test").is_err());
    Backup::create(root.path(), "https://a.test").unwrap();
}

#[test]
fn an_older_copy_stays_intact_until_the_new_one_is_complete() {
    let root = tempfile::tempdir().unwrap();
    let (_, sums) = copied(root.path(), b"old");
    let copy = Backup::create(root.path(), "https://a.test").unwrap();
    copy.begin_with(&Summary::new("https://a.test")).unwrap();
    copy.stage(KEYS, b"new").unwrap();
    let (copy, _, read) = Backup::open(root.path()).unwrap();
    assert_eq!(read, sums);
    assert_eq!(copy.document(KEYS, &Sha256::of(b"old")).unwrap(), "old");
    // An interrupted export starts again from the beginning.
    Backup::create(root.path(), "https://a.test").unwrap();
    assert!(!root.path().join(STAGING).exists());
}

#[test]
fn a_copy_that_was_interrupted_while_files_moved_is_completed() {
    for moved in [&[][..], &[KEYS], &[KEYS, SUMS]] {
        let root = tempfile::tempdir().unwrap();
        copied(root.path(), b"old");
        let newer = tempfile::tempdir().unwrap();
        let (_, sums) = copied(newer.path(), b"new");
        for path in [KEYS, SUMS, SUMMARY] {
            let to = if moved.contains(&path) {
                path.to_owned()
            } else {
                staged(path)
            };
            let to = root.path().join(to);
            fs::create_dir_all(to.parent().unwrap()).unwrap();
            fs::copy(newer.path().join(path), to).unwrap();
        }
        let (copy, _, read) = Backup::open(root.path()).unwrap();
        assert_eq!(read, sums, "{moved:?}");
        assert_eq!(copy.document(KEYS, &sums[KEYS]).unwrap(), "new");
        assert!(!root.path().join(STAGING).exists());
    }
}

#[test]
fn a_directory_in_place_of_a_file_is_not_read() {
    let root = tempfile::tempdir().unwrap();
    let (copy, _) = copied(root.path(), b"{}");
    fs::create_dir(root.path().join("facts/odd.json")).unwrap();
    assert!(copy.read("facts/odd.json").is_err());
}

#[test]
fn a_directory_of_something_else_is_left_alone() {
    let root = tempfile::tempdir().unwrap();
    fs::write(root.path().join("thesis.txt"), "").unwrap();
    let refused = Backup::create(root.path(), "https://a.test").unwrap_err();
    let message = refused.to_string();
    assert!(
        message.contains("choose a new or empty directory"),
        "{message}"
    );
    assert!(!message.contains("os error"), "{message}");
}
