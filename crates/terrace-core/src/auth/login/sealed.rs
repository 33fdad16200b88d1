//! The state that is carried through the browser during a sign-in, and stored nowhere.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use subtle::ConstantTimeEq as _;

use super::authorization::{Authorization, Client};
use super::pkce::Verifier;
use super::token_request::{RESOURCE, RedemptionError, TokenRequest};
use super::{Person, ReturnPath};
use crate::auth::access::{Resource, Scopes, Sealable};
use crate::auth::login::SIGN_IN_SECONDS;
use crate::http::cookie::cookie;
use crate::model::token_id::TokenId;
use terrace_base::digest::Sha256;
use terrace_base::mac::MacKey;

/// The browser of a sign-in, identified by a secret in its cookie.
#[derive(Clone, PartialEq, Eq)]
pub struct BrowserSession(String);

/// The public binding of a [`BrowserSession`]: it suffices to recognise the browser, but not to impersonate it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionBinding(String);

/// The `state` sent to the provider: it proves that the sign-in was started here, by this browser and for
/// this purpose.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignInState {
    /// The purpose.
    pub purpose: SignInPurpose,
    /// The browser in which the sign-in was started.
    pub browser: SessionBinding,
}

/// The purpose of a sign-in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SignInPurpose {
    /// A token for a program that waits for it.
    Token(Box<Authorization>),
    /// A session of the browser, which then shows this page.
    Page(ReturnPath),
}

/// A request for a person's consent. It is part of the form that they submit, so that an attacker cannot make
/// them submit another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Consent {
    /// The request of the program that waits for the token.
    pub authorization: Authorization,
    /// The browser that shows the form.
    pub browser: SessionBinding,
    /// The token to allow; at most one is created.
    pub token: PendingToken,
}

/// The code that a program redeems for its token: a consent that was given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Code(pub Consent);

/// A token that has not been created yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PendingToken {
    /// The ID of the future token. Its document is created once, so that each code and consent works once,
    /// and a second use reveals which token to revoke.
    pub id: TokenId,
    /// The person who gets the token.
    pub person: Person,
    /// The scopes of the token.
    pub scopes: Scopes,
}

/// The line in place of a client's ID in the state of a sign-in for a page.
const PAGE: &str = "page";

/// The name of the cookie. Its prefix prevents other hosts from setting it, and requires `Secure`
/// (<https://developer.mozilla.org/docs/Web/HTTP/Reference/Headers/Set-Cookie>).
const COOKIE: &str = "__Host-terrace-sign-in";

impl BrowserSession {
    /// Creates a new identity for a browser.
    pub fn new(random: [u8; 16]) -> Self {
        Self(URL_SAFE_NO_PAD.encode(random))
    }

    /// Returns the browser that these cookies identify.
    pub fn of_cookies(header: &str) -> Option<Self> {
        cookie(header, COOKIE).map(|value| Self(value.to_owned()))
    }

    /// Returns the `Set-Cookie` value that identifies the browser.
    pub fn cookie(&self) -> String {
        // Once for the provider's page, and once for the consent page.
        let (value, seconds) = (&self.0, 2 * SIGN_IN_SECONDS);
        // Lax: the browser must send it when the provider redirects back.
        format!("{COOKIE}={value}; Path=/; Max-Age={seconds}; Secure; HttpOnly; SameSite=Lax")
    }

    /// Returns the public binding of the browser.
    pub fn binding(&self) -> SessionBinding {
        SessionBinding(Sha256::of(self.0.as_bytes()).to_string())
    }

    /// Returns the nonce that the provider must put into its token for this sign-in, so that no other token
    /// is accepted (OpenID Connect Core, section 3.1.2.1).
    pub fn nonce(&self, key: &MacKey) -> String {
        self.derived(key, "nonce")
    }

    /// Returns the PKCE verifier for this sign-in, which only the registry can compute (RFC 7636).
    pub fn verifier(&self, key: &MacKey) -> Option<Verifier> {
        self.derived(key, "verifier").parse().ok()
    }

    /// Returns a value for this browser that only the registry can compute, in 43 characters of base64url.
    fn derived(&self, key: &MacKey, label: &str) -> String {
        URL_SAFE_NO_PAD.encode(key.sign(format!("{label}\n{}", self.0).as_bytes()))
    }
}

