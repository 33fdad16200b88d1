//! Group P: a provider, as clients install it.

use terrace_openpgp::{SigningKey, parse_signing_keys};

use super::outcome::Outcome;
use super::target::{ABSENT, Target};
use crate::http::Seen;
use crate::output::plural;

/// P1
pub(super) fn lists(target: &Target) -> Outcome {
    let sample = match target.provider() {
        Ok(sample) => sample,
        Err(gap) => return gap.outcome("P1"),
    };
    match sample.versions.skipped.as_slice() {
        [] => Outcome::pass(format!(
            "{}, {}",
            sample.address,
            plural(sample.versions.versions.len(), "version")
        )),
        skipped => Outcome::fail(
            format!("{}: {}", sample.address, skipped.join("; ")),
            "OpenTofu, and Terraform before 1.13, reject the whole list for one version that is not valid",
            "remove the entry from the list",
        ),
    }
}

/// P2
pub(super) fn delivers(target: &Target) -> Outcome {
    match target.package() {
        Ok(sample) => Outcome::pass(match &sample.package.signed {
            Some(signed) => format!("signed by {}", signed.key.key_id),
            None => "unsigned".to_owned(),
        }),
        Err(gap) => gap.outcome("P2"),
    }
}

/// P3
pub(super) fn suits_all_clients(target: &Target) -> Outcome {
    let package = match target.package() {
        Ok(sample) => &sample.package,
        Err(gap) => return gap.outcome("P3"),
    };
    if let [first, ..] = package.warnings.as_slice() {
        return Outcome::warn(
            first,
            "some clients warn about the key or the signature, or refuse it",
            "extend the key or sign the next version with another one, and register it with `terrace key add`",
        );
    }
    let Some(signed) = &package.signed else {
        return Outcome::skip("the package is unsigned");
    };
    let keys = parse_signing_keys(&signed.key.ascii_armor).unwrap_or_default();
    // Old clients are no fault of the registry.
    Outcome::pass(match keys.iter().find_map(SigningKey::too_old) {
        Some(_) => "an algorithm for current clients",
        None => "",
    })
}

/// P4
pub(super) fn misses(target: &Target) -> Outcome {
    if let Some(gap) = target.refused_token() {
        return gap.outcome("P4");
    }
    let discovery = match target.discovery() {
        Ok(discovery) => discovery,
        Err(gap) => return gap.outcome("P4"),
    };
    let Some(service) = &discovery.providers else {
        return Outcome::skip("the registry serves no providers");
    };
    let fetch = service.fetch(
        &format!("{ABSENT}/{ABSENT}/versions"),
        64 * 1024,
        "version list",
    );
    match target.fetch(&fetch) {
        Ok((_, seen)) => absent(target, "provider", &seen),
        Err(error) => Outcome::unanswered(
            &error,
            "no answer about a provider that does not exist",
            NOT_FOUND,
        ),
    }
}

const NOT_FOUND: &str = "answer 404 for packages that do not exist";

/// Judges the response about a package that does not exist. Clients read only its status, so a registry of files may answer
/// with the page of its web server; before Terrace, such a page is another program's.
pub(super) fn absent(target: &Target, kind: &str, seen: &Seen) -> Outcome {
    if let Some(outcome) = target.outage(seen) {
        return outcome;
    }
    let has_token = target.has_token();
    match seen.status {
        404 if seen.media_type().contains("html") && target.is_terrace() => Outcome::warn(
            "404 with a web page",
            "a proxy or another program answers in place of the registry",
            "let the registry answer below its services",
        ),
        404 => Outcome::pass("404"),
        status @ (401 | 403) if !has_token => {
            Outcome::pass(format!("{status}, as for everything without a token"))
        }
        status => Outcome::fail(
            format!("status {status} for a {kind} that does not exist"),
            "clients stop with an error about the registry, and do not try the next installation method",
            NOT_FOUND,
        ),
    }
}
