//! What OCI clients do besides reading what is indexed: they say who they are, push, and delete.

mod index;
mod manifests;
mod provider;
mod referrers;
mod uploads;

use terrace_core::key::{FactKey, PushedFact};
use terrace_core::oci::pushed::{PushedPath, PushedRequest};
use terrace_core::oci::{
    Caller, OciCode, OciError, PushTokens, Query, RepositoryName, challenge, unauthorized,
};
use terrace_core::problem::Problem;
use terrace_core::read::{oci_base, sized};
use terrace_core::reply::{CachePolicy, Reply};
use terrace_core::route::{Method, Route};

use super::{App, BUSY_TRIES, Failure};
use crate::store::{Clock as _, Condition, Facts as _, Platform, Request, StoreError};

impl<P: Platform> App<'_, P> {
    pub(super) async fn oci<R>(&self, route: Route, method: Method, request: R) -> Reply<P::Stream>
    where
        R: Request<Stream = P::Stream>,
    {
        let answered = match route {
            Route::OciBase => self.base(&request),
            Route::OciToken => self.token(&request),
            Route::Pushed(pushed) => self.pushed(pushed, method, request).await,
            _ => Err(Problem::NotFound("there is nothing here".to_owned()).into()),
        };
        let reply = answered.unwrap_or_else(|failure| self.problem(failure).oci_reply());
        sized(reply, method)
    }

    /// Anybody may ask whether this is a registry; but who says who they are wants to know whether
    /// that is right. Some clients look here for the challenge and nowhere else.
    fn base<R: Request>(&self, request: &R) -> Result<Reply<P::Stream>, Failure> {
        match self.caller(request) {
            Caller::Anonymous | Caller::Publisher => {
                let challenge = challenge(request.origin());
                Ok(oci_base().with("www-authenticate", challenge))
            }
            Caller::Unknown => Err(denied(unauthorized(request.origin()))),
        }
    }

    fn token<R: Request>(&self, request: &R) -> Result<Reply<P::Stream>, Failure> {
        let tokens = PushTokens::new(self.config.admin_token.as_ref());
        let answer = tokens.answer(self.caller(request), self.platform.clock().now());
        let answer = answer.ok_or_else(|| denied(unauthorized(request.origin())))?;
        let text = serde_json::to_string(&answer).map_err(corrupt)?;
        Ok(Reply::json(200, CachePolicy::NoStore, text))
    }

    fn caller<R: Request>(&self, request: &R) -> Caller {
        let tokens = PushTokens::new(self.config.admin_token.as_ref());
        let header = request.header("authorization");
        tokens.caller(header.as_deref(), self.platform.clock().now())
    }

    async fn pushed<R>(
        &self,
        PushedRequest { repository, path }: PushedRequest,
        method: Method,
        request: R,
    ) -> Result<Reply<P::Stream>, Failure>
    where
        R: Request<Stream = P::Stream>,
    {
        if let PushedPath::Referrers(subject) = path {
            let query = Query(request.query());
            return self.referrers(&repository, subject, query).await;
        }
        self.authorize_push(&request)?;
        match (path, method) {
            (PushedPath::Uploads, _) => self.begin_upload(repository, request).await,
            (PushedPath::Upload(id), Method::Patch) => {
                self.go_on_with_upload(&repository, id, request).await
            }
            (PushedPath::Upload(id), Method::Put) => {
                self.complete_upload(repository, id, request).await
            }
            (PushedPath::Upload(id), Method::Delete) => self.cancel_upload(&repository, id).await,
            (PushedPath::Upload(id), _) => self.describe_upload(&repository, id).await,
            (PushedPath::Blob(digest), _) => self.delete_blob(repository, digest).await,
            (PushedPath::Manifest(name), Method::Delete) => {
                self.delete_manifest(repository, name).await
            }
            (PushedPath::Manifest(name), _) => self.push_manifest(repository, name, request).await,
            (PushedPath::Tags | PushedPath::Referrers(_), _) => {
                Err(Problem::NotFound("there is nothing here".to_owned()).into())
            }
        }
    }

    fn authorize_push<R: Request>(&self, request: &R) -> Result<(), Failure> {
        if self.config.admin_token.is_none() {
            let told = "nobody can push to this registry: TERRACE_ADMIN_TOKEN is not set";
            return Err(denied(OciError::new(OciCode::Denied, told)));
        }
        match self.caller(request) {
            Caller::Publisher => Ok(()),
            Caller::Anonymous | Caller::Unknown => Err(denied(unauthorized(request.origin()))),
        }
    }

    /// Writes a document, however often its key is written at the moment.
    async fn put_pushed(
        &self,
        fact: PushedFact,
        document: &str,
        metadata: &[(&str, String)],
    ) -> Result<(), Failure> {
        let (facts, key) = (self.platform.facts(), FactKey::Pushed(fact));
        let mut tries = 1;
        loop {
            match facts.put(&key, document, metadata, Condition::Any).await {
                Err(StoreError::Busy(_)) if tries < BUSY_TRIES => {
                    tries += 1;
                    self.platform.clock().sleep(1).await;
                }
                written => return Ok(written.map(|_| ())?),
            }
        }
    }

    /// Tells whoever is writing the list of tags that it has changed.
    async fn mark_tags(&self, repository: &RepositoryName) -> Result<(), Failure> {
        let change = PushedFact::Change(repository.clone());
        self.put_pushed(change, "", &[]).await
    }
}

/// An error of the specification as the answer.
fn denied(error: OciError) -> Failure {
    Problem::Oci(error).into()
}

fn corrupt(error: impl ToString) -> Failure {
    Failure::Corrupt(error.to_string())
}
