//! What travels along while somebody signs in, and is stored nowhere.

use std::str::FromStr;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use subtle::ConstantTimeEq as _;

use super::exchange::{RedemptionError, TokenRequest};
use super::{Challenge, Person, Port, Terminal};
use crate::auth::access::{Scopes, SealKey, Sealable};
use crate::limits;
use crate::model::token_id::TokenId;
use terrace_base::digest::Sha256;

/// A browser in which somebody signs in: what only it knows, by its cookie.
#[derive(Clone, PartialEq, Eq)]
pub struct Browser(String);

/// What is told of a [`Browser`]: enough to know it again, and not to be it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BrowserMark(String);

/// Our `state` at the provider: that a sign-in was begun here, by which browser, and for which terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignInState {
    /// Who waits.
    pub terminal: Terminal,
    /// Where it was begun.
    pub browser: BrowserMark,
}

/// What a person is asked to allow. It is in the form that they send, so that nobody can make them send
/// another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Consent {
    /// Who waits.
    pub terminal: Terminal,
    /// Where they were asked.
    pub browser: BrowserMark,
    /// The token that they allow, of which there will be one at most.
    pub token: Allowed,
}

/// What a terminal gets its token for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Code {
    /// Where the terminal listens.
    pub port: Port,
    /// What it proves itself by.
    pub challenge: Challenge,
    /// The token that it is for.
    pub token: Allowed,
}

/// A token that does not exist yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Allowed {
    /// What it will be called among all tokens. Its document is created once: so that whatever leads to it
    /// is good once, and a second use knows which token to revoke.
    pub id: TokenId,
    /// Whose it is.
    pub person: Person,
    /// What it is good for.
    pub scopes: Scopes,
}

/// The prefix keeps others than this host from setting it, and makes it secure
/// (<https://developer.mozilla.org/docs/Web/HTTP/Reference/Headers/Set-Cookie>).
const COOKIE: &str = "__Host-terrace-sign-in";

impl Browser {
    /// Another one.
    pub fn new(random: [u8; 16]) -> Self {
        Self(URL_SAFE_NO_PAD.encode(random))
    }

    /// The one that sends these cookies.
    pub fn of_cookies(header: &str) -> Option<Self> {
        let mut pairs = header
            .split(';')
            .filter_map(|pair| pair.trim().split_once('='));
        let (_, value) = pairs.find(|(name, _)| *name == COOKIE)?;
        Some(Self(value.to_owned()))
    }

    /// The cookie that makes a browser this one.
    pub fn cookie(&self) -> String {
        // First for the provider, then for the question.
        let (value, seconds) = (&self.0, 2 * limits::SIGN_IN_SECONDS);
        // Lax: it must come along when the provider sends somebody back.
        format!("{COOKIE}={value}; Path=/; Max-Age={seconds}; Secure; HttpOnly; SameSite=Lax")
    }

    /// What may be told of it.
    pub fn mark(&self) -> BrowserMark {
        BrowserMark(Sha256::of(self.0.as_bytes()).to_string())
    }

    /// What the provider has to put into its token for this sign-in, so that no other token will do
    /// (OpenID Connect Core, section 3.1.2.1).
    pub fn nonce(&self, key: &SealKey) -> String {
        key.derive("nonce", &self.0)
    }

    /// What only we can tell the provider of this sign-in (RFC 7636).
    pub fn verifier(&self, key: &SealKey) -> Option<super::Verifier> {
        key.derive("verifier", &self.0).parse().ok()
    }
}

impl BrowserMark {
    /// Whether this is the browser.
    pub fn is_of(&self, browser: &Browser) -> bool {
        self.0.as_bytes().ct_eq(browser.mark().0.as_bytes()).into()
    }
}

impl Consent {
    /// The same for a token that only reads.
    pub fn to_read(mut self) -> Self {
        self.token.scopes = self.token.scopes.to_read();
        self
    }

    /// What a terminal gets if it is given.
    pub fn into_code(self) -> (Terminal, Code) {
        let code = Code {
            port: self.terminal.port,
            challenge: self.terminal.challenge.clone(),
            token: self.token,
        };
        (self.terminal, code)
    }
}

impl Code {
    /// What it is good for, to whoever sends this request (RFC 6749, section 4.1.3; RFC 7636, section 4.6).
    ///
    /// # Errors
    /// That it is not theirs.
    pub fn redeem(self, request: &TokenRequest) -> Result<Allowed, RedemptionError> {
        if self.port != request.port {
            return Err(RedemptionError::OtherPort);
        }
        if !self.challenge.is_of(&request.verifier) {
            return Err(RedemptionError::OtherVerifier);
        }
        Ok(self.token)
    }
}

impl Sealable for SignInState {
    const PURPOSE: &'static str = "sign-in";

    fn lines(&self) -> Vec<String> {
        let mut lines = vec![self.browser.0.clone()];
        lines.extend(terminal_lines(&self.terminal));
        lines
    }

    fn parse<'l>(mut lines: impl Iterator<Item = &'l str>) -> Option<Self> {
        Some(Self {
            browser: BrowserMark(lines.next()?.to_owned()),
            terminal: read_terminal(&mut lines)?,
        })
    }
}

impl Sealable for Consent {
    const PURPOSE: &'static str = "consent";

    fn lines(&self) -> Vec<String> {
        let mut lines = vec![self.browser.0.clone()];
        lines.extend(terminal_lines(&self.terminal));
        lines.extend(token_lines(&self.token));
        lines
    }

