//! The pipeline of every request: authenticate, authorise, handle, audit, log. It also takes the steps of the
//! [driver]: it reads the index of an indexed read, and continues a read that needs more.

use terrace_base::untrusted::{QUOTED_CHARS, line};
use terrace_core::api::endpoint::{Action, BodyHandling, ErrorFormat, RequiredAccess};
use terrace_core::api::route::{
    ADMIN_PREFIX, AdminRoute, MIRROR_PREFIX, OciRoute, PageRoute, Route, is_open_to_websites,
};
use terrace_core::auth::access::{Caller, CredentialsError, Owner};
use terrace_core::auth::login::sign_in_url;
use terrace_core::config::Config;
use terrace_core::http::idempotency_key::{IDEMPOTENCY_KEY, IdempotencyKey, IdempotencyKeyError};
use terrace_core::http::log_fields::include_caller;
use terrace_core::http::method::Method;
use terrace_core::http::problem::Problem;
use terrace_core::http::reply::Reply;
use terrace_core::http::request_line::Usage;
use terrace_core::model::own_hosts::OwnHosts;
use terrace_core::model::package::Package;
use terrace_core::oci::unauthorized;
use terrace_core::read::{
    CookieHeader, NO_ROUTE, RequestHead, for_method, invalid_credentials_reply,
};
use terrace_core::storage::signed_path::PULL_PREFIX;

use crate::access::auth;
use crate::access::auth::Permission;
use crate::body::whole;
use crate::context::{Context, Task};
use crate::dispatch::dispatch;
use crate::documents::audit::AuditedChange;
use crate::documents::{audit, failover, format};
use crate::driver;
use crate::driver::{
    Answer, PendingRead, Record, RemainingWork, RequestStep, Suspension, Unfinished, look_up,
    look_up_at,
};
use crate::failure::Failure;
use crate::host::{Clock as _, Host, Request};
use crate::mcp::problem_reply as mcp_problem_reply;
use crate::outcome::{AuditDetails, Call, Handled};
use crate::pages::{FailedVisit, accepts_html, problem_page};
use crate::read::reader;
use crate::sign_in::browser;
use crate::sign_in::shared::oauth_error_reply;

/// The path of the state of the registry.
const HEALTH_PATH: &str = "/healthz";

/// Answers and logs a request.
pub async fn handle<P: Host, R: Request<Stream = P::Stream>>(
    ctx: &Context<'_, P>,
    request: R,
) -> Reply<P::Stream> {
    let step = begin(ctx, &request, CookieHeader::Unread);
    drive(ctx, request, step).await
}

/// Answers and logs a request that was begun elsewhere, continuing from there.
pub async fn resume<P: Host, R: Request<Stream = P::Stream>>(
    ctx: &Context<'_, P>,
    request: R,
    unfinished: Box<Unfinished<P::Stream>>,
) -> Reply<P::Stream> {
    drive(ctx, request, RequestStep::Continue(unfinished)).await
}

/// Returns whether a host must answer a request to its end, even if the client disconnects: one that may change something,
/// because a client that is stopped by Ctrl-C must not interrupt a write before its verification read, and a read that may
/// fetch something from another registry, for which other requests then wait. `target` is the URL of the request or a part
/// of it that contains the path; without a valid configuration there is nothing to fetch.
pub fn outlives_its_client(config: Option<&Config>, method: &str, target: &str) -> bool {
    let may_pull = || {
        config.is_some_and(|config| config.pull.pulls_any())
            && [MIRROR_PREFIX, PULL_PREFIX]
                .iter()
                .any(|prefix| target.contains(prefix))
    };
    !matches!(method, "GET" | "HEAD") || may_pull()
}

/// Begins a request again whose session does not count, with what it has used since `before`.
fn begin_without_session<P: Host, R: Request>(
    ctx: &Context<'_, P>,
    request: &R,
    mut record: Record,
    before: Usage,
) -> RequestStep<P::Stream> {
    record.add(ctx.host.meter().usage().since(before));
    begin(ctx, request, CookieHeader::Read(None)).after(&record)
}

