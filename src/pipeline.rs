//! What every request goes through.

use std::pin::Pin;

use terrace_core::api::route::{ADMIN_PREFIX, Route, is_fenced};
use terrace_core::auth::access::{BadCredentials, Caller};
use terrace_core::http::form::Query;
use terrace_core::http::method::Method;
use terrace_core::http::problem::Problem;
use terrace_core::http::reply::Reply;
use terrace_core::http::request_line::{Client, RequestLine};
use terrace_core::limits;
use terrace_core::model::oci::{Digest, RepositoryName};
use terrace_core::model::own_hosts::OwnHosts;
use terrace_core::oci::pushed::{PushedPath, PushedRequest};
use terrace_core::oci::unauthorized;
use terrace_core::read::{Asked, Begun, CONTENT_DIGEST, begin, refused, sized};

use crate::context::Context;
use crate::failure::Failure;
use crate::handlers::body::admin_body;
use crate::handlers::oci::{blobs, manifests, referrers, session, uploads};
use crate::handlers::{
    archives, exchange, facts, garbage, health, keys, login, publish, reindex, status,
    stored_archives, tokens,
};
use crate::host::{Clock as _, Counted, Platform, Request};
use crate::services::audit::{Change, answered};
use crate::services::auth::Permission;
use crate::services::pull::package;
use crate::services::{audit, auth, reader};
use crate::{handlers, services};

