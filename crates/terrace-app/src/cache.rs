//! The cache that an isolate keeps between requests. It affects only latency, the delay until a revocation
//! takes effect, and throttling.

use std::cell::{Cell, OnceCell, RefCell};
use std::rc::Rc;

use terrace_base::time::UnixTime;
use terrace_core::auth::access::{Revocations, Throttle};
use terrace_core::auth::oidc::StoredRules;
use terrace_core::config::Brand;
use terrace_core::limits;
use terrace_core::model::oci::Digest;
use terrace_core::model::token_id::TokenId;
use terrace_core::storage::failover::ServingBucket;
use terrace_jose::{Discovery, IssuerKeys, IssuerUrl};
use terrace_web::assets::Assets;

use crate::absences::Absences;

/// The cache of one isolate, or of one test.
#[derive(Debug, Default)]
pub struct Cache {
    revocations: RefCell<Option<Revocations>>,
    /// When the revocations were read.
    revocations_read_at: Cell<UnixTime>,
    /// When a request last started to read the revocations again.
    refresh_started_at: Cell<UnixTime>,
    /// The time at which this version was last found to be allowed to write.
    allowed_to_write: Cell<Option<UnixTime>>,
    /// The bucket that serves downloads, with the time at which that was read.
    serving: Cell<Option<(ServingBucket, UnixTime)>>,
    /// When a request last started to read that again.
    serving_refresh_started_at: Cell<UnixTime>,
    absences: Absences,
    throttle: RefCell<Throttle>,
    sign_ins: RefCell<Throttle>,
    searches: RefCell<Throttle>,
    /// The rules that are stored in the registry, with the time at which they were read.
    rules: RefCell<Option<(Rc<StoredRules>, UnixTime)>>,
    /// The keys of each issuer, with the time at which they were read.
    issuers: RefCell<Vec<(IssuerKeys, UnixTime)>>,
    /// The issuers that could not be reached, with the time of the attempt and the reason.
    failed_issuers: RefCell<Vec<(IssuerUrl, UnixTime, String)>>,
    /// The issuers that a request is fetching from, with the time at which it started.
    flights: RefCell<Vec<(IssuerUrl, UnixTime)>>,
    /// The time of the last check whether the catalogue must be rebuilt.
    catalog_checked_at: Cell<UnixTime>,
    /// The discovery document of the sign-in provider, with the time at which it was read.
    discovery: RefCell<Option<(IssuerUrl, Discovery, UnixTime)>>,
    /// The stylesheet, the script and the pictures of the web pages.
    assets: OnceCell<Assets>,
}

/// How long an issuer is not contacted after a failure, in seconds: each attempt may block until it times
/// out, and any client can cause one. It is also the `Retry-After` of the rejected requests.
const FAILURE_SECONDS: u64 = 5;

/// How long to wait for a concurrent fetch from an issuer, in seconds: longer than the fetch may take.
const FLIGHT_SECONDS: u64 = 20;

/// The cached revocation state of a token, or the cached state of a digest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CachedRevocation {
    /// Whether the token is revoked, or the digest may have been erased.
    Fresh(bool),
    /// The same. The caller must refresh the cache after the response.
    Stale(bool),
    /// No usable entry.
    Miss,
}

/// The cached bucket that serves downloads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CachedServing {
    /// The bucket.
    Fresh(ServingBucket),
    /// The bucket. The caller must refresh the cache after the response.
    Stale(ServingBucket),
    /// No usable entry.
    Miss,
}

impl Cache {
    /// Creates the cache of a host that shares a store with other processes and learns of their changes sooner than absences are
    /// forgotten.
    pub fn without_absences() -> Self {
        Self {
            absences: Absences::disabled(),
            ..Self::default()
        }
    }

    /// Returns the bucket that serves downloads, according to the cache. A caller that receives `Stale` must refresh the
    /// cache.
    pub fn serving(&self, now: UnixTime) -> CachedServing {
        let cached = self.cached_serving(now);
        if matches!(cached, CachedServing::Stale(_)) {
            self.serving_refresh_started_at.set(now);
        }
        cached
    }

