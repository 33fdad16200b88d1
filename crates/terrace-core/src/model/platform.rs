//! The operating system and architecture that a package runs on.

use std::fmt;
use std::str::FromStr;

use crate::limits;

/// Maximum length of each half of a platform. The longest that Go knows is `loongarch64`; 16 leaves room.
const PLATFORM_PART_BYTES: usize = 16;

/// A target platform, written `os_arch`, such as `linux_amd64`.
///
/// Each half is 1 to 16 lower-case letters and digits. Exactly one `_` joins them (clients.md 2.4.1), so
/// neither half may contain one.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Platform {
    os: String,
    arch: String,
}

/// The error for a text that is not a platform.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlatformError {
    /// A half is not a valid keyword.
    #[error("{what} {value:?} must be 1 to {max} lower-case letters and digits", max = PLATFORM_PART_BYTES)]
    Part {
        /// Which half: the operating system or the architecture.
        what: &'static str,
        /// The rejected text.
        value: String,
    },
    /// The text does not contain a `_`.
    #[error("platform {0:?} must be written os_arch, such as linux_amd64")]
    Shape(String),
}

impl Platform {
    /// Creates a platform from its halves.
    ///
    /// # Errors
    /// If one of them is not a valid keyword.
    pub fn new(os: &str, arch: &str) -> Result<Self, PlatformError> {
        Ok(Self {
            os: part("operating system", os)?,
            arch: part("architecture", arch)?,
        })
    }

    /// Returns the operating system, such as `linux`.
    pub fn os(&self) -> &str {
        &self.os
    }

    /// Returns the architecture, such as `amd64`.
    pub fn arch(&self) -> &str {
        &self.arch
    }
}

fn part(what: &'static str, value: &str) -> Result<String, PlatformError> {
    let fits = (1..=PLATFORM_PART_BYTES).contains(&value.len())
        && value
            .bytes()
            .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
    if fits {
        Ok(value.to_owned())
    } else {
        let value = value.chars().take(limits::NAME_BYTES).collect();
        Err(PlatformError::Part { what, value })
    }
}

impl fmt::Display for Platform {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}_{}", self.os, self.arch)
    }
}

impl FromStr for Platform {
    type Err = PlatformError;

    fn from_str(text: &str) -> Result<Self, PlatformError> {
        match text.split_once('_') {
            Some((os, arch)) => Self::new(os, arch),
            None => Err(PlatformError::Shape(
                text.chars().take(limits::NAME_BYTES).collect(),
            )),
        }
    }
}

terrace_base::text_serde!(Platform);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_platform_is_two_keywords_joined_by_one_underscore() {
        let platform: Platform = "linux_amd64".parse().unwrap();
        assert_eq!((platform.os(), platform.arch()), ("linux", "amd64"));
        assert_eq!(platform.to_string(), "linux_amd64");
        for text in [
            "linux",
            "linux_",
            "_amd64",
            "linux_amd64_v1",
            "Linux_amd64",
            "linux_arm/64",
        ] {
            assert!(text.parse::<Platform>().is_err(), "{text:?}");
        }
    }
}
