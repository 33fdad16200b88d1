//! The indices, in a file that survives a restart.
//!
//! Every index follows from the facts, so it may be lost at any time. A read that misses its index is answered from the facts,
//! and writes the index by the tasks of its response ([`terrace_app::perform`]). A host that has lost all of them, because
//! the file was missing, of another format or not closed, therefore needs to do nothing; to have the catalogue and all lists
//! again before they are asked for, it calls [`terrace_app::run_job`] as often as its timer permits, as it does
//! anyway, until the walk over the facts is complete. `terrace admin reindex --full` does the same from outside.

pub(crate) mod database;
pub(crate) mod documents;
mod stored;

use std::fmt::Display;
use std::io;

use bytes::Bytes;
use futures_util::stream;
use terrace_app::host::StoreError;
use terrace_core::http::reply::Body;
use terrace_core::read::{IndexForm, StoredIndex};
use terrace_core::storage::index_document::IndexDocument;

pub use stored::StoredIndices;

use crate::stream::ByteStream;

/// The maximum number of keys in a page of a list.
const KEYS_PER_LISTING: usize = 1_000;

/// Returns an index in the form that its reader needs.
pub(crate) fn in_form(document: IndexDocument, form: IndexForm) -> StoredIndex<ByteStream> {
    StoredIndex {
        metadata: document.metadata,
        body: match form {
            IndexForm::Stream => {
                let bytes = Bytes::from(document.text);
                Body::Stream(Box::pin(stream::once(std::future::ready(Ok(bytes)))))
            }
            IndexForm::Text => Body::Text(document.text),
        },
    }
}

fn failure(operation: &str, key: impl Display, error: &io::Error) -> StoreError {
    StoreError::Failed {
        operation: format!("index {operation} {key}"),
        cause: error.to_string(),
    }
}
