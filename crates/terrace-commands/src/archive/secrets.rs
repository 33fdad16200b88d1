//! Files that hold secrets according to their contents, under any name.
//!
//! Each form is exact: a key, a prefix that only tokens of one service have, or the name of a setting that is always a secret, in
//! some files only. The value has to be a literal of the service's length, with a digit and many different characters, so that
//! references, templates and placeholders are none.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use regex_automata::meta::{Config, Regex};
use regex_automata::util::syntax;
use terrace_archive::SecretFile;

/// A private key in PEM or OpenPGP's ASCII armour, and not only a mention of one: digits follow, also if the text is a string
/// in JSON, where lines end with `\n`.
const PRIVATE_KEY: &str = r#"-----BEGIN [^\n"']{0,60}PRIVATE KEY(?s:.{0,512}?)(?:\s|\\[nr])[0-9A-Za-z+/=]{40,}(?:\s|\\|$)"#;

/// The forms of tokens and passwords. The group is the part that is random.
const CREDENTIALS: [&str; 14] = [
    // Terrace's own.
    r"(?:^|[^0-9A-Za-z])terrace_[0-9a-f]{16}\.([\w-]{10,}\.[\w-]{43}\.[0-9a-f]{8})",
    // GitHub: personal, of applications, of users and servers, refreshing, and fine-grained. npm.
    r"(?:^|[^0-9A-Za-z])(?:gh[oprsu]_|npm_)([\w-]{36,})",
    r"(?:^|[^0-9A-Za-z])github_pat_([\w-]{60,})",
    // GitLab: personal, of jobs, of runners.
    r"(?:^|[^0-9A-Za-z])gl(?:pat|rt|dt)-([\w-]{20,})",
    // PyPI, Slack, DigitalOcean, Stripe.
    r"(?:^|[^0-9A-Za-z])pypi-AgEIcHlwaS5vcmc([\w-]{40,})",
    r"(?:^|[^0-9A-Za-z])xox[bp]-([\w-]{40,})",
    r"(?:^|[^0-9A-Za-z])dop_v1_([\w-]{64,})",
    r"(?:^|[^0-9A-Za-z])sk_live_([\w-]{24,})",
    // HCP Terraform, after a part of 14 characters; Vault.
    r"\.atlasv1\.([\w-]{60,})",
    r"(?:^|[^0-9A-Za-z])hvs\.([\w-]{90,})",
    // AWS, in files of settings and in answers.
    r#"(?i:secret_?access_?key)["'\\]*[ \t]*[=:][ \t]*["'\\]*([A-Za-z0-9+/=]{40})(?:$|[\s"'\\,;}])"#,
    // A kubeconfig, and the connection strings of Azure Storage.
    r#"(?i:client-key-data)["'\\]*[ \t]*[=:][ \t]*["'\\]*([A-Za-z0-9+/=]{40,})(?:$|[\s"'\\,;}])"#,
    r#"(?i:accountkey)["'\\]*[ \t]*[=:][ \t]*["'\\]*([A-Za-z0-9+/=]{80,90})(?:$|[\s"'\\,;}])"#,
    // `.npmrc`
    r#"(?i:_authtoken)["'\\]*[ \t]*[=:][ \t]*["'\\]*([\w.+/=-]{20,})(?:$|[\s"'\\,;}])"#,
];

/// The files whose passwords have names that other files have as well: a sign of each, and the form of its passwords, which
/// may come before.
const FILES: [[&str; 2]; 3] = [
    // The file of Docker and Podman.
    [
        r#"(?s)\A\s*\{.*"auths""#,
        r#""auth"\s*:\s*"([A-Za-z0-9+/=]{20,})""#,
    ],
    // Google's credentials of a user.
    [
        r#"(?s)\A\s*\{.*"authorized_user""#,
        r#""refresh_token"\s*:\s*"([\w.+/=-]{20,})""#,
    ],
    // A kubeconfig.
    [
        r"(?m)^[ \t]*kind: Config\s*$",
        r"(?m)^[ \t]*token: ([\w.-]{20,})\s*$",
    ],
];

/// The number of different characters that no placeholder such as `xxxx…` has.
const KINDS: usize = 10;

/// A word that the examples of manuals have in their keys.
const EXAMPLE: &str = "example";

/// The signature of a zip's first entry, and the offset of its name.
const ZIP: &[u8] = b"PK\x03\x04";
const ZIP_NAME: usize = 30;

/// The name of the first entry in the zip of a plan.
const PLAN: &[u8] = b"tfplan";

