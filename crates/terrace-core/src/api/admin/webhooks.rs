//! The JSON of webhooks.

use serde::{Deserialize, Serialize};

use crate::model::webhook_id::WebhookId;
use crate::model::webhook_name::WebhookName;
use crate::storage::webhook::{EventKind, Webhook, WebhookFormat, WebhookState};
use terrace_base::time::UnixTime;

/// The body of `POST /admin/v1/webhooks`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WebhookBody {
    /// The URL of the receiver, with https.
    pub url: String,
    /// The events to deliver; empty for publish, status and key.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<String>,
    /// The namespaces whose events are delivered; empty for all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub namespaces: Vec<String>,
    /// `json`, the default, or `slack`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<String>,
    /// The name, which a second webhook with the same receiver and the same namespaces needs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

/// A webhook, without its URL, which may be a secret.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct WebhookAnswer {
    /// The ID.
    pub id: WebhookId,
    /// The name, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<WebhookName>,
    /// The host of the receiver.
    pub host: String,
    /// The events that are delivered.
    pub events: Vec<EventKind>,
    /// The namespaces whose events are delivered; empty for all.
    pub namespaces: Vec<String>,
    /// The format of the deliveries.
    pub format: WebhookFormat,
    /// The time of its creation.
    pub created: String,
    /// The name of the caller who created it.
    pub by: String,
    /// The number of the last audit entry that was delivered or skipped.
    pub delivered: u64,
    /// The number of attempts that failed since the last success.
    pub failures: u32,
    /// The result of the last attempt: an HTTP status, or the reason why there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_result: Option<String>,
    /// The time before which no attempt is made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_attempt: Option<String>,
    /// The time since which nothing is delivered any more, after too many failures.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disabled: Option<String>,
    /// The secret with which deliveries are signed; absent in the list.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret: Option<String>,
}

/// The answer to `GET /admin/v1/webhooks`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct WebhooksAnswer {
    /// All webhooks.
    pub webhooks: Vec<WebhookAnswer>,
}

/// The answer to `POST /admin/v1/webhooks/{id}/test`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct WebhookTestAnswer {
    /// Whether the receiver accepted the event.
    pub delivered: bool,
    /// Its HTTP status, or the reason why there is none.
    pub result: String,
}

impl WebhookAnswer {
    /// Describes a webhook.
    pub fn new(webhook: &Webhook, state: &WebhookState, secret: Option<String>) -> Self {
        let text = |time: Option<UnixTime>| time.map(|time| time.to_string());
        Self {
            id: webhook.id,
            name: webhook.name.clone(),
            host: webhook.host(),
            events: webhook.events.clone(),
            namespaces: webhook.namespaces.clone(),
            format: webhook.format,
            created: webhook.created.to_string(),
            by: webhook.by.clone(),
            delivered: state.delivered,
            failures: state.failures,
            last_result: state.last_result.clone(),
            next_attempt: text(state.next_attempt),
            disabled: text(state.disabled),
            secret,
        }
    }
}
