//! Keeping tokens, passwords and signed URLs out of everything that is printed.
//!
//! A secret may be given where something else is expected, such as a token in place of its ID. Then clap, the
//! file system or the registry quotes it. So every line is searched before it is printed: for the secrets that
//! the command line and the environment hold, and for everything that has the form of one.

use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::path::Path;

use serde_json::Value;
use terrace_base::secret::Secret;
use terrace_core::auth::access;

/// The text that is printed in place of a token.
pub(crate) const HIDDEN_TOKEN: &str = "[token hidden]";

/// The text that is printed in place of a password or a signature in a URL.
const HIDDEN: &str = "[hidden]";

/// The option that takes a token.
const TOKEN_OPTION: &str = "--token";

/// The variables that hold secrets, apart from those that begin with [`ORIGIN_TOKENS`].
const VARIABLES: [&str; 3] = [
    "TERRACE_TOKEN",
    "TERRACE_ID_TOKEN",
    "ACTIONS_ID_TOKEN_REQUEST_TOKEN",
];

/// The variables that hold the tokens of other registries.
const ORIGIN_TOKENS: &str = "TF_TOKEN_";

/// The shortest secret that is searched for, in bytes: a shorter one is part of ordinary words.
const LEAST_BYTES: usize = 8;

/// The bytes of a known secret that are searched for, because a message may quote only its beginning.
const PART_BYTES: usize = 16;

/// The shortest text that may be a random secret: 18 bytes in base64.
const RANDOM_BYTES: usize = 24;

/// The shortest random text in which slashes are digits of base64 and do not separate the parts of a path: 30 bytes.
const RANDOM_BYTES_WITH_SLASHES: usize = 40;

/// The form of a date, `0` for a digit: texts that contain one are names.
const DATE: &str = "0000-00-00";

/// The form of a UUID, `x` for a hexadecimal digit: texts that contain one are names.
const UUID: &str = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";

/// The digits of a fingerprint, which looks random and is none.
const FINGERPRINT_DIGITS: usize = 40;

/// Parts of the names of query parameters whose values are secrets.
const SECRET_PARAMETERS: [&str; 8] = [
    "sig", "token", "secret", "key", "pass", "auth", "cred", "code",
];

/// The secrets that are searched for by their text.
#[derive(Debug, Default)]
pub(crate) struct Secrets {
    /// The values of `--token` and of the variables that hold secrets.
    known: Vec<Secret>,
    /// Arguments that look like secrets. Only the whole text is hidden, because other names may begin with a part of it.
    guessed: Vec<Secret>,
}

impl Secrets {
    /// Finds the secrets on a command line and in its environment.
    pub(crate) fn find(
        arguments: &[OsString],
        variables: impl IntoIterator<Item = (OsString, OsString)>,
    ) -> Self {
        let variables: Vec<(OsString, OsString)> = variables.into_iter().collect();
        let is_secret = |name: &OsStr| {
            let name = name.to_string_lossy();
            VARIABLES.contains(&&*name) || name.starts_with(ORIGIN_TOKENS)
        };
        let set = variables.iter().filter(|(name, _)| is_secret(name));
        let mut known: Vec<&str> = set.filter_map(|(_, value)| value.to_str()).collect();
        let mut guessed: Vec<&str> = Vec::new();
        let mut follows_option = false;
        for argument in arguments.iter().filter_map(|argument| argument.to_str()) {
            let (option, value) = split(argument);
            if follows_option || option == Some(TOKEN_OPTION) {
                known.push(value);
            } else if looks_secret(value) {
                guessed.push(value);
            }
            follows_option = argument == TOKEN_OPTION;
        }
        Self {
            known: searched_for(known),
            guessed: searched_for(guessed),
        }
    }

