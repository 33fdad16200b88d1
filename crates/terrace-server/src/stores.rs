//! The storage that the host requires.
//!
//! Each thread has a clone of each store, so clones share their state. The methods of a store run on the thread that calls
//! them, and must not block it.

use std::fmt::Display;
use std::path::Path;

use terrace_app::host::{Archives, Facts, Indices, StoreError, Uploads};

use crate::stream::ByteStream;

/// The reason why storage cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The operator has to choose another one, or to change its settings.
    #[error("{0}")]
    Unsuitable(String),
    /// An operation on this machine has failed, or must be repeated.
    #[error("{0}")]
    Failed(String),
}

impl OpenError {
    pub(crate) fn local(place: &Path, error: impl Display) -> Self {
        Self::Failed(format!("{}: {error}", place.display()))
    }
}

/// Storage of facts, archives and uploads.
#[expect(
    async_fn_in_trait,
    reason = "its users have one thread each, like the host traits"
)]
pub trait Bucket:
    Facts + Archives<Stream = ByteStream> + Uploads<Stream = ByteStream> + Clone + 'static
{
    /// Returns whether other processes may change it.
    fn is_shared(&self) -> bool {
        false
    }

    /// Looks for the changes of other processes, and removes the indices that may be older.
    async fn look(&self) -> Result<(), StoreError> {
        Ok(())
    }
}

/// Storage of indices.
pub trait IndexStore: Indices<Stream = ByteStream> + Clone + 'static {}

impl<S: Indices<Stream = ByteStream> + Clone + 'static> IndexStore for S {}
