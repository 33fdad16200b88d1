//! The configuration.

use terrace_core::config::Config;

use crate::text;

/// Variables, one a line: a name, `=`, and its value.
pub fn config(data: &[u8]) {
    let Some(all) = text(data) else { return };
    let vars = all.lines().filter_map(|line| line.split_once('='));
    let vars: Vec<(&str, String)> = vars
        .map(|(name, value)| match SECRETS.contains(&name) {
            true => (name, format!("{value}{TOLD_TO_NOBODY}")),
            false => (name, value.to_owned()),
        })
        .collect();
    let vars: Vec<(&str, &str)> = vars.iter().map(|(name, value)| (*name, &**value)).collect();
    let told = match Config::from_vars(&vars) {
        Ok(config) => format!("{config:?}"),
        Err(error) => error.to_string(),
    };
    assert!(
        !told.contains(TOLD_TO_NOBODY) || all.contains(TOLD_TO_NOBODY),
        "{told}"
    );
}

const SECRETS: [&str; 5] = [
    "TERRACE_ADMIN_TOKEN",
    "TERRACE_ADMIN_TOKEN_PREVIOUS",
    "TERRACE_LOGIN_CLIENT_SECRET",
    "TERRACE_S3_SECRET_ACCESS_KEY",
    "TERRACE_URL_SECRET",
];

/// It begins with a letter that ends no escape of a text that is told in quotes: `\0` before `123` has once been
/// taken for the secret `0123`.
const TOLD_TO_NOBODY: &str = "Nobody is told this";
