//! Pull-through: what another registry has, fetched when somebody asks for it.
//!
//! One at a time fetches; the others wait for what it stores. Nothing is committed before it was
//! verified as a client would have: what is signed, when a version is first asked for; the bytes of
//! a package, by their digest, while they are stored.

mod archive;
mod lease;
mod origin;

use terrace_core::index::{self, ListedRelease};
use terrace_core::limits;
use terrace_core::model::address::MirroredAddress;
use terrace_core::model::package::Package;
use terrace_core::model::platform::Platform as ProviderPlatform;
use terrace_core::model::version::Version;
use terrace_core::publish::Step;
use terrace_core::storage::key::{ArchiveKey, ArchiveKind, Lease};
use terrace_core::storage::release::{Release, SigningKeyDocument};
use terrace_core::upstream::origin::OriginPackage;
use terrace_core::upstream::pull::{OriginDocument, SeenVersion};

use super::read::{Indexed, versions_of};
use super::{App, Failure};
use crate::store::{Clock as _, Platform};
use lease::Turn;
use origin::told;

/// Why nothing is fetched although nothing is there.
const NOT_NOW: &str = "its origin has failed a moment ago, or another request is asking it; try again in half a minute";

impl<P: Platform> App<'_, P> {
    /// Sees to it that what is known of a package's origin is not too old; false when it is.
    ///
    /// # Errors
    /// As [`App::seen_at_origin`].
    pub(super) async fn look_at_origin(&self, package: &Package) -> Result<bool, Failure> {
        let Package::Mirrored(address) = package else {
            return Ok(true);
        };
        let seen = self.seen_at_origin(address).await?;
        let now = self.platform.clock().now();
        Ok(seen.is_none_or(|document| !document.is_due(now)))
    }

    /// A release that is not stored, if its origin may be asked for it.
    pub(super) async fn release_at_origin(
        &self,
        package: &Package,
        version: &Version,
    ) -> Result<Option<Release>, Failure> {
        match package {
            Package::Mirrored(address) => self.pull_release(address, version).await,
            Package::Provider(_) | Package::Module(_) => Ok(None),
        }
    }

    /// The mirror's list of a provider, under the rules of this deployment.
    pub(super) async fn mirrored_versions(
        &self,
        address: &MirroredAddress,
        stored: Vec<ListedRelease>,
    ) -> Result<Indexed, Failure> {
        let policy = &self.config.pull;
        let seen = if policy.pulls(address) {
            self.origin_document(address).await?
        } else {
            None
        };
        let seen = seen.as_ref().map(|(document, _)| document);
        let listed = policy.listed(address, stored, seen);
        let metadata = policy.metadata(seen, listed.is_empty());
        let mut lists = if listed.is_empty() && metadata.is_some() {
            index::empty_versions(address).map_err(|error| Failure::Corrupt(error.to_string()))?
        } else {
            let package = Package::Mirrored(address.clone());
            let standings = self.standings(&package).await?;
            versions_of(&package, listed, &standings)?
        };
        for (_, list) in &mut lists {
            list.metadata.pull.clone_from(&metadata);
        }
        Ok(lists)
    }

    /// Asks the origin whether there is more than the mirror lists, and lists it.
    pub(super) async fn refresh_list(&self, address: MirroredAddress) -> Result<(), Failure> {
        let known = self.origin_document(&address).await?;
        let now = self.platform.clock().now();
        let age = known.map(|(document, _)| now.0.saturating_sub(document.checked_at));
        match age {
            // The new list is not everywhere yet.
            Some(age) if age < limits::PULL_LISTED_SECONDS => return Ok(()),
            Some(age) if age < limits::PULL_CHECK_SECONDS => {}
            _ => match self.refresh(&address).await {
                Ok(Some(_)) => {}
                Ok(None) => return Ok(()),
                Err(failure) => return self.stale(&address, failure).await.map(drop),
            },
        }
        self.index_versions(&Package::Mirrored(address)).await
    }

    /// What was seen of a pulled provider at its origin, which is asked again where that is due.
    /// `None` for one that is not pulled.
    ///
    /// # Errors
    /// When nothing is known and the origin cannot be asked.
    pub(super) async fn seen_at_origin(
        &self,
        address: &MirroredAddress,
    ) -> Result<Option<OriginDocument>, Failure> {
        if !self.config.pull.pulls(address) {
            return Ok(None);
        }
        loop {
            let known = self.origin_document(address).await?;
            let known = known.map(|(document, _)| document);
            let now = self.platform.clock().now();
            if let Some(document) = known.as_ref().filter(|document| !document.is_due(now)) {
                return Ok(Some(document.clone()));
            }
            match self.refresh(address).await {
                Ok(Some(document)) => return Ok(Some(document)),
                // What is known is better than to wait.
                Ok(None) if known.as_ref().is_some_and(OriginDocument::was_asked) => {
                    return Ok(known);
                }
                Ok(None) if self.seconds_left() > 0 => self.platform.clock().sleep(1).await,
                Ok(None) => return Err(told(address, NOT_NOW)),
                Err(failure) => return self.stale(address, failure).await.map(Some),
            }
        }
    }

    /// What is known although the origin could not be asked.
    async fn stale(
        &self,
        address: &MirroredAddress,
        failure: Failure,
    ) -> Result<OriginDocument, Failure> {
        match self.origin_document(address).await? {
            Some((document, _)) if document.was_asked() => {
                self.problem(failure);
                let now = self.platform.clock().now();
                let age = now.0.saturating_sub(document.checked_at);
                let line = format!("stale: {address} was last listed by its origin {age} s ago");
                self.platform.log(&line);
                Ok(document)
            }
            _ => Err(failure),
        }
    }

    /// Asks the origin for its versions. `None` when somebody else is at it.
    pub(super) async fn refresh(
        &self,
        address: &MirroredAddress,
    ) -> Result<Option<OriginDocument>, Failure> {
        let lease = Lease::Versions(address.clone());
        match self.turn(&lease).await? {
            Turn::Ours => {}
            Turn::Others => return Ok(None),
            Turn::Paused => return Err(told(address, NOT_NOW)),
        }
        let listed = self.ask_for_versions(address).await;
        let listed = self.end_turn(&lease, listed).await?;
        for line in &listed.skipped {
            self.platform.log(&format!("pull {address}: {line}"));
        }
        self.change_origin(address, |before, now| {
            OriginDocument::after(before.as_ref(), &listed, now)
        })
        .await
        .map(Some)
    }

    /// The release of a version that the mirror lacks, as its origin has signed it; `None` when
    /// that is not to be had.
    ///
    /// # Errors
    /// When the origin cannot be asked, or says what no client would accept.
    pub(super) async fn pull_release(
        &self,
        address: &MirroredAddress,
        version: &Version,
    ) -> Result<Option<Release>, Failure> {
        let Some(document) = self.seen_at_origin(address).await? else {
            return Ok(None);
        };
        let now = self.platform.clock().now();
        let admits = |seen: &&SeenVersion| self.config.pull.admits(address, seen, now);
        let Some(seen) = document.find(version).filter(admits) else {
            return Ok(None);
        };
        let package = Package::Mirrored(address.clone());
        let lease = Lease::Release(address.clone(), version.clone());
        loop {
            if let Some(stored) = self.stored(&package, version).await? {
                return Ok(Some(stored.release));
            }
            match self.turn(&lease).await? {
                Turn::Ours => {
                    let release = self.take_release(address, seen).await;
                    return self.end_turn(&lease, release).await.map(Some);
                }
                Turn::Others if self.seconds_left() > 0 => self.platform.clock().sleep(1).await,
                Turn::Others | Turn::Paused => {
                    return Err(told(format_args!("{address} {version}"), NOT_NOW));
                }
            }
        }
    }

    async fn take_release(
        &self,
        address: &MirroredAddress,
        seen: &SeenVersion,
    ) -> Result<Release, Failure> {
        let version = &seen.version;
        let look = self.begin_look().await?;
        let package = self.inquire_any(address, seen).await?;
        self.pin(address, version, &package).await?;
        let now = self.platform.clock().now();
        let release = package.offered(address.clone(), version.clone(), now.0);
        let release = Release::Mirrored(release);
        let mut steps = signed_documents(&package);
        steps.push(Step::CreateRelease(Box::new(release.clone())));
        // Its index is written after the answer, and lists have named it before. Where another was faster, its document counts.
        self.execute(steps, &look).await?;
        let stored = self.stored(&release.package(), version).await?;
        Ok(stored.map_or(release, |stored| stored.release))
    }

    /// Everything that is signed about a version, by one of its platforms: SHA256SUMS names them all.
    /// An origin need not say which platforms there are.
    async fn inquire_any(
        &self,
        address: &MirroredAddress,
        seen: &SeenVersion,
    ) -> Result<OriginPackage, Failure> {
        let usual = ProviderPlatform::new("linux", "amd64").ok();
        for platform in seen.platforms.iter().chain(&usual) {
            if let Some(package) = self.inquire(address, &seen.version, platform).await? {
                return Ok(package);
            }
        }
        let what = format_args!("{address} {}", seen.version);
        Err(told(what, "its origin lists it, and has no package of it"))
    }

    /// Refuses a package that is signed by another key than earlier ones; pins the first.
    async fn pin(
        &self,
        address: &MirroredAddress,
        version: &Version,
        package: &OriginPackage,
    ) -> Result<(), Failure> {
        let first = package.signed.as_ref().map(|signed| &signed.key);
        let pinned = self.change_origin(address, |before, _| {
            let document = before.unwrap_or_default();
            match first {
                Some(key) if document.keys.is_empty() => document.with_key(key),
                _ => document,
            }
        });
        let checked = package.check_pin(&pinned.await?.keys);
        checked.map_err(|error| told(format_args!("{address} {version}"), error))
    }

    /// Lets a key sign versions of a pulled provider, since an administrator has mirrored one that
    /// it has signed.
    pub(super) async fn vouch(
        &self,
        address: &MirroredAddress,
        key: &SigningKeyDocument,
    ) -> Result<(), Failure> {
        if self.config.pull.pulls(address) {
            let with_key =
                |before: Option<OriginDocument>, _| before.unwrap_or_default().with_key(key);
            self.change_origin(address, with_key).await?;
        }
        Ok(())
    }
}

/// Stores what an origin has signed, and its signature.
fn signed_documents(package: &OriginPackage) -> Vec<Step> {
    let Some(signed) = &package.signed else {
        return Vec::new();
    };
    let document =
        |bytes: &[u8], kind| Step::StoreArchive(ArchiveKey::of(bytes, kind), bytes.to_vec());
    vec![
        document(package.shasums.as_str().as_bytes(), ArchiveKind::Shasums),
        document(&signed.signature, ArchiveKind::Signature),
    ]
}