    /// A text without secrets.
    pub(crate) fn hide<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let mut text = Cow::Borrowed(text);
        for secret in &self.known {
            text = replaced(text, |text| known(text, secret.expose()));
        }
        for secret in &self.guessed {
            text = replaced(text, |text| guessed(text, secret.expose()));
        }
        text = replaced(text, api_token);
        text = replaced(text, json_web_token);
        text = replaced(text, userinfo);
        replaced(text, signed_query)
    }

    /// Hides the secrets in all texts of a document.
    pub(crate) fn hide_in(&self, document: &mut Value) {
        match document {
            Value::String(text) => {
                if let Cow::Owned(hidden) = self.hide(text) {
                    *text = hidden;
                }
            }
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

    /// A command line without secrets, or none where it holds none.
    pub(crate) fn hide_in_arguments(&self, arguments: &[OsString]) -> Option<Vec<OsString>> {
        let hide = |argument: &OsString| match argument.to_str().map(|text| self.hide(text)) {
            Some(Cow::Owned(hidden)) => hidden.into(),
            _ => argument.clone(),
        };
        let hidden: Vec<OsString> = arguments.iter().map(hide).collect();
        (hidden != arguments).then_some(hidden)
    }
}

/// An option and its value, where an argument is both.
fn split(argument: &str) -> (Option<&str>, &str) {
    match argument.split_once('=') {
        Some((option, value)) if option.starts_with("--") => (Some(option), value),
        // `-tVALUE`
        _ if argument.starts_with('-') && !argument.starts_with("--") => match argument.get(2..) {
            Some(value) => (argument.get(..2), value.trim_start_matches('=')),
            None => (None, argument),
        },
        _ => (None, argument),
    }
}

/// Returns the texts that are long enough to be searched for. One that contains another one comes first.
fn searched_for(found: Vec<&str>) -> Vec<Secret> {
    let found = found.into_iter().map(str::trim);
    let is_searched_for = |text: &&str| text.is_ascii() && text.len() >= LEAST_BYTES;
    let mut secrets: Vec<&str> = found.filter(is_searched_for).collect();
    secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
    secrets.into_iter().map(Secret::new).collect()
}

/// Whether an argument looks as if a generator of secrets made it. A path and a name with a date or a UUID do not.
fn looks_secret(text: &str) -> bool {
    let looks_secret = match text.contains(['/', '\\']) {
        true => looks_random_with_slashes(text),
        false => looks_random(text),
    };
    looks_secret && !Path::new(text).exists()
}

/// Whether a text without slashes is random: in base64url or hexadecimal it goes back and forth between digits,
/// capital and small letters, as a name does not.
fn looks_random(text: &str) -> bool {
    if text.len() == FINGERPRINT_DIGITS && text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return false;
    }
    let is_name = has_form(text, DATE) || has_form(text, UUID);
    let is_encoded = |byte: u8| byte.is_ascii_alphanumeric() || b"+-_=".contains(&byte);
    let is_random = |part: &str| {
        part.len() >= RANDOM_BYTES && part.bytes().all(is_encoded) && changes_often(part)
    };
    !is_name && text.split('.').any(is_random)
}

/// Whether a text with slashes is random: nothing but base64, which begins with no slash here, and is made of
/// digits, many capital and many small letters. A path with a digest in it has few of either.
fn looks_random_with_slashes(text: &str) -> bool {
    // Before it may stand a name, as in `name=value`.
    let digits = text.trim_end_matches('=').rsplit('=').next();
    let digits = digits.unwrap_or_default();
    let is_base64 = |byte: u8| byte.is_ascii_alphanumeric() || b"+/".contains(&byte);
    let count = |is_one: fn(&u8) -> bool| digits.bytes().filter(is_one).count();
    digits.len() >= RANDOM_BYTES_WITH_SLASHES
        && digits.bytes().all(is_base64)
        && !digits.starts_with('/')
        && count(u8::is_ascii_digit) > 0
        && count(u8::is_ascii_uppercase) * 8 >= digits.len()
        && count(u8::is_ascii_lowercase) * 8 >= digits.len()
        && changes_often(digits)
}

/// Whether three of ten characters are of another kind than the one before: a digit, a capital letter, or any other.
/// What separates words does not count.
fn changes_often(text: &str) -> bool {
    let kind = |byte: u8| (byte.is_ascii_digit(), byte.is_ascii_uppercase());
    let kinds = text.bytes().filter(|byte| !b"-_".contains(byte)).map(kind);
    let kinds: Vec<_> = kinds.collect();
    let neighbours = kinds.iter().zip(kinds.iter().skip(1));
    let changes = neighbours.filter(|(one, next)| one != next).count();
    changes * 10 >= text.len() * 3
}

/// Whether a text contains a form, in which `0` stands for a digit and `x` for a hexadecimal one.
fn has_form(text: &str, form: &str) -> bool {
    let is_one = |(byte, of_form): (&u8, u8)| match of_form {
        b'0' => byte.is_ascii_digit(),
        b'x' => byte.is_ascii_hexdigit(),
        literal => *byte == literal,
    };
    let mut places = text.as_bytes().windows(form.len());
    places.any(|place| place.iter().zip(form.bytes()).all(is_one))
}

