//! Groups P and M: a provider and a module, as clients install them.

use serde_json::Value;
use terrace_core::upstream::origin::Service;
use terrace_openpgp::{SigningKey, parse_signing_keys};

use super::finding::{Finding, Judged};
use super::target::{ABSENT, Discovery, LIST_BYTES, Target, no_service};
use crate::output::plural;

/// P1
pub(super) fn lists_provider(target: &Target) -> Judged {
    let sample = target.provider()?;
    let address = &sample.address;
    match sample.versions.skipped.as_slice() {
        [] => {
            let count = plural(sample.versions.versions.len(), "version");
            Ok(format!("{address}, {count}"))
        }
        skipped => Err(Finding::fail(
            format!("{address}: {}", skipped.join("; ")),
            "OpenTofu, and Terraform before 1.13, reject the whole list for one version that is not valid",
            "remove the entry from the list",
        )),
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
        return Err(Finding::warn(
            first,
            "some clients warn about the key or the signature, or refuse it",
            "extend the key or sign the next version with another one, and register it with `terrace key add`",
        ));
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
    const NOT_FOUND: &str = "answer 404 for packages that do not exist";
    target.check_token()?;
    let service = service(target.discovery()?);
    let service = service.ok_or_else(|| no_service(kind))?;
    let fetch = service.fetch(&format!("{address}/versions"), LIST_BYTES, "version list");
    let (_, seen) = target.fetch(&fetch).map_err(|error| {
        let cause = format!("no answer about a {kind} that does not exist");
        Finding::unanswered(&error, cause, NOT_FOUND)
    })?;
    target.check_outage(&seen)?;
    let observed = format!("status {} for a {kind} that does not exist", seen.status);
    match seen.status {
        404 if seen.media_type().contains("html") && target.is_terrace() => Err(Finding::warn(
            "404 with a web page",
            "a proxy or another program answers in place of the registry",
            "let the registry answer below its services",
        )),
        404 => Ok("404".to_owned()),
        status @ (401 | 403) if !target.has_token() => {
            Ok(format!("{status}, as for everything without a token"))
        }
        // Some registries send a list without versions.
        200 if !target.is_terrace() => Err(Finding::warn(
            observed,
            "clients report an invalid response or no versions instead of a missing package",
            NOT_FOUND,
        )),
        _ => Err(Finding::fail(
            observed,
            "clients stop with an error about the registry, and do not try the next installation method",
            NOT_FOUND,
        )),
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
        let observed = "the location is in the body only";
        return Err(match target.is_terrace() {
            true => Finding::fail(
                observed,
                "Terraform reads the header X-Terraform-Get; a proxy may have removed it",
                "let the header pass",
            ),
            false => Finding::warn(
                observed,
                "OpenTofu reads it there, as its protocol allows; Terraform reads only the header X-Terraform-Get",
                "send the header as well, if the registry is used with Terraform",
            ),
        });
    };
    if in_body.is_some_and(|it| it != header) {
        return Err(Finding::warn(
            "the body and the header name different locations",
            "Terraform reads the header, and OpenTofu the body",
            "send the same location in both",
        ));
    }
    let subdir = location.subdir.map(|it| format!(" //{it}"));
    let format = location.format.map_or("by its bytes", |it| it.extension());
    Ok(format!("{format}{}", subdir.unwrap_or_default()))
}
