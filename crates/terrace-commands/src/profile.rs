//! Profiles: registries with names, in a configuration file of the user.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use terrace_base::untrusted;

use crate::error::Failure;
use crate::http::BaseUrl;

/// The configuration file.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Profiles {
    /// The name of the profile without another choice.
    #[serde(default)]
    pub(crate) default: Option<String>,
    #[serde(default)]
    pub(crate) profiles: BTreeMap<String, Profile>,
}

/// A registry, and the place of the token for it.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Profile {
    pub(crate) url: String,
    /// The name of the variable with the token. Without it, the token that `login` stored is used.
    #[serde(default)]
    pub(crate) token_env: Option<String>,
}

impl Profiles {
    /// Reads the file; empty if it does not exist.
    ///
    /// # Errors
    /// The line, and its fault.
    pub(crate) fn read(path: &Path) -> Result<Self, Failure> {
        let place = untrusted::line(&path.to_string_lossy()).to_string();
        let refused = |reason: String| Failure::Usage(format!("{place}: {reason}"));
        let text = match fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Ok(Self::default());
            }
            Err(error) => return Err(refused(error.to_string())),
        };
        let read: Self = toml::from_str(&text).map_err(|error| {
            // Not the text of the line, which may be a token.
            let start = error.span().map_or(0, |span| span.start);
            let before = text.get(..start).unwrap_or_default();
            let line = before.matches('\n').count() + 1;
            let advice = match error.message().contains("unknown field `token`") {
                true => ". A token does not belong in this file: name a variable with token_env, or use `terrace login`",
                false => "",
            };
            refused(format!("line {line}: {}{advice}", error.message()))
        })?;
        for (name, profile) in &read.profiles {
            BaseUrl::parse(&profile.url).map_err(|error| {
                refused(format!("profiles.{name}: the url is invalid: {error}"))
            })?;
        }
        match &read.default {
            Some(default) if !read.profiles.contains_key(default) => Err(refused(format!(
                "default is {default:?}, but there is no [profiles.{default}]"
            ))),
            _ => Ok(read),
        }
    }

    /// Returns a profile by its name.
    ///
    /// # Errors
    /// The names that exist.
    pub(crate) fn named(&self, name: &str, path: &Path) -> Result<&Profile, Failure> {
        self.profiles.get(name).ok_or_else(|| {
            let names: Vec<&str> = self.profiles.keys().map(String::as_str).collect();
            Failure::Usage(format!(
                "there is no profile {name:?} in {}; the profiles there: {}",
                untrusted::line(&path.to_string_lossy()),
                names.join(", ")
            ))
        })
    }
}

/// Returns the path of the file: `terrace/config.toml` in `XDG_CONFIG_HOME` or `~/.config`, on Windows in `APPDATA`.
///
/// # Errors
/// The user has no home directory.
pub(crate) fn path() -> Option<PathBuf> {
    let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    let directory = match cfg!(windows) {
        true => variable("APPDATA").map(PathBuf::from),
        false => variable("XDG_CONFIG_HOME")
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
            .or_else(|| Some(std::env::home_dir()?.join(".config"))),
    };
    Some(directory?.join("terrace").join("config.toml"))
}
