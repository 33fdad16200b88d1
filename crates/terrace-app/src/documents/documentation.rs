//! The documentation of versions, as readers and the builders of indices need it.
//!
//! An archive that is missing or damaged is not an error for them: the version then has no documentation, and the log states
//! the reason. `terrace admin verify` finds all such archives.

use terrace_base::digest::Sha256;
use terrace_base::time::UnixTime;
use terrace_core::documentation::{Head, HeadError, Member};
use terrace_core::limits;
use terrace_core::model::package::Package;
use terrace_core::model::version::Version;
use terrace_core::storage::documentation::{
    ARCHIVE, DOCUMENTATION_REMOVAL_SECONDS, DocumentationArchive, DocumentationDocument,
};
use terrace_core::storage::key::{ArchiveKey, DOCUMENTATION, FactKey};

use crate::context::Context;
use crate::documents;
use crate::failure::Failure;
use crate::host::{
    Archives as _, Clock as _, Condition, Facts as _, Host, Inflated, ListedFact, StoreError,
};

/// The reason why the head of an archive cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum UnusableHead {
    /// The archive is not stored.
    #[error("the archive is missing")]
    Missing,
    /// The bytes are not a gzip member.
    #[error(
        "the first {0} bytes of the archive are not exactly one intact gzip member: head_length must be the length of the first one"
    )]
    Damaged(u64),
    /// The contents are too long.
    #[error(
        "the head of the documentation is too long: at most {max} bytes are allowed",
        max = limits::DOCUMENTATION_HEAD_BYTES
    )]
    TooLong,
    /// The contents are not the head of this package's documentation.
    #[error(transparent)]
    Invalid(HeadError),
}

/// Returns the documentation of a version, if it has any. A document that cannot be read counts as none.
pub(crate) async fn find<P: Host>(
    ctx: &Context<'_, P>,
    package: &Package,
    version: &Version,
) -> Result<Option<DocumentationDocument>, Failure> {
    let key = FactKey::Documentation(package.clone(), version.clone());
    let found = documents::intact(ctx, find_for_change(ctx, &key).await)?;
    Ok(found.and_then(|(document, _)| document))
}

/// Returns a document about documentation, with the condition that it has not been changed since.
pub(crate) async fn find_for_change<P: Host>(
    ctx: &Context<'_, P>,
    key: &FactKey,
) -> Result<(Option<DocumentationDocument>, Condition), Failure> {
    let Some(fact) = ctx.host.facts().get(key).await? else {
        return Ok((None, Condition::Absent));
    };
    let document = DocumentationDocument::from_document(&fact.bytes);
    let document = document.map_err(|error| Failure::Corrupt(format!("{key}: {error}")))?;
    Ok((Some(document), Condition::Unchanged(fact.etag)))
}

/// Writes a document about documentation, unless it has changed. Returns whether it did.
pub(crate) async fn put<P: Host>(
    ctx: &Context<'_, P>,
    key: &FactKey,
    document: &DocumentationDocument,
    unchanged: Condition,
) -> Result<bool, Failure> {
    let (text, metadata) = (document.to_document(), document.metadata());
    let written = documents::put(ctx, key, &text, &metadata, unchanged).await?;
    Ok(written.is_some())
}

/// Removes a document. Storage has no conditional removal. So it is marked before, by compare-and-swap, and no request replaces a
/// document with a recent mark. Returns `false`, and removes nothing, if the mark of this request is too old for that.
pub(crate) async fn remove<P: Host>(
    ctx: &Context<'_, P>,
    key: &FactKey,
    marked_at: Option<UnixTime>,
) -> Result<bool, Failure> {
    let remove = async || {
        let waited = marked_at.map_or(0, |at| ctx.host.clock().now().since(at));
        if waited > DOCUMENTATION_REMOVAL_SECONDS / 2 {
            return Ok(false);
        }
        ctx.host.facts().delete(key).await?;
        Ok(true)
    };
    documents::retry_while_busy(ctx, remove).await
}

