//! The waiting terminal: the authorization request of `terraform login` and `tofu login`.

use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::Digest as _;
use subtle::ConstantTimeEq as _;

use super::exchange::REFUSED;
use crate::http::form::{Form, encoded};

/// Maximum length of a client's `state`. Terraform and OpenTofu send a UUID.
const LOGIN_STATE_BYTES: usize = 256;

/// The client ID that discovery assigns to clients (clients.md 7.1).
pub const CLIENT_ID: &str = "terraform-cli";

/// The ports on which clients listen for their code (clients.md 7.3).
pub const PORTS: RangeInclusive<u16> = 10_000..=10_010;

/// A waiting terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Terminal {
    /// The port on which it listens.
    pub port: Port,
    /// The state to return, by which the client recognises its own sign-in.
    pub state: TerminalState,
    /// The challenge that its verifier must match.
    pub challenge: Challenge,
}

/// A port on which a client listens, on its user's machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Port(u16);

/// The `state` of a client, in printable ASCII (RFC 6749, appendix A.5).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TerminalState(String);

/// The hash of a secret that the client reveals last (RFC 7636, section 4.2, `S256`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Challenge(String);

/// The secret of a [`Challenge`] (RFC 7636, section 4.1).
#[derive(Clone, PartialEq, Eq)]
pub struct Verifier(String);

/// The error for a request with an invalid parameter.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{parameter} {rule}")]
pub struct ParameterError {
    /// The name of the parameter.
    pub parameter: &'static str,
    /// The rule that it violates.
    pub rule: String,
}

impl Terminal {
    /// Parses the query of the URL that a client opens in a browser (clients.md 7.4).
    ///
    /// # Errors
    /// The first parameter that is missing or invalid.
    pub fn parse(query: &str) -> Result<Self, ParameterError> {
        let form = Form(query);
        must_be(form, "client_id", CLIENT_ID)?;
        must_be(form, "response_type", "code")?;
        let port = required(form, "redirect_uri")?;
        must_be(form, "code_challenge_method", "S256")?;
        Ok(Self {
            port,
            challenge: required(form, "code_challenge")?,
            state: required(form, "state")?,
        })
    }

    /// Returns the URL that delivers a code to the client. It always points to the user's own machine.
    pub fn redirect_to(&self, code: &str) -> String {
        let parameters = [("code", code), ("state", &self.state.0)];
        format!("{}?{}", self.port, encoded(&parameters))
    }

    /// Returns the URL that ends a client without a token. `terraform` and `tofu` need a code, and do not read the error;
    /// `terrace` does (RFC 6749, section 4.1.2.1).
    pub(super) fn refusal(&self) -> String {
        let error = encoded(&[("error", "access_denied")]);
        format!("{}&{error}", self.redirect_to(REFUSED))
    }
}

/// Checks that a parameter has exactly this value.
pub(super) fn must_be(
    form: Form<'_>,
    parameter: &'static str,
    value: &str,
) -> Result<(), ParameterError> {
    match form.value(parameter) {
        Ok(Some(found)) if found == value => Ok(()),
        Err(fault) => Err(wrong(parameter, fault)),
        _ => Err(wrong(parameter, format!("must be {value}"))),
    }
}

/// Parses a required parameter.
pub(super) fn required<T: FromStr>(
    form: Form<'_>,
    parameter: &'static str,
) -> Result<T, ParameterError>
where
    T::Err: fmt::Display,
{
    match form.value(parameter) {
        Ok(Some(text)) => text.parse().map_err(|rule| wrong(parameter, rule)),
        Ok(None) => Err(wrong(parameter, "is missing")),
        Err(fault) => Err(wrong(parameter, fault)),
    }
}

/// Parses a parameter that may be missing.
pub(super) fn optional<T: FromStr>(
    form: Form<'_>,
    parameter: &'static str,
) -> Result<Option<T>, ParameterError>
where
    T::Err: fmt::Display,
{
    match form.value(parameter) {
        Ok(None) => Ok(None),
        _ => required(form, parameter).map(Some),
    }
}

/// The error for a parameter that violates a rule.
pub(super) fn wrong(parameter: &'static str, rule: impl ToString) -> ParameterError {
    let rule = rule.to_string();
    ParameterError { parameter, rule }
}

impl Port {
    /// Returns the port number.
    pub fn number(self) -> u16 {
        self.0
    }

    /// Returns the origin of the client's server, for the content security policy.
    pub fn origin(self) -> String {
        format!("http://localhost:{}", self.0)
    }
}

