//! The registry: a request goes in, a reply comes out.

mod access;
mod archives;
mod audit;
mod documents;
mod exchange;
mod follow;
mod garbage;
mod health;
mod incoming;
mod issuer;
mod keys;
mod login;
mod oci;
mod operations;
mod publish;
mod pull;
mod read;
mod repair;
mod restore;
mod standing;
mod tokens;

use std::cell::{Cell, RefCell};
use std::pin::Pin;

use futures_util::future::join_all;
use terrace_base::time::UnixTime;
use terrace_core::api::route::{ADMIN_PREFIX, Route, is_fenced};
use terrace_core::auth::access::{BadCredentials, Caller};
use terrace_core::config::Config;
use terrace_core::http::form::Query;
use terrace_core::http::method::Method;
use terrace_core::http::problem::Problem;
use terrace_core::http::reply::Reply;
use terrace_core::http::request_line::{Client, RequestLine};
use terrace_core::limits;
use terrace_core::model::address::MirroredAddress;
use terrace_core::model::own_hosts::OwnHosts;
use terrace_core::model::package::Package;
use terrace_core::model::package::PulledPackage;
use terrace_core::read::{Asked, Begun, begin, refused, sized};
use terrace_core::storage::key::{IncomingKey, IndexKey};
use terrace_core::storage::release::OfferedPackage;

use access::Need;
use audit::Change;
use read::Listed;

use crate::store::{BodyError, Clock as _, Counted, Platform, Request, StoreError};

/// The registry over a platform.
#[derive(Debug)]
pub struct App<'a, P: Platform> {
    config: &'a Config,
    platform: P,
    later: RefCell<Vec<Task<P::Stream>>>,
    /// When this request has begun to ask other registries.
    asking_since: Cell<Option<UnixTime>>,
    /// Where the request of somebody who signs in comes from, for the log.
    signing_in_from: RefCell<String>,
    /// The releases of the package that this request has last listed for what is said of it.
    listed: RefCell<Option<Listed>>,
}

/// Something to do once the client has its answer.
#[derive(Debug)]
pub enum Task<S> {
    /// Write an index that a reader has missed.
    Mend(IndexKey),
    /// Ask a provider's origin whether there is more than the mirror lists.
    Refresh(MirroredAddress),
    /// Store what a client is being sent.
    Store(Box<Pulled<S>>),
    /// Read which tokens are revoked.
    Revocations,
    /// Remove an upload that is complete, with its chunks, by their names.
    Discard(Vec<String>),
    /// Remove some of the uploads that nobody will complete.
    Sweep,
    /// Remove archives that were brought, and are published.
    Forget(Vec<IncomingKey>),
}

/// A package on its way from its origin.
#[derive(Debug)]
pub struct Pulled<S> {
    package: PulledPackage,
    offer: OfferedPackage,
    stream: S,
}

/// Something to do at the same time as others, all in one type: code for each would be large.
type Boxed<'a> = Pin<Box<dyn Future<Output = Result<(), Failure>> + 'a>>;

/// How many of these are done at once. Each may hold a manifest, and a Worker has six connections
/// (<https://developers.cloudflare.com/workers/platform/limits/#simultaneous-open-connections>).
const AT_ONCE: usize = 4;

/// Does all of it, a few at a time, until one fails.
async fn all(actions: Vec<Boxed<'_>>) -> Result<(), Failure> {
    let mut actions = actions.into_iter();
    loop {
        let some: Vec<Boxed<'_>> = actions.by_ref().take(AT_ONCE).collect();
        if some.is_empty() {
            return Ok(());
        }
        let done = join_all(some).await.into_iter();
        done.collect::<Result<(), Failure>>()?;
    }
}

/// Why a handler has no reply of its own.
#[derive(Debug)]
enum Failure {
    /// Another registry gave nothing of use; what it was about, and why.
    Origin(String),
    /// The request is at fault.
    Problem(Problem),
    /// Storage is.
    Store(StoreError),
    /// A stored document is not what was written there.
    Corrupt(String),
    /// Others kept committing while a version list was written.
    Outrun(Package),
}

impl Failure {
    /// Whether it ended something that had begun.
    fn may_have_changed_something(&self) -> bool {
        match self {
            Self::Store(_) | Self::Corrupt(_) | Self::Outrun(_) => true,
            Self::Problem(_) | Self::Origin(_) => false,
        }
    }
}

