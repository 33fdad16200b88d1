//! The platform's cache of archives, by the rules of Workers Caching
//! (<https://developers.cloudflare.com/workers/cache/configuration/>): it asks for whole archives, keeps what it may, and
//! cuts parts out itself.

use std::cell::RefCell;
use std::collections::BTreeMap;

use terrace_app::host::{CacheRequest, CachedArchive, StoreError};
use terrace_app::{cache_tag, cached_archive, cached_archive_path};
use terrace_core::http::range::{self, ByteRange};
use terrace_core::http::reply::{Body, Reply};
use terrace_core::http::request_line::CacheState;
use terrace_core::model::oci::Digest;

use super::Memory;

/// The answers that the cache keeps, by their paths.
#[derive(Default)]
pub struct ArchiveCache {
    kept: RefCell<BTreeMap<String, Reply<Vec<u8>>>>,
    purges: RefCell<Vec<Vec<String>>>,
    refuses_purges: bool,
    fails: bool,
}

/// The contents of the cache.
pub struct KeptState {
    /// The paths of the answers that it keeps.
    pub paths: Vec<String>,
    /// The tags of each purge.
    pub purges: Vec<Vec<String>>,
}

impl Memory {
    /// Makes the platform refuse to remove anything from its cache of archives.
    pub fn refuse_purges(&self) {
        if let Some(cache) = self.world.archive_cache.borrow_mut().as_mut() {
            cache.refuses_purges = true;
        }
    }

    /// Makes the cache fail each request.
    pub fn break_archive_cache(&self) {
        if let Some(cache) = self.world.archive_cache.borrow_mut().as_mut() {
            cache.fails = true;
        }
    }

    /// Returns the contents of the cache of archives.
    pub fn archive_cache(&self) -> KeptState {
        let cache = self.world.archive_cache.borrow();
        let cache = cache.as_ref().expect("a cache of archives");
        let kept = cache.kept.borrow();
        KeptState {
            paths: kept.keys().cloned().collect(),
            purges: cache.purges.borrow().clone(),
        }
    }

    pub(super) async fn ask_archive_cache(
        &self,
        request: CacheRequest<'_>,
    ) -> Result<Option<CachedArchive<Vec<u8>>>, StoreError> {
        let path = cached_archive_path(request.key);
        let kept = {
            let cache = self.world.archive_cache.borrow();
            let Some(cache) = cache.as_ref() else {
                return Ok(None);
            };
            if cache.fails {
                return Err(failure("fetch", "the platform is tired"));
            }
            let kept = cache.kept.borrow();
            kept.get(&path).cloned()
        };
        if let Some(reply) = kept {
            return Ok(Some(cut(reply, request, CacheState::Hit)));
        }
        // A HEAD fills the cache as well.
        let reply = cached_archive(self, "GET", &path).await;
        if reply.header("cache-control") == Some("no-store") {
            return Ok(Some(cut(reply, request, CacheState::Bypass)));
        }
        if let Some(cache) = self.world.archive_cache.borrow().as_ref() {
            cache.kept.borrow_mut().insert(path, reply.clone());
        }
        Ok(Some(cut(reply, request, CacheState::Miss)))
    }

    pub(super) fn purge_archives(&self, digests: &[Digest]) -> Result<(), StoreError> {
        let cache = self.world.archive_cache.borrow();
        let Some(cache) = cache.as_ref() else {
            return Ok(());
        };
        let tags: Vec<String> = digests.iter().map(|digest| cache_tag(*digest)).collect();
        if cache.refuses_purges {
            return Err(failure("purge", "too many requests"));
        }
        let mut kept = cache.kept.borrow_mut();
        kept.retain(|_, reply| {
            !tags
                .iter()
                .any(|tag| reply.header("cache-tag") == Some(tag))
        });
        cache.purges.borrow_mut().push(tags);
        Ok(())
    }
}

fn failure(operation: &str, cause: &str) -> StoreError {
    StoreError::Failed {
        operation: operation.to_owned(),
        cause: cause.to_owned(),
    }
}

fn cut(
    reply: Reply<Vec<u8>>,
    request: CacheRequest<'_>,
    state: CacheState,
) -> CachedArchive<Vec<u8>> {
    let bytes = match &reply.body {
        Body::Stream(bytes) => bytes.clone(),
        Body::Empty | Body::Text(_) | Body::Bytes(_) => Vec::new(),
    };
    let (status, size) = (reply.status, bytes.len() as u64);
    let whole = CachedArchive {
        status,
        length: Some(size),
        content_range: None,
        stream: (!request.is_head).then(|| bytes.clone()),
        state,
    };
    let range = request.range.filter(|_| status == 200 && !request.is_head);
    match range.map(|range| range::requested_range(range, size)) {
        None | Some(ByteRange::Full) => whole,
        Some(ByteRange::Unsatisfiable) => CachedArchive {
            status: 416,
            stream: None,
            ..whole
        },
        Some(ByteRange::Partial { first, last }) => {
            let (from, to) = (
                usize::try_from(first).unwrap(),
                usize::try_from(last).unwrap(),
            );
            CachedArchive {
                status: 206,
                length: Some(last - first + 1),
                content_range: Some(format!("bytes {first}-{last}/{size}")),
                stream: Some(bytes[from..=to].to_vec()),
                state,
            }
        }
    }
}
