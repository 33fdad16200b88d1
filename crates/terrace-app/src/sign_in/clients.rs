//! The documents of OAuth clients.

use terrace_core::auth::access::TokenName;
use terrace_core::auth::login::{
    CLIENT_DOCUMENT_BYTES, ClientDocument, ClientHost, ClientId, Login, LoopbackRedirect,
    SignInError,
};

use crate::context::Context;
use crate::host::{Host, IdentityProviderRequest, Upstream as _};
use crate::sign_in::log;
use crate::sign_in::openid::SECONDS;

/// Returns the name of an application, if its document allows its request. The document is fetched for each sign-in, only after
/// the person is known, and only from a host that the operator has named.
pub(crate) async fn name<P: Host>(
    ctx: &Context<'_, P>,
    login: &Login,
    id: &ClientId,
    redirect: &LoopbackRedirect,
) -> Result<TokenName, SignInError> {
    let host = host(ctx, login, id)?;
    let inquiry = IdentityProviderRequest::get(id.to_string(), None, CLIENT_DOCUMENT_BYTES);
    let upstream = ctx.host.upstream();
    let answer = upstream.inquire(&inquiry, &host.guard(), SECONDS).await;
    let answer = answer.map_err(|error| failed(ctx, id, &error.to_string(), NO_DOCUMENT))?;
    let content_type = answer.content_type.as_deref();
    let document = ClientDocument::parse(answer.status, content_type, &answer.body);
    let name = document.and_then(|document| document.allow(id, redirect));
    name.map_err(|why| failed(ctx, id, &why, &format!("is not accepted: {why}")))
}

/// Returns the host of the document of an application, if the operator still names it: the setting may have changed since the
/// sign-in began.
pub(crate) fn host<'l, P: Host>(
    ctx: &Context<'_, P>,
    login: &'l Login,
    id: &ClientId,
) -> Result<&'l ClientHost, SignInError> {
    let host = login.host_of(id);
    host.ok_or_else(|| failed(ctx, id, "its host is no longer named", NO_DOCUMENT))
}

/// What a person is told about a document that cannot be fetched.
const NO_DOCUMENT: &str = "cannot be fetched: the log of this registry states the reason";

fn failed<P: Host>(ctx: &Context<'_, P>, id: &ClientId, why: &str, shown: &str) -> SignInError {
    log::write(ctx, &format!("the document of the client {id}: {why}"));
    SignInError::Document(shown.to_owned())
}
