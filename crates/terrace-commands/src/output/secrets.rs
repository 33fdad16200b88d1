//! Keeping tokens, passwords and signed URLs out of everything that is printed.
//!
//! The secrets of this program are values that cannot be printed ([`Secret`]). Other texts may contain them nevertheless: an
//! argument in a wrong place, and the errors of git, of a storage or of the registry. Each line is therefore searched before it
//! is printed: for the secrets that this process knows, for tokens of a registry, and for URLs.

use std::borrow::Cow;
use std::ffi::{OsStr, OsString};

use serde_json::Value;
use terrace_base::secret::Secret;
use terrace_core::auth::access::TOKEN_PREFIX;
use url::form_urlencoded;

/// The text that is printed in place of a token.
pub(crate) const HIDDEN_TOKEN: &str = "[token hidden]";

/// The text that is printed in place of a password or a signature in a URL.
const HIDDEN: &str = "[hidden]";

/// The option that takes a token.
const TOKEN_OPTION: &str = "--token";

/// The variables that contain secrets, apart from those that begin with [`CLIENT_TOKENS`].
const VARIABLES: [&str; 3] = [
    "TERRACE_TOKEN",
    "TERRACE_ID_TOKEN",
    "ACTIONS_ID_TOKEN_REQUEST_TOKEN",
];

/// The prefix of the variables that contain the tokens of `terraform` and `tofu` for registries.
pub(crate) const CLIENT_TOKENS: &str = "TF_TOKEN_";

/// The shortest secret that is searched for, in bytes: a shorter one is part of ordinary words.
const LEAST_BYTES: usize = 8;

/// The number of digits of the ID in a token.
const ID_DIGITS: usize = 16;

/// Parts of the names of query parameters with secret values.
const SECRET_PARAMETERS: [&str; 8] = [
    "sig", "token", "secret", "key", "pass", "auth", "cred", "code",
];

/// The secrets that this process knows.
#[derive(Debug, Default)]
pub(crate) struct Secrets(Vec<Secret>);

impl Secrets {
    /// Finds the values of `--token` and of the variables that contain secrets.
    pub(crate) fn find(
        arguments: &[OsString],
        variables: impl IntoIterator<Item = (OsString, OsString)>,
    ) -> Self {
        let is_secret = |name: &OsStr| {
            let name = name.to_string_lossy();
            VARIABLES.contains(&&*name) || name.starts_with(CLIENT_TOKENS)
        };
        let mut found = Self::default();
        for (_, value) in variables.into_iter().filter(|(name, _)| is_secret(name)) {
            found.add(&Secret::new(value.to_string_lossy()));
        }
        let mut follows_option = false;
        for argument in arguments.iter().filter_map(|argument| argument.to_str()) {
            match argument.split_once('=') {
                Some((TOKEN_OPTION, value)) => found.add(&Secret::new(value)),
                _ if follows_option => found.add(&Secret::new(argument)),
                _ => {}
            }
            follows_option = argument == TOKEN_OPTION;
            // A message about a platform quotes what follows the first `_`.
            for token in argument.split(TOKEN_PREFIX).skip(1).filter_map(token) {
                found.add(&Secret::new(format!("{TOKEN_PREFIX}{token}")));
                found.add(&Secret::new(token));
            }
        }
        found
    }

    /// Adds a secret. One that contains another one comes first.
    pub(crate) fn add(&mut self, secret: &Secret) {
        let text = secret.expose().trim();
        if text.len() >= LEAST_BYTES {
            self.0.push(Secret::new(text));
            self.0
                .sort_by_key(|secret| std::cmp::Reverse(secret.expose().len()));
        }
    }