fn begin<P: Host, R: Request>(
    ctx: &Context<'_, P>,
    request: &R,
    cookies: CookieHeader<'_>,
) -> RequestStep<P::Stream> {
    let now = ctx.host.clock().millis();
    let user_agent = request.header("user-agent");
    let if_none_match = request.header("if-none-match");
    let needs_header = ctx.config.access.guards_reads()
        || include_caller(&ctx.config.log_fields)
        || is_open_to_websites(request.path())
        || request.path().starts_with(ADMIN_PREFIX);
    let authorization = needs_header
        .then(|| request.header("authorization"))
        .flatten();
    let head = RequestHead {
        if_none_match: if_none_match.as_deref(),
        authorization: authorization.as_deref(),
        cookies,
        user_agent: user_agent.as_deref(),
        ..without_headers(request)
    };
    // The answer about health contains no URL, and probes name the address at which they found the server.
    if !ctx.host.serves(head.origin) && head.path != HEALTH_PATH {
        let message = misdirected(head.origin);
        ctx.host.log(&format!("request: {message}"));
        let reply = Problem::BadRequest(message).reply();
        return RequestStep::Answer(Record::new(&head, NO_ROUTE, now).answer(reply, None, now));
    }
    driver::begin(&head, ctx.config, ctx.host.cache(), now)
}

fn without_headers<R: Request>(request: &R) -> RequestHead<'_> {
    RequestHead {
        method: request.method(),
        origin: request.origin(),
        path: request.path(),
        query: request.query(),
        if_none_match: None,
        authorization: None,
        cookies: CookieHeader::Unread,
        user_agent: None,
    }
}

fn misdirected(origin: &str) -> String {
    format!(
        "this registry is not served at {}: use one of its hostnames",
        line(origin).at_most(QUOTED_CHARS)
    )
}

/// Takes steps until there is an answer.
async fn drive<P: Host, R: Request<Stream = P::Stream>>(
    ctx: &Context<'_, P>,
    request: R,
    mut step: RequestStep<P::Stream>,
) -> Reply<P::Stream> {
    loop {
        step = match step {
            RequestStep::Answer(answer) => return conclude(ctx, answer),
            RequestStep::Read(pending) => read(ctx, &request, pending).await,
            RequestStep::Continue(unfinished) => {
                let Unfinished {
                    mut record,
                    remaining,
                } = *unfinished;
                let before = ctx.host.meter().usage();
                match remaining {
                    RemainingWork::Read(suspension) => {
                        continue_read(ctx, &request, record, suspension).await
                    }
                    RemainingWork::ReadCookies => {
                        let cookies = request.header("cookie");
                        begin(ctx, &request, CookieHeader::Read(cookies.as_deref()))
                    }
                    RemainingWork::Handle(route, action) => {
                        let reply = serve(ctx, route, action, request).await;
                        record.add(ctx.host.meter().usage().since(before));
                        let now = ctx.host.clock().millis();
                        return conclude(ctx, record.answer(reply, None, now));
                    }
                }
            }
        }
    }
}

/// Logs a request, and counts it if it is a download.
fn conclude<P: Host>(ctx: &Context<'_, P>, answer: Answer<P::Stream>) -> Reply<P::Stream> {
    if let Some(line) = answer.line().logged(ctx.config.logged_requests) {
        ctx.host.log_request(&line);
    }
    if let Some(download) = answer.download() {
        ctx.host.count(&download);
    }
    answer.reply
}

/// Reads the index of a read.
async fn read<P: Host, R: Request>(
    ctx: &Context<'_, P>,
    request: &R,
    pending: PendingRead,
) -> RequestStep<P::Stream> {
    let keys = pending.keys().collect();
    let found = reader::indices(ctx, keys, pending.form(), pending.cache_seconds()).await;
    let takes_range = pending.takes_range();
    let range = takes_range.then(|| request.header("range")).flatten();
    let now = ctx.host.clock().millis();
    let finished = pending.finish(found, range, ctx.config, ctx.host.cache(), now);
    finished.map_or_else(RequestStep::Continue, RequestStep::Answer)
}

