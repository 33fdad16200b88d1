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
        warnings => Err(Finding::warn(warnings.join("; "))),
    }
}

/// R4
pub(super) fn signs_urls(target: &Target) -> Judged {
    let by = match target.facts()?.archives {
        ArchiveSource::Bucket => "by the bucket",
        ArchiveSource::Registry => "by the registry itself",
        ArchiveSource::Edge => "by the registry itself, through the cache of the edge",
        ArchiveSource::Unsigned => return Err(Finding::fail("there is no secret to sign with")),
    };
    Ok(by.to_owned())
}

/// K1
pub(super) fn is_healthy(target: &Target) -> Judged {
    target.check_terrace()?;
    let seen = target.health().clone()?;
    match seen.status {
        200 => Ok("KV and R2 answer".to_owned()),
        _ => Err(Finding::fail(String::from_utf8_lossy(&seen.body))),
    }
}

/// K2
pub(super) fn repairs(target: &Target) -> Judged {
    let repair = &target.facts()?.repair;
    if !repair.enabled {
        return Err(Finding::warn("TERRACE_REPAIR_OPERATIONS is 0"));
    }
    let last = match &repair.last {
        Some(last) => format!("the last step was at {last}"),
        None => "no step was taken yet".to_owned(),
    };
    match repair.overdue < OVERDUE_SECONDS {
        true => Ok(last),
        // `terrace serve` takes a step a minute after its start, and workerd on this machine has no cron trigger.
        false if is_loopback(target.base().url()) => Err(Finding::skip(format!(
            "{last}; the registry is on this machine"
        ))),
        false => Err(Finding::warn(last)),
    }
}

/// K3
pub(super) fn agree(target: &Target) -> Judged {
    let indices = &target.facts()?.indices;
    let compared = indices.compared;
    if let [first, ..] = indices.stale.as_slice() {
        let stale = indices.stale.len();
        return Err(Finding::fail(format!(
            "{stale} of {compared} differ: {first}"
        )));
    }
    match indices.missing.as_slice() {
        [] => Ok(format!(
            "{compared} indices of {}",
            plural(indices.packages, "package")
        )),
        missing @ [first, ..] => Err(Finding::warn(format!(
            "{} of {compared} are missing, which the next read rebuilds: {first}",
            missing.len()
        ))),
    }
}

/// K5
pub(super) fn has_copy(target: &Target) -> Judged {
    let state = target.facts()?.failover.as_ref();
    let state = state.ok_or_else(|| Finding::skip("no second bucket is configured"))?;
    judge_copy(state).map_err(Finding::warn)
}

/// Returns the state of the copy, or what is wrong with it.
fn judge_copy(state: &FailoverAnswer) -> Result<String, String> {
    if state.serving == ServingBucket::Fallback {
        return Err(format!(
            "the second bucket serves downloads since {}: {}",
            state.since.as_deref().unwrap_or("an unknown time"),
            state.reason.as_deref().unwrap_or("no reason")
        ));
    }
    if state.keeps_versions == Some(true) {
        return Err("the second bucket keeps versions of removed objects".to_owned());
    }
    let copy = state.copy.clone().unwrap_or_default();
    let differs = copy.missing + copy.erased + copy.surplus > 0;
    match copy.error.is_none() && copy.compared.is_some() && !differs {
        true => Ok(describe(&copy)),
        false => Err(describe(&copy)),
    }
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
            return Err(Finding::fail(format!("{}: {error}", service.name)));
        }
        names.push(service.name.as_str());
    }
    match names.is_empty() {
        true => Err(Finding::skip(none)),
        false => Ok(names.join(", ")),
    }
}