    /// Returns the text without secrets.
    pub(crate) fn hide<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let mut shown = Cow::Borrowed(text);
        for secret in &self.0 {
            if shown.contains(secret.expose()) {
                shown = shown.replace(secret.expose(), HIDDEN_TOKEN).into();
            }
        }
        if shown.contains(TOKEN_PREFIX) {
            shown = without_tokens(&shown).into();
        }
        if shown.contains("://") {
            shown = without_secrets_in_urls(&shown).into();
        }
        shown
    }

    /// Hides the secrets in all texts of a document.
    pub(crate) fn hide_in(&self, document: &mut Value) {
        match document {
            Value::String(text) => *text = self.hide(text).into_owned(),
            Value::Array(items) => items.iter_mut().for_each(|item| self.hide_in(item)),
            Value::Object(members) => {
                let hide = |(name, mut value): (String, Value)| {
                    self.hide_in(&mut value);
                    (self.hide(&name).into_owned(), value)
                };
                *members = std::mem::take(members).into_iter().map(hide).collect();
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
}

/// Returns a text without the tokens of registries.
fn without_tokens(text: &str) -> String {
    let mut parts = text.split(TOKEN_PREFIX);
    let mut shown = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        match token(part) {
            Some(token) => {
                let rest = part.strip_prefix(token).unwrap_or_default();
                shown.extend([HIDDEN_TOKEN, rest]);
            }
            None => shown.extend([TOKEN_PREFIX, part]),
        }
    }
    shown
}

/// Returns the token of a registry that a text begins with, without [`TOKEN_PREFIX`]: `{id}.{claims}.{mac}.{checksum}`.
fn token(text: &str) -> Option<&str> {
    let end = text.find(|c: char| !c.is_ascii_alphanumeric() && !"_-.".contains(c));
    let token = text.get(..end.unwrap_or(text.len()))?;
    let id = text.split('.').next().unwrap_or_default();
    let is_token = id.len() == ID_DIGITS && id.bytes().all(|byte| byte.is_ascii_hexdigit());
    (is_token && text.len() > ID_DIGITS).then_some(token)
}

/// Returns a text whose URLs have no user, no password and no signed query.
///
/// Messages quote URLs in sentences, and texts that are not quite URLs, such as one with a slash in its password. So the
/// secrets are found by their positions in the text, not in a parsed URL.
fn without_secrets_in_urls(text: &str) -> String {
    let is_end = |c: char| c.is_whitespace() || "\"'`<>".contains(c);
    let mut shown = String::new();
    for part in text.split_inclusive(is_end) {
        let word = part.trim_end_matches(is_end);
        shown.push_str(&without_secrets_in_word(word));
        shown.push_str(part.strip_prefix(word).unwrap_or_default());
    }
    shown
}

/// Returns a word with the secrets of its URL hidden, and then those of the URLs that are left in its path or query.
fn without_secrets_in_word(word: &str) -> String {
    match word.split_once("://") {
        Some((scheme, rest)) => {
            let rest = without_secrets_in_word(&without_secrets(rest));
            format!("{scheme}://{rest}")
        }
        None => word.to_owned(),
    }
}

/// Returns a URL, from its authority on, without its user, password and signed query.
fn without_secrets(url: &str) -> String {
    let authority = url.split(['/', '?', '#']).next().unwrap_or_default();
    let at = authority.rfind('@').or_else(|| {
        // A password with an unencoded slash looks like a port that is not a number.
        let (_, port) = authority.rsplit_once(':')?;
        let is_port = !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
        url.rfind('@')
            .filter(|_| !is_port && !authority.ends_with(']'))
    });
    let (user, url) = url.split_at_checked(at.unwrap_or(0)).unwrap_or_default();
    let user = if user.is_empty() { "" } else { HIDDEN };
    let (before, after) = url.split_once('?').unwrap_or((url, ""));
    let query = after.split('#').next().unwrap_or_default();
    let is_secret = |name: &str| {
        let name = name.to_ascii_lowercase();
        SECRET_PARAMETERS.iter().any(|part| name.contains(part))
    };
    let mut parameters = form_urlencoded::parse(query.as_bytes());
    match parameters.any(|(name, _)| is_secret(&name)) {
        true => {
            let fragment = after.strip_prefix(query).unwrap_or_default();
            format!("{user}{before}?{HIDDEN}{fragment}")
        }
        false => format!("{user}{url}"),
    }
}

#[cfg(test)]
mod tests {
    use url::Url;

    use super::*;

    fn hidden(text: &str) -> String {
        Secrets::default().hide(text).into_owned()
    }

    #[test]
    fn a_url_in_a_url_has_no_secrets() {
        for url in [
            "https://proxy/f?url=https://h/a.zip&token=SECRET",
            "https://proxy/f/https://user:SECRET@h/a.zip",
            "https://proxy/f/https://h/a.zip?X-Amz-Signature=SECRET",
            "https://user:SECRET://ss@h",
        ] {
            let shown = hidden(&format!("cannot read {url} (404)"));
            assert!(!shown.contains("SECRET"), "{shown}");
            assert!(shown.ends_with(" (404)"), "{shown}");
        }
    }

    #[test]
    fn a_text_without_secrets_stays_as_it_is() {
        for text in [
            "the 16 hex digits after `terrace_`: terrace_7f3a",
            "published acme/hello 1.2.3 at https://registry.example.com:8443/",
            "https://registry.example.com/acme/widget@1.2.0?page=2&sort=name#x",
            "https://[::1]:8787/@scope/x is not an address",
            "",
        ] {
            assert_eq!(hidden(text), text);
        }
    }

    #[test]
    fn known_secrets_are_hidden_everywhere() {
        let secret = "correct horse battery staple";
        let variable = |name: &str, value: &str| Secrets::find(&[], [(name.into(), value.into())]);
        let option = ["terrace", "--token", secret, "x"].map(OsString::from);
        let with_equals = ["terrace", &format!("--token={secret}")].map(OsString::from);
        let mut added = Secrets::default();
        added.add(&Secret::new("correct horse"));
        added.add(&Secret::new(secret));
        added.add(&Secret::new("short"));
        for secrets in [
            variable("TERRACE_TOKEN", &format!(" {secret}\n")),
            variable("TF_TOKEN_app_terraform_io", secret),
            Secrets::find(&option, []),
            Secrets::find(&with_equals, []),
            added,
        ] {
            let mut document = serde_json::json!({ "a": [{ "b": secret }], secret: "short" });
            secrets.hide_in(&mut document);
            let shown = serde_json::json!({ "a": [{ "b": HIDDEN_TOKEN }], HIDDEN_TOKEN: "short" });
            assert_eq!(document, shown);
        }
        assert_eq!(variable("TERRACE_URL", secret).hide(secret), secret);
    }

    #[test]
    fn a_url_loses_its_userinfo_and_its_signature() {
        for (url, shown) in [
            ("https://me:pa5s@h/p", "https://[hidden]@h/p"),
            (
                "x=git::https://me:pa5/s@h/p?a=b",
                "x=git::https://[hidden]@h/p?a=b",
            ),
            ("https://h/?%74oken=pa5s#f", "https://h/?[hidden]#f"),
        ] {
            let text = format!("see \"{url}\", twice: {url} there");
            let shown = format!("see \"{shown}\", twice: {shown} there");
            assert_eq!(hidden(&text), shown);
        }
    }

    #[test]
    fn a_parser_reads_the_same_url_without_its_secrets() {
        let queries = [
            "",
            "?",
            "?a=b&c=d",
            "?a=b&X-Sig=pa5s",
            "?%53ig=pa5s",
            "?sig",
        ];
        for userinfo in ["", "me@", "me:pa5s@", "me:p@a5s@", ":pa5s@", "pa%2f5s:x@"] {
            for host in ["h", "h:8443", "[::1]", "[::1]:8443", "10.0.0.1"] {
                for path in ["", "/", "/p/q@1.0.0", "/p:q@r"] {
                    for query in queries {
                        for fragment in ["", "#f", "#f@g"] {
                            check(&format!("https://{userinfo}{host}{path}{query}{fragment}"));
                        }
                    }
                }
            }
        }
    }

    /// Compares the text without its secrets with the URL that a parser returns.
    fn check(text: &str) {
        let url = Url::parse(text).unwrap();
        let hidden = hidden(text);
        let mut expected = url.clone();
        if !url.username().is_empty() || url.password().is_some() {
            expected.set_username("[hidden]").unwrap();
            expected.set_password(None).unwrap();
        }
        let mut parameters = url.query_pairs();
        if parameters.any(|(name, _)| name.to_lowercase().contains("sig")) {
            expected.set_query(Some("[hidden]"));
        }
        assert_eq!(Url::parse(&hidden).unwrap(), expected, "{text}: {hidden}");
    }
}
