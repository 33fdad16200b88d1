//! Tokens and passwords in files of any name, by the forms in which programs and services write them.
//!
//! Each form is exact: a prefix that only tokens of one service have, or the name of a setting that is always a secret. The
//! value has to be a literal of the service's length with letters and digits of many kinds, so that references, templates
//! and placeholders are none.

use std::ops::RangeInclusive;

/// The number of different characters that no placeholder such as `xxxx…` has.
const KINDS: usize = 10;

/// A word that the examples of manuals have in their keys.
const EXAMPLE: &str = "example";

/// The prefixes of tokens, with the least number of the characters that follow.
const TOKENS: [(&str, usize); 17] = [
    // GitHub: personal, of applications, of users and servers, refreshing, and fine-grained.
    ("ghp_", 36),
    ("gho_", 36),
    ("ghu_", 36),
    ("ghs_", 36),
    ("ghr_", 36),
    ("github_pat_", 60),
    // GitLab: personal, of jobs, of runners.
    ("glpat-", 20),
    ("glrt-", 20),
    ("gldt-", 20),
    // npm, PyPI, Slack, DigitalOcean, Stripe.
    ("npm_", 36),
    ("pypi-AgEIcHlwaS5vcmc", 40),
    ("xoxb-", 40),
    ("xoxp-", 40),
    ("dop_v1_", 64),
    ("sk_live_", 24),
    // HCP Terraform, after a part of 14 characters; Vault.
    (".atlasv1.", 60),
    ("hvs.", 90),
];

/// Settings that are secrets wherever they are.
const SETTINGS: [Setting; 5] = [
    // AWS, in files of settings and in answers.
    Setting::base64("secret_access_key", 40..=40),
    Setting::base64("secretaccesskey", 40..=40),
    // A kubeconfig, and the connection strings of Azure Storage.
    Setting::base64("client-key-data", 40..=usize::MAX),
    Setting::base64("accountkey", 80..=90),
    // `.npmrc`
    Setting {
        name: "_authtoken",
        lengths: LEAST..=usize::MAX,
        is_base64: false,
    },
];

/// The file of Docker and Podman, by a member, and its setting of a password.
const DOCKER: (&str, Setting) = ("\"auths\"", Setting::base64("\"auth\"", LEAST..=usize::MAX));

/// Google's credentials of a user, by a value, and its setting of a token.
const GOOGLE: (&str, Setting) = (
    "\"authorized_user\"",
    Setting {
        name: "\"refresh_token\"",
        lengths: LEAST..=usize::MAX,
        is_base64: false,
    },
);

/// A line of each kubeconfig, and the start of one with a token.
const KUBECONFIG: (&str, &str) = ("kind: Config", "token: ");

/// The number of characters of a value that are looked at, so that the time does not depend on the length of a line.
const MOST: usize = 128;

/// The least length of a password or token.
const LEAST: usize = 20;

/// A setting with a secret value.
struct Setting {
    /// Its name in small letters.
    name: &'static str,
    lengths: RangeInclusive<usize>,
    is_base64: bool,
}

impl Setting {
    const fn base64(name: &'static str, lengths: RangeInclusive<usize>) -> Self {
        Self {
            name,
            lengths,
            is_base64: true,
        }
    }

    /// Returns whether a text, of which `small` is a copy in small letters, sets it.
    fn is_in(&self, text: &str, small: &str) -> bool {
        let is_base64 = |value: &str| !value.contains(['_', '-', '.']);
        let mut names = small.match_indices(self.name);
        names.any(|(at, name)| {
            let value = value(text.get(at + name.len()..).unwrap_or_default());
            value.is_some_and(|value| {
                self.lengths.contains(&value.len())
                    && (!self.is_base64 || is_base64(value))
                    && is_random(value)
            })
        })
    }
}

/// Returns whether a text has a token or password.
pub(super) fn has_credentials(text: &str) -> bool {
    // Only ASCII changes, so that places stay the same.
    let small = text.to_ascii_lowercase();
    let is_file = |(sign, setting): (&str, Setting)| {
        small.trim_start().starts_with('{') && small.contains(sign) && setting.is_in(text, &small)
    };
    TOKENS
        .iter()
        .any(|(prefix, least)| has_token(text, prefix, *least))
        || SETTINGS.iter().any(|setting| setting.is_in(text, &small))
        || is_file(DOCKER)
        || is_file(GOOGLE)
        || is_kubeconfig_with_token(text)
}

fn is_kubeconfig_with_token(text: &str) -> bool {
    let (sign, token) = KUBECONFIG;
    let lines = || text.lines().map(str::trim);
    let mut values = lines().filter_map(|line| line.strip_prefix(token));
    lines().any(|line| line == sign)
        && values.any(|value| {
            let is_literal = value.chars().all(|c| is_digit(c) || c == '.');
            is_literal && value.len() >= LEAST && is_random(value)
        })
}

fn has_token(text: &str, prefix: &str, least: usize) -> bool {
    let mut places = text.match_indices(prefix);
    places.any(|(at, _)| {
        let before = text.get(..at).unwrap_or_default();
        let is_start =
            prefix.starts_with('.') || !before.ends_with(|c: char| c.is_ascii_alphanumeric());
        let rest = text.get(at + prefix.len()..).unwrap_or_default();
        let token = start_of(rest, is_digit);
        is_start && token.len() >= least && is_random(token)
    })
}