/// Returns the documentation of a version with the head of its archive. `None` if it has none that can be read.
pub(crate) async fn head<P: Host>(
    ctx: &Context<'_, P>,
    package: &Package,
    version: &Version,
) -> Result<Option<(DocumentationDocument, Head)>, Failure> {
    let document = find(ctx, package, version).await?;
    let Some(document) = document.filter(|document| !document.is_hidden()) else {
        return Ok(None);
    };
    match read_head(ctx, package, &document.archive).await? {
        Ok(head) => Ok(Some((document, head))),
        Err(reason) => {
            let key = document.archive.archive_key();
            ctx.host
                .log(&format!("corrupt: {key} of {package} {version}: {reason}"));
            Ok(None)
        }
    }
}

/// Reads the head of an archive: one ranged read.
pub(crate) async fn read_head<P: Host>(
    ctx: &Context<'_, P>,
    package: &Package,
    archive: &DocumentationArchive,
) -> Result<Result<Head, UnusableHead>, StoreError> {
    let length = u32::try_from(archive.head_length).unwrap_or(u32::MAX);
    let limit = u32::try_from(limits::DOCUMENTATION_HEAD_BYTES).unwrap_or(u32::MAX);
    let archives = ctx.host.archives();
    let inflated = archives.inflate(archive.archive_key(), 0, length, limit);
    Ok(match inflated.await? {
        Inflated::Missing => Err(UnusableHead::Missing),
        Inflated::Damaged => Err(UnusableHead::Damaged(archive.head_length)),
        Inflated::TooLong => Err(UnusableHead::TooLong),
        Inflated::Contents(bytes) => {
            Head::parse(&bytes, package, archive.after_head()).map_err(UnusableHead::Invalid)
        }
    })
}

/// Reads a page: one ranged read. `head_length` is the length of the archive's first member. `None` if the archive is
/// missing, or damaged there.
pub(crate) async fn page<P: Host>(
    ctx: &Context<'_, P>,
    archive: Sha256,
    head_length: u64,
    page: Member,
) -> Result<Option<Vec<u8>>, Failure> {
    let Member {
        offset,
        length,
        size,
    } = page;
    let key = ArchiveKey::documentation(archive);
    let offset = head_length.saturating_add(offset);
    let archives = ctx.host.archives();
    let reason = match archives.inflate(key, offset, length, size).await? {
        Inflated::Contents(bytes) => return Ok(Some(bytes)),
        Inflated::Missing => "the archive is missing",
        Inflated::Damaged => "it is no intact gzip member",
        Inflated::TooLong => "it is longer than its head states",
    };
    ctx.host.log(&format!(
        "corrupt: the page at byte {offset} of {key}: {reason}"
    ));
    Ok(None)
}

/// Opens a file that an archive has as it is: one ranged read. `None` if the archive is missing.
pub(crate) async fn file<P: Host>(
    ctx: &Context<'_, P>,
    digest: Sha256,
    head_length: u64,
    file: Member,
) -> Result<Option<P::Stream>, Failure> {
    let key = ArchiveKey::documentation(digest);
    let offset = head_length.saturating_add(file.offset);
    let archives = ctx.host.archives();
    let length = u64::from(file.length);
    Ok(archives.open_part(key.into(), offset, length).await?)
}

/// Returns the archives that a version's documentation consists of, or did.
pub(crate) fn archives(document: &DocumentationDocument) -> Vec<ArchiveKey> {
    let mut archives = vec![document.archive.archive_key()];
    for change in &document.history {
        let earlier = ArchiveKey::documentation(change.archive);
        if !archives.contains(&earlier) {
            archives.push(earlier);
        }
    }
    archives
}

/// Returns the archive that a listed document refers to. Its metadata names the archive; if a copy of the bucket has lost
/// the metadata, the document is read. `None` if neither can be read.
pub(crate) async fn archive_of<P: Host>(
    ctx: &Context<'_, P>,
    listed: &ListedFact,
) -> Result<Option<ArchiveKey>, Failure> {
    if let Some(digest) = listed.value(ARCHIVE).and_then(|digest| digest.parse().ok()) {
        return Ok(Some(ArchiveKey::documentation(digest)));
    }
    let key = FactKey::parse(&format!("{DOCUMENTATION}{}", listed.name));
    let Some(key @ FactKey::Documentation(..)) = key else {
        return Ok(None);
    };
    let found = documents::intact(ctx, find_for_change(ctx, &key).await)?;
    let document = found.and_then(|(document, _)| document);
    Ok(document.map(|document| document.archive.archive_key()))
}