/// Continues a read that needs more than its index.
async fn continue_read<P: Host, R: Request>(
    ctx: &Context<'_, P>,
    request: &R,
    mut record: Record,
    suspension: Suspension<P::Stream>,
) -> RequestStep<P::Stream> {
    let before = ctx.host.meter().usage();
    let head = without_headers(request);
    let (reply, lookup) = match suspension {
        Suspension::InvalidCredentials(bad, reply) => match auth::refuse(ctx, request, bad).await {
            CredentialsError::TooMany => (
                invalid_credentials_reply(&head, CredentialsError::TooMany),
                None,
            ),
            _ => (reply, None),
        },
        Suspension::AnswerUnlessRevoked(token, reply) => {
            match auth::counts(ctx, token, request, &head).await {
                Ok(true) => (reply, None),
                Ok(false) => return begin_without_session(ctx, request, record, before),
                Err(refused) => (refused, None),
            }
        }
        Suspension::ReadUnlessRevoked(token, lookup) => {
            match auth::counts(ctx, token, request, &head).await {
                Err(refused) => (refused, None),
                Ok(false) => return begin_without_session(ctx, request, record, before),
                Ok(true) => {
                    record.add(ctx.host.meter().usage().since(before));
                    let now = ctx.host.clock().millis();
                    let known = (ctx.config, ctx.host.cache());
                    return look_up(record, lookup, head.origin, known, now);
                }
            }
        }
        Suspension::ReadOnceServingIsKnown(mut lookup) => {
            lookup.serving = failover::serving(ctx).await;
            record.add(ctx.host.meter().usage().since(before));
            let now = ctx.host.clock().millis();
            return look_up_at(record, lookup, head.origin, ctx.config, now);
        }
        Suspension::IndexMiss(lookup, miss) => {
            let reply = reader::read(ctx, &lookup, head.origin, miss).await;
            (reply, Some(lookup))
        }
        Suspension::Stale(lookup, reply, address) => {
            ctx.defer(Task::RefreshOriginList(address));
            (reply, Some(lookup))
        }
    };
    record.add(ctx.host.meter().usage().since(before));
    RequestStep::Answer(record.answer(reply, lookup, ctx.host.clock().millis()))
}

/// Answers every request that is not an indexed read.
async fn serve<P: Host, R: Request<Stream = P::Stream>>(
    ctx: &Context<'_, P>,
    route: Route,
    action: &Action,
    request: R,
) -> Reply<P::Stream> {
    let errors = route.endpoint().errors;
    let wants_html = match &route {
        // Programs that look for something here read JSON.
        Route::Page(PageRoute::Guessed(_) | PageRoute::Invalid(_) | PageRoute::Unknown) => {
            accepts_html(&request)
        }
        _ => true,
    };
    let method = action.method;
    let to = browser::return_path(ctx, &route, &request);
    let failed = FailedRequest {
        origin: request.origin().to_owned(),
        path: request.path().to_owned(),
        query: request.query().to_owned(),
        wants_html,
        may_sign_in: to.is_some(),
        cookies: cookies_of_page(ctx, &route, method, &request),
    };
    let served = run(ctx, route, action, request).await;
    let reply = match served {
        Ok(reply) => reply,
        Err(failure) => {
            let needs_access = matches!(failure, Failure::Problem(Problem::Unauthorized(_)));
            match to.filter(|_| needs_access && ctx.config.login.is_some()) {
                Some(to) => Reply::redirect(sign_in_url(&to)),
                None => failure_reply(ctx, errors, &failed, failure).await,
            }
        }
    };
    for_method(reply, method)
}

/// Returns the cookies of a request for a page, if they may contain a session that counts.
fn cookies_of_page<P: Host, R: Request>(
    ctx: &Context<'_, P>,
    route: &Route,
    method: Method,
    request: &R,
) -> Option<String> {
    let may_count = matches!(route, Route::Page(_))
        && matches!(method, Method::Get | Method::Head)
        && ctx.config.reads_sessions()
        && request.header("authorization").is_none();
    may_count.then(|| request.header("cookie")).flatten()
}

/// Authenticates and authorises the caller, reads the body, handles the request, and writes the audit log.
async fn run<P: Host, R: Request<Stream = P::Stream>>(
    ctx: &Context<'_, P>,
    route: Route,
    action: &Action,
    mut request: R,
) -> Result<Reply<P::Stream>, Failure> {
    let caller = authorize(ctx, &route, action, &request).await?;
    if action.writes {
        format::ensure_may_write(ctx).await?;
    }
    let body = match action.body {
        BodyHandling::Whole(limit) => whole(&mut request, limit).await?,
        BodyHandling::Ignored | BodyHandling::Handler => Vec::new(),
    };
    let change = action
        .is_audited
        .then(|| AuditedChange::new(ctx, &caller, &request, &body));
    let call = Call {
        caller,
        origin: request.origin().to_owned(),
        path: request.path().to_owned(),
        query: request.query().to_owned(),
        body,
        key: idempotency_key(action, &request)?,
    };
    let handled = dispatch(ctx, route, action.method, call, request).await;
    if let Some(change) = change {
        record(ctx, change, action.method, &handled).await?;
    }
    Ok(handled?.reply)
}

