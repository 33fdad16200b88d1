//! What every request goes through: it is authenticated, authorized and handled, what it changed is audited, and how it
//! was answered is logged.

use terrace_base::untrusted::{QUOTED_CHARS, line};
use terrace_core::api::endpoint::{Access, Action, Body, Errors};
use terrace_core::api::route::{ADMIN_PREFIX, AdminRoute, HandledRoute, is_fenced};
use terrace_core::auth::access::{Caller, CredentialsError, Owner};
use terrace_core::http::method::Method;
use terrace_core::http::problem::Problem;
use terrace_core::http::reply::Reply;
use terrace_core::http::request_line::{Client, RequestLine};
use terrace_core::model::own_hosts::OwnHosts;
use terrace_core::model::package::Package;
use terrace_core::oci::unauthorized;
use terrace_core::read::{Asked, Begun, Lookup, NO_ROUTE, begin, refused, sized};

use crate::context::Context;
use crate::dispatch::dispatch;
use crate::failure::Failure;
use crate::handlers::body::whole;
use crate::handlers::login::shared::failed;
use crate::handlers::outcome::{Call, Entry, Handled};
use crate::host::{Clock as _, Counted, Host, Request};
use crate::services::audit::Change;
use crate::services::auth::Permission;
use crate::services::{audit, auth, reader};

/// Answers a request, and logs how.
pub async fn handle<P: Host, R>(ctx: &Context<'_, P>, request: R) -> Reply<P::Stream>
where
    R: Request<Stream = P::Stream>,
{
    let began = ctx.host.clock().millis();
    let before = ctx.host.meter().usage();
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
        millis: ctx.host.clock().millis().saturating_sub(began) + ctx.host.meter().take_earlier(),
        usage: ctx.host.meter().usage().since(before),
        index: ctx.host.meter().take_index(),
        client: &client,
    };
    if let Some(line) = line.logged(ctx.config.logged_requests) {
        ctx.host.log_request(&line);
    }
    let reply = if is_fenced { reply.fenced() } else { reply };
    if is_admin {
        return reply.with("server-timing", line.server_timing());
    }
    reply
}

/// Has the read machine answer a read, and a handler everything else. Returns what the route is called, too.
async fn reply<P: Host, R>(
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
    if !ctx.host.serves(asked.origin) {
        return (NO_ROUTE, misdirected(asked.origin).reply());
    }
    let (route, begun) = begin(&asked, ctx.config, || ctx.host.clock().now());
    let reply = match begun {
        Begun::Answer(reply) => reply,
        Begun::Refused(bad, reply) => match auth::refuse(ctx, &request, bad).await {
            CredentialsError::TooMany => refused(&asked, CredentialsError::TooMany),
            _ => reply,
        },
        Begun::AnswerTo(token, reply) => match auth::revoked(ctx, token, &request, &asked).await {
            Some(refused) => refused,
            None => reply,
        },
        Begun::Read(lookup) => {
            if let Some(token) = lookup.token
                && let Some(refused) = auth::revoked(ctx, token, &request, &asked).await
            {
                return (route, refused);
            }
            read(ctx, lookup, &request, route, client).await
        }
        Begun::Other(route, action) => serve(ctx, route, action, request).await,
    };
    (route, reply)
}

fn misdirected(origin: &str) -> Problem {
    Problem::BadRequest(format!(
        "this registry is not served at {}: use one of its hostnames",
        line(origin).at_most(QUOTED_CHARS)
    ))
}

/// Answers a read, and counts the download that it may be.
async fn read<P: Host, R: Request>(
    ctx: &Context<'_, P>,
    mut lookup: Box<Lookup>,
    request: &R,
    route: &'static str,
    client: &Client,
) -> Reply<P::Stream> {
    if lookup.leads_to_bytes() {
        lookup.set_range(request.header("range"));
    }
    let reply = reader::read(ctx, &lookup, request.origin()).await;
    if let Some((package, version)) = lookup.download(reply.status) {
        ctx.host.count(&Counted {
            package,
            version,
            route,
            client,
        });
    }
    reply
}

/// Answers everything that is no indexed read.
async fn serve<P: Host, R>(
    ctx: &Context<'_, P>,
    route: HandledRoute,
    action: &Action,
    request: R,
) -> Reply<P::Stream>
where
    R: Request<Stream = P::Stream>,
{
    let errors = route.endpoint().errors;
    let method = action.method;
    let origin = request.origin().to_owned();
    let served = run(ctx, route, action, request).await;
    let reply = served.unwrap_or_else(|failure| error(ctx, errors, &origin, failure));
    sized(reply, method)
}