    /// Returns the bucket that serves downloads, if a fresh cache entry has it.
    pub fn known_serving(&self, now: UnixTime) -> Option<ServingBucket> {
        match self.cached_serving(now) {
            CachedServing::Fresh(serving) => Some(serving),
            CachedServing::Stale(_) | CachedServing::Miss => None,
        }
    }

    /// Returns the bucket that served downloads when that was last read; the main one if it never was.
    pub fn last_serving(&self) -> ServingBucket {
        self.serving.get().unwrap_or_default().0
    }

    fn cached_serving(&self, now: UnixTime) -> CachedServing {
        let Some((serving, read)) = self.serving.get() else {
            return CachedServing::Miss;
        };
        match now.since(read) {
            age if age < limits::FAILOVER_FRESH_SECONDS => CachedServing::Fresh(serving),
            age if age < limits::FAILOVER_SECONDS => {
                let started = now.since(self.serving_refresh_started_at.get());
                match started < limits::FAILOVER_FRESH_SECONDS {
                    true => CachedServing::Fresh(serving),
                    false => CachedServing::Stale(serving),
                }
            }
            _ => CachedServing::Miss,
        }
    }

    /// Caches the bucket that serves downloads. `began` is the time at which reading it began.
    pub fn store_serving(&self, serving: ServingBucket, began: UnixTime) {
        self.serving.set(Some((serving, began)));
    }

    /// Returns the stylesheet, the script and the pictures of the web pages, made at first use.
    pub(crate) fn assets(&self, brand: &Brand) -> &Assets {
        self.assets.get_or_init(|| Assets::new(brand.accent))
    }

    /// Returns whether a token is revoked, according to the cache. A caller that receives `Stale` must
    /// refresh the cache.
    pub fn revocation(&self, token: TokenId, now: UnixTime) -> CachedRevocation {
        self.claim_refresh(self.cached_revocation(token, now), now)
    }

    /// Returns whether a digest may have been erased, according to the cache. A caller that receives `Stale` must
    /// refresh the cache.
    pub fn erasure(&self, digest: Digest, now: UnixTime) -> CachedRevocation {
        let cached = self.listed(now, |known| known.may_have_erased(digest));
        self.claim_refresh(cached, now)
    }

    fn claim_refresh(&self, cached: CachedRevocation, now: UnixTime) -> CachedRevocation {
        if matches!(cached, CachedRevocation::Stale(_)) {
            self.refresh_started_at.set(now);
        }
        cached
    }

    /// Returns whether a fresh cache entry shows that a token is not revoked.
    pub fn is_known_valid(&self, token: TokenId, now: UnixTime) -> bool {
        self.cached_revocation(token, now) == CachedRevocation::Fresh(false)
    }

    fn cached_revocation(&self, token: TokenId, now: UnixTime) -> CachedRevocation {
        self.listed(now, |known| known.include(token, now))
    }

    fn listed(&self, now: UnixTime, lists: impl Fn(&Revocations) -> bool) -> CachedRevocation {
        let revocations = self.revocations.borrow();
        let Some(revocations) = revocations.as_ref() else {
            return CachedRevocation::Miss;
        };
        let is_listed = lists(revocations);
        let since = |then: &Cell<UnixTime>| now.0.saturating_sub(then.get().0);
        match since(&self.revocations_read_at) {
            age if age < limits::REVOCATIONS_FRESH_SECONDS => CachedRevocation::Fresh(is_listed),
            age if age < limits::REVOCATIONS_SECONDS => {
                if since(&self.refresh_started_at) < limits::REVOCATIONS_FRESH_SECONDS {
                    return CachedRevocation::Fresh(is_listed);
                }
                CachedRevocation::Stale(is_listed)
            }
            _ => CachedRevocation::Miss,
        }
    }

