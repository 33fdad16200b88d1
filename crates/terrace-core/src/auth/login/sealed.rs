//! The state that is carried through the browser during a sign-in, and stored nowhere.

use std::str::FromStr;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use subtle::ConstantTimeEq as _;

use super::client::{ClientId, LoopbackRedirect};
use super::exchange::{RedemptionError, TokenRequest};
use super::recipient::CLIENT;
use super::{Challenge, Person, Port, Recipient, ReturnPath};
use crate::auth::access::{Resource, Scopes, SealKey, Sealable};
use crate::auth::login::SIGN_IN_SECONDS;
use crate::http::cookie::cookie;
use crate::model::token_id::TokenId;
use terrace_base::digest::Sha256;

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
    Token(Recipient),
    /// A session of the browser, which then shows this page.
    Page(ReturnPath),
}

/// A request for a person's consent. It is part of the form that they submit, so that an attacker cannot make
/// them submit another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Consent {
    /// The program that waits for the token.
    pub recipient: Recipient,
    /// The browser that shows the form.
    pub browser: SessionBinding,
    /// The token to allow; at most one is created.
    pub token: PendingToken,
}

/// The code that a program redeems for its token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Code {
    /// The program that may redeem it.
    pub holder: CodeHolder,
    /// The challenge that the program's verifier must match.
    pub challenge: Challenge,
    /// The token to create.
    pub token: PendingToken,
}

/// The program that may redeem a code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CodeHolder {
    /// A terminal, which listens on this port.
    Terminal(Port),
    /// An OAuth client.
    Client {
        /// Its ID.
        id: ClientId,
        /// The URL at which it waits.
        redirect: LoopbackRedirect,
        /// The only resource that its token is for.
        resource: Resource,
    },
}

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

/// The line in place of a terminal's port in the state of a sign-in for a page.
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
    pub fn nonce(&self, key: &SealKey) -> String {
        key.derive("nonce", &self.0)
    }

    /// Returns the PKCE verifier for this sign-in, which only the registry can compute (RFC 7636).
    pub fn verifier(&self, key: &SealKey) -> Option<super::Verifier> {
        key.derive("verifier", &self.0).parse().ok()
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

    /// Returns the recipient, and the code that it gets after consent.
    pub fn into_code(self) -> (Recipient, Code) {
        let (holder, challenge) = self.recipient.clone().into_holder();
        let code = Code {
            holder,
            challenge,
            token: self.token,
        };
        (self.recipient, code)
    }
}

impl Code {
    /// Returns the token if this request may redeem the code (RFC 6749, section 4.1.3; RFC 7636, section
    /// 4.6), and the only resource that it is for, if it is that of an OAuth client.
    ///
    /// # Errors
    /// If the code belongs to another client.
    pub fn redeem(
        self,
        request: &TokenRequest,
    ) -> Result<(PendingToken, Option<Resource>), RedemptionError> {
        request.client.check(&self.holder)?;
        if !self.challenge.is_of(&request.verifier) {
            return Err(RedemptionError::OtherVerifier);
        }
        Ok((self.token, self.holder.into_resource()))
    }
}

impl Sealable for SignInState {
    const PURPOSE: &'static str = "sign-in";

    fn lines(&self) -> Vec<String> {
        let mut lines = vec![self.browser.0.clone()];
        match &self.purpose {
            SignInPurpose::Token(recipient) => lines.extend(recipient.lines()),
            SignInPurpose::Page(path) => lines.extend([PAGE.to_owned(), path.to_string()]),
        }
        lines
    }

    fn parse<'l>(mut lines: impl Iterator<Item = &'l str>) -> Option<Self> {
        let browser = SessionBinding(lines.next()?.to_owned());
        let purpose = match lines.next()? {
            PAGE => SignInPurpose::Page(next(&mut lines)?),
            first => SignInPurpose::Token(Recipient::read(first, &mut lines)?),
        };
        Some(Self { purpose, browser })
    }
}

impl Sealable for Consent {
    const PURPOSE: &'static str = "consent";

    fn lines(&self) -> Vec<String> {
        let mut lines = vec![self.browser.0.clone()];
        lines.extend(self.recipient.lines());
        lines.extend(token_lines(&self.token));
        lines
    }

    fn parse<'l>(mut lines: impl Iterator<Item = &'l str>) -> Option<Self> {
        Some(Self {
            browser: SessionBinding(lines.next()?.to_owned()),
            recipient: Recipient::read(lines.next()?, &mut lines)?,
            token: read_token(&mut lines)?,
        })
    }
}

impl Sealable for Code {
    const PURPOSE: &'static str = "code";

    fn lines(&self) -> Vec<String> {
        let mut lines = self.holder.lines();
        lines.push(self.challenge.to_string());
        lines.extend(token_lines(&self.token));
        lines
    }

    fn parse<'l>(mut lines: impl Iterator<Item = &'l str>) -> Option<Self> {
        Some(Self {
            holder: CodeHolder::read(&mut lines)?,
            challenge: next(&mut lines)?,
            token: read_token(&mut lines)?,
        })
    }
}