/// Authenticates and authorizes the caller, has the body read and the request handled, and writes the audit log.
async fn run<P: Host, R>(
    ctx: &Context<'_, P>,
    route: HandledRoute,
    action: &Action,
    mut request: R,
) -> Result<Reply<P::Stream>, Failure>
where
    R: Request<Stream = P::Stream>,
{
    let caller = authorize(ctx, &route, action, &request).await?;
    let body = match action.body {
        Body::Whole(most) => whole(&mut request, most).await?,
        Body::Ignored | Body::Handler => Vec::new(),
    };
    let change = action
        .is_audited
        .then(|| Change::new(ctx, caller.name(), &request, &body));
    let call = Call {
        caller,
        origin: request.origin().to_owned(),
        query: request.query().to_owned(),
        body,
    };
    let handled = dispatch(ctx, route, action.method, call, request).await;
    if let Some(change) = change {
        record(ctx, change, action.method, &handled).await?;
    }
    Ok(handled?.reply)
}

/// Returns the caller of an endpoint.
///
/// # Errors
/// Why it may not.
async fn authorize<P: Host, R: Request>(
    ctx: &Context<'_, P>,
    route: &HandledRoute,
    action: &Action,
    request: &R,
) -> Result<Caller, Failure> {
    match action.access {
        Access::Anyone => Ok(Caller::Anonymous),
        Access::Readers if !ctx.config.access.guards_reads() => Ok(Caller::Anonymous),
        Access::Readers | Access::Known => auth::authenticate(ctx, request).await,
        Access::Publishers | Access::Admins => {
            if !ctx.config.access.has_root() {
                return Err(nobody_may(route.endpoint().errors).into());
            }
            let own = OwnHosts::new(request.origin(), &ctx.config.hostnames);
            let owner = match action.access {
                Access::Publishers => owner(ctx, route, &own),
                _ => None,
            };
            let permission = owner.map_or(Permission::Admin, Permission::Publish);
            auth::authorize(ctx, request, &permission).await
        }
    }
}

/// Returns whose the thing is that a route publishes or changes.
fn owner<P: Host>(ctx: &Context<'_, P>, route: &HandledRoute, own: &OwnHosts<'_>) -> Option<Owner> {
    match route {
        HandledRoute::Admin(route) => match route {
            AdminRoute::PublishProvider(address, _) => {
                Some(Owner::of(&Package::Provider(address.clone())))
            }
            AdminRoute::PublishModule(address, _) => {
                Some(Owner::of(&Package::Module(address.clone())))
            }
            AdminRoute::MirroredRelease(address, _) => {
                Some(Owner::of(&own.package(address.clone())))
            }
            AdminRoute::Status(package, _) => Some(Owner::of(package)),
            AdminRoute::SigningKeys(namespace) => Some(Owner::of_namespace(namespace.as_str())),
            _ => None,
        },
        HandledRoute::Pushed(pushed) => Some(ctx.config.oci_providers.owner(&pushed.repository)),
        _ => None,
    }
}

/// Returns why nobody may change anything in a registry without an admin token.
fn nobody_may(errors: Errors) -> Problem {
    match errors {
        Errors::Oci => Problem::Forbidden(
            "nobody can push to this registry: TERRACE_ADMIN_TOKEN is not set".to_owned(),
        ),
        Errors::Json | Errors::OAuth => Problem::NotFound(
            "this registry has no admin routes: TERRACE_ADMIN_TOKEN is not set".to_owned(),
        ),
    }
}

/// Writes the entry of a change into the audit log: also of one that broke off, since whoever does not come again shall
/// not pass unseen, and of one that found nothing left to do, since it may have come again because the entry could not
/// be written.
async fn record<P: Host>(
    ctx: &Context<'_, P>,
    change: Change,
    method: Method,
    handled: &Handled<P::Stream>,
) -> Result<(), Failure> {
    let (change, status) = match handled {
        Ok(outcome) => {
            let change = match &outcome.entry {
                Entry::None => return Ok(()),
                Entry::Request => change,
                Entry::Makes(path) => change.making(path),
                Entry::Content(digest, tags) => change.of_content(*digest, tags),
                Entry::SignIn { by, makes } => change.by(by.clone()).making(makes),
            };
            (change, outcome.reply.status)
        }
        Err(Failure::Problem(problem)) => match (method, problem.status()) {
            (Method::Delete, status @ 404) | (Method::Post, status @ 409) => (change, status),
            _ => return Ok(()),
        },
        Err(failure) if failure.may_have_changed_state() => (change, 503),
        Err(_) => return Ok(()),
    };
    audit::record(ctx, change, status).await
}

/// Returns the answer to a failure, in the form that the clients of the endpoint read.
fn error<P: Host>(
    ctx: &Context<'_, P>,
    errors: Errors,
    origin: &str,
    failure: Failure,
) -> Reply<P::Stream> {
    match errors {
        Errors::Json => ctx.report(failure).reply(),
        Errors::OAuth => failed(ctx, failure),
        Errors::Oci => match ctx.report(failure) {
            // Clients go by the challenge, which names where they came to.
            Problem::Unauthorized(told) => Problem::Oci(unauthorized(origin, &told)).oci_reply(),
            problem => problem.oci_reply(),
        },
    }
}
