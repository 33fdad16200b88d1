//! The cache that an isolate keeps between requests. It affects only latency, the delay until a revocation
//! takes effect, and throttling.

use std::cell::{Cell, OnceCell, RefCell};
use std::rc::Rc;

use terrace_base::time::UnixTime;
use terrace_core::auth::access::{Revocations, Throttle};
use terrace_core::auth::oidc::StoredRules;
use terrace_core::config::Brand;
use terrace_core::model::oci::Digest;
use terrace_core::model::token_id::TokenId;
use terrace_core::storage::failover::ServingBucket;
use terrace_core::storage::format::FORMAT_SECONDS;
use terrace_jose::{Discovery, IssuerKeys, IssuerUrl};
use terrace_web::assets::Assets;

use crate::absences::Absences;

/// Time for which an isolate caches the list of revoked tokens and erased digests, and which bucket serves downloads, in seconds.
/// Together with the 30 seconds of the edge cache (`LIST_CACHE_SECONDS`), a revoked token is rejected everywhere within a minute, no
/// request for an erased archive is answered from the platform's cache, and a failover takes effect.
pub const REVOCATIONS_SECONDS: u64 = 25;

/// Age at which an isolate refreshes these in the background while it still uses them, in seconds.
const REVOCATIONS_FRESH_SECONDS: u64 = 10;

/// Time for which an isolate caches the stored rules, in seconds. Together with the 30 seconds of the edge cache
/// (`LIST_CACHE_SECONDS`), a rule takes effect, and a removed one ends, everywhere within a minute.
const RULES_SECONDS: u64 = 25;

/// Time between two checks of an isolate whether the merged catalogue must be rebuilt, in seconds.
const CATALOG_CHECK_SECONDS: u64 = 60;

/// Time until the next check of the merged catalogue after one that found a rebuild due, in seconds.
const CATALOG_RECHECK_SECONDS: u64 = 10;

/// Maximum number of issuers for which an isolate caches keys or failures.
const CACHED_ISSUERS: usize = 32;

/// The cache of one isolate, or of one test.
#[derive(Debug, Default)]
pub struct Cache {
    revocations: Refreshed<Revocations>,
    /// The time at which this version was last found to be allowed to write.
    allowed_to_write: Cell<Option<UnixTime>>,
    /// The bucket that serves downloads.
    serving: Refreshed<ServingBucket>,
    absences: Absences,
    throttle: RefCell<Throttle>,
    sign_ins: RefCell<Throttle>,
    searches: RefCell<Throttle>,
    /// The rules that are stored in the registry, with the time at which they were read.
    rules: RefCell<Option<(Rc<StoredRules>, UnixTime)>>,
    /// The keys of each issuer, with the time at which they were read.
    issuers: RefCell<Vec<(IssuerKeys, UnixTime)>>,
    /// The issuers that could not be reached, with the time of the attempt and the reason.
    failed_issuers: RefCell<Vec<(IssuerUrl, UnixTime, IssuerError)>>,
    /// The issuers that a request is fetching from, with the time at which it started.
    flights: RefCell<Vec<(IssuerUrl, UnixTime)>>,
    /// The time of the last check whether the catalogue must be rebuilt.
    catalog_checked_at: Cell<UnixTime>,
    /// The discovery document of the sign-in provider, with the time at which it was read.
    discovery: RefCell<Option<(IssuerUrl, Discovery, UnixTime)>>,
    /// The stylesheet, the script and the pictures of the web pages.
    assets: OnceCell<Assets>,
}

/// The reason why an issuer gives no usable answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IssuerError {
    /// The issuer and the reason, for the log.
    pub why: String,
    /// Whether only a change of the configuration, here or at the issuer, helps.
    pub is_permanent: bool,
}

/// How long an issuer is not contacted after a failure, in seconds: each attempt may block until it times
/// out, and any client can cause one. It is also the `Retry-After` of the rejected requests.
const FAILURE_SECONDS: u64 = 5;

/// How long to wait for a concurrent fetch from an issuer, in seconds: longer than the fetch may take.
const FLIGHT_SECONDS: u64 = 20;

/// A cached value, according to its age.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cached<T> {
    /// The value.
    Fresh(T),
    /// The value. The caller must refresh the cache after the response.
    Stale(T),
    /// No usable entry.
    Miss,
}

/// A value that is read again while it is used.
#[derive(Debug)]
struct Refreshed<T> {
    /// The value, once it was read.
    value: RefCell<Option<T>>,
    read_at: Cell<UnixTime>,
    /// When a request last started to read it again.
    refresh_started_at: Cell<UnixTime>,
}

impl<T> Default for Refreshed<T> {
    fn default() -> Self {
        Self {
            value: RefCell::default(),
            read_at: Cell::default(),
            refresh_started_at: Cell::default(),
        }
    }
}

impl<T> Refreshed<T> {
    /// Returns what follows from the value, according to its age. While a request refreshes it, others use it as it is.
    fn look<U>(&self, now: UnixTime, view: impl FnOnce(&T) -> U) -> Cached<U> {
        let value = self.value.borrow();
        let Some(value) = value.as_ref() else {
            return Cached::Miss;
        };
        let is_recent = |at: &Cell<UnixTime>| now.since(at.get()) < REVOCATIONS_FRESH_SECONDS;
        match now.since(self.read_at.get()) {
            REVOCATIONS_SECONDS.. => Cached::Miss,
            _ if is_recent(&self.read_at) || is_recent(&self.refresh_started_at) => {
                Cached::Fresh(view(value))
            }
            _ => Cached::Stale(view(value)),
        }
    }

