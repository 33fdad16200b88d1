//! Restores copies of a registry: first bytes, then the documents that refer to them, each byte for byte, and
//! only where none exists. When everything is restored, a walk creates the indices.

use std::collections::{BTreeMap, HashMap};

use terrace_core::http::problem::Problem;
use terrace_core::maintenance::garbage::{GarbageDocument, GarbageState};
use terrace_core::maintenance::restore::{
    Restored, StoredReference, check_referrer, with_revocations,
};
use terrace_core::model::oci::{Digest, RepositoryName};
use terrace_core::storage::key::{ARCHIVES, BytesKey, FactKey, MANIFESTS, PushedFact};
use terrace_core::storage::release::ErasedRelease;

use crate::archives::stored_archives;
use crate::context::Context;
use crate::documents;
use crate::documents::{format, releases};
use crate::failure::Failure;
use crate::host::{Archives as _, Condition, Facts as _, Host};
use crate::removal::garbage;
use crate::removal::garbage::GcFence;

/// The metadata of an object.
type Metadata = Vec<(&'static str, String)>;

/// The outcome of restoring a document.
pub(crate) enum RestoreOutcome {
    Created,
    Unchanged,
    Conflict,
    Refused(String),
    /// It would bring something back that was erased; the reason.
    Erased(String),
}

/// The documents of one request.
pub(crate) struct Import {
    fence: GcFence,
    /// The change markers to rewrite, by their keys.
    pub(crate) changed: BTreeMap<String, FactKey>,
    /// A repository that has a manifest, by the digest; `None` until a tombstone needs them.
    manifests: Option<HashMap<Digest, RepositoryName>>,
}

impl Import {
    /// Begins an import with a snapshot of the garbage marks.
    pub(crate) async fn begin<P: Host>(ctx: &Context<'_, P>) -> Result<Self, Failure> {
        Ok(Self {
            fence: garbage::fence(ctx).await?,
            changed: BTreeMap::new(),
            manifests: None,
        })
    }
}

pub(crate) async fn document<P: Host>(
    ctx: &Context<'_, P>,
    text: &str,
    document: &str,
    import: &mut Import,
) -> Result<RestoreOutcome, Failure> {
    let Some(key) = FactKey::parse(text) else {
        let reason = "this version of Terrace does not know documents with this key";
        return Ok(RestoreOutcome::Refused(reason.to_owned()));
    };
    if key == FactKey::Format {
        return restore_format(ctx, document).await;
    }
    let restored = match Restored::parse(&key, document) {
        Ok(restored) => restored,
        Err(reason) => return Ok(RestoreOutcome::Refused(reason)),
    };
    let Restored {
        mut metadata,
        bytes,
        fact,
        change,
    } = restored;
    if let FactKey::Garbage(bytes) = key {
        let outcome = tombstone(ctx, bytes, document, &mut import.manifests).await?;
        if matches!(outcome, RestoreOutcome::Created | RestoreOutcome::Unchanged) {
            let change = FactKey::RevocationChange;
            import.changed.insert(change.to_string(), change);
        }
        return Ok(outcome);
    }
    let (fence, changed) = (&import.fence, &mut import.changed);
    let note_change = || {
        let change = change.map(|it| (it.to_string(), it));
        changed.extend(change);
    };
    if let Some(reason) = erased(ctx, &key, document, fence).await? {
        return Ok(RestoreOutcome::Erased(reason));
    }
    if let Some(reason) = erased_content(ctx, &key, fact.as_ref(), fence).await? {
        return Ok(RestoreOutcome::Erased(reason));
    }
    if let Some(there) = compare(ctx, &key, document).await? {
        // The request that created it may have been interrupted before it changed the marker.
        note_change();
        return Ok(there);
    }
    match lacking(ctx, &key, document, (&bytes, fact), fence).await {
        Ok(Ok(more)) => metadata.extend(more),
        Ok(Err(reason)) => return Ok(RestoreOutcome::Refused(reason)),
        Err(Failure::Problem(Problem::Gone(reason))) => return Ok(RestoreOutcome::Erased(reason)),
        Err(failure) => return Err(failure),
    }
    garbage::ensure_fresh(ctx, fence)?;
    let absent = Condition::Absent;
    let written = documents::put(ctx, &key, document, &metadata, absent).await?;
    note_change();
    match written {
        Some(_) => Ok(RestoreOutcome::Created),
        // Another request was faster.
        None => Ok(compare(ctx, &key, document)
            .await?
            .unwrap_or(RestoreOutcome::Conflict)),
    }
}

/// Restores the tombstone of bytes, unless bytes or a manifest with this digest are stored here: then the operator decides.
async fn tombstone<P: Host>(
    ctx: &Context<'_, P>,
    bytes: BytesKey,
    document: &str,
    manifests: &mut Option<HashMap<Digest, RepositoryName>>,
) -> Result<RestoreOutcome, Failure> {
    let Ok(tombstone) = serde_json::from_slice::<GarbageDocument>(document.as_bytes()) else {
        return Ok(RestoreOutcome::Conflict);
    };
    if let Some((stored, command)) = stored_with(ctx, bytes.digest(), manifests).await? {
        return Ok(RestoreOutcome::Refused(format!(
            "the copy's registry has erased {stored}, which is stored here: to erase it here as well, run `terrace admin erase \
             {command} --reason REASON`"
        )));
    }
    if garbage::state_of(ctx, bytes).await? == Some(GarbageState::Erased) {
        return Ok(RestoreOutcome::Unchanged);
    }
    garbage::bury(ctx, bytes, tombstone).await?;
    Ok(RestoreOutcome::Created)
}

/// Returns the name of stored content with this digest, which was not erased here, and the options that erase it.
async fn stored_with<P: Host>(
    ctx: &Context<'_, P>,
    digest: Digest,
    manifests: &mut Option<HashMap<Digest, RepositoryName>>,
) -> Result<Option<(String, String)>, Failure> {
    let blob = BytesKey::Blob(digest);
    if garbage::is_erased(ctx, blob).await? {
        return Ok(None);
    }
    let archives = ctx.host.archives();
    if archives.head(blob).await?.is_some() {
        return Ok(Some((blob.to_string(), format!("--blob {digest}"))));
    }
    if let Digest::Sha256(sha256) = digest {
        let prefix = format!("{ARCHIVES}{sha256}.");
        let page = archives.list_bytes(&prefix, None, 1).await?;
        if let Some(stored) = page.objects.first() {
            let name = format!("{prefix}{}", stored.name);
            return Ok(Some((name, format!("--archive {sha256}"))));
        }
    }
    let manifests = match manifests.take() {
        Some(known) => manifests.insert(known),
        None => manifests.insert(manifests_by_digest(ctx).await?),
    };
    Ok(manifests.get(&digest).map(|repository| {
        let name = format!("{repository}@{digest}");
        (name.clone(), format!("--manifest {name}"))
    }))
}

/// Returns a repository that has a manifest, by the digest. No key begins with the digest of a manifest, so this lists all of
/// them, once in a request.
async fn manifests_by_digest<P: Host>(
    ctx: &Context<'_, P>,
) -> Result<HashMap<Digest, RepositoryName>, Failure> {
    let mut manifests = HashMap::new();
    documents::visit(ctx, MANIFESTS, async |fact| {
        let key = FactKey::parse(&format!("{MANIFESTS}{}", fact.name));
        if let Some(FactKey::Pushed(PushedFact::Manifest(repository, digest))) = key {
            manifests.insert(digest, repository);
        }
        Ok(())
    })
    .await?;
    Ok(manifests)
}

/// Returns the reason why pushed content stays out: its digest was erased, or that of the manifest that it names.
async fn erased_content<P: Host>(
    ctx: &Context<'_, P>,
    key: &FactKey,
    needed: Option<&FactKey>,
    fence: &GcFence,
) -> Result<Option<String>, Failure> {
    let named = [Some(key), needed].into_iter().flatten();
    for fact in named {
        let FactKey::Pushed(PushedFact::Link(_, digest) | PushedFact::Manifest(_, digest)) = fact
        else {
            continue;
        };
        if fence.has_mark(BytesKey::Blob(*digest))
            && let Some(reason) = garbage::erasure_of(ctx, *digest).await?
        {
            return Ok(Some(reason));
        }
    }
    Ok(None)
}

/// Returns the reason why a release, or documentation, of an erased version stays out, or documentation of a version with an
/// erased archive; `None` if nothing was erased, or if the document is the tombstone.
async fn erased<P: Host>(
    ctx: &Context<'_, P>,
    key: &FactKey,
    document: &str,
    fence: &GcFence,
) -> Result<Option<String>, Failure> {
    let (FactKey::Release(package, version) | FactKey::Documentation(package, version)) = key
    else {
        return Ok(None);
    };
    let Some(release) = releases::find(ctx, package, version).await? else {
        return Ok(None);
    };
    if let FactKey::Documentation(..) = key {
        match garbage::ensure_release_kept(ctx, &release, fence).await {
            Err(Failure::Problem(Problem::Gone(reason))) => return Ok(Some(reason)),
            kept => kept?,
        }
    }
    let tombstone = release.erased();
    let tombstone = tombstone.filter(|_| release.to_document() != document);
    Ok(tombstone.map(ErasedRelease::message))
}

/// Takes over the oldest writer of a copy: an older version would damage the copy's documents here as well.
async fn restore_format<P: Host>(
    ctx: &Context<'_, P>,
    document: &str,
) -> Result<RestoreOutcome, Failure> {
    match serde_json::from_slice(document.as_bytes()) {
        Ok(copied) => format::raise(ctx, &copied)
            .await
            .map(|()| RestoreOutcome::Unchanged),
        Err(error) => Ok(RestoreOutcome::Refused(error.to_string())),
    }
}

/// Compares a document with the stored one, which stays unchanged except for added revocations.
async fn compare<P: Host>(
    ctx: &Context<'_, P>,
    key: &FactKey,
    document: &str,
) -> Result<Option<RestoreOutcome>, Failure> {
    loop {
        let Some(there) = ctx.host.facts().get(key).await? else {
            return Ok(None);
        };
        if there.bytes == document.as_bytes() {
            return Ok(Some(RestoreOutcome::Unchanged));
        }
        let Some(merged) = with_revocations(key, &there.bytes, document) else {
            return Ok(Some(RestoreOutcome::Conflict));
        };
        let unchanged = Condition::Unchanged(there.etag);
        let written = documents::put(ctx, key, &merged, &[], unchanged);
        if written.await?.is_some() {
            return Ok(Some(RestoreOutcome::Conflict));
        }
    }
}

/// Returns the reason why a document cannot be restored yet, because something that it needs is missing; or
/// else the further metadata of its object.
async fn lacking<P: Host>(
    ctx: &Context<'_, P>,
    key: &FactKey,
    document: &str,
    (bytes, needed): (&[StoredReference], Option<FactKey>),
    fence: &GcFence,
) -> Result<Result<Metadata, String>, Failure> {
    for needed in bytes {
        if !stored_archives::is_stored(ctx, needed.key, needed.size, fence).await? {
            return Ok(Err(format!("{} is not stored", needed.key)));
        }
    }
    let Some(needed) = needed else {
        return Ok(Ok(Metadata::new()));
    };
    let Some(fact) = ctx.host.facts().get(&needed).await? else {
        return Ok(Err(format!("{needed} does not exist")));
    };
    Ok(match key {
        FactKey::Pushed(PushedFact::Referrer(_, subject, digest)) => {
            check_referrer(document, *subject, &fact.bytes, *digest)
        }
        _ => Ok(Metadata::new()),
    })
}
