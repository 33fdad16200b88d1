//! What OCI clients do besides reading what is indexed: they say who they are, push, and delete.

mod blobs;
mod index;
mod manifests;
mod mounts;
mod provider;
mod referrers;
mod removal;
mod uploads;

use terrace_core::api::route::Route;
use terrace_core::auth::access::{Caller, Sight};
use terrace_core::http::form::Query;
use terrace_core::http::method::Method;
use terrace_core::http::oci_error::OciError;
use terrace_core::http::problem::Problem;
use terrace_core::http::reply::{CachePolicy, Reply};
use terrace_core::model::oci::{Digest, RepositoryName};
use terrace_core::model::token_id::TokenId;
use terrace_core::oci::pushed::{PushedPath, PushedRequest};
use terrace_core::oci::{TokenAnswer, challenge, unauthorized};
use terrace_core::read::{CONTENT_DIGEST, oci_base, sized};
use terrace_core::storage::key::{FactKey, PushedFact};

use super::access::Need;
use super::audit::{Change, answered};
use super::{App, Failure};
use crate::store::{Clock as _, Condition, Platform, Request};

impl<P: Platform> App<'_, P> {
    pub(super) async fn oci<R>(&self, route: Route, method: Method, request: R) -> Reply<P::Stream>
    where
        R: Request<Stream = P::Stream>,
    {
        let origin = request.origin().to_owned();
        let answered = match route {
            Route::OciBase => self.base(&request).await,
            Route::OciToken => self.token(&request).await,
            Route::Pushed(pushed) => self.pushed(pushed, method, request).await,
            _ => Err(Problem::NotFound("there is nothing here".to_owned()).into()),
        };
        let reply = answered.unwrap_or_else(|failure| match self.problem(failure) {
            // Clients go by the challenge, which names where they came to.
            Problem::Unauthorized(told) => Problem::Oci(unauthorized(&origin, &told)).oci_reply(),
            problem => problem.oci_reply(),
        });
        sized(reply, method)
    }

    /// Where reading is free, anybody may ask whether this is a registry; but who says who they are wants
    /// to know whether that is right. Some clients look here for the challenge and nowhere else.
    async fn base<R: Request>(&self, request: &R) -> Result<Reply<P::Stream>, Failure> {
        let access = &self.config.access;
        let caller = self.caller(request).await?;
        let is_bare = request.header("authorization").is_none();
        if caller == Caller::Anonymous && (access.is_closed() || access.is_private() && is_bare) {
            return Err(Problem::no_token().into());
        }
        let challenge = challenge(request.origin());
        let reply = oci_base().with("www-authenticate", challenge);
        Ok(match access.is_private() {
            true => reply.made_private(),
            false => reply,
        })
    }

    async fn token<R: Request>(&self, request: &R) -> Result<Reply<P::Stream>, Failure> {
        let access = &self.config.access;
        let caller = self.caller(request).await?;
        if caller == Caller::Anonymous && access.is_closed() {
            return Err(Problem::no_token().into());
        }
        let now = self.platform.clock().now();
        let random = self.platform.random();
        let answer = TokenAnswer::new(&caller, access.keys(), random, now);
        let answer = answer.ok_or_else(Problem::no_token)?;
        if caller == Caller::Root {
            let id = TokenId::new(random);
            let line = format!("access: token {id} given to root for a while, by OCI");
            self.platform.log(&line);
        }
        let text = serde_json::to_string(&answer).map_err(corrupt)?;
        Ok(Reply::json(200, CachePolicy::NoStore, text))
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
            return self.visible_referrers(repository, subject, &request).await;
        }
        if !self.config.access.has_root() {
            let told = "nobody can push to this registry: TERRACE_ADMIN_TOKEN is not set";
            return Err(Problem::Forbidden(told.to_owned()).into());
        }
        let owner = self.config.oci_providers.owner(&repository);
        let caller = self.authorize(&request, &Need::Publish(owner)).await?;
        let is_change = matches!(
            (&path, method),
            (PushedPath::Manifest(_), _) | (PushedPath::Blob(_), Method::Delete)
        );
        let change = Change::new(caller.name(), &request, &[]);
        let done = self.change_pushed(&caller, repository, path, method, request);
        if is_change {
            let reply = match answered(method, done.await) {
                Ok(reply) => reply,
                Err(failure) => {
                    if failure.may_have_changed_something() {
                        self.record(change, 503).await?;
                    }
                    return Err(failure);
                }
            };
            let told = reply
                .header(CONTENT_DIGEST)
                .and_then(|it| Digest::parse(it).ok());
            self.record(
                change.of_content(told, reply.header("oci-tag")),
                reply.status,
            )
            .await?;
            return Ok(reply);
        }
        done.await
    }

    /// Uploads, pushes and deletes, for whoever may.
    async fn change_pushed<R>(
        &self,
        caller: &Caller,
        repository: RepositoryName,
        path: PushedPath,
        method: Method,
        request: R,
    ) -> Result<Reply<P::Stream>, Failure>
    where
        R: Request<Stream = P::Stream>,
    {
        match (path, method) {
            (PushedPath::Uploads, _) => self.begin_upload(caller, repository, request).await,
            (PushedPath::Upload(id), Method::Patch) => {
                self.go_on_with_upload(&repository, id, request).await
            }
            (PushedPath::Upload(id), Method::Put) => {
                self.complete_upload(caller, &repository, id, request).await
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

    /// Those of what the caller may read; of anything else, as if it were not there.
    async fn visible_referrers<R: Request>(
        &self,
        repository: RepositoryName,
        subject: Digest,
        request: &R,
    ) -> Result<Reply<P::Stream>, Failure> {
        let caller = match self.config.access.guards_reads() {
            true => self.caller(request).await?,
            false => Caller::Anonymous,
        };
        let query = Query(request.query());
        match self.sight(&caller, &repository) {
            Sight::Closed => Err(Problem::no_token().into()),
            Sight::Public => self.referrers(&repository, subject, query).await,
            Sight::Private => {
                let reply = self.referrers(&repository, subject, query).await?;
                Ok(reply.made_private())
            }
            Sight::Hidden => {
                let nowhere = RepositoryName::hidden();
                self.referrers(&nowhere, subject, query).await
            }
        }
    }

    /// What a caller gets to read of a repository.
    fn sight(&self, caller: &Caller, repository: &RepositoryName) -> Sight {
        let owner = self.config.oci_providers.owner(repository);
        self.config.access.sight(caller, &owner)
    }

    async fn put_pushed(
        &self,
        fact: PushedFact,
        document: &str,
        metadata: &[(&str, String)],
    ) -> Result<(), Failure> {
        let key = FactKey::Pushed(fact);
        let put = self.put_document(&key, document, metadata, Condition::Any);
        put.await.map(drop)
    }

    /// A number that no other request has.
    fn unique_number(&self) -> u64 {
        let [.., a, b, c, d, e, f, g, h] = self.platform.random();
        u64::from_be_bytes([a, b, c, d, e, f, g, h])
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
