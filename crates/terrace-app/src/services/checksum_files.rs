//! The indices of the checksum files of hosted providers: SHA256SUMS and its signature, which each installation reads.
//!
//! A file is named by its digest and never changes, so its index is right or missing, and needs no change marker. It is written after
//! the object, and removed after it: whoever writes one from the object looks for the object again, and so an index does not
//! outlive it.

use std::pin::Pin;

use futures_util::future::join;
use terrace_base::digest::Sha256;
use terrace_core::http::reply::Body;
use terrace_core::index::checksum_file;
use terrace_core::limits;
use terrace_core::publish::ChecksumFile;
use terrace_core::read::IndexForm;
use terrace_core::storage::key::{ArchiveKey, ArchiveKind, BytesKey, IndexKey};
use terrace_core::storage::release::Release;

use crate::concurrent::Boxed;
use crate::context::{Context, Task};
use crate::failure::Failure;
use crate::host::{Archives as _, Clock as _, Host, Indices as _, StoreError};
use crate::services::documents::BUSY_TRIES;

/// Returns a checksum file from its index, unless it may have been erased. If that fails, the object decides, and a missing index is
/// written after the response.
pub(crate) async fn find<P: Host>(
    ctx: &Context<'_, P>,
    file: ArchiveKey,
    may_be_erased: impl Future<Output = bool>,
) -> Option<Vec<u8>> {
    // A new isolate reads KV for either, so neither waits for the other.
    let found = read(ctx, file, limits::CHECKSUM_FILE_CACHE_SECONDS);
    let (may_be_erased, found) = join(may_be_erased, found).await;
    match found {
        _ if may_be_erased => None,
        Ok(None) => {
            ctx.defer(Task::BackfillIndex(IndexKey::ChecksumFile(file)));
            None
        }
        Ok(found) => found,
        Err(error) => {
            ctx.host.log(&format!("storage: {error}"));
            None
        }
    }
}

/// Returns whether an index has these bytes, if they are a checksum file.
pub(crate) async fn are_indexed<P: Host>(
    ctx: &Context<'_, P>,
    bytes: BytesKey,
) -> Result<bool, Failure> {
    let Some(IndexKey::ChecksumFile(file)) = IndexKey::of_checksum_file(bytes) else {
        return Ok(false);
    };
    let found = read(ctx, file, limits::LIST_CACHE_SECONDS).await?;
    Ok(found.is_some())
}

async fn read<P: Host>(
    ctx: &Context<'_, P>,
    file: ArchiveKey,
    cache_seconds: u32,
) -> Result<Option<Vec<u8>>, StoreError> {
    let key = IndexKey::ChecksumFile(file);
    let indices = ctx.host.indices();
    let found = indices.get(&key, IndexForm::Text, cache_seconds).await?;
    Ok(match found.map(|found| found.body) {
        Some(Body::Text(text)) => checksum_file::bytes(&file, &text),
        Some(Body::Empty | Body::Stream(_)) | None => None,
    })
}

/// Returns the writes of the indices of a committed release's files. None of them fails: an index that cannot be written is written
/// after the response, or by a read.
pub(crate) fn writes<'a, P: Host>(
    ctx: &'a Context<'_, P>,
    files: &'a [ChecksumFile],
) -> Vec<Boxed<'a>> {
    let write = |(file, bytes): &'a ChecksumFile| -> Boxed<'a> {
        Box::pin(async move {
            if let Err(error) = put(ctx, *file, bytes).await {
                ctx.host.log(&format!("storage: {error}"));
                ctx.defer(Task::BackfillIndex(IndexKey::ChecksumFile(*file)));
            }
            Ok(())
        })
    };
    files.iter().map(write).collect()
}

/// Returns the checksum files of a release, if it is that of a hosted provider.
pub(crate) fn of_release(release: &Release) -> Vec<ArchiveKey> {
    let Release::Provider(release) = release else {
        return Vec::new();
    };
    let file = |digest, kind| ArchiveKey { digest, kind };
    vec![
        file(release.shasums, ArchiveKind::Shasums),
        file(release.signature, ArchiveKind::Signature),
    ]
}

/// Writes an index from its object. The edge may cache its absence for long, so there may be nothing to write. Returns whether it was
/// written.
pub(crate) fn refresh<'a, P: Host>(
    ctx: &'a Context<'_, P>,
    file: ArchiveKey,
) -> Pin<Box<dyn Future<Output = Result<bool, Failure>> + 'a>> {
    Box::pin(async move {
        if read(ctx, file, limits::LIST_CACHE_SECONDS).await?.is_some() {
            return Ok(false);
        }
        let archives = ctx.host.archives();
        let limit = limits::SHASUMS_BYTES as u64;
        let found = archives.tail(file, limit).await?;
        // A file that is damaged, or longer than the limit, has no index: reads of it pass the object on.
        let Some((_, bytes)) = found.filter(|(_, bytes)| Sha256::of(bytes) == file.digest) else {
            return Ok(false);
        };
        put(ctx, file, &bytes).await?;
        // It may have been removed in the meantime, and its index before this one was written.
        let head = archives.head(file.into()).await?;
        if head.is_none() {
            remove(ctx, file.into()).await?;
        }
        Ok(head.is_some())
    })
}

/// Removes the index of an object that has been removed, if it is a checksum file.
pub(crate) fn remove<'a, P: Host>(ctx: &'a Context<'_, P>, bytes: BytesKey) -> Boxed<'a> {
    Box::pin(async move {
        let Some(key) = IndexKey::of_checksum_file(bytes) else {
            return Ok(());
        };
        let mut tries = 1;
        loop {
            match ctx.host.indices().delete(&key).await {
                Err(StoreError::Busy(_)) if tries < BUSY_TRIES => {}
                removed => return Ok(removed?),
            }
            tries += 1;
            ctx.host.clock().sleep(1).await;
        }
    })
}

async fn put<P: Host>(
    ctx: &Context<'_, P>,
    file: ArchiveKey,
    bytes: &[u8],
) -> Result<(), StoreError> {
    let document = checksum_file::document(bytes);
    let key = IndexKey::ChecksumFile(file);
    match ctx.host.indices().put(&key, &document).await {
        // Another request has just written the same.
        Err(StoreError::Busy(_)) => Ok(()),
        written => written,
    }
}
