//! One version of a provider: requested from its origin, checked, downloaded, and sent.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;
use terrace_core::api::admin::{MirrorBody, PackageBody, SignedBody};
use terrace_core::model::package_hash::PackageHash;
use terrace_core::model::platform::Platform;
use terrace_core::model::version::Version;
use terrace_core::publish::MirrorPublication;
use terrace_core::upstream::origin::{OriginPackage, OriginVersion, Service, distinct};

use super::Mirror;
use super::selection::ProviderSelection;
use crate::archive::Archive;
use crate::clock;
use crate::commands::circuit_breaker::TryError;
use crate::commands::report::Done;
use crate::error::Failure;
use crate::output::plural;
use crate::parallel;
use crate::registry::client::Client;
use crate::registry::publish::{Kind, PublishRequest, Receipt};
use crate::upstream::{PARALLEL_REQUESTS, failure};

impl Mirror<'_> {
    /// Mirrors one version.
    pub(super) fn version(
        &self,
        selection: &ProviderSelection,
        service: &Service,
        found: &OriginVersion,
    ) -> Result<Done, TryError> {
        let version = &found.version;
        let about = format!("{} {version}", selection.address);
        let (platforms, _) = selection.platforms_of(&found.platforms);
        if platforms.is_empty() {
            let reason = "the origin does not list its platforms; specify them with --platform";
            return Err(Failure::refused(reason).into());
        }
        let packages = self.ask(selection, service, version, &platforms)?;
        for package in &packages {
            check_locked(selection, package, None)?;
        }
        let mut groups = by_signature(&packages);
        let known = match &self.client {
            Some(client) => {
                // The documents of the mirror protocol are indices, which may be older than the stored release.
                let known = client.mirrored(&selection.address, version);
                known.map_err(TryError::Registry)?
            }
            None => None,
        };
        let mut stored = known.map_or_else(Vec::new, |it| it.packages);
        let conflicts = conflicts(&stored, &packages);
        if !conflicts.is_empty() {
            if self.replace.is_none() {
                return Err(TryError::Registry(Failure::Conflict(conflicts)));
            }
            groups.sort_by_key(|group| self::conflicts(&stored, group).is_empty());
            stored.clear();
        }
        if stored_platforms(&stored, &packages).len() < packages.len() {
            self.warn(&about, &packages);
        }
        let Some(client) = self.client.as_ref().filter(|_| !self.dry_run) else {
            return Ok(done("dry_run", &packages, &stored, Vec::new()));
        };
        let (mut status, mut uploaded) = ("unchanged", Vec::new());
        // The first request replaces what is stored, and no later one what an earlier one has stored.
        let mut replace = self.replace.map(ToString::to_string);
        for packages in &groups {
            let replace = replace.take();
            let send = |stored: &[PackageBody]| {
                self.send(client, selection, found, packages, stored, replace.clone())
            };
            // The request is sent even if everything is stored: the registry decides that, and repairs its
            // indices.
            let sent = match send(&stored) {
                Err(TryError::Registry(Failure::UnknownArchive(_))) => send(&[]),
                sent => sent,
            }?;
            sent.warn(&about, self.output);
            if sent.status == "created" {
                status = sent.status;
            }
            uploaded.extend(sent.uploaded);
        }
        Ok(done(status, &packages, &stored, uploaded))
    }

    /// Sends the description of the version to the registry, then the packages that are not stored.
    fn send(
        &self,
        client: &Client<'_>,
        selection: &ProviderSelection,
        found: &OriginVersion,
        packages: &[OriginPackage],
        stored: &[PackageBody],
        replace: Option<String>,
    ) -> Result<Receipt, TryError> {
        let (address, version) = (&selection.address, &found.version);
        let (bodies, archives) = self.describe_packages(selection, packages, stored)?;
        let mut body = describe(found, packages, bodies);
        body.replace = replace;
        MirrorPublication::parse(address.clone(), version.clone(), &body, clock::now())
            .map_err(Failure::Refused)?;
        let request = PublishRequest {
            kind: Kind::MirroredProvider,
            address: address.to_string(),
            version: version.to_string(),
            body: json!(body),
            archives,
        };
        request
            .send(client, self.output, || Ok(()))
            .map_err(TryError::Registry)
    }

    /// Warns once about irregularities of each signature.
    fn warn(&self, about: &str, packages: &[OriginPackage]) {
        for warning in distinct(packages).flat_map(|package| &package.warnings) {
            self.output.warning(&format!("{about}: {warning}"));
        }
    }

    /// Requests every package. Fails with the first invalid one. A platform for which the origin has none, although it lists it,
    /// is left out unless the user names it.
    fn ask(
        &self,
        selection: &ProviderSelection,
        service: &Service,
        version: &Version,
        platforms: &[Platform],
    ) -> Result<Vec<OriginPackage>, Failure> {
        let (address, count) = (&selection.address, platforms.len());
        self.output.progress(&format!(
            "checking {} of {address} {version}",
            plural(count, "package")
        ));
        let asked = self
            .upstream
            .packages(service, (address, version), platforms)?;
        let mut packages = Vec::new();
        for (platform, package) in platforms.iter().zip(asked) {
            match package {
                Ok(package) => packages.push(package),
                Err(error) if error.is_no_package() && !selection.platforms.contains(platform) => {
                    self.output.warning(&format!(
                        "{address} {version}: the origin lists {platform}, but has no package for it"
                    ));
                }
                Err(error) => return Err(failure(platform, &error)),
            }
        }
        if packages.is_empty() {
            let reason = "the origin lists this version, but has no package of it for any platform (status 404)";
            return Err(Failure::refused(reason));
        }
        Ok(packages)
    }

    /// Describes every package. Packages that are not stored are downloaded.
    fn describe_packages(
        &self,
        selection: &ProviderSelection,
        packages: &[OriginPackage],
        stored: &[PackageBody],
    ) -> Result<(Vec<PackageBody>, Vec<Archive>), Failure> {
        let describe = |package: &OriginPackage| {
            let (body, archive) = match description_of(stored, package) {
                Some(known) => (known.clone(), None),
                None => {
                    let (body, archive) = self
                        .upstream
                        .download_package(&selection.address, package)?;
                    (body, Some(archive))
                }
            };
            let h1 = body.h1.as_deref().and_then(|text| text.parse().ok());
            check_locked(selection, package, h1)?;
            Ok((body, archive))
        };
        let described: Vec<_> = parallel::map(packages, PARALLEL_REQUESTS, describe)
            .into_iter()
            .collect::<Result<_, Failure>>()?;
        let (bodies, archives): (Vec<_>, Vec<_>) = described.into_iter().unzip();
        Ok((bodies, archives.into_iter().flatten().collect()))
    }
}

