//! Trusted publishing: a job of a CI gets a token for the one that its CI has given it.

use terrace_core::auth::exchange::{ExchangeError, ExchangeRequest, answer, token_for};
use terrace_core::auth::oidc::{Grant, GrantError};
use terrace_core::http::reply::Reply;
use terrace_core::limits;
use terrace_jose::{IssuerKeys, Quoted, TokenError, UnverifiedToken};

use crate::context::Context;
use crate::failure::Failure;
use crate::handlers::outcome::Handled;
use crate::host::{Clock as _, Host, Request};
use crate::services::issuer::KeysAt;
use crate::services::{auth, issuer};

/// Why a job's token opens nothing.
enum Denied {
    /// It is not to be trusted.
    Refused(GrantError),
    /// Nobody can tell, since its issuer does not.
    Unknown(Failure),
}

impl From<TokenError> for Denied {
    fn from(error: TokenError) -> Self {
        Self::Refused(error.into())
    }
}

impl From<GrantError> for Denied {
    fn from(error: GrantError) -> Self {
        Self::Refused(error)
    }
}

impl From<Failure> for Denied {
    fn from(failure: Failure) -> Self {
        Self::Unknown(failure)
    }
}

/// Exchanges the token that a CI has given a job for one of ours.
pub(crate) async fn exchange<P: Host, R: Request>(
    ctx: &Context<'_, P>,
    mut request: R,
) -> Handled<P::Stream> {
    let exchanged = exchanged(ctx, &mut request).await;
    let reply = exchanged.unwrap_or_else(|error| error.reply());
    Ok(reply.into())
}

/// What is given is stored nowhere. Its id is in the log, by which it can be revoked.
async fn exchanged<P: Host, R: Request>(
    ctx: &Context<'_, P>,
    request: &mut R,
) -> Result<Reply<P::Stream>, ExchangeError> {
    let keys = ctx.config.access.keys();
    let keys = keys.filter(|_| !ctx.config.trusted_publishers.is_empty());
    let keys = keys.ok_or(ExchangeError::Off)?;
    let asked = asked(request).await?;
    let unverified = UnverifiedToken::parse(asked.subject_token());
    let issuer = Quoted::text(match &unverified {
        Ok(token) => token.claimed_issuer(),
        Err(_) => "",
    });
    let granted = match unverified {
        Ok(token) => granted(ctx, &token, request.origin()).await,
        Err(refusal) => Err(refusal.into()),
    };
    let Grant { claims, scopes } = match granted {
        Ok(grant) => grant,
        Err(denied) => return Err(deny(ctx, denied, &issuer, request).await),
    };
    let job = Quoted::text(claims.subject());
    let scopes = asked.narrow(&scopes).inspect_err(|_| {
        let line = format!("access: {job} of {issuer} asks for more than {scopes}");
        ctx.host.log(&line);
    })?;
    let now = ctx.host.clock().now();
    let token = token_for(&claims, scopes, ctx.host.random(), now);
    let token = match token {
        Ok(token) => token,
        Err(refusal) => return Err(deny(ctx, refusal.into(), &issuer, request).await),
    };
    let (id, scopes) = (token.id, &token.scopes);
    let line = format!("access: token {id} given to {job} of {issuer} for {scopes}");
    ctx.host.log(&line);
    Ok(answer(&token, &keys.write(&token), now))
}

async fn asked<R: Request>(request: &mut R) -> Result<ExchangeRequest, ExchangeError> {
    let body = request.bytes_up_to(limits::EXCHANGE_BYTES).await;
    let body = body.map_err(|_| {
        let told = "the body could not be read to its end";
        ExchangeError::Malformed(told.to_owned())
    })?;
    let content_type = request.header("content-type");
    ExchangeRequest::parse(content_type.as_deref(), &body, request.origin())
}

/// What the rules open for a token. Nobody is asked for keys whom they do not name, and those who
/// are named are asked again only for a key that is not known yet, and not often.
async fn granted<P: Host>(
    ctx: &Context<'_, P>,
    token: &UnverifiedToken<'_>,
    origin: &str,
) -> Result<Grant, Denied> {
    let publishers = &ctx.config.trusted_publishers;
    let issuer = publishers.issuer_of(token)?;
    let verify = |keys: &IssuerKeys| {
        let now = ctx.host.clock().now();
        publishers.verify(token, keys, origin, now)
    };
    let claims = issuer::verified(ctx, issuer, KeysAt::Discovery, verify).await??;
    Ok(publishers.grant(claims, origin)?)
}

/// Writes down why a job gets nothing, which the job is not told: whoever tries out what is let
/// through shall not learn how near they are.
async fn deny<P: Host, R: Request>(
    ctx: &Context<'_, P>,
    denied: Denied,
    issuer: &Quoted,
    request: &R,
) -> ExchangeError {
    let address = &ctx.client_address;
    let (method, path) = (request.method(), request.path());
    let asked = format!("access: {method} {path:?} from {address:?}: a job of {issuer}");
    match denied {
        Denied::Refused(refusal) => {
            if auth::is_one_guess_too_many(ctx).await {
                return ExchangeError::TooMany;
            }
            ctx.host.log(&format!("{asked} is refused: {refusal}"));
            ExchangeError::Untrusted
        }
        Denied::Unknown(Failure::Origin(what)) => {
            ctx.host.log(&format!("{asked} has to wait: {what}"));
            ExchangeError::Unavailable
        }
        Denied::Unknown(failure) => {
            ctx.report(failure);
            ExchangeError::Unavailable
        }
    }
}
