//! The storage that the host requires.
//!
//! Each thread has a clone of each store, so clones share their state. The methods of a store run on the thread that calls
//! them, and must not block it.

use terrace_app::host::{Archives, Facts, Indices, Uploads};

use crate::stream::ByteStream;

/// Storage of facts, archives and uploads.
pub trait Bucket:
    Facts + Archives<Stream = ByteStream> + Uploads<Stream = ByteStream> + Clone + 'static
{
}

impl<S> Bucket for S where
    S: Facts + Archives<Stream = ByteStream> + Uploads<Stream = ByteStream> + Clone + 'static
{
}

/// Storage of indices.
pub trait IndexStore: Indices<Stream = ByteStream> + Clone + 'static {}

impl<S: Indices<Stream = ByteStream> + Clone + 'static> IndexStore for S {}