impl CodeHolder {
    fn into_resource(self) -> Option<Resource> {
        match self {
            Self::Terminal(_) => None,
            Self::Client { resource, .. } => Some(resource),
        }
    }

    fn lines(&self) -> Vec<String> {
        match self {
            Self::Terminal(port) => vec![port.to_string()],
            Self::Client {
                id,
                redirect,
                resource,
            } => vec![
                CLIENT.to_owned(),
                id.to_string(),
                redirect.to_string(),
                resource.to_string(),
            ],
        }
    }

    fn read<'l>(lines: &mut impl Iterator<Item = &'l str>) -> Option<Self> {
        Some(match lines.next()? {
            CLIENT => Self::Client {
                id: next(lines)?,
                redirect: next(lines)?,
                resource: next(lines)?,
            },
            port => Self::Terminal(port.parse().ok()?),
        })
    }
}

fn token_lines(token: &PendingToken) -> [String; 4] {
    let Person { name, account } = &token.person;
    let (id, scopes) = (token.id, &token.scopes);
    [
        id.to_string(),
        scopes.to_string(),
        name.to_string(),
        account.to_string(),
    ]
}

fn read_token<'l>(lines: &mut impl Iterator<Item = &'l str>) -> Option<PendingToken> {
    Some(PendingToken {
        id: next(lines)?,
        scopes: next(lines)?,
        person: Person {
            name: next(lines)?,
            account: next(lines)?,
        },
    })
}