    /// Does the same for a caller who refreshes a stale value.
    fn claim<U>(&self, now: UnixTime, view: impl FnOnce(&T) -> U) -> Cached<U> {
        let cached = self.look(now, view);
        if matches!(cached, Cached::Stale(_)) {
            self.refresh_started_at.set(now);
        }
        cached
    }

    /// Stores the value. `began` is the time at which reading it began.
    fn store(&self, value: T, began: UnixTime) {
        self.value.replace(Some(value));
        self.read_at.set(began);
    }
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
    pub fn serving(&self, now: UnixTime) -> Cached<ServingBucket> {
        self.serving.claim(now, |serving| *serving)
    }

    /// Returns the bucket that serves downloads, if a fresh cache entry has it.
    pub fn known_serving(&self, now: UnixTime) -> Option<ServingBucket> {
        match self.serving.look(now, |serving| *serving) {
            Cached::Fresh(serving) => Some(serving),
            Cached::Stale(_) | Cached::Miss => None,
        }
    }

    /// Returns the bucket that served downloads when that was last read; the main one if it never was.
    pub fn last_serving(&self) -> ServingBucket {
        self.serving.value.borrow().unwrap_or_default()
    }

    /// Caches the bucket that serves downloads. `began` is the time at which reading it began.
    pub fn store_serving(&self, serving: ServingBucket, began: UnixTime) {
        self.serving.store(serving, began);
    }

    /// Returns the stylesheet, the script and the pictures of the web pages, made at first use.
    pub(crate) fn assets(&self, brand: &Brand) -> &Assets {
        self.assets.get_or_init(|| Assets::new(brand.accent))
    }

    /// Returns whether a token is revoked, according to the cache. A caller that receives `Stale` must
    /// refresh the cache.
    pub fn revocation(&self, token: TokenId, now: UnixTime) -> Cached<bool> {
        let known = &self.revocations;
        known.claim(now, |known| known.include(token, now))
    }

    /// Returns whether a digest may have been erased, according to the cache. A caller that receives `Stale` must
    /// refresh the cache.
    pub fn erasure(&self, digest: Digest, now: UnixTime) -> Cached<bool> {
        let known = &self.revocations;
        known.claim(now, |known| known.may_have_erased(digest))
    }

    /// Returns whether a fresh cache entry shows that a token is not revoked.
    pub fn is_known_valid(&self, token: TokenId, now: UnixTime) -> bool {
        let known = &self.revocations;
        known.look(now, |known| known.include(token, now)) == Cached::Fresh(false)
    }

    /// Caches the revoked tokens and erased digests. `began` is the time at which reading them began.
    pub fn store_revocations(&self, revocations: Revocations, began: UnixTime) {
        self.revocations.store(revocations, began);
    }

    /// Returns whether this version is remembered to be allowed to change the stored documents.
    pub fn may_write(&self, now: UnixTime) -> bool {
        let known = self.allowed_to_write.get();
        known.is_some_and(|since| now.since(since) < FORMAT_SECONDS)
    }

    /// Remembers that this version is allowed to, by a document that was read at this time.
    pub fn remember_may_write(&self, read: UnixTime) {
        self.allowed_to_write.set(Some(read));
    }

    /// Returns the rules that are stored in the registry, unless they were read too long ago.
    pub fn rules(&self, now: UnixTime) -> Option<Rc<StoredRules>> {
        let known = self.rules.borrow();
        let known = known.as_ref();
        let fresh = known.filter(|(_, read)| now.since(*read) < RULES_SECONDS);
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
    pub fn recent_failure(&self, issuer: &IssuerUrl, now: UnixTime) -> Option<IssuerError> {
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
    pub fn remember_failure(&self, issuer: &IssuerUrl, since: UnixTime, why: &IssuerError) {
        self.forget_failure(issuer);
        let silence = (issuer.clone(), since, why.clone());
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
        let is_due = now.since(self.catalog_checked_at.get()) >= CATALOG_CHECK_SECONDS;
        if is_due {
            self.catalog_checked_at.set(now);
        }
        is_due
    }

    /// Lets the merged catalogue be checked again after ten seconds: the last check found a rebuild due that was left to another
    /// request.
    pub fn check_catalog_soon(&self) {
        let at = self.catalog_checked_at.get().0;
        let at = at.saturating_sub(CATALOG_CHECK_SECONDS - CATALOG_RECHECK_SECONDS);
        self.catalog_checked_at.set(UnixTime(at));
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

/// Appends to a cache about issuers, and removes the oldest entry if it is full.
fn push_bounded<T>(cache: &mut Vec<T>, entry: T) {
    if cache.len() >= CACHED_ISSUERS {
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
        assert_eq!(cache.serving(NOW), Cached::Miss);
        assert_eq!(cache.last_serving(), ServingBucket::Main);
        cache.store_serving(serving, NOW);
        assert_eq!(cache.known_serving(NOW.plus(9)), Some(serving));
        assert_eq!(cache.known_serving(NOW.plus(10)), None);
        assert_eq!(cache.serving(NOW.plus(10)), Cached::Stale(serving));
        // Only one request refreshes the cache.
        assert_eq!(cache.serving(NOW.plus(11)), Cached::Fresh(serving));
        assert_eq!(cache.serving(NOW.plus(25)), Cached::Miss);
        assert_eq!(cache.last_serving(), serving);
    }
}