/// Something to leave out of a text, and what stands in its place.
struct Hit {
    start: usize,
    end: usize,
    by: &'static str,
}

/// Replaces everything that a search finds. The search starts again behind each hit.
fn replaced<'t>(text: Cow<'t, str>, search: impl Fn(&str) -> Option<Hit>) -> Cow<'t, str> {
    let mut hidden = String::new();
    let mut rest = &*text;
    while let Some(hit) = search(rest)
        && let (Some(before), Some(after)) = (rest.get(..hit.start), rest.get(hit.end..))
    {
        hidden.push_str(before);
        hidden.push_str(hit.by);
        rest = after;
    }
    if rest.len() == text.len() {
        return text;
    }
    hidden.push_str(rest);
    Cow::Owned(hidden)
}

/// A known secret, or the beginning of it.
fn known(text: &str, secret: &str) -> Option<Hit> {
    let part = secret.get(..PART_BYTES).unwrap_or(secret);
    let start = text.find(part)?;
    let found = text.get(start..).unwrap_or_default().bytes();
    let length = found
        .zip(secret.bytes())
        .take_while(|(one, other)| one == other);
    Some(Hit {
        start,
        end: start + length.count(),
        by: HIDDEN_TOKEN,
    })
}

/// A guessed secret, as a whole.
fn guessed(text: &str, secret: &str) -> Option<Hit> {
    let start = text.find(secret)?;
    Some(Hit {
        start,
        end: start + secret.len(),
        by: HIDDEN_TOKEN,
    })
}

/// A token of a registry: `terrace_{id}.{claims}.{mac}.{checksum}`.
fn api_token(text: &str) -> Option<Hit> {
    let of_id = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    token(text, access::PREFIX, |rest| run(rest, of_id) >= LEAST_BYTES)
}

/// A JSON Web Token: `{header}.{claims}.{signature}`, where the header is a JSON object in base64url.
fn json_web_token(text: &str) -> Option<Hit> {
    token(text, "eyJ", |rest| {
        let header = run(rest, |byte| of_token(byte) && byte != b'.');
        let claims = rest.get(header..).and_then(|rest| rest.strip_prefix('.'));
        claims.is_some_and(|claims| run(claims, of_token) >= LEAST_BYTES)
    })
}

/// A run of characters of tokens that begins so, and goes on as `is_token` says.
fn token(text: &str, prefix: &str, is_token: impl Fn(&str) -> bool) -> Option<Hit> {
    let places = text.match_indices(prefix);
    let mut tokens = places.filter_map(|(start, prefix)| {
        let rest = text.get(start + prefix.len()..)?;
        is_token(rest).then(|| Hit {
            start,
            end: start + prefix.len() + run(rest, of_token),
            by: HIDDEN_TOKEN,
        })
    });
    tokens.next()
}

fn of_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"_-.".contains(&byte)
}

/// How many of the first bytes are of this kind.
fn run(text: &str, is_one: impl Fn(u8) -> bool) -> usize {
    text.bytes().take_while(|byte| is_one(*byte)).count()
}

/// The user and the password in a URL.
fn userinfo(text: &str) -> Option<Hit> {
    urls(text).find_map(|(start, url)| {
        let authority_end = url.find(['/', '?', '#']).unwrap_or(url.len());
        let authority = url.get(..authority_end).unwrap_or_default();
        let at = authority.rfind('@').or_else(|| {
            // A password with a slash that is not encoded looks like a port that is no number.
            let (_, port) = authority.rsplit_once(':')?;
            let is_port = port.bytes().all(|byte| byte.is_ascii_digit());
            let is_address = authority.ends_with(']');
            url.rfind('@').filter(|_| !is_port && !is_address)
        })?;
        let is_hidden = url.get(..at) == Some(HIDDEN);
        (!is_hidden && at > 0).then_some(Hit {
            start,
            end: start + at,
            by: HIDDEN,
        })
    })
}

/// The query of a URL, if one of its parameters is a secret.
fn signed_query(text: &str) -> Option<Hit> {
    urls(text).find_map(|(start, url)| {
        let before = url.find('?')? + 1;
        let query = url.get(before..)?.split('#').next()?;
        let is_secret = |parameter: &str| {
            let name = parameter.split('=').next().unwrap_or_default();
            let name = name.to_ascii_lowercase();
            SECRET_PARAMETERS.iter().any(|part| name.contains(part))
        };
        query.split('&').any(is_secret).then_some(Hit {
            start: start + before,
            end: start + before + query.len(),
            by: HIDDEN,
        })
    })
}

