//! People whom GitHub knows.

use terrace_core::auth::login::{Client, GitHub, GitHubList, GitHubMembers, Stop, Verifier, Visit};
use terrace_core::http::guard::Guard;
use terrace_core::limits;

use super::openid::SECONDS;
use super::{App, Failure, People, Return};
use crate::store::{Inquiry, Platform, Upstream as _};

/// Where somebody is sent.
pub(super) fn visit(
    client: &Client,
    callback: &str,
    state: &str,
    verifier: Option<Verifier>,
) -> String {
    let challenge = verifier.map(|verifier| verifier.challenge());
    client.visit(&Visit {
        endpoint: GitHub::AUTHORIZE,
        callback,
        state,
        nonce: None,
        challenge: challenge.as_ref(),
    })
}

impl<P: Platform> App<'_, P> {
    /// Who is back, with their organisations and teams.
    pub(super) async fn person_by_github(
        &self,
        client: &Client,
        back: &Return<'_>,
    ) -> Result<People, Stop> {
        let methods = [GitHub::AUTH_METHOD.to_owned()];
        let verifier = back.verifier.as_ref();
        let redemption = client.redemption(back.code, back.callback, verifier, &methods);
        let unknown = || self.distrusted("GitHub wants a client secret");
        let endpoint = GitHub::TOKEN
            .parse()
            .map_err(|error| self.distrusted(error))?;
        let guard = Guard::public();
        let answer = self
            .redeem_code(&endpoint, &guard, redemption.ok_or_else(unknown)?)
            .await?;
        let no_token = || self.distrusted("GitHub gives no access_token for a code");
        let token = answer.access_token.ok_or_else(no_token)?;
        let odd = |url: &str| self.distrusted(format!("{url}: its answer is of another form"));
        let user = self.ask_github(&token, GitHub::USER.to_owned()).await?;
        let mut members = GitHubMembers::of_user(&user).ok_or_else(|| odd(GitHub::USER))?;
        for list in [GitHubList::Organisations, GitHubList::Teams] {
            for page in 1..=limits::GITHUB_PAGES {
                let url = GitHub::page(list, page);
                let body = self.ask_github(&token, url.clone()).await?;
                if !members.add(list, &body).ok_or_else(|| odd(&url))? {
                    break;
                }
            }
        }
        Ok(members.into_claims())
    }

    async fn ask_github(&self, token: &str, url: String) -> Result<Vec<u8>, Stop> {
        let inquiry = Inquiry {
            url,
            form: None,
            authorization: Some(format!("Bearer {token}")),
            max_bytes: limits::GITHUB_PAGE_BYTES as u64,
        };
        let upstream = self.platform.upstream();
        let answer = upstream.inquire(&inquiry, &Guard::public(), SECONDS).await;
        let url = &inquiry.url;
        let answer = answer.map_err(|error| {
            let told = Failure::Origin(format!("{url}: {error}"));
            self.unreachable(told)
        })?;
        match answer.status {
            200 => Ok(answer.body),
            status => Err(self.distrusted(format!("{url} answers with status {status}"))),
        }
    }
}
