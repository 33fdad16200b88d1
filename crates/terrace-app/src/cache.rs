//! What an isolate remembers from one request to the next. Nothing depends on it but speed, and how
//! soon a revoked token is dead and a guesser has to wait.

use std::cell::{Cell, RefCell};

use terrace_base::time::UnixTime;
use terrace_core::auth::access::{Revocations, Throttle};
use terrace_core::limits;
use terrace_core::model::token_id::TokenId;
use terrace_jose::{Discovery, IssuerKeys, IssuerUrl};

/// The memory of one isolate, or of one test.
#[derive(Debug, Default)]
pub struct Cache {
    revocations: RefCell<Option<Revocations>>,
    /// When they were read.
    read: Cell<UnixTime>,
    /// When somebody last went to read them.
    asked: Cell<UnixTime>,
    /// When this version was last seen to be allowed to write.
    allowed_to_write: Cell<Option<UnixTime>>,
    throttle: RefCell<Throttle>,
    sign_ins: RefCell<Throttle>,
    /// The keys of each issuer, and when they were read.
    issuers: RefCell<Vec<(IssuerKeys, UnixTime)>>,
    /// The issuers that could not be asked, when that was, and why.
    failed_issuers: RefCell<Vec<(IssuerUrl, UnixTime, String)>>,
    /// The issuers that somebody is asking, and since when.
    flights: RefCell<Vec<(IssuerUrl, UnixTime)>>,
    /// What the provider of people says about itself, and when it was read.
    provider: RefCell<Option<(IssuerUrl, Discovery, UnixTime)>>,
}

/// For how long an issuer that could not be asked is left alone, in seconds: each try may wait for it, and
/// anybody can cause one. It is also when those who were sent away come again.
const FAILURE_SECONDS: u64 = 5;

/// For how long one who asks an issuer is waited for, in seconds: longer than it may take.
const FLIGHT_SECONDS: u64 = 20;

/// What is remembered of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Remembered {
    /// Whether it is revoked.
    Fresh(bool),
    /// The same, and that it is time to look for news after the answer.
    Stale(bool),
    /// Nothing that may be gone by.
    Miss,
}

impl Cache {
    /// Whether a token is revoked, as far as is remembered. Whoever learns that it is time to look for news
    /// has to.
    pub fn recall(&self, token: TokenId, now: UnixTime) -> Remembered {
        let remembered = self.remembered(token, now);
        if matches!(remembered, Remembered::Stale(_)) {
            self.asked.set(now);
        }
        remembered
    }

    /// Whether a token is known not to be revoked, and it is not yet time to look for news.
    pub fn knows_good(&self, token: TokenId, now: UnixTime) -> bool {
        self.remembered(token, now) == Remembered::Fresh(false)
    }

    fn remembered(&self, token: TokenId, now: UnixTime) -> Remembered {
        let revocations = self.revocations.borrow();
        let Some(revocations) = revocations.as_ref() else {
            return Remembered::Miss;
        };
        let is_revoked = revocations.include(token, now);
        let since = |then: &Cell<UnixTime>| now.0.saturating_sub(then.get().0);
        match since(&self.read) {
            age if age < limits::REVOCATIONS_FRESH_SECONDS => Remembered::Fresh(is_revoked),
            age if age < limits::REVOCATIONS_SECONDS => {
                if since(&self.asked) < limits::REVOCATIONS_FRESH_SECONDS {
                    return Remembered::Fresh(is_revoked);
                }
                Remembered::Stale(is_revoked)
            }
            _ => Remembered::Miss,
        }
    }

    /// Remembers all revoked tokens as they were at this time, which is when reading them began.
    pub fn remember(&self, revocations: Revocations, began: UnixTime) {
        self.revocations.replace(Some(revocations));
        self.read.set(began);
    }

    /// Whether this version is remembered to be allowed to change the stored documents.
    pub fn may_write(&self, now: UnixTime) -> bool {
        let known = self.allowed_to_write.get();
        known.is_some_and(|since| now.since(since) < limits::FORMAT_SECONDS)
    }

    /// Remembers that this version is allowed to, by a document that was read at this time.
    pub fn remember_may_write(&self, read: UnixTime) {
        self.allowed_to_write.set(Some(read));
    }

