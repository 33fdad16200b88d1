//! Stored bytes for the platform's cache of archives, which stands between [`archive_transfers`](super::archive_transfers)
//! and this handler.
//!
//! The cache keys its copies by the path alone, and hands each to every request with the same path. So an answer depends
//! on nothing but the path: no credentials, no query and no header. Access is decided before the cache.

use terrace_core::http::reply::{Body, CachePolicy, Reply};
use terrace_core::limits;
use terrace_core::model::oci::Digest;
use terrace_core::storage::key::BytesKey;

use crate::host::{Archives, Host, LogLevel, StoreError};

/// Returns the path of stored bytes behind the cache: `/{digits of the digest}.{extension}`.
pub fn cached_archive_path(key: BytesKey) -> String {
    format!("/{}", key.file_name())
}

/// Returns the tag by which the cache removes all bytes with a digest.
pub fn cache_tag(digest: Digest) -> String {
    digest.hex()
}

/// Answers a request of the cache, with all bytes of an object or, to a HEAD, the same headers. `target` is the path with
/// the query, if there is one. The cache cuts parts out of the answer itself, and it keeps nothing but a 200.
pub async fn cached_archive<P: Host>(host: &P, method: &str, target: &str) -> Reply<P::Stream> {
    let found = match (method, parse(target)) {
        ("GET", Some(key)) => whole(host.archives(), key).await,
        ("HEAD", Some(key)) => described(host.archives(), key).await,
        _ => Ok(None),
    };
    match found {
        Ok(Some(reply)) => reply,
        Ok(None) => Reply::new(404, CachePolicy::NoStore),
        Err(error) => {
            host.log_at(LogLevel::Error, &format!("storage: {error}"));
            Reply::new(503, CachePolicy::NoStore)
        }
    }
}

/// Parses the path of [`cached_archive_path`]. Staged uploads are not published, and are never cached.
fn parse(target: &str) -> Option<BytesKey> {
    let key: BytesKey = target.strip_prefix('/')?.parse().ok()?;
    (!matches!(key, BytesKey::Staged(_))).then_some(key)
}

async fn whole<A: Archives>(
    archives: &A,
    key: BytesKey,
) -> Result<Option<Reply<A::Stream>>, StoreError> {
    let opened = archives.open(key).await?;
    Ok(opened.map(|(size, stream)| answer(key, size, Body::Stream(stream))))
}

async fn described<A: Archives>(
    archives: &A,
    key: BytesKey,
) -> Result<Option<Reply<A::Stream>>, StoreError> {
    let head = archives.head(key).await?;
    Ok(head.map(|head| answer(key, head.size, Body::Empty)))
}

fn answer<S>(key: BytesKey, size: u64, body: Body<S>) -> Reply<S> {
    if size > limits::CACHED_ARCHIVE_BYTES {
        // The cache would read all of it for each request, and keep nothing.
        return Reply::new(413, CachePolicy::NoStore);
    }
    let tag = cache_tag(key.digest());
    Reply::new(200, CachePolicy::Immutable)
        .with_stored_type(key.content_type())
        .with("content-length", size.to_string())
        .with("etag", format!("\"{tag}\""))
        .with("cache-tag", tag)
        .with_body(body)
}

#[cfg(test)]
mod tests {
    use terrace_archive::ArchiveFormat;
    use terrace_core::storage::key::{ArchiveKey, ArchiveKind};

    use super::*;

    #[test]
    fn an_archive_that_is_too_large_for_the_cache_is_not_sent_to_it() {
        let key = ArchiveKey::of(b"", ArchiveKind::Archive(ArchiveFormat::Zip));
        let reply = |size| answer(key.into(), size, Body::Stream(()));
        assert_eq!(reply(limits::CACHED_ARCHIVE_BYTES).status, 200);
        let too_large = reply(limits::CACHED_ARCHIVE_BYTES + 1);
        assert_eq!((too_large.status, &too_large.body), (413, &Body::Empty));
        assert_eq!(too_large.header("cache-control"), Some("no-store"));
    }
}
