//! The directory in an archive that contains a module.

use std::str::FromStr;

use crate::limits;

/// A relative directory such as `modules/vpc`, in characters that need no escaping in a URL.
///
/// It becomes the `//subdir` of a module's location (clients.md 3.8).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subdir(String);

/// The error for a text that is not a subdirectory.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "subdirectory {0:?} must be a relative path of letters, digits, \"-\", \"_\" and \".\" without empty, \".\" or \"..\" parts"
)]
pub struct SubdirError(String);

impl Subdir {
    /// Returns the path, with `/` between its parts and none at its ends.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

crate::model::text_display!(Subdir);

impl FromStr for Subdir {
    type Err = SubdirError;

    fn from_str(text: &str) -> Result<Self, SubdirError> {
        let plain = |part: &str| {
            !matches!(part, "" | "." | "..")
                && part
                    .bytes()
                    .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'))
        };
        if text.len() <= limits::FILENAME_BYTES && text.split('/').all(plain) {
            Ok(Self(text.to_owned()))
        } else {
            Err(SubdirError(text.chars().take(120).collect()))
        }
    }
}

terrace_base::text_serde!(Subdir);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subdirectory_stays_inside_and_needs_no_escaping() {
        assert!("modules/vpc-2/a_b.c".parse::<Subdir>().is_ok());
        for text in [
            "", "/a", "a/", "a//b", "..", "a/../b", "./a", "a b", "a?b", "é", "a\\b",
        ] {
            assert!(text.parse::<Subdir>().is_err(), "{text:?}");
        }
    }
}
