//! Groups P and M: a provider and a module, as clients install them.

use serde_json::Value;
use terrace_core::upstream::origin::Service;
use terrace_openpgp::{SigningKey, parse_signing_keys};

use super::finding::{Finding, Judged};
use super::target::{Discovery, Target, no_service};
use crate::output::plural;

/// A name that no registry has.
const ABSENT: &str = "terrace-doctor-absent";

/// The most bytes of the list of a package that does not exist.
const LIST_BYTES: u64 = 64 * 1024;

/// P1
pub(super) fn lists_provider(target: &Target) -> Judged {
    let sample = target.provider()?;
    let address = &sample.address;
    match sample.versions.skipped.as_slice() {
        [] => {
            let count = plural(sample.versions.versions.len(), "version");
            Ok(format!("{address}, {count}"))
        }
        skipped => Err(Finding::fail(format!("{address}: {}", skipped.join("; ")))),
    }
}

/// P2
pub(super) fn delivers(target: &Target) -> Judged {
    Ok(match &target.package()?.package.signed {
        Some(signed) => format!("signed by {}", signed.key.key_id),
        None => "unsigned".to_owned(),
    })
}

/// P3
pub(super) fn suits_all_clients(target: &Target) -> Judged {
    let package = &target.package()?.package;
    if let [first, ..] = package.warnings.as_slice() {
        return Err(Finding::warn(first));
    }
    let signed = package.signed.as_ref();
    let signed = signed.ok_or_else(|| Finding::skip("the package is unsigned"))?;
    let keys = parse_signing_keys(&signed.key.ascii_armor).unwrap_or_default();
    // Old clients are no fault of the registry.
    Ok(match keys.iter().find_map(SigningKey::too_old) {
        Some(_) => "an algorithm for current clients".to_owned(),
        None => String::new(),
    })
}

/// P4
pub(super) fn misses_provider(target: &Target) -> Judged {
    let address = format!("{ABSENT}/{ABSENT}");
    misses(target, "provider", &address, |it| it.providers.as_ref())
}

/// M3
pub(super) fn misses_module(target: &Target) -> Judged {
    let address = format!("{ABSENT}/{ABSENT}/aws");
    misses(target, "module", &address, |it| it.modules.as_ref())
}

/// Judges the response about a package that does not exist. Clients read only its status, so a registry of files may answer
/// with the page of its web server; before Terrace, such a page is another program's.
fn misses(
    target: &Target,
    kind: &str,
    address: &str,
    service: fn(&Discovery) -> Option<&Service>,
) -> Judged {
    target.check_token()?;
    let service = service(target.discovery()?);
    let service = service.ok_or_else(|| no_service(kind))?;
    let fetch = service.fetch(&format!("{address}/versions"), LIST_BYTES, "version list");
    let (_, seen) = target.ask(&fetch)?;
    match seen.status {
        404 if seen.media_type().contains("html") && target.is_terrace() => {
            Err(Finding::warn("404 with a web page"))
        }
        404 => Ok("404".to_owned()),
        status @ (401 | 403) if !target.has_token() => {
            Ok(format!("{status}, as for everything without a token"))
        }
        status => Err(Finding::fail(format!(
            "status {status} for a {kind} that does not exist"
        ))),
    }
}

/// M1
pub(super) fn lists_module(target: &Target) -> Judged {
    let sample = target.module()?;
    let count = plural(sample.count, "version");
    Ok(format!("{}, {count}", sample.address))
}

/// M2
pub(super) fn locates(target: &Target) -> Judged {
    let (location, fetched, header) = target.module_location()?;
    let body: Option<Value> = serde_json::from_slice(&fetched.body).ok();
    let in_body = body
        .as_ref()
        .and_then(|body| body.get("location")?.as_str());
    let Some(header) = header else {
        let observed = "the location is in the body only, where Terraform does not read it";
        return Err(match target.is_terrace() {
            true => Finding::fail(observed),
            false => Finding::warn(observed),
        });
    };
    if in_body.is_some_and(|it| it != header) {
        return Err(Finding::warn(
            "the body and the header name different locations",
        ));
    }
    let subdir = location.subdir.map(|it| format!(" //{it}"));
    let format = location.format.map_or("by its bytes", |it| it.extension());
    Ok(format!("{format}{}", subdir.unwrap_or_default()))
}
