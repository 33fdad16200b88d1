//! Erases versions, archives and pushed content.

use terrace_base::time::UnixTime;
use terrace_core::api::admin::{ErasedContent, ErasureAnswer, ErasureBody};
use terrace_core::auth::access::Caller;
use terrace_core::http::problem::Problem;
use terrace_core::limits;
use terrace_core::model::oci::{Digest, RepositoryName};
use terrace_core::model::package::Package;
use terrace_core::model::status::Reason;
use terrace_core::model::version::Version;
use terrace_core::oci::empty_config_digest;
use terrace_core::storage::key::{ArchiveKey, BytesKey};
use terrace_core::storage::release::ErasedRelease;

use crate::body::{check_count, package};
use crate::context::Context;
use crate::documentation::documentation_removal::Discarded;
use crate::documents::format;
use crate::erasure::{PushedContent, erased_documentation};
use crate::failure::Failure;
use crate::host::{Clock as _, Host};
use crate::outcome::{AuditDetails, Call, Handled, Outcome};
use crate::removal::collection::archive;
use crate::{erasure, json, removal};

/// A request for an erasure.
struct Requested {
    release: Option<(Package, Version)>,
    archives: Vec<ArchiveKey>,
    contents: Vec<PushedContent>,
    reason: Reason,
}

/// `POST /admin/v1/erasures`: the client has examined everything that refers to the archives and
/// to the content.
pub(crate) async fn erase<P: Host>(ctx: &Context<'_, P>, call: Call) -> Handled<P::Stream> {
    let began = ctx.operations();
    let mut requested = requested(json::parse(&call.body)?)?;
    format::prepare_for_tombstones(ctx).await?;
    let mut answer = ErasureAnswer {
        erased: requested.names(),
        ..ErasureAnswer::default()
    };
    let mut done = Vec::new();
    let erased = carry_out(ctx, &call.caller, &mut requested, (began, &mut done)).await;
    // Only the report waits for the second bucket.
    removal::carry_out(ctx).await;
    match erased {
        Ok(erased) => {
            answer.release = requested.release_name();
            answer.kept = erased.kept;
            answer.left_in_fallback = removal::left(ctx);
            answer.uploads_end = erased.newest.map(erasure::uploads_end);
            Ok(Outcome::new(
                json::reply(200, &answer)?,
                AuditDetails::Erases(done),
            ))
        }
        Err(failure) => {
            // The failure may name neither the version nor the archive.
            if failure.may_have_changed_state() {
                let names = requested.release_name().into_iter().chain(answer.erased);
                let names: Vec<String> = names.collect();
                ctx.host
                    .log(&format!("erasure: {} failed:", names.join(", ")));
            }
            if done.is_empty() {
                return Err(failure);
            }
            // This part is erased, and never returns. The log must not miss it.
            let reply = ctx.report(failure).reply();
            Ok(Outcome::new(reply, AuditDetails::Erases(done)))
        }
    }
}

/// Erases the version, and then archives and content, for the reason in the version's tombstone. Adds the names
/// of everything that is erased to `done`.
async fn carry_out<P: Host>(
    ctx: &Context<'_, P>,
    caller: &Caller,
    requested: &mut Requested,
    (began, done): (u32, &mut Vec<String>),
) -> Result<Erased, Failure> {
    let now = ctx.host.clock().now();
    let mut tombstone = None;
    if let Some((package, version)) = &requested.release {
        let (at, reason) = ((package, version), requested.reason.clone());
        let buried = erasure::erase_release(ctx, caller, at, (now, reason), done).await?;
        requested.reason = buried.reason.clone();
        tombstone = Some(buried);
    }
    let texts = Discarded::since(began);
    erase_bytes(ctx, requested, (tombstone, texts), (now, done)).await
}

/// The results of an erasure.
struct Erased {
    /// The archives of the version that stay.
    kept: Vec<String>,
    /// The time of the newest tombstone.
    newest: Option<UnixTime>,
}

/// Erases archives and content, and removes the documentation that follows from them. Adds the names of everything that is
/// erased to `done`.
async fn erase_bytes<P: Host>(
    ctx: &Context<'_, P>,
    requested: &Requested,
    (tombstone, mut texts): (Option<ErasedRelease>, Discarded),
    (now, done): (UnixTime, &mut Vec<String>),
) -> Result<Erased, Failure> {
    let Requested {
        archives,
        contents,
        reason,
        ..
    } = requested;
    let newest = match erasure::erase_archives(ctx, archives, (now, reason), done).await {
        Ok(newest) => newest,
        Err(failure) => return Err(failed(ctx, &digests_of(archives), failure).await),
    };
    let discarded =
        erased_documentation::discard(ctx, archives, tombstone.as_ref(), &mut texts).await;
    // Copies of the registry follow the log.
    done.extend(texts.removed.iter().map(ToString::to_string));
    let removed = digests_of(archives.iter().chain(&texts.removed));
    erasure::withdraw_from_caches(ctx, &removed).await?;
    discarded?;
    let consisted = tombstone.iter().flat_map(|it| &it.archives).map(|it| it.0);
    let kept = consisted.filter(|it| !archives.contains(it) && !texts.removed.contains(it));
    let kept = kept.map(|archive| archive.to_string()).collect();
    let removed: Vec<Digest> = contents.iter().map(|(digest, _)| *digest).collect();
    let of_contents = match erasure::erase_contents(ctx, contents, (now, reason), done).await {
        Ok(newest) => newest,
        Err(failure) => return Err(failed(ctx, &removed, failure).await),
    };
    erasure::withdraw_from_caches(ctx, &removed).await?;
    if let Some(tombstone) = tombstone {
        erasure::refresh(ctx, tombstone).await?;
    }
    let newest = newest.max(of_contents);
    Ok(Erased { kept, newest })
}

