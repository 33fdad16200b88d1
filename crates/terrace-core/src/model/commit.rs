//! The ID of a commit in a git repository.

use std::str::FromStr;

use terrace_base::untrusted::quoted;

/// Lengths of a full commit ID, in hexadecimal digits: of SHA-1 and of SHA-256
/// (<https://git-scm.com/docs/hash-function-transition>).
const COMMIT_DIGITS: [usize; 2] = [40, 64];

/// The full ID of a commit: 40 hexadecimal digits (SHA-1) or 64 (SHA-256), in lower case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommitId(String);

/// The error for a text that is not the ID of a commit.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "the commit {found} is not a full commit ID, which has 40 or 64 hexadecimal digits: use the output of \
     \"git rev-parse HEAD\"",
    found = quoted(.0)
)]
pub struct CommitIdError(String);

impl CommitId {
    /// Returns the ID in lower case.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

crate::model::text_display!(CommitId);

impl FromStr for CommitId {
    type Err = CommitIdError;

    fn from_str(text: &str) -> Result<Self, CommitIdError> {
        let is_id = COMMIT_DIGITS.contains(&text.len())
            && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        match is_id {
            true => Ok(Self(text.to_ascii_lowercase())),
            false => Err(CommitIdError(text.to_owned())),
        }
    }
}

terrace_base::text_serde!(CommitId);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_that_is_not_a_full_commit_id_is_rejected_with_the_rule() {
        for length in [40, 64] {
            let upper = "0A1B2C3D".repeat(length / 8);
            let commit: CommitId = upper.parse().unwrap();
            assert_eq!(commit.as_str(), upper.to_ascii_lowercase());
        }
        for text in [
            "",
            "main",
            "0a1b2c3",
            &"0".repeat(39),
            &"0".repeat(41),
            &"0".repeat(63),
            &"g".repeat(40),
            &"é".repeat(20),
            &format!("{}\n", "0".repeat(39)),
        ] {
            let error = text.parse::<CommitId>().unwrap_err().to_string();
            assert!(error.contains("40 or 64"), "{error}");
            assert!(!error.contains('\n'), "{error}");
        }
    }
}
