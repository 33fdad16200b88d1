//! One version of a provider: asked of its origin, checked, downloaded, and sent.

use std::collections::BTreeMap;
use std::sync::Mutex;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;
use terrace_core::api::admin::{MirrorBody, PackageBody, SignedBody};
use terrace_core::model::package_hash::PackageHash;
use terrace_core::model::platform::Platform;
use terrace_core::model::version::Version;
use terrace_core::publish::MirrorPublication;
use terrace_core::upstream::origin::{
    Fetch, Fetched, OriginPackage, OriginVersion, PackageInquiry, Service, Step,
};

use super::Mirror;
use super::selection::{Lock, Wanted};
use super::stored_packages::Stored;
use crate::archive::Archive;
use crate::clock;
use crate::commands::mirror::report::{Done, Outcome};
use crate::error::Failure;
use crate::output::plural;
use crate::parallel;
use crate::registry::client::Client;
use crate::registry::publish::{Kind, Offer, Receipt};
use crate::upstream::failure;
use crate::upstream::resolve::resolve;

/// How many requests or downloads are under way at once.
const PARALLEL: usize = 4;

/// Why a version is not mirrored.
pub(super) enum Trouble {
    /// The registry failed, or said so.
    OfRegistry(Failure),
    /// Its origin, or something here.
    Other(Failure),
}

impl From<Failure> for Trouble {
    fn from(failure: Failure) -> Self {
        Self::Other(failure)
    }
}

impl Mirror<'_> {
    /// Mirrors one version.
    pub(super) fn version(
        &self,
        wanted: &Wanted,
        service: &Service,
        found: &OriginVersion,
    ) -> Result<Outcome, Trouble> {
        let version = &found.version;
        let about = format!("{} {version}", wanted.address);
        let platforms = wanted.platforms_of(&found.platforms);
        if platforms.is_empty() {
            let reason =
                "the origin does not say which platforms it has; name them with --platform";
            return Err(Failure::refused(reason).into());
        }
        let packages = self.ask(wanted, service, version, &platforms)?;
        check(wanted, &packages)?;
        let stored = match &self.client {
            Some(client) => Stored::ask(client, &wanted.address, version, &packages)
                .map_err(Trouble::OfRegistry)?,
            None => Stored::default(),
        };
        if stored.platforms(&packages).len() < packages.len() {
            self.warn(&about, &packages);
        }
        let Some(client) = self.client.as_ref().filter(|_| !self.report.dry_run) else {
            return Ok(done("dry_run", &packages, &stored, Vec::new()));
        };
        // Even where everything is stored: it is for the registry to say so, and it mends indices.
        let sent = match self.send(client, wanted, found, &packages, &stored) {
            Err(Trouble::OfRegistry(Failure::NotAtHand(_))) => {
                self.send(client, wanted, found, &packages, &Stored::default())
            }
            sent => sent,
        }?;
        for warning in &sent.warnings {
            self.output.warning(&format!("{about}: {warning}"));
        }
        Ok(done(sent.status, &packages, &stored, sent.uploaded))
    }

    /// Describes the version to the registry, and sends what was not stored.
    fn send(
        &self,
        client: &Client<'_>,
        wanted: &Wanted,
        found: &OriginVersion,
        packages: &[OriginPackage],
        stored: &Stored,
    ) -> Result<Receipt, Trouble> {
        let (address, version) = (&wanted.address, &found.version);
        let (bodies, archives) = self.describe_packages(wanted, packages, stored)?;
        let body = describe(found, packages, bodies);
        MirrorPublication::parse(address.clone(), version.clone(), &body, clock::now())
            .map_err(Failure::Refused)?;
        let offer = Offer {
            kind: Kind::MirroredProvider,
            address: address.to_string(),
            version: version.to_string(),
            description: json!(body),
            archives,
        };
        offer
            .send(client, self.output, || Ok(()))
            .map_err(Trouble::OfRegistry)
    }

    /// Tells once what is odd about the signature, which is the same for all packages.
    fn warn(&self, about: &str, packages: &[OriginPackage]) {
        for warning in packages
            .iter()
            .take(1)
            .flat_map(|package| &package.warnings)
        {
            self.output.warning(&format!("{about}: {warning}"));
        }
    }

    /// Asks for every package; all of them are good, or the first that is not is the failure.
    fn ask(
        &self,
        wanted: &Wanted,
        service: &Service,
        version: &Version,
        platforms: &[Platform],
    ) -> Result<Vec<OriginPackage>, Failure> {
        let (address, count) = (&wanted.address, platforms.len());
        self.output.progress(&format!(
            "checking {} of {address} {version}",
            plural(count, "package")
        ));
        let memory = Memory::default();
        let ask = |platform: &Platform| {
            let refused = |error| failure(platform, &error);
            let mut inquiry = PackageInquiry::new(
                service,
                address.clone(),
                version.clone(),
                platform.clone(),
                clock::now(),
            );
            while let Step::Fetch(fetch) = inquiry.next() {
                let fetched =
                    memory.or_else(&fetch, || self.origin.fetch(&fetch, &address.hostname))?;
                inquiry.feed(&fetched).map_err(refused)?;
            }
            inquiry.finish().map_err(refused)
        };
        parallel::map(platforms, PARALLEL, ask)
            .into_iter()
            .collect()
    }

    /// Describes every package; those that are not stored are downloaded.
    fn describe_packages(
        &self,
        wanted: &Wanted,
        packages: &[OriginPackage],
        stored: &Stored,
    ) -> Result<(Vec<PackageBody>, Vec<Archive>), Failure> {
        let describe = |package: &OriginPackage| match stored.description_of(package) {
            Some(known) => Ok((known.clone(), None)),
            None => {
                let (body, archive) = self.download(wanted, package)?;
                Ok((body, Some(archive)))
            }
        };
        let described: Vec<_> = parallel::map(packages, PARALLEL, describe)
            .into_iter()
            .collect::<Result<_, Failure>>()?;
        let (bodies, archives): (Vec<_>, Vec<_>) = described.into_iter().unzip();
        Ok((bodies, archives.into_iter().flatten().collect()))
    }

    /// Downloads a zip, and computes what lock files hold of it.
    fn download(
        &self,
        wanted: &Wanted,
        package: &OriginPackage,
    ) -> Result<(PackageBody, Archive), Failure> {
        let (fetch, filename) = (&package.download, &package.filename);
        let hostname = &wanted.address.hostname;
        let archive = self
            .origin
            .download(fetch, hostname, filename, package.sha256)?;
        let provider_type = &wanted.address.provider.provider_type;
        let inspected = archive.inspect_provider(provider_type, &package.platform);
        for remark in &inspected.remarks {
            self.output.warning(remark);
        }
        if !inspected.reasons.is_empty() {
            return Err(Failure::Refused(inspected.reasons));
        }
        let h1 = inspected.h1;
        Ok((package_body(package, &archive, h1), archive))
    }
}