/// Returns the idempotency key of a request that may create something.
///
/// # Errors
/// If it is invalid.
fn idempotency_key<R: Request>(
    action: &Action,
    request: &R,
) -> Result<Option<IdempotencyKey>, Problem> {
    let may_create = action.is_audited && action.method == Method::Post;
    let header = may_create
        .then(|| request.header(IDEMPOTENCY_KEY))
        .flatten();
    let key = header.map(|text| text.trim().parse()).transpose();
    key.map_err(|error: IdempotencyKeyError| Problem::BadRequest(error.to_string()))
}

/// Returns the caller of an endpoint.
///
/// # Errors
/// If the caller is not allowed to use the endpoint.
async fn authorize<P: Host, R: Request>(
    ctx: &Context<'_, P>,
    route: &Route,
    action: &Action,
    request: &R,
) -> Result<Caller, Failure> {
    match action.access {
        RequiredAccess::Anyone => Ok(Caller::Anonymous),
        RequiredAccess::Readers if !ctx.config.access.guards_reads() => Ok(Caller::Anonymous),
        RequiredAccess::Searchers if !ctx.config.access.guards_reads() => {
            Ok(auth::recognized(ctx, request).await)
        }
        RequiredAccess::Readers | RequiredAccess::Searchers => {
            let caller = auth::identify(ctx, request, action).await?;
            match caller {
                Caller::Anonymous if ctx.config.access.guards_all_reads() => {
                    Err(Problem::no_token().into())
                }
                caller => Ok(caller),
            }
        }
        RequiredAccess::Known => auth::authenticate(ctx, request).await,
        RequiredAccess::Holders => auth::holder(ctx, request, action).await,
        RequiredAccess::Publishers
        | RequiredAccess::OwnerAdmins
        | RequiredAccess::AnyAdmins
        | RequiredAccess::Backups
        | RequiredAccess::Admins => {
            if !ctx.config.access.has_root() {
                return Err(changes_disabled(route.endpoint().errors).into());
            }
            let own = OwnHosts::new(request.origin(), &ctx.config.hostnames);
            let of_owner = |permission: fn(Owner) -> Permission| {
                owner(ctx, route, &own).map_or(Permission::Admin, permission)
            };
            let permission = match action.access {
                RequiredAccess::Publishers => of_owner(Permission::Publish),
                RequiredAccess::OwnerAdmins => of_owner(Permission::Administer),
                RequiredAccess::AnyAdmins => Permission::AdministerAny,
                RequiredAccess::Backups => Permission::BackUp,
                _ => Permission::Admin,
            };
            auth::authorize(ctx, request, &permission).await
        }
    }
}

/// Returns the owner of the package or repository that a route publishes or changes.
fn owner<P: Host>(ctx: &Context<'_, P>, route: &Route, own: &OwnHosts<'_>) -> Option<Owner> {
    match route {
        Route::Admin(route) => match route {
            AdminRoute::PublishProvider(address, _) => {
                Some(Owner::of(&Package::Provider(address.clone())))
            }
            AdminRoute::PublishModule(address, _) => {
                Some(Owner::of(&own.hosted(Package::Module(address.clone()))))
            }
            AdminRoute::MirroredRelease(address, _) => {
                Some(Owner::of(&own.package(address.clone())))
            }
            AdminRoute::Documentation(package, _) => Some(Owner::of(&own.hosted(package.clone()))),
            AdminRoute::Status(package, _) => Some(Owner::of(package)),
            AdminRoute::SigningKeys(namespace) | AdminRoute::SigningKey(namespace, _) => {
                Some(Owner::of_namespace(namespace.as_str()))
            }
            _ => None,
        },
        Route::Oci(OciRoute::Pushed(pushed)) => {
            Some(ctx.config.oci_providers.owner(&pushed.repository))
        }
        _ => None,
    }
}

