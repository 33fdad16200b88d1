//! Sign-in by terminals and browsers.

use serde_json::{Map, Value};
use terrace_base::secret::Secret;
use terrace_core::auth::access::{SealKeys, Sealable, SessionKeys};
use terrace_core::auth::login::{
    BrowserSession, Code, Consent, GitHubList, GitHubMembers, PendingToken, Person, ProviderAnswer,
    ReturnPath, Terminal, TokenRequest,
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
    if let Ok(request) = TokenRequest::parse(sent) {
        assert!(seals.open::<Code>(&request.code, NOW).is_err());
        let code = Code {
            port: request.port,
            challenge: request.verifier.challenge(),
            token: token.clone(),
        };
        assert_eq!(again(&seals, &code), code);
        assert_eq!(code.redeem(&request).as_ref(), Ok(&token));
    }
    let Some(sent) = text(sent) else { return };
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
    if let Ok(terminal) = Terminal::parse(sent) {
        let url = terminal.redirect_to("a.b");
        assert!(url.starts_with(&format!("{}/login?", terminal.port.origin())));
        assert!(!url.chars().any(|c| c.is_control() || c == ' '), "{url:?}");
        let browser = BrowserSession::new([7; 16]).binding();
        let consent = Consent {
            terminal,
            browser,
            token,
        };
        assert_eq!(again(&seals, &consent), consent);
    }
}

/// Seals a value and opens it again.
fn again<T: Sealable>(seals: &SealKeys, what: &T) -> T {
    seals.open(&seals.seal(what, NOW), NOW).expect("ours").0
}
