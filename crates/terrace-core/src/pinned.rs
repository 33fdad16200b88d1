//! For tests: documents as they lie in other people's buckets.

/// What is stored must be what has always been stored.
#[track_caller]
pub(crate) fn assert_pinned(found: &str, pinned: &str) {
    assert_eq!(
        found, pinned,
        "what is stored has changed, and nobody rewrites other people's buckets: this needs a migration, \
         which is a schema number for the new form, a way to read the old one, and a test that keeps its bytes"
    );
}