impl Challenge {
    /// Returns whether `verifier` is the secret of this challenge.
    pub fn is_of(&self, verifier: &Verifier) -> bool {
        let challenge = verifier.challenge();
        self.0.as_bytes().ct_eq(challenge.0.as_bytes()).into()
    }

    /// Returns the challenge as it is sent.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Verifier {
    /// Returns the challenge for this verifier, which is sent in advance.
    pub fn challenge(&self) -> Challenge {
        Challenge(URL_SAFE_NO_PAD.encode(sha2::Sha256::digest(self.0.as_bytes())))
    }

    /// Returns the secret, to be sent to its recipient only.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Port {
    type Err = String;

    /// Parses a complete redirect URI, in which only the port may vary (clients.md 7.4).
    fn from_str(uri: &str) -> Result<Self, String> {
        let port = uri.strip_prefix("http://localhost:");
        let port = port.and_then(|rest| rest.strip_suffix("/login"));
        let port = port.and_then(|digits| digits.parse().ok());
        let known = port.filter(|port| PORTS.contains(port)).map(Self);
        known.filter(|port| port.to_string() == uri).ok_or_else(|| {
            let (first, last) = (PORTS.start(), PORTS.end());
            format!("must be http://localhost:<port>/login with a port from {first} to {last}")
        })
    }
}

impl FromStr for TerminalState {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let is_state = (1..=LOGIN_STATE_BYTES).contains(&text.len())
            && text.bytes().all(|byte| (b' '..=b'~').contains(&byte));
        is_state.then(|| Self(text.to_owned())).ok_or_else(|| {
            let limit = LOGIN_STATE_BYTES;
            format!("must be 1 to {limit} printable ASCII characters")
        })
    }
}

impl FromStr for Challenge {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, &'static str> {
        let hash = URL_SAFE_NO_PAD.decode(text).ok();
        let is_hash = hash.is_some_and(|hash| hash.len() == 32);
        is_hash
            .then(|| Self(text.to_owned()))
            .ok_or("must be a SHA-256 in 43 characters of base64url")
    }
}

impl FromStr for Verifier {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, &'static str> {
        let is_unreserved =
            |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~');
        let is_verifier = (43..=128).contains(&text.len()) && text.bytes().all(is_unreserved);
        is_verifier
            .then(|| Self(text.to_owned()))
            .ok_or("must be 43 to 128 letters, digits, -, ., _ and ~")
    }
}

impl fmt::Display for Port {
    /// Writes the complete redirect URI.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/login", self.origin())
    }
}

impl fmt::Display for TerminalState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for Challenge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Verifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Verifier(…)")
    }
}