fn digests_of<'a>(archives: impl IntoIterator<Item = &'a ArchiveKey>) -> Vec<Digest> {
    let digests = archives.into_iter().map(|it| Digest::Sha256(it.digest));
    digests.collect()
}

/// Withdraws the bytes of a failed erasure from caches, because those that have a tombstone are erased. Returns the failure.
async fn failed<P: Host>(ctx: &Context<'_, P>, digests: &[Digest], failure: Failure) -> Failure {
    if let Err(other) = erasure::withdraw_from_caches(ctx, digests).await {
        ctx.report(other);
    }
    failure
}

impl Requested {
    /// Returns the name of the version, if there is one.
    fn release_name(&self) -> Option<String> {
        let (package, version) = self.release.as_ref()?;
        Some(erasure::release_name(package, version))
    }

    /// Returns the names of the archives and of the content.
    fn names(&self) -> Vec<String> {
        let archives = self.archives.iter().map(ToString::to_string);
        let blobs = self.contents.iter();
        let blobs = blobs.map(|(digest, _)| BytesKey::Blob(*digest).to_string());
        archives.chain(blobs).collect()
    }
}

fn requested(body: ErasureBody) -> Result<Requested, Problem> {
    let ErasureBody {
        package: address,
        version,
        reason,
        archives,
        contents,
    } = body;
    let invalid = |message: String| Problem::Invalid(vec![message]);
    let reason = reason.parse::<Reason>();
    let reason = reason.ok().filter(Reason::is_short).ok_or_else(|| {
        let limit = limits::ERASURE_REASON_BYTES;
        invalid(format!(
            "the reason of an erasure must be one line of 1 to {limit} bytes of printable text"
        ))
    })?;
    let release = match (address, version) {
        (Some(address), Some(version)) => {
            let version = version
                .parse()
                .map_err(|error| Problem::BadRequest(format!("version: {error}")))?;
            Some((package(&address)?, version))
        }
        (None, None) => None,
        _ => {
            let message = "package and version must be given together: each version is erased by a request of its own";
            return Err(invalid(message.to_owned()));
        }
    };
    if release.is_none() && archives.is_empty() && contents.is_empty() {
        let message = "there is nothing to erase: give package and version, archives or contents";
        return Err(invalid(message.to_owned()));
    }
    check_count(archives.len(), limits::ERASED_AT_ONCE)?;
    let archives = archives.iter().map(|text| {
        let archive = archive(text)?;
        check_shared(Digest::Sha256(archive.digest)).map(|()| archive)
    });
    let places: usize = contents.iter().map(|it| it.repositories.len().max(1)).sum();
    check_count(places, limits::CONTENTS_ERASED_AT_ONCE)?;
    let contents = contents.into_iter().map(content);
    Ok(Requested {
        release,
        archives: archives.collect::<Result<_, _>>()?,
        contents: contents.collect::<Result<_, _>>()?,
        reason,
    })
}

fn content(content: ErasedContent) -> Result<PushedContent, Problem> {
    let ErasedContent {
        digest: text,
        repositories,
    } = content;
    let digest = Digest::parse(&text).map_err(|_| {
        Problem::BadRequest(format!(
            "{text:?} is not a digest: it must be sha256:<digits> or sha512:<digits>"
        ))
    })?;
    check_shared(digest)?;
    let repository = |name: String| {
        RepositoryName::parse(&name).map_err(|_| {
            Problem::BadRequest(format!(
                "{name:?} is not a repository that clients push to: it must be a name such as team/app"
            ))
        })
    };
    let repositories = repositories.into_iter().map(repository);
    Ok((digest, repositories.collect::<Result<_, _>>()?))
}

/// Checks that content is not shared by all manifests.
fn check_shared(digest: Digest) -> Result<(), Problem> {
    if digest != Digest::Sha256(empty_config_digest()) {
        return Ok(());
    }
    Err(Problem::Invalid(vec![format!(
        "{digest} is the digest of {{}}, the empty configuration that manifests share: it cannot be erased"
    )]))
}
