//! What a provider's origin says, and what was last seen there.

use terrace_base::time::UnixTime;
use terrace_core::limits;
use terrace_core::model::address::MirroredAddress;
use terrace_core::model::platform::Platform as ProviderPlatform;
use terrace_core::model::version::Version;
use terrace_core::storage::key::FactKey;
use terrace_core::upstream::origin::{
    Fetch, Fetched, OriginPackage, OriginVersions, PackageInquiry, Service, Step,
};
use terrace_core::upstream::pull::OriginDocument;

use super::super::documents::BUSY_TRIES;
use super::super::{App, Failure};
use crate::store::{Clock as _, Condition, Facts as _, Platform, StoreError, Upstream as _};

/// A failure of the origin of something, told with what it was about.
pub(super) fn told(what: impl ToString, error: impl ToString) -> Failure {
    Failure::Origin(format!("{}: {}", what.to_string(), error.to_string()))
}

impl<P: Platform> App<'_, P> {
    /// The versions that an origin lists; none if it has no such provider.
    pub(super) async fn ask_for_versions(
        &self,
        address: &MirroredAddress,
    ) -> Result<OriginVersions, Failure> {
        let service = self.service(address).await?;
        let fetch = OriginVersions::ask(&service, address);
        let fetched = self.fetch(address, &fetch).await?;
        if fetched.status == 404 {
            return Ok(OriginVersions::default());
        }
        OriginVersions::read(&fetch, &fetched).map_err(|error| told(address, error))
    }

    /// Everything that is signed about a package, verified as a client would; `None` when its origin
    /// has none for this platform.
    pub(super) async fn inquire(
        &self,
        address: &MirroredAddress,
        version: &Version,
        platform: &ProviderPlatform,
    ) -> Result<Option<OriginPackage>, Failure> {
        let told = |error| told(format_args!("{address} {version} {platform}"), error);
        let service = self.service(address).await?;
        let mut inquiry = PackageInquiry::new(
            &service,
            address.clone(),
            version.clone(),
            platform.clone(),
            self.platform.clock().now(),
        );
        while let Step::Fetch(fetch) = inquiry.next() {
            let fetched = self.fetch(address, &fetch).await?;
            if fetched.status == 404 && fetch.what == PackageInquiry::DESCRIPTION {
                return Ok(None);
            }
            inquiry.feed(&fetched).map_err(told)?;
        }
        inquiry.finish().map(Some).map_err(told)
    }

    async fn service(&self, address: &MirroredAddress) -> Result<Service, Failure> {
        let origin = self.config.pull.origin_of(&address.hostname);
        let fetched = self.fetch(address, &Service::discover_at(&origin)).await?;
        Service::read(&fetched).map_err(|error| told(address, error))
    }

    async fn fetch(&self, address: &MirroredAddress, fetch: &Fetch) -> Result<Fetched, Failure> {
        let guard = self.config.pull.guard(&address.hostname);
        let seconds = self.seconds_left();
        let fetched = self.platform.upstream().fetch(fetch, &guard, seconds).await;
        fetched.map_err(|error| told(format_args!("{address}: {}", fetch.what), error))
    }

    /// How long this request may go on to ask other registries for documents, in seconds.
    pub(super) fn seconds_left(&self) -> u32 {
        let now = self.platform.clock().now();
        let since = self.asking_since.get().unwrap_or(now);
        self.asking_since.set(Some(since));
        let spent = u32::try_from(now.0.saturating_sub(since.0)).unwrap_or(u32::MAX);
        limits::PULL_SECONDS.saturating_sub(spent)
    }

    /// What was last seen of a provider, and its etag.
    pub(super) async fn origin_document(
        &self,
        address: &MirroredAddress,
    ) -> Result<Option<(OriginDocument, String)>, Failure> {
        let key = FactKey::Origin(address.clone());
        let Some(fact) = self.platform.facts().get(&key).await? else {
            return Ok(None);
        };
        let document = OriginDocument::from_document(&fact.bytes)
            .map_err(|error| Failure::Corrupt(format!("{key}: {error}")))?;
        Ok(Some((document, fact.etag)))
    }

    /// Reads, changes and writes until nobody else wrote in between.
    pub(super) async fn change_origin(
        &self,
        address: &MirroredAddress,
        change: impl Fn(Option<OriginDocument>, UnixTime) -> OriginDocument,
    ) -> Result<OriginDocument, Failure> {
        let key = FactKey::Origin(address.clone());
        for _ in 0..BUSY_TRIES {
            let (before, etag) = self.origin_document(address).await?.unzip();
            let after = change(before.clone(), self.platform.clock().now());
            if before.as_ref() == Some(&after) {
                return Ok(after);
            }
            let condition = etag.map_or(Condition::Absent, Condition::Unchanged);
            let text = serde_json::to_string(&after)
                .map_err(|error| Failure::Corrupt(error.to_string()))?;
            let written = self.put_document(&key, &text, &[], condition).await?;
            if written.is_some() {
                return Ok(after);
            }
        }
        Err(StoreError::Busy(key.to_string()).into())
    }
}
