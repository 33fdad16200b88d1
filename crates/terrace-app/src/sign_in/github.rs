//! Sign-in with GitHub.

use serde_json::{Map, Value};
use terrace_core::auth::login::{GitHub, GitHubList, GitHubMembers, OAuthClient, SignInError};
use terrace_core::http::guard::Guard;

use crate::context::Context;
use crate::failure::Failure;
use crate::host::{Host, IdentityProviderRequest, Upstream as _};
use crate::sign_in::openid::{Return, SECONDS};
use crate::sign_in::{log, openid};

/// Maximum number of pages of organisations, or of teams, that are read for one person.
const GITHUB_PAGES: usize = 5;

/// Maximum size of such a page, in bytes. A team with its organisation has 3 KB.
const GITHUB_PAGE_BYTES: usize = 1024 * 1024;

/// Identifies the person who returned, with their organisations and teams.
pub(crate) async fn person<P: Host>(
    ctx: &Context<'_, P>,
    client: &OAuthClient,
    back: &Return<'_>,
) -> Result<Map<String, Value>, SignInError> {
    let methods = [GitHub::AUTH_METHOD.to_owned()];
    let verifier = back.verifier.as_ref();
    let redemptions = client.redemptions(back.code, back.callback, verifier, &methods);
    let endpoint = GitHub::TOKEN
        .parse()
        .map_err(|error| log::distrusted(ctx, error))?;
    let guard = Guard::public();
    let answer = openid::redeem_code(ctx, &endpoint, &guard, redemptions).await?;
    let no_token = || log::distrusted(ctx, "GitHub returned no access_token for the code");
    let token = answer.access_token.ok_or_else(no_token)?;
    let odd =
        |url: &str| log::distrusted(ctx, format!("{url}: the response has an unexpected form"));
    let user = ask(ctx, &token, GitHub::USER.to_owned()).await?;
    let mut members = GitHubMembers::of_user(&user).ok_or_else(|| odd(GitHub::USER))?;
    for list in [GitHubList::Organisations, GitHubList::Teams] {
        for page in 1..=GITHUB_PAGES {
            let url = GitHub::page(list, page);
            let body = ask(ctx, &token, url.clone()).await?;
            if !members.add(list, &body).ok_or_else(|| odd(&url))? {
                break;
            }
        }
    }
    Ok(members.into_claims())
}

async fn ask<P: Host>(
    ctx: &Context<'_, P>,
    token: &str,
    url: String,
) -> Result<Vec<u8>, SignInError> {
    let authorization = Some(format!("Bearer {token}"));
    let inquiry = IdentityProviderRequest::get(url, authorization, GITHUB_PAGE_BYTES);
    let upstream = ctx.host.upstream();
    let answer = upstream.inquire(&inquiry, &Guard::public(), SECONDS).await;
    let url = &inquiry.url;
    let answer = answer.map_err(|error| {
        let message = Failure::Origin(format!("{url}: {error}"));
        log::unreachable(ctx, message)
    })?;
    match answer.status {
        200 => Ok(answer.body),
        status => Err(log::distrusted(
            ctx,
            format!("{url} answers with status {status}"),
        )),
    }
}