/// Returns the error for changes in a registry without an admin token.
fn changes_disabled(errors: ErrorFormat) -> Problem {
    match errors {
        ErrorFormat::Oci => Problem::Forbidden(
            "pushing is disabled: TERRACE_ADMIN_TOKEN is not set; the operator must set it"
                .to_owned(),
        ),
        ErrorFormat::Json | ErrorFormat::OAuth | ErrorFormat::Html | ErrorFormat::Mcp => Problem::NotFound(
            "the admin API is disabled: TERRACE_ADMIN_TOKEN is not set; the operator must set it"
                .to_owned(),
        ),
    }
}

/// Writes the audit entry of a change. A change that failed midway is recorded too, because a client that
/// does not retry would otherwise leave no trace. So is one that found nothing left to do: it may be a retry,
/// after the entry could not be written.
async fn record<P: Host>(
    ctx: &Context<'_, P>,
    change: AuditedChange,
    method: Method,
    handled: &Handled<P::Stream>,
) -> Result<(), Failure> {
    let (change, status) = match handled {
        Ok(outcome) => {
            let change = match &outcome.entry {
                AuditDetails::None => return Ok(()),
                AuditDetails::Request => change,
                AuditDetails::Makes(path) => change.making(path),
                AuditDetails::Status(status) => change.of_status(status.clone()),
                AuditDetails::Revokes(path) => change.revoking(path),
                AuditDetails::Content(digest, tags) => change.of_content(*digest, tags),
                AuditDetails::Erases(names) => change.erasing(names),
                AuditDetails::SignIn { by, makes } => change.by(by.clone()).making(makes),
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
    audit::record(ctx, change, status).await?;
    ctx.defer(Task::DeliverWebhooks);
    Ok(())
}

/// The parts of a failed request that its answer depends on.
struct FailedRequest {
    origin: String,
    path: String,
    query: String,
    wants_html: bool,
    /// Whether a sign-in in the browser may help.
    may_sign_in: bool,
    /// The cookies, by which the page of an error shows whether its reader is signed in.
    cookies: Option<String>,
}

/// Returns the response to a failure, in the error format of the endpoint's clients.
async fn failure_reply<P: Host>(
    ctx: &Context<'_, P>,
    errors: ErrorFormat,
    request: &FailedRequest,
    failure: Failure,
) -> Reply<P::Stream> {
    let FailedRequest { origin, path, .. } = request;
    match errors {
        ErrorFormat::Html if request.wants_html => {
            let cookies = request.cookies.as_deref();
            let reader = auth::of_cookies(ctx, cookies).await;
            let reader = reader.unwrap_or(Caller::Anonymous);
            let visit = FailedVisit {
                origin,
                path,
                query: &request.query,
                reader: &reader,
                may_sign_in: request.may_sign_in,
                package: None,
            };
            problem_page(ctx, &visit, &ctx.report(failure))
        }
        ErrorFormat::Json | ErrorFormat::Html => ctx.report(failure).reply(),
        ErrorFormat::OAuth => oauth_error_reply(ctx, failure),
        ErrorFormat::Mcp => mcp_problem_reply(origin, path, ctx.report(failure)),
        ErrorFormat::Oci => match ctx.report(failure) {
            // Clients follow the challenge, which names the origin of their request.
            Problem::Unauthorized(message) => {
                Problem::Oci(unauthorized(origin, &message)).oci_reply()
            }
            problem => problem.oci_reply(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_read_that_may_pull_and_a_change_outlive_their_client() {
        let vars = [
            ("TERRACE_ADMIN_TOKEN", "an-admin-token-for-tests"),
            ("TERRACE_PULL_THROUGH", "registry.opentofu.org/hashicorp/*"),
        ];
        let pulling = Config::from_vars(&vars).unwrap();
        let plain = Config::from_vars(&vars[..1]).unwrap();
        let mirror = "/mirror/registry.opentofu.org/hashicorp/random/3.6.0.json";
        for (config, method, target, outlives) in [
            (Some(&plain), "PUT", "/admin/v1/rules", true),
            (None, "DELETE", "/admin/v1/rules", true),
            (Some(&plain), "GET", mirror, false),
            (None, "GET", mirror, false),
            (Some(&pulling), "GET", mirror, true),
            (Some(&pulling), "HEAD", "https://registry.test/pull/x", true),
            (
                Some(&pulling),
                "GET",
                "/v1/providers/acme/widget/versions",
                false,
            ),
        ] {
            let found = outlives_its_client(config, method, target);
            assert_eq!(found, outlives, "{method} {target}");
        }
    }
}
