//! Erases versions and archives.

use terrace_core::api::admin::{ErasureAnswer, ErasureBody};
use terrace_core::http::problem::Problem;
use terrace_core::limits;
use terrace_core::model::package::Package;
use terrace_core::model::status::Reason;
use terrace_core::model::version::Version;
use terrace_core::storage::key::ArchiveKey;

use crate::context::Context;
use crate::handlers::body::{check_count, package};
use crate::handlers::garbage::archive;
use crate::handlers::outcome::{AuditDetails, Call, Handled, Outcome};
use crate::host::{Clock as _, Host};
use crate::json;
use crate::services::erasure;

/// A request for an erasure.
struct Requested {
    release: Option<(Package, Version)>,
    archives: Vec<ArchiveKey>,
    reason: Reason,
}

/// `POST /admin/v1/erasures`: the client has examined what refers to the archives.
pub(crate) async fn erase<P: Host>(ctx: &Context<'_, P>, call: Call) -> Handled<P::Stream> {
    let Requested {
        release,
        archives,
        mut reason,
    } = requested(json::parse(&call.body)?)?;
    let now = ctx.host.clock().now();
    let mut answer = ErasureAnswer {
        erased: archives.iter().map(ToString::to_string).collect(),
        ..ErasureAnswer::default()
    };
    let mut tombstone = None;
    if let Some((package, version)) = &release {
        let at = (package, version);
        let buried = erasure::erase_release(ctx, &call.caller, at, (now, reason)).await?;
        reason = buried.reason.clone();
        let consisted = buried.archives.iter().map(|it| it.0);
        let kept = consisted.filter(|archive| !archives.contains(archive));
        answer.kept = kept.map(|archive| archive.to_string()).collect();
        answer.release = Some(format!("{}@{version}", package.address()));
        tombstone = Some(buried);
    }
    let newest = erasure::erase_archives(ctx, &archives, (now, &reason)).await?;
    answer.uploads_end = newest.map(erasure::uploads_end);
    if let Some(tombstone) = tombstone {
        erasure::refresh(ctx, tombstone).await?;
    }
    let names = answer.release.iter().chain(&answer.erased);
    let entry = AuditDetails::Erases(names.cloned().collect());
    Ok(Outcome::new(json::reply(200, &answer)?, entry))
}

fn requested(body: ErasureBody) -> Result<Requested, Problem> {
    let ErasureBody {
        package: address,
        version,
        reason,
        archives,
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
    if release.is_none() && archives.is_empty() {
        let message = "there is nothing to erase: give package and version, archives, or both";
        return Err(invalid(message.to_owned()));
    }
    check_count(archives.len(), limits::ERASED_AT_ONCE)?;
    let archives = archives.iter().map(|text| archive(text));
    Ok(Requested {
        release,
        archives: archives.collect::<Result<_, _>>()?,
        reason,
    })
}