    /// Caches the revoked tokens and erased digests. `began` is the time at which reading them began.
    pub fn store_revocations(&self, revocations: Revocations, began: UnixTime) {
        self.revocations.replace(Some(revocations));
        self.revocations_read_at.set(began);
    }

    /// Returns whether this version is remembered to be allowed to change the stored documents.
    pub fn may_write(&self, now: UnixTime) -> bool {
        let known = self.allowed_to_write.get();
        known.is_some_and(|since| now.since(since) < limits::FORMAT_SECONDS)
    }

    /// Remembers that this version is allowed to, by a document that was read at this time.
    pub fn remember_may_write(&self, read: UnixTime) {
        self.allowed_to_write.set(Some(read));
    }

    /// Returns the rules that are stored in the registry, unless they were read too long ago.
    pub fn rules(&self, now: UnixTime) -> Option<Rc<StoredRules>> {
        let known = self.rules.borrow();
        let known = known.as_ref();
        let fresh = known.filter(|(_, read)| now.since(*read) < limits::RULES_SECONDS);
        fresh.map(|(rules, _)| rules.clone())
    }

    /// Caches the stored rules. `began` is the time at which reading them began.
    pub fn store_rules(&self, rules: Rc<StoredRules>, began: UnixTime) {
        self.rules.replace(Some((rules, began)));
    }

    /// Returns the keys of an issuer, with the time at which they were read.
    pub fn issuer_keys(&self, issuer: &IssuerUrl) -> Option<(IssuerKeys, UnixTime)> {
        let known = self.issuers.borrow();
        known
            .iter()
            .find(|(keys, _)| keys.issuer() == issuer)
            .cloned()
    }

    /// Caches the keys of an issuer. Only issuers that a rule names are passed here; of those, the last ones are kept.
    pub fn remember_issuer_keys(&self, keys: IssuerKeys, read: UnixTime) {
        self.forget_failure(keys.issuer());
        let mut known = self.issuers.borrow_mut();
        known.retain(|(other, _)| other.issuer() != keys.issuer());
        push_bounded(&mut known, (keys, read));
    }

    /// Returns the reason why an issuer could not be reached, if that happened in the last 5 seconds.
    pub fn recent_failure(&self, issuer: &IssuerUrl, now: UnixTime) -> Option<String> {
        let silent = self.failed_issuers.borrow();
        let known = silent.iter().find(|(other, ..)| other == issuer);
        let recent = known.filter(|(_, since, _)| now.0.saturating_sub(since.0) < FAILURE_SECONDS);
        recent.map(|(.., why)| why.clone())
    }

    /// Returns whether this request must fetch from an issuer, because no other request is doing so. If
    /// `true`, the caller must call [`end_flight`](Self::end_flight) afterwards. A request that was aborted
    /// stops counting after 20 seconds.
    pub fn begin_flight(&self, issuer: &IssuerUrl, now: UnixTime) -> bool {
        let mut flights = self.flights.borrow_mut();
        flights.retain(|(_, since)| now.0.saturating_sub(since.0) < FLIGHT_SECONDS);
        if flights.iter().any(|(other, _)| other == issuer) {
            return false;
        }
        flights.push((issuer.clone(), now));
        true
    }

    /// Marks the fetch from an issuer as finished.
    pub fn end_flight(&self, issuer: &IssuerUrl) {
        let mut flights = self.flights.borrow_mut();
        flights.retain(|(other, _)| other != issuer);
    }

    /// Records that an issuer could not be reached.
    pub fn remember_failure(&self, issuer: &IssuerUrl, since: UnixTime, why: &str) {
        self.forget_failure(issuer);
        let silence = (issuer.clone(), since, why.to_owned());
        push_bounded(&mut self.failed_issuers.borrow_mut(), silence);
    }

    fn forget_failure(&self, issuer: &IssuerUrl) {
        let mut silent = self.failed_issuers.borrow_mut();
        silent.retain(|(other, ..)| other != issuer);
    }