/// What was fetched for one version by the URLs of its packages: SHA256SUMS and its signature are
/// mostly the same for all of them.
#[derive(Default)]
struct Memory(Mutex<BTreeMap<String, Fetched>>);

impl Memory {
    fn or_else(
        &self,
        fetch: &Fetch,
        get: impl FnOnce() -> Result<Fetched, Failure>,
    ) -> Result<Fetched, Failure> {
        let url = resolve(fetch.base.as_deref().unwrap_or_default(), &fetch.reference);
        let known = self
            .0
            .lock()
            .ok()
            .and_then(|known| known.get(&url).cloned());
        if let Some(known) = known {
            return Ok(known);
        }
        let fetched = get()?;
        if let Ok(mut known) = self.0.lock() {
            known.insert(url, fetched.clone());
        }
        Ok(fetched)
    }
}

/// Checks what a client never sees, since it installs one platform: that all are signed as one.
fn check(wanted: &Wanted, packages: &[OriginPackage]) -> Result<(), Failure> {
    let first = packages.first();
    for package in packages {
        let is_one = first.is_some_and(|first| {
            first.shasums == package.shasums && first.signed == package.signed
        });
        if !is_one {
            return Err(Failure::refused(
                "the platforms have different SHA256SUMS files or signatures",
            ));
        }
        let is_locked_out = |lock: &Lock| !lock.admits(package.sha256);
        if wanted.lock.as_ref().is_some_and(is_locked_out) {
            let (filename, sha256) = (&package.filename, package.sha256);
            return Err(Failure::refused(format!(
                "{filename} has the hash zh:{sha256}, which the lock file does not \
                 have. If it is of another platform than the lock file is for, name yours with \
                 --platform"
            )));
        }
    }
    Ok(())
}

/// A success, with what it was made of.
fn done(
    status: &'static str,
    packages: &[OriginPackage],
    stored: &Stored,
    uploaded: Vec<String>,
) -> Outcome {
    let platforms = packages.iter().map(|package| package.platform.to_string());
    let platforms: Vec<String> = platforms.collect();
    let stored = stored.platforms(packages);
    let signed = packages.first().and_then(|package| package.signed.as_ref());
    let signed_by = signed.map(|signed| &signed.key.fingerprint);
    let mut text = String::new();
    if let Some(fingerprint) = signed_by {
        text.push_str(&format!(", signed by {fingerprint}"));
    }
    text.push_str(&format!(": {}", platforms.join(", ")));
    if !stored.is_empty() && status != "unchanged" {
        text.push_str(&format!(" (there already: {})", stored.join(", ")));
    }
    Outcome::Done(Done {
        status,
        text,
        lines: Vec::new(),
        details: json!({
            "platforms": platforms,
            "stored": stored,
            "uploaded": uploaded,
            "signed_by": signed_by,
        }),
    })
}

fn describe(
    found: &OriginVersion,
    packages: &[OriginPackage],
    bodies: Vec<PackageBody>,
) -> MirrorBody {
    let first = packages.first();
    let signed = first.and_then(|package| {
        let signed = package.signed.as_ref()?;
        Some(SignedBody {
            shasums: package.shasums.as_str().to_owned(),
            signature: STANDARD.encode(&signed.signature),
            signing_key: signed.key.ascii_armor.clone(),
        })
    });
    let named = first.map(|package| &package.protocols);
    let protocols = named.filter(|protocols| !protocols.is_empty());
    let protocols = protocols.unwrap_or(&found.protocols);
    MirrorBody {
        protocols: protocols.iter().map(ToString::to_string).collect(),
        signed,
        packages: bodies,
    }
}

fn package_body(
    package: &OriginPackage,
    archive: &Archive,
    h1: Option<PackageHash>,
) -> PackageBody {
    PackageBody {
        os: package.platform.os().to_owned(),
        arch: package.platform.arch().to_owned(),
        filename: package.filename.clone(),
        sha256: archive.sha256.to_string(),
        size: archive.size,
        h1: h1.map(|h1| h1.to_string()),
    }
}
