//! Groups R, K, U and V: the registry's own view, for administrators.

use terrace_core::api::admin::{ArchiveSource, CopyFacts, FailoverAnswer};
use terrace_core::model::version::Version;
use terrace_core::storage::failover::ServingBucket;

use super::outcome::Outcome;
use super::target::{Facts, Target};
use crate::output::plural;

/// The seconds that the repair may be late: steps come every minute, and deliveries to webhooks may take a few turns.
const OVERDUE_SECONDS: u64 = 900;

/// Returns the outcome of a check of the facts.
fn of(target: &Target, id: &str, check: impl Fn(&Facts) -> Outcome) -> Outcome {
    match target.own_facts() {
        Ok(facts) => check(facts),
        Err(gap) => gap.outcome(id),
    }
}

/// R1
pub(super) fn answers(target: &Target) -> Outcome {
    of(target, "R1", |facts| {
        Outcome::pass(format!("at {}", facts.time))
    })
}

/// R2
pub(super) fn has_valid_settings(target: &Target) -> Outcome {
    of(target, "R2", |facts| match facts.faults.as_slice() {
        [] => Outcome::pass(""),
        faults => Outcome::fail(
            faults.join("; "),
            "a rule identifies nobody, or grants too much, and is ignored",
            "correct the variable that is named, and deploy again",
        ),
    })
}

/// R3
pub(super) fn has_safe_settings(target: &Target) -> Outcome {
    of(target, "R3", |facts| match facts.warnings.as_slice() {
        [] => Outcome::pass(""),
        warnings => Outcome::warn(
            warnings.join("; "),
            "the setting is valid, and admits more than it seems to",
            "change the variable that is named, and deploy again",
        ),
    })
}

/// R4
pub(super) fn signs_urls(target: &Target) -> Outcome {
    of(target, "R4", |facts| match facts.archives {
        ArchiveSource::Bucket => Outcome::pass("by the bucket"),
        ArchiveSource::Registry => Outcome::pass("by the registry itself"),
        ArchiveSource::Edge => {
            Outcome::pass("by the registry itself, through the cache of the edge")
        }
        ArchiveSource::Unsigned => Outcome::fail(
            "no secret is set that could sign the URLs of archives",
            "lists are served, and downloads are not",
            "set TERRACE_ADMIN_TOKEN or TERRACE_URL_SECRET, or the four S3 settings",
        ),
    })
}

/// K1
pub(super) fn is_healthy(target: &Target) -> Outcome {
    if let Some(skipped) = target.skipped_elsewhere() {
        return skipped;
    }
    match target.health() {
        Ok(seen) if seen.status == 200 => Outcome::pass("KV and R2 answer"),
        Ok(seen) => Outcome::fail(
            String::from_utf8_lossy(&seen.body),
            "the registry does not reach its storage: a binding is wrong, or Cloudflare has an incident",
            "look at the registry's log, and at cloudflarestatus.com",
        ),
        Err(error) => Outcome::skip(error),
    }
}

/// K2
pub(super) fn repairs(target: &Target) -> Outcome {
    of(target, "K2", |facts| {
        let repair = &facts.repair;
        match (&repair.last, repair.overdue) {
            _ if !repair.enabled => Outcome::warn(
                "TERRACE_REPAIR_OPERATIONS is 0",
                "indices of interrupted publishes are completed only when somebody reads them",
                "remove the setting",
            ),
            (None, OVERDUE_SECONDS..) => Outcome::warn("no step was ever taken", NO_CRON, ADD_CRON),
            (Some(last), OVERDUE_SECONDS..) => {
                Outcome::warn(format!("the last step was at {last}"), NO_CRON, ADD_CRON)
            }
            (None, _) => Outcome::pass("not due yet"),
            (Some(last), _) => Outcome::pass(format!("last step at {last}")),
        }
    })
}

const NO_CRON: &str = "the cron trigger is missing or does not run, so that indices of interrupted publishes are not \
                       completed and webhooks are not retried";
