//! Group M: a module, and the network mirror.

use serde_json::Value;

use super::outcome::Outcome;
use super::providers::absent;
use super::target::{ABSENT, ModuleList, Target};
use crate::http::{ProbeError, Seen};
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

/// M4
pub(super) fn mirror_misses(target: &Target) -> Outcome {
    if let Some(skipped) = target.skipped_elsewhere() {
        return skipped;
    }
    if let Some(gap) = target.refused_token() {
        return gap.outcome("M4");
    }
    let path = format!("/mirror/registry.invalid/{ABSENT}/{ABSENT}/index.json");
    match target.probe.send(&target.get_as_caller(&path)) {
        Ok(seen) => absent(target, "provider", &seen),
        Err(error) => unanswered(&error),
    }
}

/// M5
pub(super) fn mirrors(target: &Target) -> Outcome {
    if let Some(skipped) = target.skipped_elsewhere() {
        return skipped;
    }
    let Some(hostname) = target.hostname() else {
        return Outcome::skip("addresses with a port or an IP address have no mirror");
    };
    let (provider, package) = match (target.provider(), target.package()) {
        (Ok(provider), Ok(package)) => (provider, package),
        (Err(gap), _) | (_, Err(gap)) => return gap.outcome("M5"),
    };
    let directory = format!("/mirror/{hostname}/{}", provider.address);
    let document = |name: &str| {
        let path = format!("{directory}/{name}.json");
        let seen = target
            .probe
            .send(&target.get_as_caller(&path))
            .map_err(|it| unanswered(&it))?;
        if let Some(outcome) = target.outage(&seen) {
            return Err(outcome);
        }
        match (seen.status, seen.media_type().as_str()) {
            (200, "application/json") => {
                Ok(serde_json::from_slice(&seen.body).unwrap_or(Value::Null))
            }
            (200, other) => Err(other_type(other)),
            (status, _) => Err(unlisted(&format!("status {status} for {name}.json"))),
        }
    };
    let newest = provider.newest.to_string();
    let documents = document("index").and_then(|index| Ok((index, document(&newest)?)));
    let (index, version) = match documents {
        Ok(documents) => documents,
        Err(outcome) => return outcome,
    };
    let platform = package.package.platform.to_string();
    let hash = format!("zh:{}", package.package.sha256);
    match is_mirrored(&index, &version, (&newest, &platform, &hash)) {
        Ok(()) => Outcome::pass(format!("{hostname}/{}", provider.address)),
        Err(observed) => unlisted(&observed),
    }
}

/// Checks that the two documents of a mirror have the package that the registry serves.
fn is_mirrored(
    index: &Value,
    version: &Value,
    (newest, platform, hash): (&str, &str, &str),
) -> Result<(), String> {
    if index
        .get("versions")
        .and_then(|it| it.get(newest))
        .is_none()
    {
        return Err(format!("index.json does not list {newest}"));
    }
    let archive = version.get("archives").and_then(|it| it.get(platform));
    let hashes = archive.and_then(|it| it.get("hashes")?.as_array());
    match hashes.is_some_and(|it| it.iter().any(|found| found.as_str() == Some(hash))) {
        true => Ok(()),
        false => Err(format!(
            "{newest}.json does not list the zip that the registry serves"
        )),
    }
}

fn unanswered(error: &ProbeError) -> Outcome {
    let cause = "the registry answers discovery, and not its network mirror";
    Outcome::unanswered(error, cause, "look at the registry's log for /mirror/")
}

fn other_type(media_type: &str) -> Outcome {
    let cause = "clients accept the documents of a mirror as application/json only";
    Outcome::fail(
        media_type,
        cause,
        "let the Content-Type of the registry pass",
    )
}

fn unlisted(observed: &str) -> Outcome {
    let cause = "the mirror and the registry have different facts: an index is stale, or the hostname is not the registry's";
    let fix =
        "list every hostname in TERRACE_HOSTNAMES; for a stale index, run `terrace admin reindex`";
    Outcome::fail(observed, cause, fix)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_mirror_must_list_the_version_and_the_zip_of_the_registry() {
        let index = json!({ "versions": { "1.0.0": {} } });
        let version =
            |hash: &str| json!({ "archives": { "linux_amd64": { "url": "x", "hashes": [hash] } } });
        let package = ("1.0.0", "linux_amd64", "zh:ab");
        assert_eq!(is_mirrored(&index, &version("zh:ab"), package), Ok(()));
        let stale = is_mirrored(&json!({ "versions": {} }), &version("zh:ab"), package);
        assert!(stale.unwrap_err().contains("does not list 1.0.0"));
        let other = is_mirrored(&index, &version("zh:cd"), package);
        assert!(other.unwrap_err().contains("does not list the zip"));
    }
}
