//! The platform's cache of archives: in front of [`cached_archive`](crate::cached_archive), near the client.

use terrace_core::http::request_line::CacheState;
use terrace_core::storage::key::BytesKey;

/// A request to the platform's cache of archives.
#[derive(Debug, Clone, Copy)]
pub struct CacheRequest<'r> {
    /// The requested bytes.
    pub key: BytesKey,
    /// Whether only the headers are requested.
    pub is_head: bool,
    /// The `Range` header of the client.
    pub range: Option<&'r str>,
}

/// The answer of the platform's cache of archives.
#[derive(Debug)]
pub struct CachedArchive<S> {
    /// The HTTP status: 200 with all bytes, 206 with the requested part, or any other, for which the caller asks storage.
    pub status: u16,
    /// The `Content-Length` header.
    pub length: Option<u64>,
    /// The `Content-Range` header of a part.
    pub content_range: Option<String>,
    /// The bytes; `None` if only the headers were requested.
    pub stream: Option<S>,
    /// The origin of the answer.
    pub state: CacheState,
}
