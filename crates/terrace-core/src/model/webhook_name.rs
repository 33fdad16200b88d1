//! The names of webhooks.

use std::str::FromStr;

use crate::limits;
use terrace_base::untrusted::is_unprintable;

/// The name of a webhook, which tells those with the same receiver apart: one line of 1 to 100 bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebhookName(String);

/// The error for a text that is not the name of a webhook.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "a webhook's name must be one printable line of 1 to {} bytes",
    limits::WEBHOOK_NAME_BYTES
)]
pub struct WebhookNameError;

impl FromStr for WebhookName {
    type Err = WebhookNameError;

    fn from_str(text: &str) -> Result<Self, WebhookNameError> {
        let has_length = (1..=limits::WEBHOOK_NAME_BYTES).contains(&text.len());
        match has_length && !text.chars().any(is_unprintable) {
            true => Ok(Self(text.to_owned())),
            false => Err(WebhookNameError),
        }
    }
}

crate::model::text_display!(WebhookName);

terrace_base::text_serde!(WebhookName);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_one_printable_line() {
        for text in ["alerts", "#releases of acme", &"a".repeat(100)] {
            assert!(text.parse::<WebhookName>().is_ok(), "{text}");
        }
        for text in ["", "a\nb", "a\u{1b}", &"a".repeat(101)] {
            assert_eq!(
                text.parse::<WebhookName>(),
                Err(WebhookNameError),
                "{text:?}"
            );
        }
    }
}
