//! Inspects, verifies and copies archives and blobs as they are stored: for publishes, pulls and restores.

use terrace_archive::limits::{READ_BYTES, ZIP_TAIL_BYTES};
use terrace_archive::{ArchiveFormat, Entry, Step as ZipStep, TarGzInspector};
use terrace_core::api::admin::MissingArchive;
use terrace_core::model::oci::Digest;
use terrace_core::publish::{ArchiveState, ExpectedArchive};
use terrace_core::storage::archive_url::ArchiveUrls;
use terrace_core::storage::key::BytesKey;

use crate::context::Context;
use crate::failure::Failure;
use crate::host::{ArchiveHead, Archives as _, Clock as _, Host, Payload, StoreError, Stored};
use crate::removal;
use crate::removal::garbage;
use crate::removal::garbage::GcFence;

/// Returns the stored state of an archive. One that is being removed counts as missing.
pub(crate) async fn state<P: Host>(
    ctx: &Context<'_, P>,
    expected: &ExpectedArchive,
    fence: &GcFence,
) -> Result<ArchiveState, Failure> {
    if !garbage::claim(ctx, expected.key.into(), fence).await? {
        return Ok(ArchiveState::Missing);
    }
    let archives = ctx.host.archives();
    let found = match expected.format() {
        ArchiveFormat::Zip => archives.tail(expected.key, ZIP_TAIL_BYTES).await?,
        ArchiveFormat::TarGz => {
            let head = archives.head(expected.key.into()).await?;
            head.map(|head| (head, Vec::new()))
        }
    };
    let Some((head, tail)) = found else {
        return Ok(ArchiveState::Missing);
    };
    let Some(size) = intact_size(ctx, expected.key.into(), &head).await? else {
        return Ok(ArchiveState::Missing);
    };
    let (reasons, warnings) = match entries(ctx, expected, size, tail).await? {
        Ok(entries) => (expected.refusals(&entries), expected.remarks(&entries)),
        Err(reason) => (vec![format!("{}: {reason}", expected.filename)], Vec::new()),
    };
    Ok(ArchiveState::Stored {
        size,
        reasons,
        warnings,
    })
}

/// Returns the size of an object, unless its bytes do not match the digest in its key: those are removed, so that the right
/// ones can take their place.
async fn intact_size<P: Host>(
    ctx: &Context<'_, P>,
    key: BytesKey,
    head: &ArchiveHead,
) -> Result<Option<u64>, Failure> {
    let archives = ctx.host.archives();
    let digest = match head.sha256 {
        Some(digest) if matches!(key.digest(), Digest::Sha256(_)) => Some(Digest::Sha256(digest)),
        _ => archives.digest(key).await?,
    };
    if digest == Some(key.digest()) {
        return Ok(Some(head.size));
    }
    ctx.host.log(&format!(
        "{key} contains bytes with another digest: discarded"
    ));
    // Unless another request stored the right bytes while these were being hashed.
    let now = archives.head(key).await?;
    if now.is_some_and(|now| now.revision == head.revision) {
        archives.discard(key).await?;
        // A download may have put the wrong bytes there.
        removal::purge_cached(ctx, &[key.digest()]).await;
    }
    Ok(None)
}

/// Reads the entries of an archive, in ranged reads; the first one of a zip has already returned its `tail`. The inner error is
/// a defect of the archive.
async fn entries<P: Host>(
    ctx: &Context<'_, P>,
    expected: &ExpectedArchive,
    size: u64,
    tail: Vec<u8>,
) -> Result<Result<Vec<Entry>, String>, StoreError> {
    let archives = ctx.host.archives();
    let key = expected.key;
    match expected.format() {
        ArchiveFormat::Zip => {
            let mut zip = expected.zip_inspector(size);
            let mut tail = Some(tail);
            while let ZipStep::Read { offset, len } = zip.next() {
                let bytes = match tail.take() {
                    Some(tail) => tail,
                    None => archives.read(key, offset, len).await?,
                };
                if let Err(error) = zip.feed(&bytes) {
                    return Ok(Err(error.to_string()));
                }
            }
            Ok(zip.finish().map_err(|error| error.to_string()))
        }
        ArchiveFormat::TarGz => {
            let mut tar = TarGzInspector::default();
            let mut offset = 0;
            while offset < size {
                let length = READ_BYTES.min(size - offset);
                let bytes = archives.read(key, offset, length).await?;
                if let Err(error) = tar.feed(&bytes) {
                    return Ok(Err(error.to_string()));
                }
                offset += length;
            }
            Ok(tar.finish().map_err(|error| error.to_string()))
        }
    }
}

/// Returns whether the right bytes are stored under a key, with this length if it is given.
pub(crate) async fn is_stored<P: Host>(
    ctx: &Context<'_, P>,
    key: BytesKey,
    size: Option<u64>,
    fence: &GcFence,
) -> Result<bool, Failure> {
    if !garbage::claim(ctx, key, fence).await? {
        return Ok(false);
    }
    let Some(head) = ctx.host.archives().head(key).await? else {
        return Ok(false);
    };
    let stored = intact_size(ctx, key, &head).await?;
    Ok(stored.is_some_and(|stored| size.is_none_or(|size| size == stored)))
}

/// Describes how to upload missing bytes, under the name that the client uses for them.
pub(crate) fn missing<P: Host>(
    ctx: &Context<'_, P>,
    filename: String,
    key: BytesKey,
    size: u64,
    urls: &ArchiveUrls,
    origin: &str,
) -> MissingArchive {
    let now = ctx.host.clock().now();
    MissingArchive {
        filename,
        sha256: key.digest().hex(),
        size,
        upload: urls.upload(origin, key, size, now).into(),
    }
}

/// Copies bytes to another key, unless they exist there. They do not enter wasm. Returns whether they exist
/// there now; they do not if the source is missing.
pub(crate) async fn copy<P: Host>(
    ctx: &Context<'_, P>,
    from: BytesKey,
    to: BytesKey,
) -> Result<bool, Failure> {
    let archives = ctx.host.archives();
    // In a private registry, the duration must not reveal which archives others have stored.
    if !ctx.config.access.guards_reads() && archives.head(to).await?.is_some() {
        return Ok(true);
    }
    let Some((_, stream)) = archives.open(from).await? else {
        return Ok(false);
    };
    match archives.store(to, Payload::Stream(stream)).await {
        Ok(Stored::Yes) => Ok(true),
        Ok(Stored::DigestMismatch) => Err(Failure::Corrupt(from.to_string())),
        // Another request is storing them.
        Err(StoreError::Busy(_)) if archives.head(to).await?.is_some() => Ok(true),
        Err(error) => Err(error.into()),
    }
}
