//! Sign-in with GitHub by OAuth. GitHub has no ID tokens, so its API is asked for the person's identity
//! (<https://docs.github.com/en/apps/oauth-apps/building-oauth-apps/authorizing-oauth-apps>).

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// Maximum number of organisations, or teams, of a person in one of GitHub's pages: GitHub's own limit
/// (<https://docs.github.com/en/rest/orgs/orgs>).
const GITHUB_AT_ONCE: usize = 100;

/// GitHub's endpoints and settings.
#[derive(Debug)]
pub struct GitHub;

impl GitHub {
    /// The issuer that stands for GitHub in the configuration.
    pub const ISSUER: &'static str = "https://github.com";
    /// The authorization endpoint.
    pub const AUTHORIZE: &'static str = "https://github.com/login/oauth/authorize";
    /// The token endpoint.
    pub const TOKEN: &'static str = "https://github.com/login/oauth/access_token";
    /// The API of the signed-in user.
    pub const USER: &'static str = "https://api.github.com/user";
    /// The method by which the registry authenticates at the token endpoint.
    pub const AUTH_METHOD: &'static str = "client_secret_post";
    /// The default scopes, which are required to read organisations and teams.
    pub const SCOPES: &'static str = "read:org";

    /// Returns the URL of a page of a person's organisations or teams. The first page is 1.
    pub fn page(list: GitHubList, page: usize) -> String {
        let list = match list {
            GitHubList::Organisations => "orgs",
            GitHubList::Teams => "teams",
        };
        let limit = GITHUB_AT_ONCE;
        format!("{}/{list}?per_page={limit}&page={page}", Self::USER)
    }
}

/// A list of a person's memberships.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GitHubList {
    /// The organisations that the person has not hidden from the registry.
    Organisations,
    /// The teams in those organisations.
    Teams,
}

/// A person's identity and memberships at GitHub.
#[derive(Debug)]
pub struct GitHubMembers {
    user: Account,
    organisations: Vec<Account>,
    teams: Vec<Team>,
}

/// A user or an organisation.
#[derive(Debug, Deserialize)]
struct Account {
    id: u64,
    login: String,
}

#[derive(Debug, Deserialize)]
struct Team {
    id: u64,
    slug: String,
    organization: Account,
}

impl GitHubMembers {
    /// Parses the user's identity; `None` if the body is not of the expected form.
    pub fn of_user(body: &[u8]) -> Option<Self> {
        Some(Self {
            user: read(body)?,
            organisations: Vec::new(),
            teams: Vec::new(),
        })
    }

    /// Adds a page, and returns whether there may be another; `None` if the body is not of the expected form.
    pub fn add(&mut self, list: GitHubList, body: &[u8]) -> Option<bool> {
        let count = match list {
            GitHubList::Organisations => extend(&mut self.organisations, body)?,
            GitHubList::Teams => extend(&mut self.teams, body)?,
        };
        Some(count >= GITHUB_AT_ONCE)
    }

    /// Returns the claims that rules check: `login`, `id`, `orgs` and `teams`, each as `organisation/team`;
    /// and `org_ids` and `team_ids`, since a name can be given up and taken by another. The ids are strings,
    /// because rules match only strings within lists.
    pub fn into_claims(self) -> Map<String, Value> {
        let Account { id, login } = self.user;
        let id_text = |id: u64| Value::from(id.to_string());
        let team = |team: &Team| format!("{}/{}", team.organization.login, team.slug);
        let orgs = self.organisations.iter().map(|it| it.login.clone());
        let org_ids = self.organisations.iter().map(|it| id_text(it.id));
        let team_ids = self.teams.iter().map(|it| id_text(it.id));
        let claims = [
            ("iss", Value::from(GitHub::ISSUER)),
            ("sub", Value::from(id.to_string())),
            ("id", Value::from(id)),
            ("login", Value::from(login)),
            ("orgs", orgs.collect()),
            ("org_ids", org_ids.collect()),
            ("teams", self.teams.iter().map(team).collect()),
            ("team_ids", team_ids.collect()),
        ];
        let claims = claims.into_iter();
        claims
            .map(|(name, value)| (name.to_owned(), value))
            .collect()
    }
}

/// Adds the items of a page, and returns their number.
fn extend<T: DeserializeOwned>(all: &mut Vec<T>, body: &[u8]) -> Option<usize> {
    let page: Vec<T> = read(body)?;
    let count = page.len();
    all.extend(page);
    Some(count)
}

fn read<T: DeserializeOwned>(body: &[u8]) -> Option<T> {
    serde_json::from_slice(body).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::auth::login::Person;
    use crate::auth::oidc::LoginRules;
    use serde_json::json;

    fn ann() -> Map<String, Value> {
        let user = br#"{"login":"ann","id":1001,"name":"Ann","email":null}"#;
        let mut members = GitHubMembers::of_user(user).unwrap();
        let orgs = br#"[{"login":"acme","id":1},{"login":"globex","id":2}]"#;
        assert_eq!(members.add(GitHubList::Organisations, orgs), Some(false));
        let teams = br#"[{"slug":"platform","id":7,"organization":{"login":"acme","id":1}}]"#;
        assert_eq!(members.add(GitHubList::Teams, teams), Some(false));
        members.into_claims()
    }

    #[test]
    fn rules_match_the_login_the_id_the_organisations_and_the_teams() {
        let granted = |claims: Value| {
            let rules = json!([{ "scopes": ["read"], "claims": claims }]).to_string();
            let rules: LoginRules = rules.parse().unwrap();
            rules.scopes(&ann()).is_ok()
        };
        assert!(granted(json!({ "orgs": "acme" })));
        assert!(granted(json!({ "teams": "acme/platform" })));
        assert!(granted(json!({ "teams": "acme/*", "login": "ann" })));
        assert!(granted(json!({ "id": "1001" })));
        assert!(granted(json!({ "org_ids": "2" })) && granted(json!({ "team_ids": "7" })));
        assert!(!granted(json!({ "org_ids": "7" })) && !granted(json!({ "team_ids": "1" })));
        assert!(!granted(json!({ "orgs": "initech" })));
        assert!(!granted(json!({ "teams": "platform" })));
        assert!(!granted(json!({ "teams": "globex/platform" })));
        assert!(!granted(json!({ "email": "ann@acme.example" })));
    }

    #[test]
    fn a_person_is_named_by_login_and_id() {
        let person = Person::of(&ann());
        assert_eq!(person.name.to_string(), "ann (1001)");
        assert_eq!(person.account.to_string(), "1001");
    }

    #[test]
    fn a_body_of_another_form_is_rejected() {
        for body in [
            "",
            "{}",
            "[]",
            r#"{"login":"a"}"#,
            r#"{"login":1,"id":1}"#,
            r#"{"message":"Bad credentials"}"#,
        ] {
            assert!(GitHubMembers::of_user(body.as_bytes()).is_none(), "{body}");
        }
        let mut members = GitHubMembers::of_user(br#"{"login":"ann","id":1}"#).unwrap();
        for body in ["", "{}", "[{}]"] {
            let added = members.add(GitHubList::Teams, body.as_bytes());
            assert_eq!(added, None, "{body}");
        }
    }
}