pub(super) fn next<'l, T: FromStr>(lines: &mut impl Iterator<Item = &'l str>) -> Option<T> {
    lines.next()?.parse().ok()
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
    use crate::auth::login::{ClientRequest, Terminal, TokenClient};
    use terrace_base::secret::Secret;
    use terrace_base::time::UnixTime;

    const NOW: UnixTime = UnixTime(1_800_000_000);

    fn seals() -> SealKeys {
        SealKeys::new(&Secret::new("0123456789abcdef"), None)
    }

    fn browser() -> BrowserSession {
        BrowserSession::new([7; 16])
    }

    fn terminal() -> Recipient {
        let query = "client_id=terraform-cli&response_type=code&code_challenge_method=S256\
            &redirect_uri=http://localhost:10003/login&state=a%20state\
            &code_challenge=E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";
        Recipient::Terminal(Terminal::parse(query).unwrap())
    }

    fn client() -> Recipient {
        let query = "client_id=https://app.example.com/client.json&response_type=code&code_challenge_method=S256\
            &redirect_uri=http://127.0.0.1:33418/callback&state=a%20state&resource=https://registry.example.com/mcp\
            &code_challenge=E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";
        let hosts = ["app.example.com".parse().unwrap()];
        let resources = [Resource::new("https://registry.example.com", "/mcp")];
        let client = ClientRequest::parse(query, &hosts, &resources).unwrap();
        Recipient::Client(Box::new(client))
    }

    fn consent() -> Consent {
        Consent {
            recipient: terminal(),
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

    fn request(port: u16, verifier: &str) -> TokenRequest {
        TokenRequest {
            code: String::new(),
            verifier: verifier.parse().unwrap(),
            client: TokenClient::Terminal(
                format!("http://localhost:{port}/login").parse().unwrap(),
            ),
        }
    }

    fn of_client(id: &str, redirect: Option<&str>, resource: Option<&str>) -> TokenRequest {
        TokenRequest {
            client: TokenClient::Client {
                id: id.parse().unwrap(),
                redirect: redirect.map(|it| it.parse().unwrap()),
                resource: resource.map(str::to_owned),
            },
            ..request(10_003, "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk")
        }
    }

    #[test]
    fn all_three_sealed_types_open_as_themselves_only() {
        for recipient in [terminal(), client()] {
            let consent = Consent {
                recipient,
                ..consent()
            };
            opens_as_itself(&consent);
        }
    }

    fn opens_as_itself(consent: &Consent) {
        let seals = seals();
        let state = SignInState {
            purpose: SignInPurpose::Token(consent.recipient.clone()),
            browser: browser().binding(),
        };
        let (_, code) = consent.clone().into_code();
        let texts = [
            seals.seal(&state, NOW),
            seals.seal(consent, NOW),
            seals.seal(&code, NOW),
        ];
        assert_eq!(seals.open::<SignInState>(&texts[0], NOW).unwrap().0, state);
        assert_eq!(seals.open::<Consent>(&texts[1], NOW).unwrap().0, *consent);
        assert_eq!(seals.open::<Code>(&texts[2], NOW).unwrap().0, code);
        for (at, text) in texts.iter().enumerate() {
            let opened = [
                seals.open::<SignInState>(text, NOW).is_ok(),
                seals.open::<Consent>(text, NOW).is_ok(),
                seals.open::<Code>(text, NOW).is_ok(),
            ];
            assert_eq!(opened, [at == 0, at == 1, at == 2]);
        }
        let stale = seals
            .open::<Code>(&texts[2], NOW.plus(1))
            .map(|(code, _)| code);
        assert_eq!(stale, Err(SealError::Stale(NOW)));
    }

    /// These texts are stored nowhere, but a sign-in may start with one version of the Worker and end with
    /// the next.
    #[test]
    fn the_sealed_texts_are_pinned() {
        let said = |lines: Vec<String>| lines.join("\n");
        let mark = browser().binding().0;
        let terminal =
            "http://localhost:10003/login\nE9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM\na state";
        let token = "0123456789abcdef\nread publish:acme\nann@acme.example\n248289761001";
        let of = |purpose| SignInState {
            purpose,
            browser: browser().binding(),
        };
        let state = of(SignInPurpose::Token(self::terminal()));
        assert_eq!(said(state.lines()), format!("{mark}\n{terminal}"));
        let page = of(SignInPurpose::Page("/search?q=vpc".parse().unwrap()));
        assert_eq!(said(page.lines()), format!("{mark}\npage\n/search?q=vpc"));
        assert_eq!(
            said(consent().lines()),
            format!("{mark}\n{terminal}\n{token}")
        );
        let (port, challenge) = (
            "http://localhost:10003/login",
            "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM",
        );
        let code = consent().into_code().1;
        assert_eq!(said(code.lines()), format!("{port}\n{challenge}\n{token}"));
        let (id, redirect, resource) = (
            "client\nhttps://app.example.com/client.json",
            "http://127.0.0.1:33418/callback",
            "https://registry.example.com/mcp",
        );
        let client = Consent {
            recipient: client(),
            ..consent()
        };
        assert_eq!(
            said(client.lines()),
            format!("{mark}\n{id}\n{redirect}\n{challenge}\n{resource}\na state\n{token}")
        );
        let code = client.into_code().1;
        assert_eq!(
            said(code.lines()),
            format!("{id}\n{redirect}\n{resource}\n{challenge}\n{token}")
        );
    }

    #[test]
    fn the_state_of_a_sign_in_for_a_page_returns_only_to_a_path_of_this_registry() {
        let path: ReturnPath = "/search?q=vpc".parse().unwrap();
        let state = SignInState {
            purpose: SignInPurpose::Page(path),
            browser: browser().binding(),
        };
        let text = seals().seal(&state, NOW);
        assert_eq!(seals().open::<SignInState>(&text, NOW).unwrap().0, state);
        for lines in [
            vec!["x", "page", "//evil.example"],
            vec!["x", "page"],
            vec!["x", "http://localhost:10003/login", "/"],
            vec!["x"],
        ] {
            assert_eq!(SignInState::parse(lines.into_iter()), None);
        }
    }

    #[test]
    fn a_code_is_bound_to_one_port_and_one_verifier() {
        let verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
        let code = consent().into_code().1;
        let redeemed = code.clone().redeem(&request(10_003, verifier)).unwrap();
        assert_eq!(redeemed, (consent().token, None));
        let other = code.clone().redeem(&request(10_004, verifier));
        assert_eq!(other, Err(RedemptionError::OtherPort));
        let other = code.redeem(&request(10_003, &verifier.replace('d', "e")));
        assert_eq!(other, Err(RedemptionError::OtherVerifier));
    }

    #[test]
    fn a_code_is_bound_to_one_client_its_redirect_and_its_resource() {
        const ID: &str = "https://app.example.com/client.json";
        const REDIRECT: &str = "http://127.0.0.1:33418/callback";
        const RESOURCE: &str = "https://registry.example.com/mcp";
        let consent = Consent {
            recipient: client(),
            ..consent()
        };
        let redeem = |request: &TokenRequest| consent.clone().into_code().1.redeem(request);
        let expected = (
            consent.token.clone(),
            Some(Resource::new("https://registry.example.com", "/mcp")),
        );
        for (redirect, resource) in [(Some(REDIRECT), Some(RESOURCE)), (None, None)] {
            let redeemed = redeem(&of_client(ID, redirect, resource));
            assert_eq!(redeemed, Ok(expected.clone()));
        }
        for (id, redirect, resource, error) in [
            (
                "https://app.example.com/other",
                REDIRECT,
                RESOURCE,
                RedemptionError::OtherClient,
            ),
            (
                ID,
                "http://127.0.0.1:33419/callback",
                RESOURCE,
                RedemptionError::OtherPort,
            ),
            (
                ID,
                REDIRECT,
                "https://registry.example.com/mcp/private",
                RedemptionError::OtherResource,
            ),
        ] {
            let redeemed = redeem(&of_client(id, Some(redirect), Some(resource)));
            assert_eq!(redeemed, Err(error));
        }
        let verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
        let by_terminal = redeem(&request(10_003, verifier));
        assert_eq!(by_terminal, Err(RedemptionError::OtherClient));
        let of_terminal = self::consent().into_code().1;
        let by_client = of_terminal.redeem(&of_client(ID, Some(REDIRECT), None));
        assert_eq!(by_client, Err(RedemptionError::OtherClient));
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