/// Returns the packages that are stored with other bytes than the origin has, as messages.
fn conflicts(stored: &[PackageBody], packages: &[OriginPackage]) -> Vec<String> {
    let conflict = |package: &OriginPackage| {
        let stored = &of_platform(stored, package)?.sha256;
        let OriginPackage {
            platform, sha256, ..
        } = package;
        (*stored != sha256.to_string()).then(|| {
            format!(
                "{platform} is stored with the sha256 {stored}, but its origin lists {sha256}: if its publisher has created the \
                 version anew, --versions with --replace REASON replaces it"
            )
        })
    };
    packages.iter().filter_map(conflict).collect()
}

/// Returns the stored description of a package, if it contains everything that a download would determine.
fn description_of<'s>(
    stored: &'s [PackageBody],
    package: &OriginPackage,
) -> Option<&'s PackageBody> {
    of_platform(stored, package).filter(|stored| stored.h1.is_some())
}

/// Returns the platforms of the packages that are stored.
fn stored_platforms(stored: &[PackageBody], packages: &[OriginPackage]) -> Vec<String> {
    let known = packages
        .iter()
        .filter(|it| description_of(stored, it).is_some());
    known.map(|it| it.platform.to_string()).collect()
}

fn of_platform<'s>(stored: &'s [PackageBody], package: &OriginPackage) -> Option<&'s PackageBody> {
    let platform = &package.platform;
    let mut stored = stored.iter();
    stored.find(|it| it.os == platform.os() && it.arch == platform.arch())
}

/// Returns the packages that have one SHA256SUMS file and signature, for each of these: many origins sign one for all
/// platforms, others one for each.
fn by_signature(packages: &[OriginPackage]) -> Vec<Vec<OriginPackage>> {
    let mut groups: Vec<Vec<OriginPackage>> = Vec::new();
    for package in packages {
        let is_one = |first: &OriginPackage| {
            first.shasums == package.shasums && first.signed == package.signed
        };
        match groups
            .iter_mut()
            .find(|group| group.first().is_some_and(is_one))
        {
            Some(group) => group.push(package.clone()),
            None => groups.push(vec![package.clone()]),
        }
    }
    groups
}

/// Checks that a lock file has one of the hashes of a package, or may have it, before its contents are known.
fn check_locked(
    selection: &ProviderSelection,
    package: &OriginPackage,
    h1: Option<PackageHash>,
) -> Result<(), Failure> {
    let OriginPackage {
        filename, sha256, ..
    } = package;
    if selection
        .lock
        .as_ref()
        .is_none_or(|lock| lock.admits(*sha256, h1))
    {
        return Ok(());
    }
    let contents = h1.map_or_else(String::new, |h1| format!(" or {h1}"));
    Err(Failure::refused(format!(
        "the lock file does not have the hash zh:{sha256}{contents} of {filename}. If it does not cover this platform, select your \
         platforms with --platform"
    )))
}

/// Returns a success, with the signing keys of the version and its stored platforms.
fn done(
    status: &'static str,
    packages: &[OriginPackage],
    stored: &[PackageBody],
    uploaded: Vec<String>,
) -> Done {
    let platforms = packages.iter().map(|package| package.platform.to_string());
    let platforms: Vec<String> = platforms.collect();
    let stored = stored_platforms(stored, packages);
    let signed = packages.first().and_then(|package| package.signed.as_ref());
    let signed_by = signed.map(|signed| &signed.key.fingerprint);
    let mut text = String::new();
    if let Some(fingerprint) = signed_by {
        text.push_str(&format!(", signed by {fingerprint}"));
    }
    text.push_str(&format!(": {}", platforms.join(", ")));
    if !stored.is_empty() && status != "unchanged" {
        text.push_str(&format!(" (already stored: {})", stored.join(", ")));
    }
    Done {
        status,
        text,
        lines: Vec::new(),
        details: json!({
            "platforms": platforms,
            "stored": stored,
            "uploaded": uploaded,
            "signed_by": signed_by,
        }),
    }
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
        replace: None,
    }
}