/// The members that each state has, at its start.
const STATE: [&str; 3] = ["\"terraform_version\"", "\"serial\"", "\"lineage\""];
const STATE_BYTES: usize = 4096;

/// The part of a file in which a zero byte shows that it is no text.
const TEXT_BYTES: usize = 8192;

static KEY: LazyLock<Vec<Regex>> = LazyLock::new(|| compiled(&[PRIVATE_KEY]));
static FORMS: LazyLock<Vec<Regex>> = LazyLock::new(|| compiled(&CREDENTIALS));
static FORMS_OF_FILES: LazyLock<Vec<Vec<Regex>>> =
    LazyLock::new(|| FILES.iter().map(|forms| compiled(forms)).collect());

/// Compiles forms of this program, which match bytes.
fn compiled(forms: &[&str]) -> Vec<Regex> {
    let compile = |form: &&str| {
        let mut builder = Regex::builder();
        builder.syntax(syntax::Config::new().unicode(false).utf8(false));
        builder.configure(Config::new().utf8_empty(false));
        builder.build(form).ok()
    };
    forms.iter().filter_map(compile).collect()
}

/// Returns the kind of secrets that a file with these contents holds, if it is a plan, a state, or has a private key or a
/// token.
pub(super) fn secret_in(contents: &[u8]) -> Option<SecretFile> {
    if contents.starts_with(ZIP) {
        let name = contents.get(ZIP_NAME..).unwrap_or_default();
        return name.starts_with(PLAN).then_some(SecretFile::Plan);
    }
    let start = contents.get(..STATE_BYTES).unwrap_or(contents);
    let start = String::from_utf8_lossy(start);
    if start.trim_start().starts_with('{') && STATE.iter().all(|it| start.contains(it)) {
        return Some(SecretFile::State);
    }
    if KEY.iter().any(|key| key.is_match(contents)) {
        return Some(SecretFile::PrivateKey);
    }
    let start = contents.get(..TEXT_BYTES).unwrap_or(contents);
    (!start.contains(&0) && has_credentials(contents)).then_some(SecretFile::Credentials)
}

/// Returns whether a text has a token or password.
fn has_credentials(text: &[u8]) -> bool {
    let of_file = |forms: &'static Vec<Regex>| match forms.as_slice() {
        [sign, form] if sign.is_match(text) => Some(form),
        _ => None,
    };
    let of_files = FORMS_OF_FILES.iter().filter_map(of_file);
    let forms = FORMS.iter().chain(of_files);
    let values = forms.flat_map(|form| form.captures_iter(text));
    let mut values = values.filter_map(|found| text.get(found.get_group(1)?.range()));
    values.any(is_random)
}