/// Answers a request, and writes down how.
pub async fn handle<P: Platform, R>(ctx: &Context<'_, P>, request: R) -> Reply<P::Stream>
where
    R: Request<Stream = P::Stream>,
{
    let began = ctx.platform.clock().millis();
    let before = ctx.platform.tally().usage();
    let method = Method::parse(request.method());
    let is_admin = request.path().starts_with(ADMIN_PREFIX);
    let is_fenced = is_fenced(request.path());
    let user_agent = request.header("user-agent");
    let client = Client::of_user_agent(user_agent.as_deref());
    let (route, reply) = reply(ctx, request, user_agent.as_deref(), &client).await;
    let line = RequestLine {
        route,
        method,
        status: reply.status,
        millis: ctx.platform.clock().millis().saturating_sub(began)
            + ctx.platform.tally().take_earlier(),
        usage: ctx.platform.tally().usage().since(before),
        index: ctx.platform.tally().take_index(),
        client: &client,
    };
    if let Some(line) = line.logged(ctx.config.logged_requests) {
        ctx.platform.log_request(&line);
    }
    let reply = if is_fenced { reply.fenced() } else { reply };
    if is_admin {
        return reply.with("server-timing", line.server_timing());
    }
    reply
}

async fn reply<P: Platform, R>(
    ctx: &Context<'_, P>,
    request: R,
    user_agent: Option<&str>,
    client: &Client,
) -> (&'static str, Reply<P::Stream>)
where
    R: Request<Stream = P::Stream>,
{
    let if_none_match = request.header("if-none-match");
    let guards = ctx.config.access.guards_reads();
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
    let (route, begun) = begin(&asked, ctx.config, || ctx.platform.clock().now());
    let reply = match begun {
        Begun::Answer(reply) => reply,
        Begun::Refused(bad, reply) => match auth::refuse(ctx, &request, bad).await {
            BadCredentials::TooMany => refused(&asked, BadCredentials::TooMany),
            _ => reply,
        },
        Begun::AnswerTo(token, reply) => match auth::revoked(ctx, token, &request, &asked).await {
            Some(refused) => refused,
            None => reply,
        },
        Begun::Read(mut lookup) => {
            if let Some(token) = lookup.token
                && let Some(refused) = auth::revoked(ctx, token, &request, &asked).await
            {
                return (route, refused);
            }
            if lookup.leads_to_bytes() {
                lookup.set_range(request.header("range"));
            }
            let reply = reader::read(ctx, &lookup, request.origin()).await;
            if let Some((package, version)) = lookup.download(reply.status) {
                ctx.platform.count(&Counted {
                    package,
                    version,
                    route,
                    client,
                });
            }
            reply
        }
        Begun::Other(Route::Health, method) => sized(health::health(ctx).await, method),
        Begun::Other(Route::Exchange, _) => Box::pin(exchange::exchange(ctx, request)).await,
        Begun::Other(route, method) if route.is_oci() => oci(ctx, route, method, request).await,
        // Boxed: what signs people in would make every request larger.
        Begun::Other(route, _) if route.is_login() => {
            Box::pin(login::login(ctx, route, request)).await
        }
        Begun::Other(route, method) => {
            let answered = write(ctx, route, method, request).await;
            answered.unwrap_or_else(|failure| ctx.report(failure).reply())
        }
    };
    (route, reply)
}

async fn write<P: Platform, R>(
    ctx: &Context<'_, P>,
    route: Route,
    method: Method,
    mut request: R,
) -> Result<Reply<P::Stream>, Failure>
where
    R: Request<Stream = P::Stream>,
{
    if let Route::Archive(path) = route {
        return archives::archive(ctx, &path, method, request).await;
    }
    if let Route::Pull(path) = route {
        return package::answer(ctx, &path, request.origin()).await;
    }
    let own = OwnHosts::new(request.origin(), &ctx.config.hostnames);
    let need = Permission::of(&route, method, &own);
    let caller = auth::authorize(ctx, &request, &need).await?;
    let body = match method {
        Method::Put | Method::Post => admin_body(&mut request, most(&route)).await?,
        _ => Vec::new(),
    };
    if !changes(&route, method) {
        return administer(ctx, route, method, &caller, &body, &request).await;
    }
    let change = Change::new(caller.name(), &request, &body);
    let done = administer(ctx, route, method, &caller, &body, &request);
    let reply = match answered(method, done.await) {
        Ok(reply) => reply,
        Err(failure) => {
            // What broke off may have changed something: whoever does not come again shall not pass unseen.
            if failure.may_have_changed_something() {
                audit::record(ctx, change, 503).await?;
            }
            return Err(failure);
        }
    };
    // What is described first and sent later is a change then.
    if reply.status != 202 {
        let change = change.making(reply.header("location"));
        audit::record(ctx, change, reply.status).await?;
    }
    Ok(reply)
}

/// What the admin routes do, for whoever may.
async fn administer<P: Platform, R>(
    ctx: &Context<'_, P>,
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
            publish::provider(ctx, caller, (address, version), body, origin).await
        }
        (Route::MirroredRelease(address, version), Method::Get) => {
            publish::describe_mirrored(ctx, address, version).await
        }
        (Route::MirroredRelease(address, version), _) => {
            publish::mirrored(ctx, caller, (address, version), body, origin).await
        }
        (Route::PublishModule(address, version), _) => {
            publish::module(ctx, caller, (address, version), body, origin).await
        }
        (Route::SigningKeys(namespace), Method::Put) => keys::add(ctx, &namespace, body).await,
        (Route::SigningKeys(namespace), _) => keys::list(ctx, &namespace).await,
        (Route::SigningKey(namespace, key_id), Method::Put) => {
            let behind = Query(request.query()).value("behind");
            let key = (&namespace, key_id);
            keys::change_status(ctx, caller, key, body, behind.as_deref()).await
        }
        (Route::SigningKey(namespace, key_id), _) => keys::remove(ctx, &namespace, key_id).await,
        (Route::Standing(package, _), Method::Get) => status::describe(ctx, &package).await,
        (Route::Standing(package, version), _) => {
            status::change(ctx, caller, package, version, body).await
        }
        (Route::Audit, _) => handlers::audit::list(ctx, request.query()).await,
        (Route::Tokens, Method::Post) => tokens::create(ctx, caller, body).await,
        (Route::Tokens, _) => tokens::list(ctx, request.query()).await,
        (Route::Token(id), _) => services::tokens::revoke_known(ctx, id).await,
        (Route::TokenRotation(id), _) => tokens::rotate(ctx, caller, id, body).await,
        (
            route @ (Route::Reindex
            | Route::Verify
            | Route::Facts
            | Route::StoredArchives
            | Route::Garbage),
            method,
        ) => operate(ctx, &route, method, body, request.query(), origin).await,
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

/// What answers an operator: boxed, since each is large, and rare.
type Operation<'r, S> = Pin<Box<dyn Future<Output = Result<Reply<S>, Failure>> + 'r>>;

/// Answers an operator.
fn operate<'r, P: Platform>(
    ctx: &'r Context<'_, P>,
    route: &Route,
    method: Method,
    body: &'r [u8],
    query: &'r str,
    origin: &'r str,
) -> Operation<'r, P::Stream> {
    match (route, method) {
        (Route::Facts, Method::Get) => Box::pin(facts::list(ctx, Query(query))),
        (Route::StoredArchives, Method::Get) => {
            Box::pin(stored_archives::list(ctx, Query(query), origin))
        }
        (Route::Facts, _) => Box::pin(facts::restore(ctx, body)),
        (Route::StoredArchives, _) => Box::pin(stored_archives::ask_for_copies(ctx, body, origin)),
        (Route::Reindex, _) => Box::pin(reindex::reindex(ctx, body)),
        (Route::Verify, _) => Box::pin(stored_archives::verify(ctx, body)),
        _ => Box::pin(garbage::change(ctx, body)),
    }
}

