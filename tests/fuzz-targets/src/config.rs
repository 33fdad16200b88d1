//! The configuration.

use terrace_core::config::Config;

use crate::text;

/// Parses variables, one per line: a name, `=`, and its value.
pub fn config(data: &[u8]) {
    let Some(all) = text(data) else { return };
    let vars = all.lines().filter_map(|line| line.split_once('='));
    let vars: Vec<(&str, String)> = vars
        .map(|(name, value)| match SECRETS.contains(&name) {
            true => (name, format!("{value}{SECRET_SUFFIX}")),
            false => (name, value.to_owned()),
        })
        .collect();
    let vars: Vec<(&str, &str)> = vars.iter().map(|(name, value)| (*name, &**value)).collect();
    let told = match Config::from_vars(&vars) {
        Ok(config) => format!("{config:?}"),
        Err(error) => error.to_string(),
    };
    assert!(
        !told.contains(SECRET_SUFFIX) || all.contains(SECRET_SUFFIX),
        "{told}"
    );
}

const SECRETS: [&str; 6] = [
    "TERRACE_ADMIN_TOKEN",
    "TERRACE_ADMIN_TOKEN_PREVIOUS",
    "TERRACE_LOGIN_CLIENT_SECRET",
    "TERRACE_S3_FALLBACK_SECRET_ACCESS_KEY",
    "TERRACE_S3_SECRET_ACCESS_KEY",
    "TERRACE_URL_SECRET",
];

/// The suffix of secrets, which must not appear in any message. Its first letter ends no escape sequence of
/// quoted text: `\0` before `123` was once mistaken for the secret `0123`.
const SECRET_SUFFIX: &str = "Never show this";