impl SessionBinding {
    /// Returns whether this is the binding of `browser`.
    pub fn is_of(&self, browser: &BrowserSession) -> bool {
        self.0
            .as_bytes()
            .ct_eq(browser.binding().0.as_bytes())
            .into()
    }
}

impl Consent {
    /// Limits the token to reading.
    pub fn to_read(mut self) -> Self {
        self.token.scopes = self.token.scopes.to_read();
        self
    }
}

impl Code {
    /// Returns the token if this request may redeem the code (RFC 6749, section 4.1.3; RFC 7636, section
    /// 4.6), and the only resource that it is for, if it is that of an application.
    ///
    /// # Errors
    /// If the code belongs to another program.
    pub fn redeem(
        self,
        request: &TokenRequest,
    ) -> Result<(PendingToken, Option<Resource>), RedemptionError> {
        let Self(Consent {
            authorization,
            token,
            ..
        }) = self;
        let resource = match (authorization.client, &request.client) {
            (Client::Terminal, None) => None,
            (Client::Application { id, resource }, Some(asking)) if id == *asking => Some(resource),
            _ => return Err(RedemptionError::Other("client_id")),
        };
        if request
            .redirect
            .as_ref()
            .is_some_and(|it| *it != authorization.redirect)
        {
            return Err(RedemptionError::Other("redirect_uri"));
        }
        if let (Some(resource), Some(asked)) = (&resource, &request.resource)
            && !resource.is(asked)
        {
            return Err(RedemptionError::Other(RESOURCE));
        }
        match authorization.challenge.is_of(&request.verifier) {
            true => Ok((token, resource)),
            false => Err(RedemptionError::Other("code_verifier")),
        }
    }
}

impl Sealable for SignInState {
    const PURPOSE: &'static str = "sign-in";

    fn lines(&self) -> Vec<String> {
        let mut lines = vec![self.browser.0.clone()];
        match &self.purpose {
            SignInPurpose::Token(authorization) => lines.extend(authorization.lines()),
            SignInPurpose::Page(path) => lines.extend([PAGE.to_owned(), path.to_string()]),
        }
        lines
    }

    fn parse<'l>(mut lines: impl Iterator<Item = &'l str>) -> Option<Self> {
        let browser = SessionBinding(lines.next()?.to_owned());
        let purpose = match lines.next()? {
            PAGE => SignInPurpose::Page(lines.next()?.parse().ok()?),
            id => SignInPurpose::Token(Box::new(Authorization::read(id, &mut lines)?)),
        };
        Some(Self { purpose, browser })
    }
}

impl Sealable for Consent {
    const PURPOSE: &'static str = "consent";

    fn lines(&self) -> Vec<String> {
        let PendingToken { id, person, scopes } = &self.token;
        let mut lines = vec![self.browser.0.clone()];
        lines.extend(self.authorization.lines());
        lines.extend([
            id.to_string(),
            scopes.to_string(),
            person.name.to_string(),
            person.account.to_string(),
        ]);
        lines
    }

    fn parse<'l>(mut lines: impl Iterator<Item = &'l str>) -> Option<Self> {
        Some(Self {
            browser: SessionBinding(lines.next()?.to_owned()),
            authorization: Authorization::read(lines.next()?, &mut lines)?,
            token: PendingToken {
                id: lines.next()?.parse().ok()?,
                scopes: lines.next()?.parse().ok()?,
                person: Person {
                    name: lines.next()?.parse().ok()?,
                    account: lines.next()?.parse().ok()?,
                },
            },
        })
    }
}

impl Sealable for Code {
    const PURPOSE: &'static str = "code";

    fn lines(&self) -> Vec<String> {
        self.0.lines()
    }

    fn parse<'l>(lines: impl Iterator<Item = &'l str>) -> Option<Self> {
        Consent::parse(lines).map(Self)
    }
}

