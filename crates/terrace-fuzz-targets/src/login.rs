//! Sign-in by terminals and browsers.

use serde_json::{Map, Value};
use terrace_base::secret::Secret;
use terrace_core::auth::access::{Resource, SealKeys, Sealable, SessionKeys};
use terrace_core::auth::login::{
    BrowserSession, ClientDocument, ClientRequest, Code, CodeHolder, Consent, GitHubList,
    GitHubMembers, PendingToken, Person, ProviderAnswer, Recipient, ReturnPath, Terminal,
    TokenClient, TokenRequest,
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
        if let Some(holder) = holder(&request) {
            let code = Code {
                holder,
                challenge: request.verifier.challenge(),
                token: token.clone(),
            };
            assert_eq!(again(&seals, &code), code);
            let redeemed = code.redeem(&request).map(|(token, _)| token);
            assert_eq!(redeemed.as_ref(), Ok(&token));
        }
    }
    let Some(sent) = text(sent) else { return };
    client(&seals, sent, said, &token);
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
            recipient: Recipient::Terminal(terminal),
            browser,
            token,
        };
        assert_eq!(again(&seals, &consent), consent);
    }
}

/// Returns a holder that may redeem its code by this request, if any request of its kind may.
fn holder(request: &TokenRequest) -> Option<CodeHolder> {
    Some(match &request.client {
        TokenClient::Terminal(port) => CodeHolder::Terminal(*port),
        TokenClient::Client {
            id,
            redirect,
            resource: None,
        } => CodeHolder::Client {
            id: id.clone(),
            redirect: redirect.clone()?,
            resource: Resource::new("https://registry.example.com", "/mcp"),
        },
        TokenClient::Client { .. } => return None,
    })
}

/// Parses the query of an OAuth client and its document.
fn client(seals: &SealKeys, query: &str, document: &[u8], token: &PendingToken) {
    let hosts = ["app.example.com".parse().expect("a host")];
    let resources = [Resource::new("https://registry.example.com", "/mcp")];
    let Ok(client) = ClientRequest::parse(query, &hosts, &resources) else {
        return;
    };
    assert!(client.id.as_str().starts_with("https://app.example.com/"));
    let document = ClientDocument::parse(200, Some("application/json"), document);
    if let Ok(name) = document.and_then(|it| it.allow(&client.id, &client.redirect)) {
        assert_eq!(name.to_string().parse().as_ref(), Ok(&name));
    }
    let recipient = Recipient::Client(Box::new(client));
    let url = recipient.redirect_to("a.b", "https://registry.example.com");
    let hosts = ["127.0.0.1", "[::1]", "localhost"];
    assert!(
        hosts
            .iter()
            .any(|host| url.starts_with(&format!("http://{host}")))
    );
    let consent = Consent {
        recipient,
        browser: BrowserSession::new([7; 16]).binding(),
        token: token.clone(),
    };
    assert_eq!(again(seals, &consent), consent);
}

/// Seals a value and opens it again.
fn again<T: Sealable>(seals: &SealKeys, what: &T) -> T {
    seals.open(&seals.seal(what, NOW), NOW).expect("ours").0
}
