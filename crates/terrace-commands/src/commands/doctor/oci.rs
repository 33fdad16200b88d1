//! Group O: the OCI repositories that OpenTofu installs from.

use terrace_base::digest::Sha256;
use url::Url;

use super::outcome::Outcome;
use super::target::Target;
use crate::http::Seen;

/// The media types of manifests that are asked for.
const MANIFESTS: &str =
    "application/vnd.oci.image.index.v1+json, application/vnd.oci.image.manifest.v1+json";

/// O1
pub(super) fn answers(target: &Target) -> Outcome {
    let seen = match target.probe.send(&target.get("/v2/")) {
        Ok(seen) => seen,
        Err(error) => return Outcome::skip(error),
    };
    match seen.status {
        200 if !seen.media_type().contains("html") => Outcome::pass("200"),
        200 if !target.is_terrace() => Outcome::skip("a web page answers: no OCI repositories"),
        200 => Outcome::fail(
            "200 with a web page",
            "a sign-in page, a captive portal or another program answers in place of the registry",
            "let /v2/ pass to the registry, and exempt it from sign-in pages",
        ),
        401 => challenge(target, &seen),
        404 | 405 | 501 => Outcome::skip("no OCI repositories"),
        status if !target.is_terrace() => Outcome::skip(format!("status {status}")),
        status => target.outage(&seen).unwrap_or_else(|| {
            Outcome::fail(
                format!("status {status} for /v2/"),
                "OCI clients begin with this request, and stop at any other status than 200 and 401",
                "let /v2/ pass to the registry",
            )
        }),
    }
}

fn challenge(target: &Target, seen: &Seen) -> Outcome {
    let fix = "let the header WWW-Authenticate of the registry pass unchanged";
    let Some(challenge) = seen.header("www-authenticate") else {
        let cause = "clients do not learn where they get a token";
        return Outcome::fail("401 without a challenge", cause, fix);
    };
    let realm = challenge
        .split_once("realm=\"")
        .and_then(|(_, rest)| rest.split_once('"'));
    let realm = realm.map(|(realm, _)| realm);
    let url = realm.and_then(|realm| Url::parse(realm).ok());
    let is_own = url
        .as_ref()
        .is_some_and(|it| it.host() == target.base().url().host());
    let is_secure = url
        .as_ref()
        .is_some_and(|it| it.scheme() == target.base().url().scheme());
    match (
        challenge.to_ascii_lowercase().starts_with("bearer"),
        is_own && is_secure,
    ) {
        (false, _) | (true, true) => Outcome::pass("401 with a challenge"),
        (true, false) => Outcome::warn(
            format!("the challenge leads to {}", realm.unwrap_or_default()),
            "clients send their password there: it should be the registry's own host, over TLS",
            "configure the proxy to pass the Host header and the scheme to the registry",
        ),
    }
}

/// O2
pub(super) fn has_manifest(target: &Target) -> Outcome {
    if let Some(skipped) = target.skipped_elsewhere() {
        return skipped;
    }
    let provider = match target.provider() {
        Ok(provider) => provider,
        Err(gap) => return gap.outcome("O2"),
    };
    let tag = provider.newest.to_string().replace('+', "_");
    let path = format!("/v2/providers/{}/manifests/{tag}", provider.address);
    let ask = target.get_as_caller(&path).with("accept", MANIFESTS);
    let seen = match target.probe.send(&ask) {
        Ok(seen) => seen,
        Err(error) => return Outcome::skip(error),
    };
    match seen.status {
        200 => {}
        401 => return Outcome::skip("OCI clients need a token here"),
        status => {
            return target.outage(&seen).unwrap_or_else(|| {
                Outcome::fail(
                    format!("status {status} for the manifest {tag}"),
                    "the registry lists the version, and OpenTofu's oci_mirror does not find it",
                    "run `terrace admin reindex` for the package; if a proxy answers, let /v2/ pass",
                )
            });
        }
    }
    let digest = format!("sha256:{}", Sha256::of(&seen.body));
    let stated = seen.header("docker-content-digest");
    match stated {
        Some(stated) if stated != digest => Outcome::fail(
            format!("the manifest has another digest than stated: {digest}"),
            "something changes the document on its way, such as a proxy that formats JSON",
            "let responses below /v2/ pass unchanged",
        ),
        _ if seen.media_type() == "application/vnd.oci.image.index.v1+json" => {
            Outcome::pass(format!("{tag} by its tag"))
        }
        _ => Outcome::fail(
            format!("the media type is {}", seen.media_type()),
            "OpenTofu requires an index of platforms with its own media type",
            "let the Content-Type of the registry pass",
        ),
    }
}
