//! Authentication of OCI clients.

use terrace_core::auth::access::Caller;
use terrace_core::http::problem::Problem;
use terrace_core::http::reply::{CachePolicy, Reply};
use terrace_core::model::token_id::TokenId;
use terrace_core::oci::{OciTokenAnswer, challenge};
use terrace_core::read::oci_base;

use crate::context::Context;
use crate::host::{Clock as _, Host, LogLevel, Request};
use crate::json;
use crate::outcome::{Call, Handled};

/// Answers `GET /v2/`. Where reading is public, anyone may check that this is a registry, but a caller that
/// sends credentials learns whether they are valid. Some clients look for the challenge only here.
pub(crate) async fn base<P: Host, R: Request>(
    ctx: &Context<'_, P>,
    call: Call,
    request: R,
) -> Handled<P::Stream> {
    let access = &ctx.config.access;
    let caller = call.caller;
    let is_bare = request.header("authorization").is_none();
    if caller == Caller::Anonymous && (access.guards_all_reads() || access.is_private() && is_bare)
    {
        return Err(Problem::no_token().into());
    }
    let challenge = challenge(&call.origin);
    let reply = oci_base().with("www-authenticate", challenge);
    let reply = match access.is_private() {
        true => reply.private(),
        false => reply,
    };
    Ok(reply.into())
}

/// Issues a short-lived token to the caller.
pub(crate) async fn token<P: Host>(ctx: &Context<'_, P>, call: Call) -> Handled<P::Stream> {
    let access = &ctx.config.access;
    let caller = call.caller;
    if caller == Caller::Anonymous && access.guards_all_reads() {
        return Err(Problem::no_token().into());
    }
    let now = ctx.host.clock().now();
    let random = ctx.host.random();
    let answer = OciTokenAnswer::new(&caller, access.keys(), random, now);
    let answer = answer.ok_or_else(Problem::no_token)?;
    if matches!(caller, Caller::Root(_)) {
        let id = TokenId::new(random);
        let line = format!(
            "access: token {id} issued to {} for an OCI client",
            access.audited_name(&caller)
        );
        ctx.host.log_at(LogLevel::Info, &line);
    }
    let text = json::text(&answer)?;
    Ok(Reply::json(200, CachePolicy::NoStore, text).into())
}
