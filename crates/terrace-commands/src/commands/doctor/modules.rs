//! Group M: a module.

use serde_json::Value;

use super::outcome::Outcome;
use super::providers::absent;
use super::target::{ABSENT, ModuleList, Target};
use crate::http::Seen;
use crate::output::plural;

/// M1
pub(super) fn lists(target: &Target) -> Outcome {
    match target.module() {
        Ok(sample) => Outcome::pass(format!(
            "{}, {}",
            sample.address,
            plural(sample.count, "version")
        )),
        Err(gap) => gap.outcome("M1"),
    }
}

/// M2
pub(super) fn locates(target: &Target) -> Outcome {
    let (location, fetched, header) = match target.module_location() {
        Ok(found) => found,
        Err(outcome) => return outcome,
    };
    let body: Option<Value> = serde_json::from_slice(&fetched.body).ok();
    let in_body = body
        .as_ref()
        .and_then(|body| body.get("location")?.as_str());
    if header.is_none() && !target.is_terrace() {
        return Outcome::warn(
            "the location is in the body only",
            "OpenTofu reads it there, as its protocol allows; Terraform reads only the header X-Terraform-Get",
            "send the header as well, if the registry is used with Terraform",
        );
    }
    if header.is_none() {
        return Outcome::fail(
            "the location is in the body only",
            "Terraform reads the header X-Terraform-Get; a proxy may have removed it",
            "let the header pass",
        );
    }
    if in_body.is_some_and(|it| Some(it) != header.as_deref()) {
        return Outcome::warn(
            "the body and the header name different locations",
            "Terraform reads the header, and OpenTofu the body",
            "send the same location in both",
        );
    }
    let subdir = location
        .subdir
        .map(|it| format!("//{it}"))
        .unwrap_or_default();
    Outcome::pass(match location.format {
        Some(format) => format!("{} {subdir}", format.extension()),
        None => format!("by its bytes {subdir}"),
    })
}

/// M3
pub(super) fn misses(target: &Target) -> Outcome {
    if let Some(gap) = target.refused_token() {
        return gap.outcome("M3");
    }
    let discovery = match target.discovery() {
        Ok(discovery) => discovery,
        Err(gap) => return gap.outcome("M3"),
    };
    let Some(service) = &discovery.modules else {
        return Outcome::skip("the registry serves no modules");
    };
    let path = format!("{ABSENT}/{ABSENT}/aws/versions");
    let fetch = service.fetch(&path, 64 * 1024, "version list");
    match target.fetch(&fetch) {
        Ok((fetched, seen)) => match ModuleList::read(&fetched.body) {
            // Some registries do so.
            Ok(list) if fetched.status == 200 && !target.is_terrace() => {
                absent_in(&list, target, &seen)
            }
            Ok(_) | Err(_) => absent(target, "module", &seen),
        },
        Err(error) => Outcome::unanswered(
            &error,
            "no answer about a module that does not exist",
            "answer 404",
        ),
    }
}

/// Judges the list of a module that does not exist.
fn absent_in(list: &ModuleList, target: &Target, seen: &Seen) -> Outcome {
    let (observed, cause) = match list {
        ModuleList::NoModule => (
            "200 and a list without a module, for a module that does not exist",
            "clients report an invalid response of the registry instead of a missing module",
        ),
        ModuleList::NoVersion => (
            "200 and an empty list of versions, for a module that does not exist",
            "clients report a module without versions instead of a missing module",
        ),
        ModuleList::Versions(_) => return absent(target, "module", seen),
    };
    let fix = "answer 404 for packages that do not exist, if the registry can";
    Outcome::warn(observed, cause, fix)
}
