//! A token, and the place that it comes from.

use std::fmt;
use std::path::PathBuf;

use terrace_base::secret::Secret;

use super::shown;
use crate::error::Failure;

/// A token that is a valid header value, and the place that it comes from.
#[derive(Debug, Clone)]
pub(crate) struct Token {
    secret: Secret,
    place: TokenPlace,
}

/// The place that a token comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum TokenPlace {
    /// An option of the command line.
    Option(&'static str),
    /// A file that an option names.
    File(PathBuf),
    /// A variable of the environment.
    Variable(String),
    /// A configuration file of `terraform` and `tofu`, where `login` writes as well.
    Client(PathBuf),
}

impl Token {
    /// Parses a token from this place.
    ///
    /// # Errors
    /// The place, without the text: it cannot be sent as a token.
    pub(crate) fn parse(text: &str, place: TokenPlace) -> Result<Self, Failure> {
        if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(Failure::Usage(format!(
                "the token in {place} is empty or contains a space, a line break or a character that is not ASCII"
            )));
        }
        let secret = Secret::new(text);
        Ok(Self { secret, place })
    }

    pub(crate) fn secret(&self) -> &Secret {
        &self.secret
    }

    pub(crate) fn place(&self) -> &TokenPlace {
        &self.place
    }
}

impl fmt::Display for TokenPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Option(name) => f.write_str(name),
            Self::Variable(name) => f.write_str(name),
            Self::File(path) | Self::Client(path) => f.write_str(&shown(path)),
        }
    }
}
