//! Lists of random keys, compared with a sorted map.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use proptest::prelude::*;

use super::layout::path_of;
use super::simulated::{Simulated, root};
use super::tree::{Placement, Tree};
use super::walk::page;

fn segment() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => "[abA0:~.+-]{1,3}",
        1 => ("[a:]{190,205}", "[a:.-]{0,40}").prop_map(|(start, end)| start + &end),
    ]
    .prop_filter("a segment of a path", |text| text != "." && text != "..")
}

fn key() -> impl Strategy<Value = String> {
    prop_oneof![
        prop::collection::vec(segment(), 1..4).prop_map(|parts| parts.join("/")),
        "[a-c]{1,2}(\\.json)?(/[a-c.-]{1,2}(\\.json)?)?"
            .prop_filter("no dots alone", |text| !text.ends_with("/.")
                && !text.ends_with("/.."))
            .prop_map(|name| format!("oci/changes/{name}")),
        "[a-c0-9.]{1,4}z".prop_map(|name| format!("archives/{name}")),
        "[a-c]/[0-9]{1,2}-[0-9]".prop_map(|name| format!("oci/uploads/{name}")),
        "[a-c]".prop_map(|name| format!("oci/uploads/{name}")),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn pages_of_random_keys_are_those_of_a_sorted_map(
        keys in prop::collection::btree_set(key(), 0..30),
        prefix_of in any::<prop::sample::Index>(),
        prefix_length in 0_usize..12,
        limit in 1_u32..5,
    ) {
        let tree = Tree::open(Arc::new(Simulated::default()), root()).unwrap();
        let mut model = BTreeMap::new();
        for key in &keys {
            let mut temporary = tree.begin().unwrap();
            temporary.write(key.as_bytes()).unwrap();
            let stat = tree.complete(&temporary).unwrap();
            let path = path_of(key).unwrap();
            let placed = tree.place(temporary, &path, Placement::Create);
            prop_assert!(placed.unwrap(), "{key} has a path of its own");
            model.insert(key.as_str(), stat);
        }
        let sample = keys.iter().nth(prefix_of.index(keys.len().max(1)));
        let prefix: String = sample.into_iter().flat_map(|key| key.chars()).take(prefix_length).collect();
        let expected: Vec<_> = model
            .iter()
            .filter(|(key, _)| key.starts_with(&prefix))
            .map(|(key, stat)| ((*key).to_owned(), *stat))
            .collect();
        let mut found = Vec::new();
        loop {
            let last: Option<&(String, _)> = found.last();
            let after = last.map(|(key, _)| key.strip_prefix(&prefix).unwrap().to_owned());
            let range = (prefix.as_str(), after.as_deref());
            let (files, is_truncated) = page(tree.volume(), tree.root(), range, limit).unwrap();
            found.extend(files.into_iter().map(|file| (file.key, file.stat)));
            prop_assert_eq!(is_truncated, found.len() < expected.len());
            if !is_truncated {
                break;
            }
        }
        prop_assert_eq!(found, expected);
    }
}

#[test]
fn a_list_enters_only_directories_with_keys_of_the_page() {
    let place = tempfile::tempdir().unwrap();
    let tree = Tree::open(Arc::new(crate::volume::Local), place.path().to_owned()).unwrap();
    for key in ["a/1", "b/1", "b/2", "b/c/3", "c/1"] {
        let temporary = tree.begin().unwrap();
        tree.complete(&temporary).unwrap();
        let path = path_of(key).unwrap();
        assert!(tree.place(temporary, &path, Placement::Create).unwrap());
    }
    // A walk that entered these would fail.
    for name in ["a", "c"] {
        let directory: PathBuf = place.path().join("facts").join(name);
        std::fs::remove_dir_all(&directory).unwrap();
        std::os::unix::fs::symlink("/nowhere", &directory).unwrap();
    }
    let found = page(tree.volume(), tree.root(), ("b/", Some("1")), 10).unwrap();
    let keys: Vec<String> = found.0.into_iter().map(|file| file.key).collect();
    assert_eq!(keys, ["b/2", "b/c/3"]);
}
