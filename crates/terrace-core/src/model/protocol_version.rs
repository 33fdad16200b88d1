//! The version of the plugin protocol that a provider implements.

use std::fmt;
use std::str::FromStr;

/// A plugin protocol version, `MAJOR.MINOR`, such as `5.1`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProtocolVersion {
    major: u16,
    minor: u16,
}

/// The error for a text that is not a plugin protocol version.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("plugin protocol {0:?} is not of the form MAJOR.MINOR, such as 5.0 or 6.0")]
pub struct ProtocolVersionError(String);

impl ProtocolVersion {
    /// The default for releases without a manifest, as GoReleaser's users publish them (the public registry's
    /// rule).
    pub const DEFAULT: Self = Self { major: 5, minor: 0 };

    /// Returns whether terraform and tofu support it: at least 5.0 and below 7 (clients.md 2.2.3).
    pub fn is_supported_by_clients(self) -> bool {
        (5..7).contains(&self.major)
    }
}

impl fmt::Display for ProtocolVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

impl FromStr for ProtocolVersion {
    type Err = ProtocolVersionError;

    fn from_str(text: &str) -> Result<Self, ProtocolVersionError> {
        let error = || ProtocolVersionError(text.chars().take(40).collect());
        let number = |digits: &str| {
            let canonical = digits == "0" || !digits.starts_with(['0', '+']);
            canonical.then(|| digits.parse::<u16>().ok()).flatten()
        };
        let (major, minor) = text.split_once('.').ok_or_else(error)?;
        number(major)
            .zip(number(minor))
            .map(|(major, minor)| Self { major, minor })
            .ok_or_else(error)
    }
}

terrace_base::text_serde!(ProtocolVersion);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_protocol_version_consists_of_two_canonical_numbers() {
        let version: ProtocolVersion = "6.10".parse().unwrap();
        assert_eq!(version.to_string(), "6.10");
        for text in [
            "", "6", "6.", ".0", "6.0.0", "06.0", "+6.0", "6.-1", "x.y", "70000.0",
        ] {
            assert!(text.parse::<ProtocolVersion>().is_err(), "{text:?}");
        }
    }

    #[test]
    fn clients_support_protocols_five_and_six_2_2_3() {
        let supported = |text: &str| {
            text.parse::<ProtocolVersion>()
                .unwrap()
                .is_supported_by_clients()
        };
        assert!(supported("5.0") && supported("6.9"));
        assert!(!supported("4.1") && !supported("7.0"));
    }
}
