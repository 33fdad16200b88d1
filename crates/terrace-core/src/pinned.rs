//! For tests: documents as they exist in other people's buckets.

/// Asserts that the stored form of a document has not changed.
#[track_caller]
pub(crate) fn assert_pinned(found: &str, pinned: &str) {
    assert_eq!(
        found, pinned,
        "what is stored has changed, and nobody rewrites other people's buckets: this needs a migration, \
         which is a schema number for the new form, a way to read the old one, and a test that keeps its bytes"
    );
}
