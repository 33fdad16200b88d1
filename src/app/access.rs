//! Who is asking, and whether they may.

use terrace_core::api::route::Route;
use terrace_core::auth::access::{
    BadCredentials, Caller, Owner, RevocationDocument, Revocations, network,
};
use terrace_core::http::method::Method;
use terrace_core::http::problem::Problem;
use terrace_core::http::reply::{Body, Reply};
use terrace_core::limits;
use terrace_core::model::own_hosts::OwnHosts;
use terrace_core::model::package::Package;
use terrace_core::model::token_id::TokenId;
use terrace_core::read::{Asked, IndexForm, refusal, refused};
use terrace_core::storage::key::{FactKey, IndexKey, REVOCATIONS};

use super::{App, Failure, Task};
use crate::isolate::Remembered;
use crate::store::{Clock as _, Indices as _, Platform, Request};

/// By which header the platform tells where a request comes from
/// (<https://developers.cloudflare.com/fundamentals/reference/http-headers/>).
pub(super) const ADDRESS: &str = "cf-connecting-ip";

/// What a request needs.
#[derive(Debug, Clone)]
pub(super) enum Need {
    /// To be allowed everything.
    Admin,
    /// To be allowed to publish for an owner.
    Publish(Owner),
}

impl Need {
    /// What an admin route needs.
    pub(super) fn of(route: &Route, method: Method, own: &OwnHosts<'_>) -> Self {
        let publish = |package| Self::Publish(Owner::of(&package));
        match route {
            Route::PublishProvider(address, _) => publish(Package::Provider(address.clone())),
            Route::PublishModule(address, _) => publish(Package::Module(address.clone())),
            Route::MirroredRelease(address, _) => publish(own.package(address.clone())),
            Route::Standing(package, _) => Self::Publish(Owner::of(package)),
            Route::SigningKeys(namespace) if method == Method::Get => {
                Self::Publish(Owner::of_namespace(namespace.as_str()))
            }
            _ => Self::Admin,
        }
    }
}

