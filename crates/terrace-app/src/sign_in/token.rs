//! `/oauth/token`: redeems the authorization code of a terminal or an OAuth client.

use terrace_core::auth::access::{Resource, SIGN_IN};
use terrace_core::auth::login::{
    Code, LOGIN_FORM_BYTES, Login, PendingToken, RedemptionError, TokenRequest, token_reply,
};
use terrace_core::http::problem::Problem;
use terrace_core::http::reply::Reply;

use crate::access::auth;
use crate::context::Context;
use crate::host::{Clock as _, Host, Request};
use crate::outcome::{AuditDetails, Handled, Outcome};
use crate::sign_in::log;
use crate::sign_in::shared::{configured, form_body};
use crate::tokens;

/// Exchanges a code for a token.
pub(crate) async fn token<P: Host, R: Request>(
    ctx: &Context<'_, P>,
    mut request: R,
) -> Handled<P::Stream> {
    let login = configured(ctx)?;
    let Some(body) = form_body(&mut request).await else {
        return Err(Problem::TooLarge(LOGIN_FORM_BYTES).into());
    };
    let (redeemed, entry) = redeem(ctx, login, body.as_bytes()).await;
    let reply = match redeemed {
        Ok(reply) => reply,
        Err(fault) => refuse(ctx, fault).await,
    };
    Ok(Outcome::new(reply, entry))
}

/// Returns the response with the token for a code, and the audit entry of the attempt.
async fn redeem<P: Host>(
    ctx: &Context<'_, P>,
    login: &Login,
    body: &[u8],
) -> (Result<Reply<P::Stream>, RedemptionError>, AuditDetails) {
    let (token, resource) = match allowed(ctx, login, body) {
        Ok(allowed) => allowed,
        Err(fault) => return (Err(fault), AuditDetails::None),
    };
    let (id, scopes) = (token.id, token.scopes.clone());
    // The body contains a code that grants access, so the entry does not even contain its hash.
    let entry = AuditDetails::SignIn {
        by: format!("{SIGN_IN}{}", token.person.account),
        makes: tokens::path(id),
    };
    let at = match &resource {
        Some(resource) => format!(" at {resource} only"),
        None => String::new(),
    };
    let made = format!(
        "token {id} for {} (account {}): {}{at}",
        token.person.name, token.person.account, token.scopes
    );
    let is_of_application = resource.is_some();
    let text = match tokens::make_for_login(ctx, (token, resource), login.lifetime).await {
        Ok(text) => text,
        Err(failure) => {
            let may_be_made = failure.may_have_changed_state();
            ctx.report(failure);
            let entry = may_be_made.then_some(entry);
            let entry = entry.unwrap_or(AuditDetails::None);
            return (Err(RedemptionError::Unavailable), entry);
        }
    };
    let Some(text) = text else {
        let line = format!("token {id} is revoked: its code was used twice");
        log::write(ctx, &line);
        return (Err(RedemptionError::Used), entry);
    };
    log::write(ctx, &made);
    let scopes = is_of_application.then_some(&scopes);
    (Ok(token_reply(&text, login.lifetime, scopes)), entry)
}

/// Returns the token that a person allowed for the bearer of a code, and the only resource that it is for, if it is that of
/// an OAuth client.
fn allowed<P: Host>(
    ctx: &Context<'_, P>,
    login: &Login,
    body: &[u8],
) -> Result<(PendingToken, Option<Resource>), RedemptionError> {
    let token_request = TokenRequest::parse(body, login.accepts_clients())?;
    let now = ctx.host.clock().now();
    let (code, _) = login.seal_keys.open::<Code>(&token_request.code, now)?;
    code.redeem(&token_request)
}

async fn refuse<P: Host>(ctx: &Context<'_, P>, fault: RedemptionError) -> Reply<P::Stream> {
    if fault.may_be_a_guess() && auth::is_one_guess_too_many(ctx).await {
        return RedemptionError::TooMany.reply();
    }
    log::write(ctx, &format!("no token issued: {fault}"));
    fault.reply()
}
