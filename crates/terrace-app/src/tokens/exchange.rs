//! Trusted publishing: a CI job exchanges the OpenID token from its CI for a token of this registry.

use terrace_core::auth::exchange::{
    EXCHANGE_BYTES, ExchangeError, ExchangeRequest, answer, token_for,
};
use terrace_core::auth::oidc::{GrantedScopes, TrustedPublishers};
use terrace_core::http::reply::Reply;
use terrace_jose::{Claims, IssuerKeys, Quoted, UnverifiedToken};

use crate::access::{auth, issuer, rules};
use crate::context::Context;
use crate::failure::Failure;
use crate::host::{Clock as _, Host, LogLevel, Request};
use crate::outcome::Handled;

/// Exchanges the OpenID token of a CI job for a token of this registry.
pub(crate) async fn exchange<P: Host, R: Request>(
    ctx: &Context<'_, P>,
    mut request: R,
) -> Handled<P::Stream> {
    let exchanged = exchanged(ctx, &mut request).await;
    let reply = exchanged.unwrap_or_else(|error| error.reply());
    Ok(reply.into())
}

/// Creates the token. It is not stored. Its id is logged, so that it can be revoked.
async fn exchanged<P: Host, R: Request>(
    ctx: &Context<'_, P>,
    request: &mut R,
) -> Result<Reply<P::Stream>, ExchangeError> {
    let keys = ctx.config.access.keys().ok_or(ExchangeError::Off)?;
    let publishers = publishers(ctx).await?;
    let request_form = exchange_request(request).await?;
    let unverified = UnverifiedToken::parse(request_form.subject_token());
    let issuer = Quoted::text(match &unverified {
        Ok(token) => token.claimed_issuer(),
        Err(_) => "",
    });
    let (method, path, address) = (request.method(), request.path(), &ctx.client_address);
    let line = format!("access: {method} {path:?} from {address:?}: a job of {issuer}");
    let granted = match unverified {
        Ok(token) => granted(ctx, &publishers, &token, request.origin()).await,
        Err(refusal) => Ok(Err(refusal.to_string())),
    };
    let granted = granted.map_err(|failure| {
        match failure {
            Failure::Origin(what) => ctx.host.log(&format!("{line} cannot be verified: {what}")),
            failure => drop(ctx.report(failure)),
        }
        ExchangeError::Unavailable
    })?;
    let (claims, granted) = match granted {
        Ok(granted) => granted,
        Err(refusal) => return Err(deny(ctx, &refusal, &line).await),
    };
    let job = Quoted::text(claims.subject());
    if let Some(note) = granted.note() {
        let line = format!("access: {job} of {issuer}: {note}");
        ctx.host.log(&line);
    }
    let scopes = request_form.narrow(&granted.scopes).inspect_err(|_| {
        let scopes = &granted.scopes;
        let line = format!("access: {job} of {issuer} requested scopes other than those that its rules grant: {scopes}");
        ctx.host.log(&line);
    })?;
    let now = ctx.host.clock().now();
    let token = token_for(&claims, scopes, ctx.host.random(), now);
    let token = match token {
        Ok(token) => token,
        Err(refusal) => return Err(deny(ctx, &refusal.to_string(), &line).await),
    };
    let (id, scopes) = (token.id, &token.scopes);
    let line = format!("access: token {id} issued to {job} of {issuer} for {scopes}");
    ctx.host.log_at(LogLevel::Info, &line);
    Ok(answer(&token, &keys.write(&token), now))
}

/// Returns the rules of the configuration and those that are stored in the registry.
async fn publishers<P: Host>(ctx: &Context<'_, P>) -> Result<TrustedPublishers, ExchangeError> {
    let stored = rules::current(ctx).await.map_err(|failure| {
        ctx.report(failure);
        ExchangeError::Unavailable
    })?;
    let publishers = &ctx.config.trusted_publishers;
    let publishers = publishers.and(&stored.trusted_publishers);
    match publishers.is_empty() {
        true => Err(ExchangeError::Off),
        false => Ok(publishers),
    }
}

async fn exchange_request<R: Request>(request: &mut R) -> Result<ExchangeRequest, ExchangeError> {
    let body = request.bytes_up_to(EXCHANGE_BYTES).await;
    let body = body.map_err(|_| {
        let message = "the body could not be read completely";
        ExchangeError::Malformed(message.to_owned())
    })?;
    let content_type = request.header("content-type");
    ExchangeRequest::parse(content_type.as_deref(), &body, request.origin())
}

/// Returns the grant that the rules make for a token. Keys are fetched only from issuers that a rule names.
/// They are fetched again only for an unknown key, and not often.
///
/// # Errors
/// If the issuer is unavailable. The inner error is the reason why nothing is granted.
async fn granted<P: Host>(
    ctx: &Context<'_, P>,
    publishers: &TrustedPublishers,
    token: &UnverifiedToken<'_>,
    origin: &str,
) -> Result<Result<(Claims, GrantedScopes), String>, Failure> {
    let issuer = match publishers.issuer_of(token) {
        Ok(issuer) => issuer,
        Err(refusal) => return Ok(Err(refusal.to_string())),
    };
    let verify = |keys: &IssuerKeys| {
        let now = ctx.host.clock().now();
        publishers.verify(token, keys, origin, now)
    };
    let verified = issuer::verified(ctx, issuer, None, verify).await?;
    Ok(match verified {
        Ok(claims) => {
            let granted = publishers.grant(&claims, origin);
            granted.map(|granted| (claims, granted))
        }
        Err(refusal) => Err(refusal.to_string()),
    })
}

/// Logs the reason for denying a job's request. The job does not receive it: a client that probes the rules
/// must not learn how close it is.
async fn deny<P: Host>(ctx: &Context<'_, P>, refusal: &str, line: &str) -> ExchangeError {
    if auth::is_one_guess_too_many(ctx).await {
        return ExchangeError::TooMany;
    }
    ctx.host.log(&format!("{line} is denied: {refusal}"));
    ExchangeError::Untrusted
}