impl<P: Platform> App<'_, P> {
    /// The caller of a request that changes something.
    ///
    /// # Errors
    /// Why it may not.
    pub(super) async fn authorize<R: Request>(
        &self,
        request: &R,
        need: &Need,
    ) -> Result<Caller, Failure> {
        if !self.config.access.has_root() {
            let told = "this registry has no admin routes: TERRACE_ADMIN_TOKEN is not set";
            return Err(Problem::NotFound(told.to_owned()).into());
        }
        let caller = self.caller(request).await?;
        let is_allowed = match need {
            Need::Admin => caller.is_admin(),
            Need::Publish(owner) => caller.may_publish(owner),
        };
        match (is_allowed, &caller) {
            (true, _) => Ok(caller),
            (false, Caller::Anonymous) => Err(Problem::no_token().into()),
            (false, _) => Err(Problem::Forbidden(lacking(&caller, need)).into()),
        }
    }

    /// Who sends a request.
    ///
    /// # Errors
    /// That its credentials are of no use.
    pub(super) async fn caller<R: Request>(&self, request: &R) -> Result<Caller, Failure> {
        let header = request.header("authorization");
        let now = || self.platform.clock().now();
        let caller = self.config.access.caller(header.as_deref(), now);
        let bad = match caller {
            Err(bad) => bad,
            Ok(caller) => match caller.token() {
                Some(token) if self.is_revoked(token).await? => BadCredentials::Revoked,
                _ => return Ok(caller),
            },
        };
        Err(Problem::from(self.refuse(request, bad).await).into())
    }

    /// Writes down that credentials were of no use: to the log why, never what they were. Tells what to
    /// answer, which is something else where too many come from one address. Right ones always pass:
    /// nobody shall lock out their neighbours.
    pub(super) async fn refuse<R: Request>(
        &self,
        request: &R,
        bad: BadCredentials,
    ) -> BadCredentials {
        let address = request.header(ADDRESS).unwrap_or_default();
        // Only this may be a guess.
        if bad == BadCredentials::Unknown && self.is_one_guess_too_many(&address).await {
            return BadCredentials::TooMany;
        }
        let (method, path) = (request.method(), request.path());
        let line = format!("access: {method} {path:?} from {address:?}: {bad}");
        self.platform.log(&line);
        bad
    }

    /// Counts a guess, and tells whether too many came from its address; the log tells that once. Whoever
    /// floods the registry shall not flood the log.
    pub(super) async fn is_one_guess_too_many(&self, address: &str) -> bool {
        if address.is_empty() {
            return false;
        }
        let most = self.config.failures_a_minute;
        let now = self.platform.clock().now();
        let throttle = self.platform.isolate().throttle();
        let count = throttle.borrow_mut().count(address, now);
        let network = network(address);
        if count == most.saturating_add(1) {
            let line =
                format!("access: too many wrong credentials from {network}; no more is told");
            self.platform.log(&line);
        }
        count > most || self.platform.is_one_failure_too_many(&network).await
    }

    /// The answer to whoever reads with a token that is revoked, or may be.
    pub(super) async fn revoked<R: Request>(
        &self,
        token: TokenId,
        request: &R,
        asked: &Asked<'_>,
    ) -> Option<Reply<P::Stream>> {
        match self.is_revoked(token).await {
            Ok(false) => None,
            Ok(true) => {
                self.refuse(request, BadCredentials::Revoked).await;
                Some(refused(asked, BadCredentials::Revoked))
            }
            Err(failure) => Some(refusal(asked, &self.problem(failure))),
        }
    }

    /// Whether a token is revoked. As long as the isolate remembers, nothing is read.
    pub(super) async fn is_revoked(&self, token: TokenId) -> Result<bool, Failure> {
        let now = self.platform.clock().now();
        match self.platform.isolate().recall(token, now) {
            Remembered::Revoked(is_revoked) => Ok(is_revoked),
            Remembered::Aging(is_revoked) => {
                self.later(Task::Revocations);
                Ok(is_revoked)
            }
            Remembered::Nothing => Ok(self.read_revocations().await?.include(token, now)),
        }
    }

    /// Reads which tokens are revoked, for all requests that follow.
    pub(super) async fn read_revocations(&self) -> Result<Revocations, Failure> {
        let began = self.platform.clock().now();
        let key = IndexKey::Revocations;
        let seconds = limits::LIST_CACHE_SECONDS;
        let found = self.platform.indices().get(&key, IndexForm::Text, seconds);
        let read = match found.await {
            Ok(Some(found)) => match found.body {
                Body::Text(text) => serde_json::from_slice(text.as_bytes()).ok(),
                Body::Empty | Body::Stream(_) => None,
            },
            Ok(None) => None,
            Err(error) => {
                self.platform.log(&format!("storage: {error}"));
                None
            }
        };
        let revocations = match read {
            Some(revocations) => revocations,
            None => {
                self.later(Task::Mend(key));
                self.revocations().await?
            }
        };
        let isolate = self.platform.isolate();
        isolate.remember(Revocations::clone(&revocations), began);
        Ok(revocations)
    }

    /// Which tokens are revoked, by the facts.
    pub(super) async fn revocations(&self) -> Result<Revocations, Failure> {
        let mut all = Vec::new();
        for fact in self.list_all(REVOCATIONS).await? {
            let Ok(id) = fact.name.parse() else { continue };
            let document = match RevocationDocument::from_metadata(&fact.metadata) {
                Some(document) => Some(document),
                None => self.document(&FactKey::Revocation(id)).await?,
            };
            all.extend(document.map(|document| (id, document)));
        }
        Ok(Revocations::of(all, self.platform.clock().now()))
    }
}

/// Where a request comes from, as the platform tells it.
pub(super) fn address<R: Request>(request: &R) -> String {
    request.header(ADDRESS).unwrap_or_default()
}

fn lacking(caller: &Caller, need: &Need) -> String {
    let takes = match need {
        Need::Admin => "admin".to_owned(),
        Need::Publish(owner) => format!("publish:{owner} or admin"),
    };
    let has = match caller {
        Caller::Bearer(token) => token.scopes.to_string(),
        Caller::Anonymous | Caller::Root => String::new(),
    };
    format!("this takes the scope {takes}; the token has {has}")
}