/// Checks that each of these changes to a valid query, and those that no client may make, violates a rule of a parameter:
/// a text and its replacement, the parameter, and a part of the rule.
#[cfg(test)]
pub(super) fn assert_rejected<T: fmt::Debug>(
    query: &str,
    changes: &[(&str, &str, &str, &str)],
    parse: impl Fn(&str) -> Result<T, ParameterError>,
) {
    let of_all = [
        ("type=code", "type=token", "response_type", "must be code"),
        ("S256", "plain", "code_challenge_method", "must be S256"),
        (
            "code_challenge_method=S256",
            "x=",
            "code_challenge_method",
            "must be S256",
        ),
        ("w-cM", "w-c", "code_challenge", "43 characters"),
    ];
    for (from, to, parameter, rule) in changes.iter().copied().chain(of_all) {
        let query = query.replacen(from, to, 1);
        let fault = parse(&query).expect_err(&query);
        assert_eq!(fault.parameter, parameter, "{query}");
        assert!(fault.rule.contains(rule), "{fault}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The query that OpenTofu 1.12 sends (clients.md 7.4).
    const QUERY: &str = "client_id=terraform-cli&code_challenge=E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM\
        &code_challenge_method=S256&redirect_uri=http%3A%2F%2Flocalhost%3A10003%2Flogin&response_type=code\
        &state=74d3bbc5-7fc6-4e0b-8bb7-4e6d1d3a0a5e";

    /// The example of RFC 7636, appendix B.
    const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";

    #[test]
    fn the_request_of_a_client_is_parsed_7_4() {
        let terminal = Terminal::parse(QUERY).unwrap();
        assert_eq!(terminal.port, Port(10_003));
        assert!(terminal.challenge.is_of(&VERIFIER.parse().unwrap()));
        assert_eq!(
            terminal.redirect_to("a.b"),
            "http://localhost:10003/login?code=a.b&state=74d3bbc5-7fc6-4e0b-8bb7-4e6d1d3a0a5e"
        );
    }

    #[test]
    fn an_invalid_request_is_rejected_with_the_parameter_and_the_rule() {
        let changes = [
            (
                "client_id=terraform-cli&",
                "",
                "client_id",
                "must be terraform-cli",
            ),
            ("terraform-cli", "Terraform-CLI", "client_id", "must be"),
            (
                "client_id=",
                "client_id=terraform-cli&client_id=",
                "client_id",
                "more than once",
            ),
            ("w-cM", "w-cMA", "code_challenge", "43 characters"),
            ("w-cM", "w-cN", "code_challenge", "43 characters"),
            ("w-cM", "w%2BcM", "code_challenge", "43 characters"),
            (
                "code_challenge=E9",
                "code_challeng=E9",
                "code_challenge",
                "is missing",
            ),
            ("state=74", "stat=74", "state", "is missing"),
            ("state=74", "state=%0d%0a74", "state", "printable"),
            ("state=74", "state=%ff", "state", "UTF-8"),
            ("state=74", "state=%c3%a4", "state", "printable"),
        ];
        assert_rejected(&format!("&{QUERY}"), &changes, Terminal::parse);
        let long = format!("{QUERY}{}", "x".repeat(LOGIN_STATE_BYTES));
        assert_eq!(Terminal::parse(&long).unwrap_err().parameter, "state");
    }

    #[test]
    fn a_code_is_sent_only_to_a_port_of_this_machine_7_4() {
        for uri in [
            "https://localhost:10003/login",
            "http://127.0.0.1:10003/login",
            "http://[::1]:10003/login",
            "http://LOCALHOST:10003/login",
            "HTTP://localhost:10003/login",
            "http://localhost/login",
            "http://localhost:/login",
            "http://localhost:80/login",
            "http://localhost:9999/login",
            "http://localhost:10011/login",
            "http://localhost:010003/login",
            "http://localhost:+10003/login",
            "http://localhost:10003",
            "http://localhost:10003/",
            "http://localhost:10003/login/",
            "http://localhost:10003/Login",
            "http://localhost:10003/login?x",
            "http://localhost:10003/login#x",
            "http://localhost:10003/x/../login",
            "http://localhost:10003//login",
            "http://localhost:10003/%6cogin",
            "http://user@localhost:10003/login",
            "http://localhost:10003@evil.example/login",
            "http://localhost:10003.evil.example/login",
            "http://localhost.evil.example:10003/login",
            "http://localhost.:10003/login",
            "http%3A%2F%2Flocalhost%3A10003%2Flogin",
            " http://localhost:10003/login",
            "http://localhost:10003/login\n",
            "//localhost:10003/login",
            "http:\\\\localhost:10003/login",
            "javascript:alert(1)",
            "",
        ] {
            assert!(uri.parse::<Port>().is_err(), "{uri:?}");
        }
        for port in PORTS {
            let uri = format!("http://localhost:{port}/login");
            assert_eq!(uri.parse(), Ok(Port(port)));
        }
    }

    #[test]
    fn only_the_verifier_itself_matches_its_challenge() {
        let challenge: Challenge = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
            .parse()
            .unwrap();
        let other = VERIFIER.replace('d', "e");
        assert!(!challenge.is_of(&other.parse().unwrap()));
        for text in [
            "",
            "short",
            &"x".repeat(129),
            &format!("{VERIFIER}+"),
            challenge.as_str(),
        ] {
            let fits = text
                .parse()
                .is_ok_and(|verifier| challenge.is_of(&verifier));
            assert!(!fits, "{text}");
        }
        assert_eq!(
            format!("{:?}", Verifier("secret".to_owned())),
            "Verifier(…)"
        );
    }

    proptest! {
        #[test]
        fn an_accepted_redirect_stays_on_this_machine_and_on_one_line(
            uri in "(http://localhost:100[01][0-9]/login|\\PC{0,40})",
            state in "\\PC{0,40}",
        ) {
            let query = QUERY.replace("http%3A%2F%2Flocalhost%3A10003%2Flogin", &terrace_base::percent::encode(&uri));
            let query = query.replace("74d3bbc5", &terrace_base::percent::encode(&state));
            if let Ok(terminal) = Terminal::parse(&query) {
                let location = terminal.redirect_to("a.b");
                prop_assert!(location.starts_with("http://localhost:100"));
                prop_assert!(location.bytes().all(|byte| byte.is_ascii_graphic()));
            }
        }
    }
}