const ADD_CRON: &str =
    "add \"* * * * *\" to crons, in the triggers of wrangler's configuration, and deploy again";

/// K3
pub(super) fn agree(target: &Target) -> Outcome {
    of(target, "K3", |facts| {
        let indices = &facts.indices;
        let packages = plural(indices.packages, "package");
        if let [first, ..] = indices.stale.as_slice() {
            return Outcome::fail(
                format!(
                    "{} of {} differ: {first}",
                    indices.stale.len(),
                    indices.compared
                ),
                "KV has not caught up with R2 (a minute is normal), or somebody changed one of them",
                "wait a minute; then run `terrace admin reindex`",
            );
        }
        match indices.missing.as_slice() {
            [] => Outcome::pass(format!(
                "{} of {packages}",
                match indices.compared {
                    1 => "1 index".to_owned(),
                    count => format!("{count} indices"),
                }
            )),
            [first, ..] => Outcome::warn(
                format!(
                    "{} of {} are missing: {first}",
                    indices.missing.len(),
                    indices.compared
                ),
                "an index was never written or was lost; the next read rebuilds it, and takes longer",
                "run `terrace admin reindex`",
            ),
        }
    })
}

/// K4
pub(super) fn has_whole_log(target: &Target) -> Outcome {
    of(target, "K4", |facts| match facts.audit.complete {
        true => Outcome::pass(match facts.audit.head {
            0 => "empty".to_owned(),
            head => format!("entry {head} is the newest known"),
        }),
        false => Outcome::fail(
            format!("entry {} is missing", facts.audit.head),
            "an entry was removed from the bucket",
            "restore it from a copy, and compare with `terrace admin audit`",
        ),
    })
}

/// K5
pub(super) fn has_copy(target: &Target) -> Outcome {
    match target.second_bucket() {
        Some(state) => describe_copy(state),
        None => of(target, "K5", |_| {
            Outcome::skip("no second bucket is configured")
        }),
    }
}

fn describe_copy(state: &FailoverAnswer) -> Outcome {
    if state.serving == ServingBucket::Fallback {
        return Outcome::warn(
            format!(
                "the second bucket serves downloads since {}: {}",
                state.since.as_deref().unwrap_or("an unknown time"),
                state.reason.as_deref().unwrap_or("no reason")
            ),
            "the main bucket did not answer, or an administrator changed it; nothing can be published meanwhile",
            "when the main bucket answers, run `terrace admin failover off --reason …`, if an administrator changed it",
        );
    }
    if state.keeps_versions == Some(true) {
        return Outcome::warn(
            "the second bucket keeps versions of removed objects",
            "versioning was enabled on it: the bytes of erased archives stay there",
            "copy to a new bucket without versioning and object lock, and delete this one",
        );
    }
    let Some(copy) = &state.copy else {
        return match state.recorded {
            true => never_compared(),
            false => Outcome::skip("R2 does not answer, which has the state of the copy"),
        };
    };
    let observed = differences(copy);
    match (&copy.error, &copy.compared) {
        (Some(error), _) => Outcome::warn(
            [vec![error.clone()], observed].concat().join("; "),
            "the second bucket does not answer, is another bucket, or its key pair lacks rights; or the named archive is damaged in the \
             main bucket (BadDigest)",
            "correct the TERRACE_S3_FALLBACK_… settings: the key pair needs to list, read, write and remove objects; `terrace admin \
             verify` finds a damaged archive",
        ),
        (None, None) => never_compared(),
        (None, Some(time)) if observed.is_empty() => Outcome::pass(format!("complete at {time}")),
        (None, Some(time)) => {
            let observed = format!("{} at {time}", observed.join("; "));
            let (cause, fix) = reasons_of_differences(copy);
            Outcome::warn(observed, cause, fix)
        }
    }
}

