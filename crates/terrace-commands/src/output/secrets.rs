//! Keeping tokens, passwords and signed URLs out of everything that is printed.
//!
//! A secret may be given in place of another argument, such as a token in place of its ID. Then clap, the
//! file system or the registry quotes it. So every line is searched before it is printed: for the secrets on
//! the command line and in the environment, and for every text that has the form of one.

mod guess;
mod search;
mod url;

use std::borrow::Cow;
use std::ffi::{OsStr, OsString};

use serde_json::Value;
use terrace_base::secret::Secret;

use guess::looks_secret;
use search::{api_token, guessed, json_web_token, known, replaced};
use url::{signed_query, userinfo};

/// The text that is printed in place of a token.
pub(crate) const HIDDEN_TOKEN: &str = "[token hidden]";

/// The text that is printed in place of a password or a signature in a URL.
const HIDDEN: &str = "[hidden]";

/// The option that takes a token.
const TOKEN_OPTION: &str = "--token";

/// The options that take digests, which look random and are printed as they are.
const DIGEST_OPTIONS: [&str; 3] = ["--archive", "--manifest", "--blob"];

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

/// The secrets that are searched for by their text.
#[derive(Debug, Default)]
pub(crate) struct Secrets {
    /// The values of `--token` and of the variables that contain secrets, and the tokens that files contain.
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
            VARIABLES.contains(&&*name) || name.starts_with(CLIENT_TOKENS)
        };
        let set = variables.iter().filter(|(name, _)| is_secret(name));
        let mut known: Vec<&str> = set.filter_map(|(_, value)| value.to_str()).collect();
        let mut guessed: Vec<&str> = Vec::new();
        let mut follows_option = false;
        let mut takes_digest = false;
        for argument in arguments.iter().filter_map(|argument| argument.to_str()) {
            let (option, value) = split(argument);
            takes_digest |= option.is_some_and(|option| DIGEST_OPTIONS.contains(&option));
            if follows_option || option == Some(TOKEN_OPTION) {
                known.push(value);
            } else if looks_secret(value) && !(takes_digest && is_digest(value)) {
                guessed.push(value);
            }
            follows_option = argument == TOKEN_OPTION;
            takes_digest = DIGEST_OPTIONS.contains(&argument);
        }
        Self {
            known: searched_for(known),
            guessed: searched_for(guessed),
        }
    }

    /// Adds a secret that is neither on the command line nor in the environment.
    pub(crate) fn add(&mut self, secret: &Secret) {
        let known = self.known.iter().map(Secret::expose);
        let known = searched_for(known.chain([secret.expose()]).collect());
        self.known = known;
    }

    /// Returns the text without secrets.
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

    /// Returns the command line without secrets, or `None` if it contains none.
    pub(crate) fn hide_in_arguments(&self, arguments: &[OsString]) -> Option<Vec<OsString>> {
        let hide = |argument: &OsString| match argument.to_str().map(|text| self.hide(text)) {
            Some(Cow::Owned(hidden)) => hidden.into(),
            _ => argument.clone(),
        };
        let hidden: Vec<OsString> = arguments.iter().map(hide).collect();
        (hidden != arguments).then_some(hidden)
    }
}

/// Returns whether a text is the digits of a SHA-256 or SHA-512, as in the key of an archive.
fn is_digest(text: &str) -> bool {
    matches!(text.len(), 64 | 128) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Splits an argument that may contain both an option and its value.
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
            "the 16 hex digits after `terrace_`: terrace_7f3a",
            "mDMEZyJeyJhbGciOiJSUzI1NiJ9abcd",
            "published acme/hello 1.2.3 at https://registry.example.com:8443/",
            "https://registry.example.com/acme/widget@1.2.0?page=2&sort=name#x",
            "https://[::1]:8787/@scope/x is not an address",
            "",
        ] {
            assert_eq!(hidden(text), text);
            assert!(matches!(Secrets::default().hide(text), Cow::Borrowed(_)));
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
    fn a_secret_of_a_file_is_hidden_once_it_is_added() {
        let mut secrets = Secrets::default();
        secrets.add(&Secret::new("hunter2hunter2"));
        secrets.add(&Secret::new("hunter2hunter2hunter2"));
        secrets.add(&Secret::new("short"));
        assert_eq!(
            secrets.hide("no hunter2hunter2, short"),
            "no [token hidden], short"
        );
        assert_eq!(secrets.hide("hunter2hunter2hunter2"), "[token hidden]");
    }

    #[test]
    fn the_value_of_the_token_option_is_hidden_everywhere() {
        for arguments in [
            os(&["terrace", "--token", "hunter2hunter2", "x"]),
            os(&["terrace", "--token=hunter2hunter2", "x"]),
        ] {
            let secrets = Secrets::find(&arguments, []);
            assert_eq!(secrets.hide("no hunter2hunter2"), "no [token hidden]");
        }
    }

    #[test]
    fn an_argument_that_looks_random_is_a_secret_and_a_path_is_not() {
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
    fn the_digest_of_an_option_for_digests_is_shown_and_elsewhere_its_form_is_that_of_a_secret() {
        let digest = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";
        let key = format!("archives/{digest}.docs");
        let option = format!("--archive={digest}");
        for arguments in [
            &["erase", "--archive", digest, "x"][..],
            &["erase", &option, "x"],
        ] {
            assert_eq!(Secrets::find(&os(arguments), []).hide(&key), key);
        }
        let variables = [("TERRACE_TOKEN".into(), digest.into())];
        for secrets in [
            Secrets::find(&os(&["erase", digest]), []),
            Secrets::find(&os(&["erase", "--archive", "x", digest]), []),
            Secrets::find(&os(&["erase", "--archive", digest]), variables),
        ] {
            assert_eq!(secrets.hide(&key), "archives/[token hidden].docs");
        }
    }

    #[test]
    fn an_argument_that_names_a_file_is_not_a_secret() {
        let file = tempfile::Builder::new()
            .prefix("q7Zp0cT1l9yQ3n0hXbW2m8R8sKdV5uE6f")
            .tempfile_in(".")
            .unwrap();
        let name = file.path().file_name().unwrap().to_str().unwrap();
        assert!(guess::looks_random(name));
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
