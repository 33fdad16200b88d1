//! The IDs of rules that are stored in the registry.

use std::fmt;
use std::str::FromStr;

use crate::model::token_id::TokenId;

/// The ID of a stored rule, in the form of a token's ID.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RuleId(TokenId);

impl RuleId {
    /// Creates an ID from random bytes.
    pub fn new(random: [u8; 16]) -> Self {
        Self(TokenId::new(random))
    }
}

/// The error for a text that is not the ID of a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a rule ID has 16 hexadecimal digits in lower case")]
pub struct RuleIdError;

impl FromStr for RuleId {
    type Err = RuleIdError;

    fn from_str(text: &str) -> Result<Self, RuleIdError> {
        text.parse().map(Self).map_err(|_| RuleIdError)
    }
}

impl fmt::Display for RuleId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

terrace_base::text_serde!(RuleId);