fn never_compared() -> Outcome {
    Outcome::warn(
        "the copy was never compared completely",
        "the second bucket is new, or the cron trigger does not run",
        "run `terrace admin replicate`, and check the cron trigger, which compares the buckets within minutes",
    )
}

/// Describes the differences of the two buckets, the most urgent one first.
fn differences(copy: &CopyFacts) -> Vec<String> {
    let described = [
        (
            copy.missing,
            format!("{} of {} archives were missing", copy.missing, copy.stored),
        ),
        (
            copy.erased,
            format!("it still had {}", plural(copy.erased, "erased archive")),
        ),
        (
            copy.surplus,
            format!(
                "only the second bucket had {}",
                plural(copy.surplus, "archive")
            ),
        ),
    ];
    let some = described.into_iter().filter(|(count, _)| *count > 0);
    some.map(|(_, text)| text).collect()
}

/// Returns the likely causes of the differences, and the actions against them.
fn reasons_of_differences(copy: &CopyFacts) -> (String, String) {
    let reasons = [
        (
            copy.missing,
            "more was published than the scheduled runs copy",
            "run `terrace admin replicate`",
        ),
        (
            copy.erased,
            "archives were erased while the second bucket did not answer, or documentation in the last 65 minutes",
            "wait for the scheduled runs, which remove ten erased archives at a time",
        ),
        (
            copy.surplus,
            "the main bucket has lost archives, or they were removed while the settings of the second bucket were absent",
            "`terrace admin replicate --dry-run --json` names them (surplus): publish those again that `terrace admin verify` misses, and \
             remove the others from the second bucket",
        ),
    ];
    let some: Vec<_> = reasons.iter().filter(|(count, ..)| *count > 0).collect();
    let join = |texts: Vec<&str>| texts.join("; ");
    (
        join(some.iter().map(|it| it.1).collect()),
        join(some.iter().map(|it| it.2).collect()),
    )
}

/// U1
pub(super) fn reaches_origins(target: &Target) -> Outcome {
    services(target, "U1", "origin", "no registry is pulled through")
}

/// U2
pub(super) fn reaches_issuers(target: &Target) -> Outcome {
    services(
        target,
        "U2",
        "issuer",
        "no CI jobs are trusted, and no sign-in is configured",
    )
}

fn services(target: &Target, id: &str, kind: &str, none: &str) -> Outcome {
    of(target, id, |facts| {
        let of_kind: Vec<_> = facts.services.iter().filter(|it| it.kind == kind).collect();
        let failed = of_kind
            .iter()
            .find_map(|it| Some((&it.name, it.error.as_ref()?)));
        match failed {
            Some((name, error)) => Outcome::fail(
                format!("{name}: {error}"),
                "the registry cannot reach it, or it sends another document than expected",
                "check the name in the settings, and whether that server answers the public internet",
            ),
            None if of_kind.is_empty() => Outcome::skip(none),
            None => {
                let names: Vec<&str> = of_kind.iter().map(|it| it.name.as_str()).collect();
                Outcome::pass(names.join(", "))
            }
        }
    })
}

/// V1
pub(super) fn is_of_same_version(target: &Target) -> Outcome {
    const OWN: &str = env!("CARGO_PKG_VERSION");
    of(target, "V1", |facts| {
        let (own, theirs): (Option<Version>, Option<Version>) =
            (OWN.parse().ok(), facts.version.parse().ok());
        let (newer, older, action) = match theirs.cmp(&own) {
            std::cmp::Ordering::Equal => return Outcome::pass(OWN),
            std::cmp::Ordering::Less => (
                "this command",
                "the registry",
                "deploy the newer version (docs/operating.md)",
            ),
            std::cmp::Ordering::Greater => {
                ("the registry", "this command", "install the newer command")
            }
        };
        Outcome::warn(
            format!("the registry is {}, and this command {OWN}", facts.version),
            format!("{newer} is newer: {older} lacks its features and fixes"),
            action,
        )
    })
}