    fn parse<'l>(mut lines: impl Iterator<Item = &'l str>) -> Option<Self> {
        Some(Self {
            browser: BrowserMark(lines.next()?.to_owned()),
            terminal: read_terminal(&mut lines)?,
            token: read_token(&mut lines)?,
        })
    }
}

impl Sealable for Code {
    const PURPOSE: &'static str = "code";

    fn lines(&self) -> Vec<String> {
        let mut lines = vec![self.port.to_string(), self.challenge.to_string()];
        lines.extend(token_lines(&self.token));
        lines
    }

    fn parse<'l>(mut lines: impl Iterator<Item = &'l str>) -> Option<Self> {
        Some(Self {
            port: next(&mut lines)?,
            challenge: next(&mut lines)?,
            token: read_token(&mut lines)?,
        })
    }
}

fn terminal_lines(terminal: &Terminal) -> [String; 3] {
    let Terminal {
        port,
        state,
        challenge,
    } = terminal;
    [port.to_string(), challenge.to_string(), state.to_string()]
}

fn read_terminal<'l>(lines: &mut impl Iterator<Item = &'l str>) -> Option<Terminal> {
    Some(Terminal {
        port: next(lines)?,
        challenge: next(lines)?,
        state: next(lines)?,
    })
}

fn token_lines(token: &Allowed) -> [String; 4] {
    let Person { name, account } = &token.person;
    let (id, scopes) = (token.id, &token.scopes);
    [
        id.to_string(),
        scopes.to_string(),
        name.to_string(),
        account.to_string(),
    ]
}

fn read_token<'l>(lines: &mut impl Iterator<Item = &'l str>) -> Option<Allowed> {
    Some(Allowed {
        id: next(lines)?,
        scopes: next(lines)?,
        person: Person {
            name: next(lines)?,
            account: next(lines)?,
        },
    })
}

fn next<'l, T: FromStr>(lines: &mut impl Iterator<Item = &'l str>) -> Option<T> {
    lines.next()?.parse().ok()
}

impl std::fmt::Debug for Browser {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Browser(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::auth::access::{SealError, Seals};
    use terrace_base::secret::Secret;
    use terrace_base::time::UnixTime;

    const NOW: UnixTime = UnixTime(1_800_000_000);

    fn seals() -> Seals {
        Seals::new(&Secret::new("0123456789abcdef"), None)
    }

    fn browser() -> Browser {
        Browser::new([7; 16])
    }

    fn terminal() -> Terminal {
        let query = "client_id=terraform-cli&response_type=code&code_challenge_method=S256\
            &redirect_uri=http://localhost:10003/login&state=a%20state\
            &code_challenge=E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";
        Terminal::parse(query).unwrap()
    }

    fn consent() -> Consent {
        Consent {
            terminal: terminal(),
            browser: browser().mark(),
            token: Allowed {
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
            port: format!("http://localhost:{port}/login").parse().unwrap(),
        }
    }

    #[test]
    fn all_three_read_back_and_none_is_another() {
        let (seals, consent) = (seals(), consent());
        let state = SignInState {
            terminal: terminal(),
            browser: browser().mark(),
        };
        let (_, code) = consent.clone().into_code();
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
        let stale = seals
            .open::<Code>(&texts[2], NOW.plus(1))
            .map(|(code, _)| code);
        assert_eq!(stale, Err(SealError::Stale(NOW)));
    }

    /// They are in nobody's bucket, but a sign-in may begin with one version of the Worker and end with the
    /// next.
    #[test]
    fn what_travels_along_is_pinned() {
        let said = |lines: Vec<String>| lines.join("\n");
        let mark = browser().mark().0;
        let terminal =
            "http://localhost:10003/login\nE9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM\na state";
        let token = "0123456789abcdef\nread publish:acme\nann@acme.example\n248289761001";
        let state = SignInState {
            terminal: self::terminal(),
            browser: browser().mark(),
        };
        assert_eq!(said(state.lines()), format!("{mark}\n{terminal}"));
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
    }

    #[test]
    fn a_code_is_for_one_port_and_one_verifier() {
        let verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
        let code = consent().into_code().1;
        let redeemed = code.clone().redeem(&request(10_003, verifier)).unwrap();
        assert_eq!(redeemed, consent().token);
        let other = code.clone().redeem(&request(10_004, verifier));
        assert_eq!(other, Err(RedemptionError::OtherPort));
        let other = code.redeem(&request(10_003, &verifier.replace('d', "e")));
        assert_eq!(other, Err(RedemptionError::OtherVerifier));
    }

    #[test]
    fn a_browser_is_known_by_its_cookie_alone() {
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
            let sent = Browser::of_cookies(&header).unwrap();
            assert!(browser.mark().is_of(&sent), "{header}");
        }
        for header in ["", "a", "terrace-sign-in=BwcHBwcHBwcHBwcHBwcHBw"] {
            assert!(Browser::of_cookies(header).is_none(), "{header}");
        }
        for header in ["__Host-terrace-sign-in=", "__Host-terrace-sign-in=x"] {
            let other = Browser::of_cookies(header).unwrap();
            assert!(!browser.mark().is_of(&other), "{header}");
        }
        assert!(!format!("{browser:?}").contains("Bw"));
    }

    #[test]
    fn nonce_and_verifier_belong_to_one_browser() {
        let (seals, other) = (seals(), Browser::new([8; 16]));
        let key = seals.newest();
        assert_ne!(browser().nonce(key), other.nonce(key));
        let verifier = browser().verifier(key).unwrap();
        assert_ne!(browser().nonce(key), verifier.as_str());
        assert!(verifier.challenge().is_of(&verifier));
    }
}
