//! Mirrors pushed providers: one upload serves every protocol.

use terrace_core::auth::access::Caller;
use terrace_core::http::oci_error::{OciCode, OciError};
use terrace_core::http::problem::Problem;
use terrace_core::model::address::MirroredAddress;
use terrace_core::model::oci::{Digest, RepositoryName, Tag};
use terrace_core::model::own_hosts::OwnHosts;
use terrace_core::model::package::Package;
use terrace_core::model::status::ReleaseState;
use terrace_core::model::version::Version;
use terrace_core::oci::pushed::PushedManifest;
use terrace_core::publish::{ExpectedArchive, MirrorPublication, Publication};
use terrace_core::storage::key::BytesKey;

use crate::access::{rules, status};
use crate::archives::stored_archives;
use crate::concurrent::{Boxed, all};
use crate::context::Context;
use crate::documents::releases;
use crate::failure::Failure;
use crate::host::Host;
use crate::oci::pushed_contents;
use crate::publish::publisher;
use crate::publish::publisher::PublishOutcome;
use crate::pull::puller;
use crate::removal::garbage;

/// Mirrors an index that a caller has pushed to the registry at `origin`, if one of its tags is a version of a
/// provider.
pub(crate) async fn mirror<P: Host>(
    ctx: &Context<'_, P>,
    repository: &RepositoryName,
    tags: &[Tag],
    index: &PushedManifest,
    (caller, origin): (&Caller, &str),
) -> Result<(), Failure> {
    let Some(address) = ctx.config.oci_providers.address(repository) else {
        return Ok(());
    };
    let mut versions = tags.iter().filter_map(|tag| index.provider_version(tag));
    let Some(version) = versions.next() else {
        return Ok(());
    };
    // With two versions, the second could contradict its mirrored release after the first is stored.
    if versions.next().is_some() {
        let message = "a provider can be pushed with the tag of only one version at a time";
        return Err(OciError::new(OciCode::ManifestInvalid, message).into());
    }
    if OwnHosts::new(origin, &ctx.config.hostnames).include(&address.hostname) {
        let message = format!(
            "{} is this registry itself: publish {} with `terrace publish`",
            address.hostname, address.provider
        );
        return Err(OciError::new(OciCode::Denied, message).into());
    }
    let publication = publication(ctx, repository, address.clone(), version.clone(), index).await?;
    let publication = publication.by_job(caller.provenance());
    let package = Package::Mirrored(address);
    rules::read_before_writing(ctx, &package).await?;
    if let Some(refusal) = status::applied(ctx, &package).await?.refusal(&version) {
        let state = match refusal.is_blocked {
            true => ReleaseState::Blocked,
            false => ReleaseState::Revoked,
        };
        let message = format!(
            "{} {version} is {state}: {}",
            package.address(),
            refusal.reason
        );
        return Err(OciError::new(OciCode::Denied, message)
            .with_status(409)
            .into());
    }
    // For a pulled provider, the origin's signed release takes precedence. Later, nothing would fetch it any
    // more.
    if releases::stored(ctx, &package, &version).await?.is_none() {
        puller::fetch(ctx, &package, &version).await?;
    }
    let archives = publication.archives();
    let fence = garbage::fence(ctx).await?;
    for archive in &archives {
        garbage::ensure_not_erased(ctx, archive.key.into(), &fence).await?;
    }
    let copy = |archive| -> Boxed<'_> { Box::pin(copy_blob(ctx, repository, archive)) };
    all(archives.iter().map(copy).collect()).await?;
    match publisher::publish(ctx, &publication, false).await {
        Ok(PublishOutcome::Whole { .. }) => Ok(()),
        Ok(PublishOutcome::Lacks(missing)) => {
            let missing = missing.first().map(|archive| archive.filename.as_str());
            let message = format!("{} is not stored", missing.unwrap_or_default());
            Err(OciError::new(OciCode::ManifestBlobUnknown, message).into())
        }
        Err(Failure::Problem(Problem::Conflict(reasons))) => {
            let error = OciError::new(OciCode::Denied, reasons.join("; "));
            Err(error.with_status(409).into())
        }
        Err(Failure::Problem(Problem::Invalid(reasons))) => Err(invalid(&reasons)),
        Err(failure) => Err(failure),
    }
}

/// Combines the manifests of an index into a publication.
async fn publication<P: Host>(
    ctx: &Context<'_, P>,
    repository: &RepositoryName,
    address: MirroredAddress,
    version: Version,
    index: &PushedManifest,
) -> Result<Publication, Failure> {
    let mut packages = Vec::new();
    for (digest, platform) in index.provider_targets()? {
        let text = pushed_contents::manifest(ctx, repository, digest).await?;
        let missing = || OciError::new(OciCode::ManifestBlobUnknown, digest.to_string());
        let text = text.ok_or_else(missing)?;
        let target = PushedManifest::parse(text.as_bytes())?;
        packages.push(target.package(&address, &version, &platform)?);
    }
    MirrorPublication::of_pushed(address, version, packages)
        .map(Publication::Mirror)
        .map_err(|reasons| invalid(&reasons))
}

/// Copies a zip of this repository to the archives, unless it exists there. Its bytes do not enter wasm. A
/// zip of another repository is not accessible by its digest.
async fn copy_blob<P: Host>(
    ctx: &Context<'_, P>,
    repository: &RepositoryName,
    archive: &ExpectedArchive,
) -> Result<(), Failure> {
    let digest = Digest::Sha256(archive.key.digest);
    if pushed_contents::link(ctx, repository, digest)
        .await?
        .is_none()
    {
        let message = format!("{repository} does not contain the zip {digest}");
        return Err(OciError::new(OciCode::ManifestBlobUnknown, message).into());
    }
    // A missing blob is reported when the release is planned.
    let copied = stored_archives::copy(ctx, BytesKey::Blob(digest), archive.key.into());
    copied.await.map(drop)
}

fn invalid(reasons: &[String]) -> Failure {
    OciError::new(OciCode::ManifestInvalid, reasons.join("; ")).into()
}