/// The URLs in a text, each from its authority on, with their places.
fn urls(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.match_indices("://").filter_map(|(scheme_end, mark)| {
        let start = scheme_end + mark.len();
        let rest = text.get(start..)?;
        let is_end = |c: char| c.is_whitespace() || "\"'`<>".contains(c);
        let end = rest.find(is_end).unwrap_or(rest.len());
        Some((start, rest.get(..end)?))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const API_TOKEN: &str =
        "terrace_7f3a9c2e51b04d68.MTc5NjkwNDAwMApwdWJsaXNoOmFjbWUKQ0k.q0Jx-mac_of_it.0f1e2d3c";
    const ID_TOKEN: &str = "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJyZXBvOmFjbWUifQ.c2lnbmF0dXJl";

    fn os(texts: &[&str]) -> Vec<OsString> {
        texts.iter().map(OsString::from).collect()
    }

    fn hidden(text: &str) -> String {
        Secrets::default().hide(text).into_owned()
    }

    #[test]
    fn a_token_is_hidden_by_its_form() {
        let cut_off = [API_TOKEN.split_at(24).0, ID_TOKEN.split_at(32).0];
        for token in [API_TOKEN, ID_TOKEN].into_iter().chain(cut_off) {
            assert_eq!(
                hidden(&format!("'{token}' and {token}: no")),
                format!("'{HIDDEN_TOKEN}' and {HIDDEN_TOKEN}: no")
            );
        }
    }

    #[test]
    fn a_text_without_secrets_stays_as_it_is() {
        for text in [
            "what stands between `terrace_` and the first dot: terrace_7f3a",
            "mDMEZyJeyJhbGciOiJSUzI1NiJ9abcd",
            "published acme/hello 1.2.3 at https://registry.example.com:8443/",
            "https://registry.example.com/acme/widget@1.2.0?page=2&sort=name#x",
            "https://[::1]:8787/@scope/x is no address",
            "",
        ] {
            assert_eq!(hidden(text), text);
            assert!(matches!(Secrets::default().hide(text), Cow::Borrowed(_)));
        }
    }

    #[test]
    fn a_url_loses_its_userinfo_and_its_signature() {
        for (url, shown) in [
            ("https://me:pa5s@h/p", "https://[hidden]@h/p"),
            ("https://pa5s@h", "https://[hidden]@h"),
            (
                "x=git::https://me:pa5/s@h/p?a=b",
                "x=git::https://[hidden]@h/p?a=b",
            ),
            (
                "https://h/p?X-Amz-Date=1&X-Amz-Signature=pa5s#f",
                "https://h/p?[hidden]#f",
            ),
            (
                "https://u:pa5s@h/?TOKEN=pa5s",
                "https://[hidden]@h/?[hidden]",
            ),
        ] {
            let text = format!("see \"{url}\", twice: {url} there");
            assert_eq!(
                hidden(&text),
                format!("see \"{shown}\", twice: {shown} there")
            );
        }
    }

    #[test]
    fn a_secret_of_the_environment_is_hidden_even_if_only_its_beginning_is_quoted() {
        let secret = "correct horse battery staple";
        for name in [
            "TERRACE_TOKEN",
            "TERRACE_ID_TOKEN",
            "TF_TOKEN_app_terraform_io",
        ] {
            let variables = [(name.into(), format!(" {secret}\n").into())];
            let secrets = Secrets::find(&[], variables);
            assert_eq!(secrets.hide(&format!("<{secret}>")), "<[token hidden]>");
            assert_eq!(secrets.hide(secret.split_at(20).0), "[token hidden]");
            assert_eq!(secrets.hide("correct horse"), "correct horse");
        }
        let others = [("TERRACE_URL".into(), secret.into())];
        assert_eq!(Secrets::find(&[], others).hide(secret), secret);
    }

    #[test]
    fn the_value_of_the_token_option_is_hidden_wherever_it_stands_again() {
        for arguments in [
            os(&["terrace", "--token", "hunter2hunter2", "x"]),
            os(&["terrace", "--token=hunter2hunter2", "x"]),
        ] {
            let secrets = Secrets::find(&arguments, []);
            assert_eq!(secrets.hide("no hunter2hunter2"), "no [token hidden]");
        }
    }

    #[test]
    fn an_argument_that_looks_random_is_a_secret_and_a_path_is_none() {
        for random in [
            "q7Zp0cT1l9yQ3n/0hXbW2m+R8sKdV5uE6fGjA4iYtLo=",
            "9f86d081884c7d659a2feaa0c55ad015",
            "ghp_x8Kq2ZbT0aLw9Rv4Yc7Ns1Fh6Md3Jp5Ug",
            "sess-q7Zp0cT1l9yQ3n_0hXbW2m-R8sKdV5uE6f",
            "q7Zp0cT1l9yQ3n/0hXbW2m+R8sKdV5uE6fGjA4iYtL/",
            "Qk0v/8aT1l9yQ3n/0hXbW2m+R8sKdV5uE6fGjA4iYtLoP2c7Wd1e/Rs5Tz==",
        ] {
            let secrets = Secrets::find(&os(&[random]), []);
            assert_eq!(secrets.hide(random), HIDDEN_TOKEN);
            let option = format!("--tokn={random}");
            let secrets = Secrets::find(&os(&[&option]), []);
            assert_eq!(secrets.hide(&option), format!("--tokn={HIDDEN_TOKEN}"));
            let option = format!("-t{random}");
            let secrets = Secrets::find(&os(&[&option]), []);
            assert_eq!(secrets.hide(&option), format!("-t{HIDDEN_TOKEN}"));
            let pair = format!("name={random}");
            let secrets = Secrets::find(&os(&[&pair]), []);
            assert!(!secrets.hide(&pair).contains(random));
        }
        for plain in [
            "registry.opentofu.org/hashicorp/random",
            "Users/Bob/Projects2024/Terraform/VPCModule",
            "terraform-provider-hello_1.2.3_linux_amd64",
            "61c051ac9ca350d4aaaaf00d61c051ac9ca350d4",
            "--default-host=registry.terraform.io",
            "/backups/2026-11-22-10-14-05",
            "backups/2026-11-22-10-14-05",
            "--out=backup-2026-11-22T10-14-05Z",
            "backup-2026-11-22T10-14-05Z",
            "backup_2026_11_22_10_14_05",
            "2026-11-22_a1B2c3D4e5F6g7H8i9J0",
            "/tmp/3f2b8c1e-9d4a-4c7b-8e6f-0a1b2c3d4e5f/dist",
            "dist-3f2b8c1e-9d4a-4c7b-8e6f-0a1b2c3d4e5f",
            "C:\\a1b2c3d4\\e5f6a7b8.a1b2c3d4e5f6a7b8c9d0e1f2",
            "/q7Zp0cT1l9yQ3n0hXbW2m8R8sKdV5uE6fGjA4iYtLo",
            "./q7Zp0cT1l9yQ3n0hXbW2m8R8sKdV5uE6fGjA4iYtLo",
            "~/q7Zp0cT1l9yQ3n0hXbW2m8R8sKdV5uE6fGjA4iYtLo",
            "Cache/sha256/9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        ] {
            assert_eq!(Secrets::find(&os(&[plain]), []).hide(plain), plain);
        }
    }

    #[test]
    fn an_argument_that_names_a_file_is_no_secret() {
        let file = tempfile::Builder::new()
            .prefix("q7Zp0cT1l9yQ3n0hXbW2m8R8sKdV5uE6f")
            .tempfile_in(".")
            .unwrap();
        let name = file.path().file_name().unwrap().to_str().unwrap();
        assert!(looks_random(name));
        assert_eq!(Secrets::find(&os(&[name]), []).hide(name), name);
    }

    #[test]
    fn a_guessed_secret_is_hidden_only_as_a_whole() {
        let random = "9f86d081884c7d659a2feaa0c55ad015";
        let secrets = Secrets::find(&os(&[random]), []);
        let other = "/dist/9f86d081884c7d659a2f/x";
        assert_eq!(secrets.hide(other), other);
        assert_eq!(
            secrets.hide(&format!("no {random}.")),
            format!("no {HIDDEN_TOKEN}.")
        );
    }

    #[test]
    fn all_texts_of_a_document_are_searched() {
        let text = format!("no {API_TOKEN}");
        let mut document = serde_json::json!({ "a": [{ "b": text }], API_TOKEN: 1 });
        Secrets::default().hide_in(&mut document);
        let shown = format!("no {HIDDEN_TOKEN}");
        assert_eq!(
            document,
            serde_json::json!({ "a": [{ "b": shown }], HIDDEN_TOKEN: 1 })
        );
    }
}
