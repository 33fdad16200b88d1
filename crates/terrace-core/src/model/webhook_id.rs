//! The IDs of webhooks.

use std::fmt;
use std::str::FromStr;

use crate::model::token_id::TokenId;

/// The ID of a webhook: as for a token, 16 hexadecimal digits in lower case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WebhookId(TokenId);

/// The error for a text that is not the ID of a webhook.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a webhook's ID has 16 hexadecimal digits in lower case")]
pub struct WebhookIdError;

impl WebhookId {
    /// Creates an ID from random bytes.
    pub fn new(random: [u8; 16]) -> Self {
        Self(TokenId::new(random))
    }
}

impl FromStr for WebhookId {
    type Err = WebhookIdError;

    fn from_str(text: &str) -> Result<Self, WebhookIdError> {
        text.parse().map(Self).map_err(|_| WebhookIdError)
    }
}

impl fmt::Display for WebhookId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

terrace_base::text_serde!(WebhookId);