    /// The keys of an issuer, with when they were read.
    pub fn issuer_keys(&self, issuer: &IssuerUrl) -> Option<(IssuerKeys, UnixTime)> {
        let known = self.issuers.borrow();
        known
            .iter()
            .find(|(keys, _)| keys.issuer() == issuer)
            .cloned()
    }

    /// Remembers the keys of an issuer. Only issuers of the configuration come here, which are few.
    pub fn remember_issuer_keys(&self, keys: IssuerKeys, read: UnixTime) {
        self.forget_failure(keys.issuer());
        let mut known = self.issuers.borrow_mut();
        known.retain(|(other, _)| other.issuer() != keys.issuer());
        known.push((keys, read));
    }

    /// Why an issuer could not be asked a moment ago.
    pub fn recent_failure(&self, issuer: &IssuerUrl, now: UnixTime) -> Option<String> {
        let silent = self.failed_issuers.borrow();
        let known = silent.iter().find(|(other, ..)| other == issuer);
        let recent = known.filter(|(_, since, _)| now.0.saturating_sub(since.0) < FAILURE_SECONDS);
        recent.map(|(.., why)| why.clone())
    }

    /// Whether this request is to ask an issuer, since nobody else is: then it says so when it has. Who was
    /// broken off meanwhile is not waited for.
    pub fn begin_flight(&self, issuer: &IssuerUrl, now: UnixTime) -> bool {
        let mut asked = self.flights.borrow_mut();
        asked.retain(|(_, since)| now.0.saturating_sub(since.0) < FLIGHT_SECONDS);
        if asked.iter().any(|(other, _)| other == issuer) {
            return false;
        }
        asked.push((issuer.clone(), now));
        true
    }

    /// Says that nobody is asking an issuer any more.
    pub fn end_flight(&self, issuer: &IssuerUrl) {
        let mut asked = self.flights.borrow_mut();
        asked.retain(|(other, _)| other != issuer);
    }

    /// Remembers that an issuer could not be asked.
    pub fn remember_failure(&self, issuer: &IssuerUrl, since: UnixTime, why: &str) {
        self.forget_failure(issuer);
        let silence = (issuer.clone(), since, why.to_owned());
        self.failed_issuers.borrow_mut().push(silence);
    }

    fn forget_failure(&self, issuer: &IssuerUrl) {
        let mut silent = self.failed_issuers.borrow_mut();
        silent.retain(|(other, ..)| other != issuer);
    }

    /// What this provider of people says about itself, with when it was read.
    pub fn provider(&self, issuer: &IssuerUrl) -> Option<(Discovery, UnixTime)> {
        let known = self.provider.borrow();
        let (_, discovery, read) = known.as_ref().filter(|(known, ..)| known == issuer)?;
        Some((discovery.clone(), *read))
    }

    /// Remembers it.
    pub fn remember_provider(&self, issuer: IssuerUrl, discovery: Discovery, read: UnixTime) {
        self.provider.replace(Some((issuer, discovery, read)));
    }

    /// Whoever sends wrong credentials, by the address they come from.
    pub fn throttle(&self) -> &RefCell<Throttle> {
        &self.throttle
    }

    /// Whoever comes back from a provider with what it does not know. A client somewhere whose token is
    /// wrong keeps nobody from signing in.
    pub fn sign_ins(&self) -> &RefCell<Throttle> {
        &self.sign_ins
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: UnixTime = UnixTime(1_800_000_000);

    #[test]
    fn what_is_remembered_is_gone_by_for_25_seconds_and_looked_after_from_the_tenth_on() {
        let cache = Cache::default();
        let id = "0000000000000001".parse().unwrap();
        assert_eq!(cache.recall(id, NOW), Remembered::Miss);
        cache.remember(Revocations::default(), NOW);
        assert_eq!(cache.recall(id, NOW.plus(9)), Remembered::Fresh(false));
        assert_eq!(cache.recall(id, NOW.plus(10)), Remembered::Stale(false));
        // One looks for all.
        assert_eq!(cache.recall(id, NOW.plus(11)), Remembered::Fresh(false));
        assert_eq!(cache.recall(id, NOW.plus(20)), Remembered::Stale(false));
        assert_eq!(cache.recall(id, NOW.plus(25)), Remembered::Miss);
    }
}