/// Returns the value that follows the name of a setting on its line, if it is a literal.
fn value(rest: &str) -> Option<&str> {
    let is_quote = |c: char| matches!(c, '"' | '\'' | '\\');
    let rest = rest
        .trim_start_matches(is_quote)
        .trim_start_matches([' ', '\t']);
    let rest = rest
        .strip_prefix(['=', ':'])?
        .trim_start_matches([' ', '\t']);
    let rest = rest.trim_start_matches(is_quote);
    let is_of_value = |c: char| is_digit(c) || matches!(c, '+' | '/' | '=' | '.');
    let value = start_of(rest, is_of_value);
    let after = rest.get(value.len()..)?;
    let ends = after.is_empty()
        || value.len() == MOST
        || after.starts_with(|c: char| c.is_whitespace() || is_quote(c) || ",;}".contains(c));
    ends.then_some(value)
}

/// Returns the first characters with a property, at most [`MOST`].
fn start_of(text: &str, is_part: impl Fn(char) -> bool) -> &str {
    let chars = text.chars().take(MOST);
    // They are all ASCII.
    let length = chars.take_while(|c| is_part(*c)).count();
    text.get(..length).unwrap_or_default()
}

fn is_digit(character: char) -> bool {
    character.is_ascii_alphanumeric() || matches!(character, '_' | '-')
}

/// Returns whether a value is neither a word nor a placeholder.
fn is_random(value: &str) -> bool {
    let mut kinds = [false; 256];
    for byte in value.bytes() {
        if let Some(kind) = kinds.get_mut(usize::from(byte)) {
            *kind = true;
        }
    }
    kinds.iter().filter(|is_used| **is_used).count() >= KINDS
        && value.bytes().any(|byte| byte.is_ascii_digit())
        && !value.to_ascii_lowercase().contains(EXAMPLE)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Random characters, which no scanner of this repository takes for the token of a service.
    const DIGITS: &str = "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0eF3hJ6kM9nP2rS5uV8xA1";

    #[track_caller]
    fn check(text: &str, expected: bool) {
        assert_eq!(has_credentials(text), expected, "{text}");
    }

    #[test]
    fn tokens_and_passwords_are_found_in_the_forms_of_their_programs() {
        let of = |length: usize| DIGITS.get(..length).unwrap();
        let key = of(40);
        for text in [
            format!("[default]\naws_access_key_id = AKIA2\naws_secret_access_key = {key}\n"),
            format!("export AWS_SECRET_ACCESS_KEY='{key}'\n"),
            format!("{{\"Credentials\": {{\"SecretAccessKey\": \"{key}\", \"x\": 1}}}}"),
            format!("//registry.npmjs.org/:_authToken={}", of(36)),
            format!("token = \"{}{}\"\n", "ghp_", of(36)),
            format!("https://x:{}{}@gitlab.example.com/a.git", "glpat-", of(20)),
            format!("users:\n- user:\n    client-key-data: {key}\n"),
            format!(
                "apiVersion: v1\nkind: Config\nusers:\n- user:\n    token: {}.x-{key}\n",
                of(9)
            ),
            format!(
                "{{\"auths\": {{\"ghcr.io\": {{\"auth\": \"{}==\"}}}}}}",
                of(30)
            ),
            format!("{{\"type\": \"authorized_user\", \"refresh_token\": \"1//{key}\"}}"),
            format!(
                "AccountName=a;AccountKey={}{}==;EndpointSuffix=x",
                of(46),
                of(40)
            ),
            format!("token = \"{}.atlasv1.{DIGITS}{}\"", of(14), of(16)),
        ] {
            check(&text, true);
        }
    }

    #[test]
    fn references_templates_placeholders_and_other_settings_are_no_credentials() {
        let key = DIGITS.get(..40).unwrap();
        for text in [
            "aws_secret_access_key = var.aws_secret_access_key_of_account_12345\n".to_owned(),
            "secret_access_key = module.user[\"a1\"].secret_access_key_0123456789\n".to_owned(),
            "AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY\n".to_owned(),
            "AWS_SECRET_ACCESS_KEY: ${{ secrets.AWS_SECRET_ACCESS_KEY_0123456789 }}\n".to_owned(),
            format!("secret_access_key = \"{}\"", "x1".repeat(20)),
            "registry=https://registry.npmjs.org/\n//registry.npmjs.org/:_authToken=${NPM_TOKEN}\n"
                .to_owned(),
            "kind: Config\nusers:\n- user:\n    token: ${token}\n    client-key-data: ${key}\n"
                .to_owned(),
            "kind: ConfigMap\ndata:\n  token: a1b2c3d4e5f6g7h8i9j0k1l2m3\n".to_owned(),
            "token = data.aws_eks_cluster_auth.cluster_1.token # kind: Config\n".to_owned(),
            format!("{}{}", "ghp_", "x".repeat(36)),
            format!("sha256:{key}ghp_short"),
            format!("h1:{key}="),
            "{\"auths\": {\"ghcr.io\": {\"auth\": \"${auth}\"}}}".to_owned(),
            "variable \"secret_access_key\" {\n  type = string\n}\n".to_owned(),
        ] {
            check(&text, false);
        }
    }

    #[test]
    fn a_text_full_of_prefixes_takes_no_longer_than_its_length() {
        check(&"ghp_".repeat(20_000), false);
        check(&"secret_access_key=".repeat(10_000), false);
    }
}