    /// Returns the discovery document of this sign-in provider, with the time at which it was read.
    pub fn discovery(&self, issuer: &IssuerUrl) -> Option<(Discovery, UnixTime)> {
        let known = self.discovery.borrow();
        let (_, discovery, read) = known.as_ref().filter(|(known, ..)| known == issuer)?;
        Some((discovery.clone(), *read))
    }

    /// Caches the discovery document of a sign-in provider.
    pub fn remember_discovery(&self, issuer: IssuerUrl, discovery: Discovery, read: UnixTime) {
        self.discovery.replace(Some((issuer, discovery, read)));
    }

    /// Returns whether the last check of the merged catalogue is more than a minute ago. The caller must then check it.
    pub fn is_catalog_check_due(&self, now: UnixTime) -> bool {
        let is_due = now.since(self.catalog_checked_at.get()) >= u64::from(limits::CATALOG_SECONDS);
        if is_due {
            self.catalog_checked_at.set(now);
        }
        is_due
    }

    /// The lists that were not found a short time ago.
    pub fn absences(&self) -> &Absences {
        &self.absences
    }

    /// The failed authentications, by client address.
    pub fn throttle(&self) -> &RefCell<Throttle> {
        &self.throttle
    }

    /// The sign-ins with an authorization code that the provider rejected, by client address. They are
    /// counted apart from failed authentications, so that a client with a wrong token does not stop others at
    /// its address from signing in.
    pub fn sign_ins(&self) -> &RefCell<Throttle> {
        &self.sign_ins
    }

    /// The anonymous searches and lists of the whole registry, by client address.
    pub fn searches(&self) -> &RefCell<Throttle> {
        &self.searches
    }
}

/// Appends to a cache about issuers, whose oldest entry gives way.
fn push_bounded<T>(cache: &mut Vec<T>, entry: T) {
    if cache.len() >= limits::CACHED_ISSUERS {
        cache.remove(0);
    }
    cache.push(entry);
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: UnixTime = UnixTime(1_800_000_000);

    #[test]
    fn the_serving_bucket_is_cached_for_25_seconds_and_stale_from_the_tenth_on() {
        let cache = Cache::default();
        let serving = ServingBucket::Fallback;
        assert_eq!(cache.serving(NOW), CachedServing::Miss);
        assert_eq!(cache.last_serving(), ServingBucket::Main);
        cache.store_serving(serving, NOW);
        assert_eq!(cache.known_serving(NOW.plus(9)), Some(serving));
        assert_eq!(cache.known_serving(NOW.plus(10)), None);
        assert_eq!(cache.serving(NOW.plus(10)), CachedServing::Stale(serving));
        // Only one request refreshes the cache.
        assert_eq!(cache.serving(NOW.plus(11)), CachedServing::Fresh(serving));
        assert_eq!(cache.serving(NOW.plus(25)), CachedServing::Miss);
        assert_eq!(cache.last_serving(), serving);
    }

    #[test]
    fn revocations_are_cached_for_25_seconds_and_stale_from_the_tenth_on() {
        let cache = Cache::default();
        let id = "0000000000000001".parse().unwrap();
        assert_eq!(cache.revocation(id, NOW), CachedRevocation::Miss);
        cache.store_revocations(Revocations::default(), NOW);
        assert_eq!(
            cache.revocation(id, NOW.plus(9)),
            CachedRevocation::Fresh(false)
        );
        assert_eq!(
            cache.revocation(id, NOW.plus(10)),
            CachedRevocation::Stale(false)
        );
        // Only one request refreshes the cache.
        assert_eq!(
            cache.revocation(id, NOW.plus(11)),
            CachedRevocation::Fresh(false)
        );
        assert_eq!(
            cache.revocation(id, NOW.plus(20)),
            CachedRevocation::Stale(false)
        );
        assert_eq!(cache.revocation(id, NOW.plus(25)), CachedRevocation::Miss);
    }
}
