//! Sign-in by terminals and browsers.

use serde_json::{Map, Value};
use terrace_base::secret::Secret;
use terrace_core::auth::access::{Resource, SealKeys, Sealable, SessionKeys};
use terrace_core::auth::login::{
    Authorization, BrowserSession, Client, ClientDocument, Code, Consent, GitHubList,
    GitHubMembers, PendingToken, Person, ProviderAnswer, ReturnPath, TokenRequest,
};
use terrace_core::http::form::Form;

use crate::{NOW, split, text};

/// Parses the input of terminals and browsers (a query, a form or cookies) in the first line, and the claims
/// of a provider in the rest.
pub fn login(data: &[u8]) {
    let (sent, said) = split(data, b'\n');
    let _ = ProviderAnswer::parse(said);
    if let Some(mut members) = GitHubMembers::of_user(said) {
        let _ = members.add(GitHubList::Organisations, said);
        let _ = members.add(GitHubList::Teams, said);
        let _ = Person::of(&members.into_claims());
    }
    let claims: Map<String, Value> = serde_json::from_slice(said).unwrap_or_default();
    let person = Person::of(&claims);
    for name in [&person.name, &person.account] {
        assert_eq!(name.to_string().parse().as_ref(), Ok(name));
    }
    let seals = SealKeys::new(&Secret::new("0123456789abcdef"), None);
    let token = PendingToken {
        id: "0123456789abcdef".parse().expect("an id"),
        person,
        scopes: "read publish:acme".parse().expect("scopes"),
    };
    if let Ok(request) = TokenRequest::parse(sent, true) {
        assert!(seals.open::<Code>(&request.code, NOW).is_err());
        if let Some(authorization) = redeemed_by(&request) {
            let code = Code(consent(authorization, &token));
            assert_eq!(again(&seals, &code), code);
            let redeemed = code.redeem(&request).map(|(token, _)| token);
            assert_eq!(redeemed.as_ref(), Ok(&token));
        }
    }
    let Some(sent) = text(sent) else { return };
    authorization(&seals, sent, said, &token);
    for name in ["state", "code", "error", "answer"] {
        let _ = Form(sent).value(name);
    }
    if let Some(browser) = BrowserSession::of_cookies(sent) {
        assert!(browser.binding().is_of(&browser));
    }
    let sessions = SessionKeys::new(&Secret::new("0123456789abcdef"), None);
    // A valid session cannot be guessed.
    assert!(sessions.of_cookies(sent, NOW).is_none());
    if let Ok(path) = sent.parse::<ReturnPath>() {
        assert_eq!(path.to_string(), sent);
        assert!(!sent.starts_with("//") && !sent.contains('\\'), "{sent:?}");
    }
}

/// Returns an authorization with a code that this request may redeem, if there is one.
fn redeemed_by(request: &TokenRequest) -> Option<Authorization> {
    let client = match (&request.client, &request.resource) {
        (None, _) => Client::Terminal,
        (Some(id), None) => Client::Application {
            id: id.clone(),
            resource: Resource::new("https://registry.example.com", "/mcp"),
        },
        (Some(_), Some(_)) => return None,
    };
    Some(Authorization {
        client,
        redirect: request.redirect.clone()?,
        state: None,
        challenge: request.verifier.challenge(),
    })
}

fn consent(authorization: Authorization, token: &PendingToken) -> Consent {
    Consent {
        authorization,
        browser: BrowserSession::new([7; 16]).binding(),
        token: token.clone(),
    }
}

/// Parses the query of a terminal or an application, and the document of the latter.
fn authorization(seals: &SealKeys, query: &str, document: &[u8], token: &PendingToken) {
    let hosts = ["app.example.com".parse().expect("a host")];
    let resources = [Resource::new("https://registry.example.com", "/mcp")];
    let Ok(request) = Authorization::parse(query, &hosts, &resources) else {
        return;
    };
    let url = request.redirect_to("a.b", "https://registry.example.com");
    assert!(!url.chars().any(|c| c.is_control() || c == ' '), "{url:?}");
    match &request.client {
        Client::Terminal => {
            assert!(url.starts_with("http://localhost:100") && url.contains("/login?"))
        }
        Client::Application { id, .. } => {
            assert!(id.as_str().starts_with("https://app.example.com/"));
            let hosts = ["127.0.0.1", "[::1]", "localhost"];
            let mut hosts = hosts.iter();
            assert!(hosts.any(|host| url.starts_with(&format!("http://{host}"))));
            let document = ClientDocument::parse(200, Some("application/json"), document);
            if let Ok(name) = document.and_then(|it| it.allow(id, &request.redirect)) {
                assert_eq!(name.to_string().parse().as_ref(), Ok(&name));
            }
        }
    }
    let consent = consent(request, token);
    assert_eq!(again(seals, &consent), consent);
}

/// Seals a value and opens it again.
fn again<T: Sealable>(seals: &SealKeys, what: &T) -> T {
    seals.open(&seals.seal(what, NOW), NOW).expect("ours").0
}
