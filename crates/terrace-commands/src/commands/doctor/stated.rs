//! Groups R, K and U: the registry's own view, for administrators.

use terrace_core::api::admin::{ArchiveSource, FailoverAnswer};
use terrace_core::storage::failover::ServingBucket;

use super::finding::{Finding, Judged};
use super::target::Target;
use crate::commands::admin::failover::describe;
use crate::http::is_loopback;
use crate::output::plural;

/// The seconds that the repair may be late: steps come every minute, and deliveries to webhooks may take a few turns.
const OVERDUE_SECONDS: u64 = 900;

/// R1
pub(super) fn answers(target: &Target) -> Judged {
    Ok(format!("at {}", target.facts()?.time))
}

/// R3
pub(super) fn has_safe_settings(target: &Target) -> Judged {
    match target.facts()?.warnings.as_slice() {
        [] => Ok(String::new()),
        warnings => Err(Finding::warn(
            warnings.join("; "),
            "the setting is valid, and admits more than it seems to",
            "change the variable that is named, and deploy again",
        )),
    }
}

/// R4
pub(super) fn signs_urls(target: &Target) -> Judged {
    let by = match target.facts()?.archives {
        ArchiveSource::Bucket => "by the bucket",
        ArchiveSource::Registry => "by the registry itself",
        ArchiveSource::Edge => "by the registry itself, through the cache of the edge",
        ArchiveSource::Unsigned => {
            return Err(Finding::fail(
                "no secret is set that could sign the URLs of archives",
                "lists are served, and downloads are not",
                "set TERRACE_ADMIN_TOKEN or TERRACE_URL_SECRET, or the four S3 settings",
            ));
        }
    };
    Ok(by.to_owned())
}

/// K1
pub(super) fn is_healthy(target: &Target) -> Judged {
    target.check_terrace()?;
    let seen = target.health().clone()?;
    match seen.status {
        200 => Ok("KV and R2 answer".to_owned()),
        _ => Err(Finding::fail(
            String::from_utf8_lossy(&seen.body),
            "the registry does not reach its storage: a binding is wrong, or Cloudflare has an incident",
            "look at the registry's log, and at cloudflarestatus.com",
        )),
    }
}

/// K2
pub(super) fn repairs(target: &Target) -> Judged {
    let repair = &target.facts()?.repair;
    if !repair.enabled {
        return Err(Finding::warn(
            "TERRACE_REPAIR_OPERATIONS is 0",
            "indices of interrupted publishes are completed only when somebody reads them",
            "remove the setting",
        ));
    }
    let last = repair
        .last
        .as_ref()
        .map(|last| format!("the last step was at {last}"));
    if repair.overdue < OVERDUE_SECONDS {
        return Ok(last.unwrap_or_else(|| "not due yet".to_owned()));
    }
    let last = last.unwrap_or_else(|| "no step was ever taken".to_owned());
    // `terrace serve` takes a step a minute after its start, and workerd on this machine has no cron trigger.
    if is_loopback(target.base().url()) {
        return Err(Finding::skip(format!(
            "{last}; the registry is on this machine"
        )));
    }
    Err(Finding::warn(
        last,
        "the cron trigger is missing or does not run, so that indices of interrupted publishes are not completed and webhooks are \
         not retried",
        "add \"* * * * *\" to crons, in the triggers of wrangler's configuration, and deploy again",
    ))
}

/// K3
pub(super) fn agree(target: &Target) -> Judged {
    let indices = &target.facts()?.indices;
    let compared = indices.compared;
    if let [first, ..] = indices.stale.as_slice() {
        return Err(Finding::fail(
            format!("{} of {compared} differ: {first}", indices.stale.len()),
            "KV has not caught up with R2 (a minute is normal), or somebody changed one of them",
            "wait a minute; then run `terrace admin reindex`",
        ));
    }
    match indices.missing.as_slice() {
        [] => Ok(format!(
            "{compared} indices of {}",
            plural(indices.packages, "package")
        )),
        missing @ [first, ..] => Err(Finding::warn(
            format!("{} of {compared} are missing: {first}", missing.len()),
            "an index was never written or was lost; the next read rebuilds it, and takes longer",
            "run `terrace admin reindex`",
        )),
    }
}

/// K5
pub(super) fn has_copy(target: &Target) -> Judged {
    match target.second_bucket() {
        Some(state) => describe_copy(state),
        None => {
            target.facts()?;
            Err(Finding::skip("no second bucket is configured"))
        }
    }
}

fn describe_copy(state: &FailoverAnswer) -> Judged {
    if state.serving == ServingBucket::Fallback {
        return Err(Finding::warn(
            format!(
                "the second bucket serves downloads since {}: {}",
                state.since.as_deref().unwrap_or("an unknown time"),
                state.reason.as_deref().unwrap_or("no reason")
            ),
            "an administrator changed it; nothing can be published meanwhile",
            "when the main bucket answers, run `terrace admin failover off --reason …`",
        ));
    }
    if state.keeps_versions == Some(true) {
        return Err(Finding::warn(
            "the second bucket keeps versions of removed objects",
            "versioning was enabled on it: the bytes of erased archives stay there",
            "copy to a new bucket without versioning and object lock, and delete this one",
        ));
    }
    if state.copy.is_none() && !state.recorded {
        let reason = "R2 does not answer, which has the state of the copy";
        return Err(Finding::skip(reason));
    }
    let copy = state.copy.clone().unwrap_or_default();
    let observed = describe(&copy);
    let differs = copy.missing + copy.erased + copy.surplus > 0;
    if copy.error.is_none() && copy.compared.is_some() && !differs {
        return Ok(observed);
    }
    Err(Finding::warn(
        observed,
        "more was published or erased than the scheduled runs copy or remove, or the second bucket does not answer, is another bucket, or its \
         key pair lacks rights",
        "run `terrace admin replicate`, and `terrace admin verify` if it fails; correct the TERRACE_S3_FALLBACK_… settings: the key pair \
         needs to list, read, write and remove objects",
    ))
}

/// U1
pub(super) fn reaches_origins(target: &Target) -> Judged {
    services(target, "origin", "no registry is pulled through")
}

/// U2
pub(super) fn reaches_issuers(target: &Target) -> Judged {
    let none = "no CI jobs are trusted, and no sign-in is configured";
    services(target, "issuer", none)
}

fn services(target: &Target, kind: &str, none: &str) -> Judged {
    let services = target.facts()?.services.iter();
    let mut names = Vec::new();
    for service in services.filter(|it| it.kind == kind) {
        if let Some(error) = &service.error {
            return Err(Finding::fail(
                format!("{}: {error}", service.name),
                "the registry cannot reach it, or it sends another document than expected",
                "check the name in the settings, and whether that server answers the public internet",
            ));
        }
        names.push(service.name.as_str());
    }
    match names.is_empty() {
        true => Err(Finding::skip(none)),
        false => Ok(names.join(", ")),
    }
}
