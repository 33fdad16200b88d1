//! `terrace publish provider`.

use std::collections::BTreeMap;
use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use terrace_core::address::ProviderAddress;
use terrace_core::admin::{PackageBody, ProviderBody};
use terrace_core::openpgp;
use terrace_core::publish::{ProviderPublication, Publication};

use crate::args::ProviderArguments;
use crate::client::Client;
use crate::dist::Dist;
use crate::error::Failure;
use crate::inspect::{h1, inspect};
use crate::keys::signing_keys;
use crate::output::Output;
use crate::publish::{publish as send, report_dry_run};
use crate::source::{Archive, Source};

/// Publishes the provider in a dist directory.
pub(crate) fn publish(
    arguments: &ProviderArguments,
    client: impl Fn() -> Result<Client, Failure>,
    output: &Output,
) -> Result<(), Failure> {
    let dist = Dist::read(&arguments.directory)?;
    let address = ProviderAddress {
        namespace: arguments.namespace.clone(),
        provider_type: dist.provider_type.clone(),
    };
    let version = dist.version.clone();
    if dist.protocols_guessed {
        output.warning("there is no manifest, so the plugin protocol is taken to be 5.0; add terraform-registry-manifest.json to say otherwise");
    }
    output.progress(&format!(
        "checking {} packages of {address} {version}",
        dist.packages.len()
    ));
    let (archives, body) = describe(&dist)?;
    let publication = ProviderPublication::parse(address.clone(), version.clone(), &body)
        .map_err(Failure::Refused)?;
    check_contents(&Publication::Provider(publication), &archives, output)?;

    if arguments.dry_run {
        let list: Vec<_> = body
            .packages
            .iter()
            .filter_map(|package| Some((package.filename.clone(), archives.get(&package.sha256)?)))
            .collect();
        report_dry_run(&address.to_string(), &version.to_string(), &list, output);
        return Ok(());
    }
    let client = client()?;
    check_signature(&client, &address, &body)?;
    let path = format!("/admin/v1/providers/{address}/{version}");
    let text = serde_json::to_string(&body).map_err(|e| Failure::Unexpected(e.to_string()))?;
    send(&client, &path, &text, &archives, output)
}

/// Hashes every zip, and unpacks it for its `h1:` hash. All faults at once.
fn describe(dist: &Dist) -> Result<(BTreeMap<String, Archive>, ProviderBody), Failure> {
    let mut archives = BTreeMap::new();
    let mut packages = Vec::new();
    let mut reasons = Vec::new();
    for package in &dist.packages {
        let archive = Archive::of(Source::File(package.path.clone()))?;
        if archive.sha256 != package.promised {
            reasons.push(format!(
                "{}: its sha256 is {}, SHA256SUMS says {}",
                package.filename, archive.sha256, package.promised
            ));
            continue;
        }
        match h1(&archive, &package.filename) {
            Ok(hash) => packages.push(PackageBody {
                os: package.platform.os().to_owned(),
                arch: package.platform.arch().to_owned(),
                filename: package.filename.clone(),
                sha256: archive.sha256.to_string(),
                size: archive.size,
                h1: Some(hash.to_string()),
            }),
            Err(failure) => reasons.extend(failure.reasons()),
        }
        archives.insert(archive.sha256.to_string(), archive);
    }
    if !reasons.is_empty() {
        return Err(Failure::Refused(reasons));
    }
    let body = ProviderBody {
        protocols: dist.protocols.clone(),
        shasums: dist.shasums.clone(),
        signature: dist.signature.clone(),
        packages,
    };
    Ok((archives, body))
}

/// Looks into every archive as the registry will.
pub(crate) fn check_contents(
    publication: &Publication,
    archives: &BTreeMap<String, Archive>,
    output: &Output,
) -> Result<(), Failure> {
    let mut reasons = Vec::new();
    for expected in publication.archives() {
        if let Some(archive) = archives.get(&expected.key.digest.to_string()) {
            let (refusals, remarks) = inspect(archive, &expected)?;
            reasons.extend(refusals);
            for remark in remarks {
                output.warning(&remark);
            }
        }
    }
    if reasons.is_empty() {
        Ok(())
    } else {
        Err(Failure::Refused(reasons))
    }
}

/// Checks the signature by the namespace's keys, before anything large is sent.
fn check_signature(
    client: &Client,
    address: &ProviderAddress,
    body: &ProviderBody,
) -> Result<(), Failure> {
    let namespace = &address.namespace;
    let keys = signing_keys(client, namespace)?;
    if keys.is_empty() {
        return Err(Failure::refused(format!(
            "namespace {namespace} has no signing keys: add yours with \"terrace key add {namespace} FILE\""
        )));
    }
    let refused = |error: openpgp::OpenPgpError| Failure::refused(format!("signature: {error}"));
    let bytes = STANDARD.decode(&body.signature).unwrap_or_default();
    let signature = openpgp::detached_signature(&bytes).map_err(refused)?;
    openpgp::verify_detached(&keys, body.shasums.as_bytes(), &signature, now()).map_err(refused)?;
    Ok(())
}

#[expect(
    clippy::disallowed_methods,
    reason = "a native command has a clock of its own"
)]
fn now() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map(|time| time.as_secs())
        .unwrap_or_default()
}
