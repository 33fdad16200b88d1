//! The IDs of webhooks.

use super::random_id::random_id;

random_id!(
    /// The ID of a webhook.
    WebhookId,
    /// The error for a text that is not the ID of a webhook.
    WebhookIdError: "a webhook's ID has 16 hexadecimal digits in lower case"
);
