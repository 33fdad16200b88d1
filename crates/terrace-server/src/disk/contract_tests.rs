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

contract_tests! { open() =>
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

contract_tests! { open_indices() =>
    an_index_is_read_in_the_form_that_is_asked_for,
    keys_of_indices_are_listed_in_order,
}