impl From<Problem> for Failure {
    fn from(problem: Problem) -> Self {
        Self::Problem(problem)
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl<'a, P: Platform> App<'a, P> {
    /// A registry with these settings.
    pub fn new(config: &'a Config, platform: P) -> Self {
        let later = RefCell::default();
        Self {
            config,
            platform,
            later,
            asking_since: Cell::default(),
            signing_in_from: RefCell::default(),
            listed: RefCell::default(),
        }
    }

    /// What is to be done after the answers so far. It must be carried through even when the client
    /// has gone: a writer of lists has to live until its second look.
    pub fn take_tasks(&self) -> Vec<Task<P::Stream>> {
        self.later.take()
    }

    /// Does it. Nobody waits for it, so what goes wrong is only logged.
    pub async fn perform(&self, task: Task<P::Stream>) {
        let performed = match task {
            Task::Mend(key) => self.mend(&key).await,
            Task::Refresh(address) => self.refresh_list(address).await,
            Task::Store(pulled) => self.store_pulled(*pulled).await,
            Task::Revocations => self.read_revocations().await.map(drop),
            Task::Discard(names) => self.discard_upload(names).await,
            Task::Sweep => self.sweep_uploads().await,
            Task::Forget(incoming) => self.forget(incoming).await,
        };
        if let Err(failure) = performed {
            self.problem(failure);
        }
    }

    fn later(&self, task: Task<P::Stream>) {
        self.later.borrow_mut().push(task);
    }

    /// Answers a request, and writes down how.
    pub async fn handle<R>(&self, request: R) -> Reply<P::Stream>
    where
        R: Request<Stream = P::Stream>,
    {
        let began = self.platform.clock().millis();
        let before = self.platform.tally().usage();
        let method = Method::parse(request.method());
        let is_admin = request.path().starts_with(ADMIN_PREFIX);
        let is_fenced = is_fenced(request.path());
        let user_agent = request.header("user-agent");
        let client = Client::of_user_agent(user_agent.as_deref());
        let (route, reply) = self.reply(request, user_agent.as_deref(), &client).await;
        let line = RequestLine {
            route,
            method,
            status: reply.status,
            millis: self.platform.clock().millis().saturating_sub(began)
                + self.platform.tally().take_earlier(),
            usage: self.platform.tally().usage().since(before),
            index: self.platform.tally().take_index(),
            client: &client,
        };
        if let Some(line) = line.logged(self.config.logged_requests) {
            self.platform.log_request(&line);
        }
        let reply = if is_fenced { reply.fenced() } else { reply };
        if is_admin {
            return reply.with("server-timing", line.server_timing());
        }
        reply
    }

    async fn reply<R>(
        &self,
        request: R,
        user_agent: Option<&str>,
        client: &Client,
    ) -> (&'static str, Reply<P::Stream>)
    where
        R: Request<Stream = P::Stream>,
    {
        let if_none_match = request.header("if-none-match");
        let guards = self.config.access.guards_reads();
        let authorization = guards.then(|| request.header("authorization")).flatten();
        let asked = Asked {
            method: request.method(),
            origin: request.origin(),
            path: request.path(),
            query: request.query(),
            if_none_match: if_none_match.as_deref(),
            authorization: authorization.as_deref(),
            user_agent,
        };
        let (route, begun) = begin(&asked, self.config, || self.platform.clock().now());
        let reply = match begun {
            Begun::Answer(reply) => reply,
            Begun::Refused(bad, reply) => match self.refuse(&request, bad).await {
                BadCredentials::TooMany => refused(&asked, BadCredentials::TooMany),
                _ => reply,
            },
            Begun::AnswerTo(token, reply) => match self.revoked(token, &request, &asked).await {
                Some(refused) => refused,
                None => reply,
            },
            Begun::Read(mut lookup) => {
                if let Some(token) = lookup.token
                    && let Some(refused) = self.revoked(token, &request, &asked).await
                {
                    return (route, refused);
                }
                if lookup.leads_to_bytes() {
                    lookup.set_range(request.header("range"));
                }
                let reply = self.read(&lookup, request.origin()).await;
                if let Some((package, version)) = lookup.download(reply.status) {
                    self.platform.count(&Counted {
                        package,
                        version,
                        route,
                        client,
                    });
                }
                reply
            }
            Begun::Other(Route::Health, method) => sized(self.health().await, method),
            Begun::Other(Route::Exchange, _) => Box::pin(self.exchange(request)).await,
            Begun::Other(route, method) if route.is_oci() => self.oci(route, method, request).await,
            // Boxed: what signs people in would make every request larger.
            Begun::Other(route, _) if route.is_login() => {
                Box::pin(self.login(route, request)).await
            }
            Begun::Other(route, method) => {
                let answered = self.write(route, method, request).await;
                answered.unwrap_or_else(|failure| self.problem(failure).reply())
            }
        };
        (route, reply)
    }

    async fn write<R>(
        &self,
        route: Route,
        method: Method,
        mut request: R,
    ) -> Result<Reply<P::Stream>, Failure>
    where
        R: Request<Stream = P::Stream>,
    {
        if let Route::Archive(path) = route {
            return self.archive(&path, method, request).await;
        }
        if let Route::Pull(path) = route {
            return self.pull_archive(&path, request.origin()).await;
        }
        let own = OwnHosts::new(request.origin(), &self.config.hostnames);
        let need = Need::of(&route, method, &own);
        let caller = self.authorize(&request, &need).await?;
        let body = match method {
            Method::Put | Method::Post => admin_body(&mut request, most(&route)).await?,
            _ => Vec::new(),
        };
        if !changes(&route, method) {
            return self
                .administer(route, method, &caller, &body, &request)
                .await;
        }
        let change = Change::new(caller.name(), &request, &body);
        let done = self.administer(route, method, &caller, &body, &request);
        let reply = match audit::answered(method, done.await) {
            Ok(reply) => reply,
            Err(failure) => {
                // What broke off may have changed something: whoever does not come again shall not pass unseen.
                if failure.may_have_changed_something() {
                    self.record(change, 503).await?;
                }
                return Err(failure);
            }
        };
        // What is described first and sent later is a change then.
        if reply.status != 202 {
            let change = change.making(reply.header("location"));
            self.record(change, reply.status).await?;
        }
        Ok(reply)
    }

    /// What the admin routes do, for whoever may.
    async fn administer<R>(
        &self,
        route: Route,
        method: Method,
        caller: &Caller,
        body: &[u8],
        request: &R,
    ) -> Result<Reply<P::Stream>, Failure>
    where
        R: Request<Stream = P::Stream>,
    {
        let origin = request.origin();
        match (route, method) {
            (Route::PublishProvider(address, version), _) => {
                self.publish_provider(caller, (address, version), body, origin)
                    .await
            }
            (Route::MirroredRelease(address, version), Method::Get) => {
                self.describe_mirrored(address, version).await
            }
            (Route::MirroredRelease(address, version), _) => {
                self.publish_mirrored(caller, (address, version), body, origin)
                    .await
            }
            (Route::PublishModule(address, version), _) => {
                self.publish_module(caller, (address, version), body, origin)
                    .await
            }
            (Route::SigningKeys(namespace), Method::Put) => {
                self.add_signing_keys(&namespace, body).await
            }
            (Route::SigningKeys(namespace), _) => self.list_signing_keys(&namespace).await,
            (Route::SigningKey(namespace, key_id), Method::Put) => {
                let behind = Query(request.query()).value("behind");
                let key = (&namespace, key_id);
                self.change_signing_key(caller, key, body, behind.as_deref())
                    .await
            }
            (Route::SigningKey(namespace, key_id), _) => {
                self.remove_signing_key(&namespace, key_id).await
            }
            (Route::Standing(package, _), Method::Get) => self.describe_standings(&package).await,
            (Route::Standing(package, version), _) => {
                self.change_standing(caller, package, version, body).await
            }
            (Route::Audit, _) => self.list_audit(request.query()).await,
            (Route::Tokens, Method::Post) => self.create_token(caller, body).await,
            (Route::Tokens, _) => self.list_tokens(request.query()).await,
            (Route::Token(id), _) => self.revoke_token(id).await,
            (Route::TokenRotation(id), _) => self.rotate_token(caller, id, body).await,
            (
                route @ (Route::Reindex
                | Route::Verify
                | Route::Facts
                | Route::StoredArchives
                | Route::Garbage),
                method,
            ) => {
                self.operate(&route, method, body, request.query(), origin)
                    .await
            }
            // Everything else has been answered before.
            (
                Route::Home
                | Route::Discovery
                | Route::Health
                | Route::ProviderVersions(..)
                | Route::ProviderVersion(..)
                | Route::ProviderDownload(..)
                | Route::ModuleVersions(..)
                | Route::ModuleDownload(..)
                | Route::ModuleNewest(..)
                | Route::MirrorHome
                | Route::MirrorVersions(..)
                | Route::MirrorPackages(..)
                | Route::OriginDiscovery(..)
                | Route::OriginVersions(..)
                | Route::OciBase
                | Route::OciToken
                | Route::OciCatalog
                | Route::Oci(..)
                | Route::Pushed(..)
                | Route::Exchange
                | Route::LoginStart
                | Route::LoginCallback
                | Route::LoginConsent
                | Route::LoginToken
                | Route::Archive(..)
                | Route::Pull(..),
                _,
            ) => Err(Problem::NotFound("there is nothing here".to_owned()).into()),
        }
    }

    /// The one place where what went wrong inside is logged, and turned into what is told outside.
    fn problem(&self, failure: Failure) -> Problem {
        match failure {
            Failure::Problem(problem) => problem,
            Failure::Store(error) => {
                self.platform.log(&format!("storage: {error}"));
                Problem::Unavailable(
                    "storage did not answer; nothing is lost: send the same request again"
                        .to_owned(),
                )
            }
            Failure::Outrun(package) => {
                self.platform.log(&format!("outrun: {package}"));
                Problem::Unavailable(
                    "published, but others publish so fast that the version list is behind: \
                     send the same request again"
                        .to_owned(),
                )
            }
            Failure::Origin(what) => {
                self.platform.log(&format!("origin: {what}"));
                Problem::Origin(what)
            }
            Failure::Corrupt(what) => {
                self.platform.log(&format!("corrupt: {what}"));
                Problem::Corrupt("a stored document cannot be read; the log says which".to_owned())
            }
        }
    }
}

/// The length that a request declares for its body.
fn content_length<R: Request>(request: &R) -> Result<u64, Problem> {
    let header = request
        .header("content-length")
        .ok_or(Problem::LengthRequired)?;
    header.parse().map_err(|_| {
        Problem::BadRequest(format!(
            "Content-Length {header:?} is not a number of bytes"
        ))
    })
}

/// Whether what is asked for may change what the registry is, so that it is written down. Who verifies
/// changes nothing, and who asks how to send a copy has sent none.
fn changes(route: &Route, method: Method) -> bool {
    let asks = matches!(route, Route::Verify | Route::StoredArchives);
    !asks && !matches!(method, Method::Get | Method::Head)
}

/// How long the body of an admin request may be.
fn most(route: &Route) -> u64 {
    match route {
        Route::Facts => limits::RESTORE_BODY_BYTES,
        _ => limits::ADMIN_BODY_BYTES,
    }
}

/// The body of an admin request, which is small.
async fn admin_body<R: Request>(request: &mut R, most: u64) -> Result<Vec<u8>, Failure> {
    if content_length(request)? > most {
        return Err(Problem::TooLarge(most).into());
    }
    request.bytes().await.map_err(|BodyError(cause)| {
        let message = format!("the body could not be read to its end: {cause}");
        Problem::BadRequest(message).into()
    })
}

#[cfg(test)]
mod tests {
    use std::future::pending;
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    use futures_util::FutureExt as _;

    use super::*;

    #[test]
    fn a_few_are_done_at_once() {
        let started = Cell::new(0);
        let start = |_| -> Boxed<'_> {
            Box::pin(async {
                started.set(started.get() + 1);
                pending().await
            })
        };
        let mut done = pin!(all((0..17).map(start).collect()));
        let mut context = Context::from_waker(Waker::noop());
        assert!(matches!(done.as_mut().poll(&mut context), Poll::Pending));
        assert_eq!(started.get(), AT_ONCE);
    }

    #[test]
    fn all_are_done_until_one_fails() {
        let count = Cell::new(0);
        let act = |number: usize| -> Boxed<'_> {
            let count = &count;
            Box::pin(async move {
                count.set(count.get() + 1);
                match number {
                    9 => Err(Failure::Corrupt("the tenth".to_owned())),
                    _ => Ok(()),
                }
            })
        };
        let run = |most: usize| {
            let done = all((0..most).map(act).collect());
            done.now_or_never().unwrap()
        };
        assert!(run(9).is_ok());
        assert_eq!(count.take(), 9);
        assert!(run(17).is_err());
        assert_eq!(count.get(), 12);
    }
}