async fn oci<P: Platform, R>(
    ctx: &Context<'_, P>,
    route: Route,
    method: Method,
    request: R,
) -> Reply<P::Stream>
where
    R: Request<Stream = P::Stream>,
{
    let origin = request.origin().to_owned();
    let answered = match route {
        Route::OciBase => session::base(ctx, &request).await,
        Route::OciToken => session::token(ctx, &request).await,
        Route::Pushed(request_of) => pushed(ctx, request_of, method, request).await,
        _ => Err(Problem::NotFound("there is nothing here".to_owned()).into()),
    };
    let reply = answered.unwrap_or_else(|failure| match ctx.report(failure) {
        // Clients go by the challenge, which names where they came to.
        Problem::Unauthorized(told) => Problem::Oci(unauthorized(&origin, &told)).oci_reply(),
        problem => problem.oci_reply(),
    });
    sized(reply, method)
}

async fn pushed<P: Platform, R>(
    ctx: &Context<'_, P>,
    PushedRequest { repository, path }: PushedRequest,
    method: Method,
    request: R,
) -> Result<Reply<P::Stream>, Failure>
where
    R: Request<Stream = P::Stream>,
{
    if let PushedPath::Referrers(subject) = path {
        return referrers::list(ctx, repository, subject, &request).await;
    }
    if !ctx.config.access.has_root() {
        let told = "nobody can push to this registry: TERRACE_ADMIN_TOKEN is not set";
        return Err(Problem::Forbidden(told.to_owned()).into());
    }
    let owner = ctx.config.oci_providers.owner(&repository);
    let caller = auth::authorize(ctx, &request, &Permission::Publish(owner)).await?;
    let is_change = matches!(
        (&path, method),
        (PushedPath::Manifest(_), _) | (PushedPath::Blob(_), Method::Delete)
    );
    let change = Change::new(caller.name(), &request, &[]);
    let done = change_pushed(ctx, &caller, repository, path, method, request);
    if is_change {
        let reply = match answered(method, done.await) {
            Ok(reply) => reply,
            Err(failure) => {
                if failure.may_have_changed_something() {
                    audit::record(ctx, change, 503).await?;
                }
                return Err(failure);
            }
        };
        let told = reply
            .header(CONTENT_DIGEST)
            .and_then(|it| Digest::parse(it).ok());
        audit::record(
            ctx,
            change.of_content(told, reply.header("oci-tag")),
            reply.status,
        )
        .await?;
        return Ok(reply);
    }
    done.await
}

/// Uploads, pushes and deletes, for whoever may.
async fn change_pushed<P: Platform, R>(
    ctx: &Context<'_, P>,
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
        (PushedPath::Uploads, _) => uploads::begin(ctx, caller, repository, request).await,
        (PushedPath::Upload(id), Method::Patch) => {
            uploads::append(ctx, &repository, id, request).await
        }
        (PushedPath::Upload(id), Method::Put) => {
            uploads::complete(ctx, caller, &repository, id, request).await
        }
        (PushedPath::Upload(id), Method::Delete) => uploads::cancel(ctx, &repository, id).await,
        (PushedPath::Upload(id), _) => uploads::describe(ctx, &repository, id).await,
        (PushedPath::Blob(digest), _) => blobs::delete(ctx, repository, digest).await,
        (PushedPath::Manifest(name), Method::Delete) => {
            manifests::delete(ctx, repository, name).await
        }
        (PushedPath::Manifest(name), _) => manifests::push(ctx, repository, name, request).await,
        (PushedPath::Tags | PushedPath::Referrers(_), _) => {
            Err(Problem::NotFound("there is nothing here".to_owned()).into())
        }
    }
}

/// Whether what is asked for may change what the registry is, so that it is written down. Who verifies
/// changes nothing, and who asks how to send a copy has sent none.
fn changes(route: &Route, method: Method) -> bool {
    let asks = matches!(route, Route::Verify | Route::StoredArchives);
    !asks && !matches!(method, Method::Get | Method::Head)
}

/// How long the body of an admin request may be.
pub(crate) fn most(route: &Route) -> u64 {
    match route {
        Route::Facts => limits::RESTORE_BODY_BYTES,
        _ => limits::ADMIN_BODY_BYTES,
    }
}