impl std::fmt::Debug for BrowserSession {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("BrowserSession(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::auth::access::{SealError, SealKeys};
    use crate::auth::login::authorization::tests::{APPLICATION, TERMINAL, parse};
    use terrace_base::secret::Secret;
    use terrace_base::time::UnixTime;

    const NOW: UnixTime = UnixTime(1_800_000_000);

    /// The example of RFC 7636, appendix B.
    const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";

    fn seals() -> SealKeys {
        SealKeys::new(&Secret::new("0123456789abcdef"), None)
    }

    fn browser() -> BrowserSession {
        BrowserSession::new([7; 16])
    }

    fn consent(query: &str) -> Consent {
        Consent {
            authorization: parse(query).unwrap(),
            browser: browser().binding(),
            token: PendingToken {
                id: "0123456789abcdef".parse().unwrap(),
                person: Person {
                    name: "ann@acme.example".parse().unwrap(),
                    account: "248289761001".parse().unwrap(),
                },
                scopes: "read publish:acme".parse().unwrap(),
            },
        }
    }

    fn request(
        client: Option<&str>,
        redirect: Option<&str>,
        resource: Option<&str>,
    ) -> TokenRequest {
        TokenRequest {
            code: String::new(),
            verifier: VERIFIER.parse().unwrap(),
            client: client.map(|it| it.parse().unwrap()),
            redirect: redirect.map(|it| it.parse().unwrap()),
            resource: resource.map(str::to_owned),
        }
    }

    #[test]
    fn all_three_sealed_types_open_as_themselves_only() {
        for query in [TERMINAL, APPLICATION] {
            let (seals, consent) = (seals(), consent(query));
            let state = SignInState {
                purpose: SignInPurpose::Token(Box::new(consent.authorization.clone())),
                browser: browser().binding(),
            };
            let code = Code(consent.clone());
            let texts = [
                seals.seal(&state, NOW),
                seals.seal(&consent, NOW),
                seals.seal(&code, NOW),
            ];
            assert_eq!(seals.open::<SignInState>(&texts[0], NOW).unwrap().0, state);
            assert_eq!(seals.open::<Consent>(&texts[1], NOW).unwrap().0, consent);
            assert_eq!(seals.open::<Code>(&texts[2], NOW).unwrap().0, code);
            for (at, text) in texts.iter().enumerate() {
                let opened = [
                    seals.open::<SignInState>(text, NOW).is_ok(),
                    seals.open::<Consent>(text, NOW).is_ok(),
                    seals.open::<Code>(text, NOW).is_ok(),
                ];
                assert_eq!(opened, [at == 0, at == 1, at == 2]);
            }
            let stale = seals.open::<Code>(&texts[2], NOW.plus(1));
            assert_eq!(stale.map(|(code, _)| code), Err(SealError::Stale(NOW)));
        }
    }

    /// These texts are stored nowhere, but a sign-in may start with one version of the Worker and end with
    /// the next.
    #[test]
    fn the_sealed_texts_are_pinned() {
        let mark = browser().binding().0;
        let state = "a \"state\nE9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";
        let terminal = format!("{mark}\nterraform-cli\n\nhttp://localhost:10003/login\n{state}");
        let application = format!(
            "{mark}\nhttps://app.example.com/oauth/client.json\nhttps://registry.example.com/mcp/private\n\
             http://127.0.0.1:33418/callback\n{state}"
        );
        let token = "0123456789abcdef\nread publish:acme\nann@acme.example\n248289761001";
        let of = |purpose| {
            let browser = browser().binding();
            SignInState { purpose, browser }.lines().join("\n")
        };
        for (query, begun) in [(TERMINAL, terminal), (APPLICATION, application)] {
            let consent = consent(query);
            let authorization = Box::new(consent.authorization.clone());
            assert_eq!(of(SignInPurpose::Token(authorization)), begun);
            let allowed = format!("{begun}\n{token}");
            assert_eq!(consent.lines().join("\n"), allowed);
            assert_eq!(Code(consent).lines().join("\n"), allowed);
        }
        let page = of(SignInPurpose::Page("/search?q=vpc".parse().unwrap()));
        assert_eq!(page, format!("{mark}\npage\n/search?q=vpc"));
    }

    #[test]
    fn the_state_of_a_sign_in_for_a_page_returns_only_to_a_path_of_this_registry() {
        let state = SignInState {
            purpose: SignInPurpose::Page("/search?q=vpc".parse().unwrap()),
            browser: browser().binding(),
        };
        let text = seals().seal(&state, NOW);
        assert_eq!(seals().open::<SignInState>(&text, NOW).unwrap().0, state);
        for lines in [
            vec!["x", "page", "//evil.example"],
            vec!["x", "page"],
            vec!["x", "terraform-cli", "/"],
            vec!["x"],
        ] {
            assert_eq!(SignInState::parse(lines.into_iter()), None);
        }
    }

    #[test]
    fn a_code_is_bound_to_one_program_its_redirect_its_resource_and_its_verifier() {
        const ID: Option<&str> = Some("https://app.example.com/oauth/client.json");
        const OTHER: Option<&str> = Some("https://app.example.com/other");
        const REDIRECT: Option<&str> = Some("http://127.0.0.1:33418/callback");
        const RESOURCE: &str = "https://registry.example.com/mcp/private";
        const PORT: Option<&str> = Some("http://localhost:10003/login");
        let [terminal, application] = [TERMINAL, APPLICATION].map(|query| Code(consent(query)));
        let token = consent(TERMINAL).token;
        let redeemed = terminal.clone().redeem(&request(None, PORT, Some("x")));
        assert_eq!(redeemed, Ok((token.clone(), None)));
        let resource = Resource::new(RESOURCE, "");
        for (redirect, asked) in [(REDIRECT, Some(RESOURCE)), (None, None)] {
            let redeemed = application.clone().redeem(&request(ID, redirect, asked));
            assert_eq!(redeemed, Ok((token.clone(), Some(resource.clone()))));
        }
        let elsewhere = Some("https://registry.example.com/mcp");
        for (code, request, error) in [
            (
                &terminal,
                request(None, Some("http://localhost:10004/login"), None),
                "redirect_uri",
            ),
            (&terminal, request(ID, REDIRECT, None), "client_id"),
            (&application, request(None, PORT, None), "client_id"),
            (&application, request(OTHER, REDIRECT, None), "client_id"),
            (
                &application,
                request(ID, Some("http://127.0.0.1:33419/callback"), None),
                "redirect_uri",
            ),
            (&application, request(ID, REDIRECT, elsewhere), "resource"),
        ] {
            let refused = RedemptionError::Other(error);
            assert_eq!(code.clone().redeem(&request), Err(refused));
        }
        for (code, request) in [
            (terminal, request(None, PORT, None)),
            (application, request(ID, None, None)),
        ] {
            let verifier = VERIFIER.replace('d', "e").parse().unwrap();
            let request = TokenRequest {
                verifier,
                ..request
            };
            let refused = RedemptionError::Other("code_verifier");
            assert_eq!(code.redeem(&request), Err(refused));
        }
    }

    #[test]
    fn a_browser_is_identified_by_its_cookie_alone() {
        let browser = browser();
        let cookie = browser.cookie();
        assert_eq!(
            cookie,
            "__Host-terrace-sign-in=BwcHBwcHBwcHBwcHBwcHBw; Path=/; Max-Age=1200; Secure; HttpOnly; SameSite=Lax"
        );
        let pair = cookie.split(';').next().unwrap();
        for header in [
            pair.to_owned(),
            format!("a=b; {pair}"),
            format!("{pair}; c=d"),
        ] {
            let sent = BrowserSession::of_cookies(&header).unwrap();
            assert!(browser.binding().is_of(&sent), "{header}");
        }
        for header in ["", "a", "terrace-sign-in=BwcHBwcHBwcHBwcHBwcHBw"] {
            assert!(BrowserSession::of_cookies(header).is_none(), "{header}");
        }
        for header in ["__Host-terrace-sign-in=", "__Host-terrace-sign-in=x"] {
            let other = BrowserSession::of_cookies(header).unwrap();
            assert!(!browser.binding().is_of(&other), "{header}");
        }
        assert!(!format!("{browser:?}").contains("Bw"));
    }

    #[test]
    fn nonce_and_verifier_are_bound_to_one_browser() {
        let (seals, other) = (seals(), BrowserSession::new([8; 16]));
        let key = seals.newest();
        assert_ne!(browser().nonce(key), other.nonce(key));
        let verifier = browser().verifier(key).unwrap();
        assert_ne!(browser().nonce(key), verifier.as_str());
        assert!(verifier.challenge().is_of(&verifier));
    }
}
