//! `terrace mirror push`.

use std::path::PathBuf;

use clap::Args;
use serde_json::json;
use terrace_core::api::admin::{MirrorBody, PackageBody};
use terrace_core::limits;
use terrace_core::model::own_hosts::OwnHosts;
use terrace_core::model::package::package_filename;
use terrace_core::model::package_hash::PackageHash;
use terrace_core::publish::MirrorPublication;

use super::directory::{Directory, ListedPackage, ListedVersion};
use crate::archive::{Archive, read_file};
use crate::commands::circuit_breaker::CircuitBreaker;
use crate::commands::connection::{Session, registry_url};
use crate::commands::report::{Done, Outcome, Report, Skipped};
use crate::error::Failure;
use crate::http::BaseUrl;
use crate::output::{Output, plural};
use crate::registry::client::Client;
use crate::registry::publish::{Kind, PublishRequest};
use crate::{clock, parallel};

#[derive(Debug, Args)]
pub(crate) struct MirrorPushArguments {
    /// The directory, which contains one directory for each hostname
    pub(crate) dir: PathBuf,

    /// Check everything that can be checked locally, show the request, and send nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}

/// Publishes everything in a mirror directory, one version after another.
pub(crate) fn push(arguments: &MirrorPushArguments, session: Session<'_>) -> Result<(), Failure> {
    let output = session.output;
    let client = (!arguments.dry_run).then(|| session.connect());
    let client = client.transpose()?;
    let url = registry_url(session.registry)?;
    let origin = url.as_ref().map(BaseUrl::origin);
    let own = origin.as_deref().map(|origin| OwnHosts::new(origin, &[]));
    let found = Directory::read(&arguments.dir, own).map_err(Failure::refused)?;
    if found.versions.is_empty() && found.reasons.is_empty() {
        let place = arguments.dir.display();
        let nothing = format!(
            "{place} contains no provider to mirror: there is neither a <hostname>/<namespace>/<type>/<version>.json nor a zip in \
             such a directory, nor the export.json of a whole `terrace admin export`"
        );
        let skipped = found.skipped.iter().map(Skipped::to_string);
        let reasons = std::iter::once(nothing).chain(skipped);
        return Err(Failure::Refused(reasons.take(limits::REASONS).collect()));
    }
    let mut breaker = CircuitBreaker::default();
    let kind = Kind::MirroredProvider.as_str();
    let url = url.map(|url| url.to_string());
    let mut report = Report::new(kind, url, arguments.dry_run);
    report.details = json!({
        "directory": arguments.dir.display().to_string(),
        "skipped": found.skipped,
    });
    (report.unread, report.skipped) = (found.reasons, found.skipped);
    for listed in &found.versions {
        let outcome = if breaker.is_open() {
            Outcome::NotTried
        } else {
            push_version(listed, client.as_ref(), output)
        };
        breaker.record(&outcome);
        let (address, version) = (listed.address.to_string(), listed.version.to_string());
        report.note(address, Some(version), outcome, output);
    }
    report.tell(output)
}

/// Checks one version, and publishes it unless this is a dry run.
fn push_version(listed: &ListedVersion, client: Option<&Client<'_>>, output: &Output) -> Outcome {
    let ListedVersion {
        address, version, ..
    } = listed;
    let count = listed.packages.len();
    output.progress(&format!(
        "checking {} of {address} {version}",
        plural(count, "package")
    ));
    let request = match check(listed, output) {
        Ok(request) => request,
        Err(reasons) => return Outcome::Failed(Failure::Refused(reasons)),
    };
    let archives = request.listed_archives();
    let Some(client) = client else {
        let details = json!({ "archives": archives, "request": request.as_json() });
        let mut done = Done::plain("dry_run", details);
        done.lines = request.archive_lines();
        return Outcome::Done(done);
    };
    match request.send(client, output, || Ok(())) {
        Ok(receipt) => {
            receipt.warn(&format!("{address} {version}"), output);
            let details = json!({ "archives": archives, "uploaded": receipt.uploaded });
            Outcome::Done(Done::plain(receipt.status, details))
        }
        Err(failure) => Outcome::Failed(failure),
    }
}

/// Checks every zip of a version, as clients will. Fails with every reason at once.
fn check(listed: &ListedVersion, output: &Output) -> Result<PublishRequest, Vec<String>> {
    let mut reasons = listed.reasons.clone();
    let mut packages = Vec::new();
    let mut archives = Vec::new();
    let checked = parallel::map(&listed.packages, parallel::few_threads(), |package| {
        check_package(package, listed)
    });
    for checked in checked {
        match checked {
            Ok((body, archive, remarks)) => {
                remarks.iter().for_each(|remark| output.warning(remark));
                packages.push(body);
                archives.push(archive);
            }
            Err(found) => reasons.extend(found),
        }
    }
    if !reasons.is_empty() {
        return Err(reasons);
    }
    let body = MirrorBody {
        protocols: Vec::new(),
        signed: None,
        packages,
        replace: None,
    };
    let (address, version) = (listed.address.clone(), listed.version.clone());
    MirrorPublication::parse(address, version, &body, clock::now())?;
    Ok(PublishRequest {
        kind: Kind::MirroredProvider,
        address: listed.address.to_string(),
        version: listed.version.to_string(),
        body: json!(body),
        archives,
    })
}

/// Checks a zip. Returns its description, and the warnings about it.
fn check_package(
    package: &ListedPackage,
    listed: &ListedVersion,
) -> Result<(PackageBody, Archive, Vec<String>), Vec<String>> {
    let ListedPackage { platform, path, .. } = package;
    let address = &listed.address.provider;
    let place = path.display().to_string();
    let mut archive = read_file(path, place).map_err(|reason| vec![reason])?;
    let inspected = archive.inspect_provider(&address.provider_type, platform);
    let mut reasons = mismatches(package, &archive, inspected.h1);
    reasons.extend(inspected.reasons);
    if !reasons.is_empty() {
        return Err(reasons);
    }
    archive.filename = package_filename(address, &listed.version, platform);
    let body = archive.package_body(platform, inspected.h1);
    Ok((body, archive, inspected.remarks))
}

/// Describes the listed hashes that a zip does not have. A client accepts a zip that has one of them
/// (clients.md 5.8), but a wrong hash means that the zip or the list was changed.
fn mismatches(package: &ListedPackage, archive: &Archive, h1: Option<PackageHash>) -> Vec<String> {
    let mut reasons = Vec::new();
    for listed in &package.hashes {
        let computed = match listed {
            PackageHash::Zh(_) => Some(PackageHash::zh(archive.sha256)),
            PackageHash::H1(_) => h1,
        };
        if let Some(computed) = computed.filter(|computed| computed != listed) {
            let place = package.path.display();
            reasons.push(format!(
                "{place}: the hash listed for it is {listed}, but that of the file is {computed}"
            ));
        }
    }
    reasons
}
