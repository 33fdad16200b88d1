//! Indices as a read finds them.

use super::FinishError;
#[cfg(doc)]
use super::Lookup;
use crate::http::reply::Body;
use crate::storage::index_document::IndexMetadata;

/// An index that was read.
#[derive(Debug)]
pub struct StoredIndex<S> {
    /// The key's metadata.
    pub metadata: IndexMetadata,
    /// The value, in the form of the lookup.
    pub body: Body<S>,
}

/// The indices of a read.
#[derive(Debug)]
pub struct StoredIndices<S> {
    /// The index of [`Lookup::key`].
    pub first: StoredIndex<S>,
    /// The indices of [`Lookup::others`], in the same order; `None` if the facts hold nothing for one.
    pub others: Vec<Option<StoredIndex<S>>>,
}

impl<S> From<StoredIndex<S>> for StoredIndices<S> {
    fn from(first: StoredIndex<S>) -> Self {
        let others = Vec::new();
        Self { first, others }
    }
}

/// Parses an index that was read as text.
pub(super) fn parse<'f, S, T: serde::Deserialize<'f>>(
    found: &'f StoredIndex<S>,
) -> Result<T, FinishError> {
    match &found.body {
        Body::Text(text) => {
            serde_json::from_slice(text.as_bytes()).map_err(|_| FinishError::Corrupt)
        }
        Body::Empty | Body::Bytes(_) | Body::Stream(_) => Err(FinishError::Corrupt),
    }
}