/// Returns whether a value is neither a word nor a placeholder.
fn is_random(value: &[u8]) -> bool {
    let kinds: BTreeSet<&u8> = value.iter().collect();
    kinds.len() >= KINDS
        && value.iter().any(u8::is_ascii_digit)
        && !String::from_utf8_lossy(value)
            .to_ascii_lowercase()
            .contains(EXAMPLE)
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIGITS: &str = "MIIEpAIBAAKCAQEAwq7Yh0bGm0bq3Xb3Zs1nTn2q9pY1kZ0b9xk3m5Zt";

    #[test]
    fn a_private_key_is_found_in_every_form() {
        for text in [
            format!("-----BEGIN RSA PRIVATE KEY-----\n{DIGITS}\n"),
            format!("x = <<EOT\n  -----BEGIN PRIVATE KEY-----\r\n  {DIGITS}\r\n  EOT\n"),
            format!("{{\"private_key\": \"-----BEGIN PRIVATE KEY-----\\n{DIGITS}\\n\"}}"),
            format!("-----BEGIN PGP PRIVATE KEY BLOCK-----\nVersion: 1\n\n{DIGITS}\n"),
            format!(
                "-----BEGIN EC PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,00\n\n{DIGITS}\n"
            ),
        ] {
            assert_eq!(
                secret_in(text.as_bytes()),
                Some(SecretFile::PrivateKey),
                "{text}"
            );
        }
    }

    #[test]
    fn a_mention_of_a_key_and_a_public_key_are_no_private_key() {
        for text in [
            "-----BEGIN PRIVATE KEY-----\n...\n-----END PRIVATE KEY-----\n".to_owned(),
            "a PEM text that starts with -----BEGIN RSA PRIVATE KEY-----".to_owned(),
            format!("-----BEGIN PUBLIC KEY-----\n{DIGITS}\n"),
            format!("-----BEGIN CERTIFICATE-----\n{DIGITS}\n"),
            format!("the PRIVATE KEY is not {DIGITS}"),
        ] {
            assert_eq!(secret_in(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn plans_and_states_are_found_under_any_name() {
        let plan = [ZIP, &[0; ZIP_NAME - 4], b"tfplan"].concat();
        assert_eq!(secret_in(&plan), Some(SecretFile::Plan));
        let other = [ZIP, &[0; ZIP_NAME - 4], b"main.py"].concat();
        assert_eq!(secret_in(&other), None);
        let state = br#"{"version": 4, "terraform_version": "1.9.0", "serial": 1, "lineage": "x"}"#;
        assert_eq!(secret_in(state), Some(SecretFile::State));
        assert_eq!(secret_in(br#"{"serial": 1}"#), None);
    }

    /// Random characters, which no scanner of this repository takes for the token of a service.
    const RANDOM: &str = "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0eF3hJ6kM9nP2rS5uV8xA1";

    #[track_caller]
    fn check(text: &str, expected: bool) {
        assert_eq!(has_credentials(text.as_bytes()), expected, "{text}");
    }

    #[test]
    fn tokens_are_found_by_the_prefixes_of_their_services() {
        for (prefix, length) in [
            ("github_pat_", 60),
            ("pypi-AgEIcHlwaS5vcmc", 40),
            ("xoxb-", 40),
            ("dop_v1_", 64),
            ("sk_live_", 24),
            ("hvs.", 90),
        ] {
            let random = RANDOM.repeat(2);
            let token = |length| format!("token = {prefix}{}\n", random.get(..length).unwrap());
            check(&token(length), true);
            check(&token(length - 1), false);
        }
    }

    #[test]
    fn tokens_and_passwords_are_found_in_the_forms_of_their_programs() {
        let of = |length: usize| RANDOM.get(..length).unwrap();
        let key = of(40);
        for text in [
            format!("[default]\naws_access_key_id = AKIA2\naws_secret_access_key = {key}\n"),
            format!("export AWS_SECRET_ACCESS_KEY='{key}'\n"),
            format!("{{\"Credentials\": {{\"SecretAccessKey\": \"{key}\", \"x\": 1}}}}"),
            format!("//registry.npmjs.org/:_authToken={}", of(36)),
            format!("token = \"{}{}\"\n", "ghp_", of(36)),
            format!(
                "token = terrace_7f3a9c2e51b04d68.{}.{}.0f1e2d3c\n",
                of(20),
                of(43)
            ),
            format!("https://x:{}{}@gitlab.example.com/a.git", "glpat-", of(20)),
            format!("users:\n- user:\n    client-key-data: {key}\n"),
            format!(
                "apiVersion: v1\nkind: Config\nusers:\n- user:\n    token: {}.x-{key}\n",
                of(9)
            ),
            format!(
                "users:\n- user:\n    token: {}\n- user:\n    token: {key}\nkind: Config\n",
                "x".repeat(20)
            ),
            format!(
                "{{\"auths\": {{\"ghcr.io\": {{\"auth\": \"{}==\"}}}}}}",
                of(30)
            ),
            format!("{{\"type\": \"authorized_user\", \"refresh_token\": \"1//0g-_{key}\"}}"),
            format!(
                "AccountName=a;AccountKey={}{}==;EndpointSuffix=x",
                of(46),
                of(40)
            ),
            format!("token = \"{}.atlasv1.{RANDOM}{}\"", of(14), of(16)),
        ] {
            check(&text, true);
        }
    }

    #[test]
    fn references_templates_placeholders_and_other_settings_are_no_credentials() {
        let key = RANDOM.get(..40).unwrap();
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
            "Such as {\"auths\": {\"r.example\": {\"auth\": \"dXNlcm5hbWU6cGFzc3dvcmQ=\"}}}"
                .to_owned(),
            "variable \"secret_access_key\" {\n  type = string\n}\n".to_owned(),
        ] {
            check(&text, false);
        }
    }

    #[test]
    fn a_text_full_of_prefixes_takes_no_longer_than_its_length() {
        check(&"ghp_".repeat(20_000), false);
        check(&"secret_access_key=".repeat(10_000), false);
        let line = "PRIVATE KEY".repeat(200_000);
        check(&line, false);
        let key = format!("{line}-----BEGIN PRIVATE KEY-----\n{DIGITS}\n");
        assert_eq!(secret_in(key.as_bytes()), Some(SecretFile::PrivateKey));
    }
}
