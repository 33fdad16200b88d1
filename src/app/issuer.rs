//! Providers of identities: what they say about themselves, and the keys that they sign with.

use terrace_core::oidc::{Discovery, HttpsUrl, IssuerKeys, IssuerUrl, limits};
use terrace_core::time::UnixTime;

use super::{App, Failure};
use crate::store::{Clock as _, Inquiry, Platform, Upstream as _};

/// How long an answer may take, in seconds.
const SECONDS: u32 = 8;

/// How long keys are gone by, in seconds. Providers announce new keys before they use them, and take old
/// ones back when nothing that they have signed is good any more.
const KEYS_SECONDS: u64 = 3_600;

/// How soon they are asked for again after a token that they do not fit, in seconds.
const RENEWAL_SECONDS: u64 = 60;

impl<P: Platform> App<'_, P> {
    /// The keys of an issuer. What fits none of them may be signed with a new one: then they are asked
    /// for again if they are not `newer_than` this, and that was a while ago.
    pub(super) async fn issuer_keys(
        &self,
        issuer: &IssuerUrl,
        newer_than: Option<UnixTime>,
    ) -> Result<(IssuerKeys, UnixTime), Failure> {
        if let Some(known) = self.known_keys(issuer, newer_than) {
            return Ok(known);
        }
        let read = async || {
            let discovery = self.discovery(issuer).await?;
            self.read_keys(issuer, &discovery.jwks_uri).await
        };
        self.unless_silent(issuer, read).await
    }

    /// The same of an issuer whose keys lie here.
    pub(super) async fn issuer_keys_at(
        &self,
        issuer: &IssuerUrl,
        url: &HttpsUrl,
        newer_than: Option<UnixTime>,
    ) -> Result<(IssuerKeys, UnixTime), Failure> {
        match self.known_keys(issuer, newer_than) {
            Some(known) => Ok(known),
            None => {
                let read = async || self.read_keys(issuer, url).await;
                self.unless_silent(issuer, read).await
            }
        }
    }

    /// What the provider of people says about itself.
    pub(super) async fn provider(&self, issuer: &IssuerUrl) -> Result<Discovery, Failure> {
        let now = self.platform.clock().now();
        let isolate = self.platform.isolate();
        if let Some((discovery, read)) = isolate.provider(issuer)
            && now.0.saturating_sub(read.0) < KEYS_SECONDS
        {
            return Ok(discovery);
        }
        let read = async || self.discovery(issuer).await;
        let discovery = self.unless_silent(issuer, read).await?;
        isolate.remember_provider(issuer.clone(), discovery.clone(), now);
        Ok(discovery)
    }

    fn known_keys(
        &self,
        issuer: &IssuerUrl,
        newer_than: Option<UnixTime>,
    ) -> Option<(IssuerKeys, UnixTime)> {
        let (keys, read) = self.platform.isolate().issuer_keys(issuer)?;
        let age = self.platform.clock().now().0.saturating_sub(read.0);
        let is_wanted = match newer_than {
            Some(known) => read > known || age < RENEWAL_SECONDS,
            None => age < KEYS_SECONDS,
        };
        is_wanted.then_some((keys, read))
    }

    async fn read_keys(
        &self,
        issuer: &IssuerUrl,
        url: &HttpsUrl,
    ) -> Result<(IssuerKeys, UnixTime), Failure> {
        let now = self.platform.clock().now();
        let body = self.read_from(issuer, url, limits::KEYS_BYTES).await?;
        let keys = IssuerKeys::parse(issuer, &body).map_err(|error| failed(issuer, error))?;
        let isolate = self.platform.isolate();
        isolate.remember_issuer(keys.clone(), now);
        Ok((keys, now))
    }

    /// Asks an issuer, but not one that has just not answered.
    async fn unless_silent<T>(
        &self,
        issuer: &IssuerUrl,
        ask: impl AsyncFnOnce() -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let now = self.platform.clock().now();
        let isolate = self.platform.isolate();
        if let Some(why) = isolate.silence_of(issuer, now) {
            return Err(Failure::Origin(why));
        }
        let answered = ask().await;
        if let Err(Failure::Origin(why)) = &answered {
            isolate.remember_silence(issuer, now, why);
        }
        answered
    }

    /// What an issuer says about itself.
    pub(super) async fn discovery(&self, issuer: &IssuerUrl) -> Result<Discovery, Failure> {
        let url = issuer.discovery_url();
        let url: HttpsUrl = url.parse().map_err(|error| failed(issuer, error))?;
        let body = self
            .read_from(issuer, &url, limits::DISCOVERY_BYTES)
            .await?;
        Discovery::parse(issuer, &body).map_err(|error| failed(issuer, error))
    }

    async fn read_from(
        &self,
        issuer: &IssuerUrl,
        url: &HttpsUrl,
        most: usize,
    ) -> Result<Vec<u8>, Failure> {
        let inquiry = Inquiry {
            url: url.to_string(),
            form: None,
            authorization: None,
            max_bytes: most as u64,
        };
        let upstream = self.platform.upstream();
        let answer = upstream.inquire(&inquiry, &issuer.guard(), SECONDS).await;
        let answer = answer.map_err(|error| failed(issuer, error))?;
        match answer.status {
            200 => Ok(answer.body),
            status => Err(failed(
                issuer,
                format!("{url} answers with status {status}"),
            )),
        }
    }
}

fn failed(issuer: &IssuerUrl, error: impl ToString) -> Failure {
    Failure::Origin(format!("{issuer}: {}", error.to_string()))
}
