//! The contracts of storage, of a directory on this machine's file system.

use tempfile::TempDir;

use super::Directory;
use crate::contract::contract_tests;
use crate::index::StoredIndices;

fn open() -> (Directory, TempDir) {
    let place = tempfile::tempdir().unwrap();
    (Directory::open(place.path()).unwrap(), place)
}

fn open_indices() -> (StoredIndices, (Directory, TempDir)) {
    let (directory, place) = open();
    (directory.indices(), (directory, place))
}

contract_tests! { bucket: open() }
contract_tests! { indices: open_indices() }
