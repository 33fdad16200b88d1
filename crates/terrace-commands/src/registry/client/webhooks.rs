//! Requests about webhooks.

use terrace_core::api::admin::{WebhookAnswer, WebhookBody, WebhookTestAnswer, WebhooksAnswer};
use terrace_core::model::webhook_id::WebhookId;
use ureq::http::Method;

use super::{Call, Client};
use crate::error::Failure;

const WEBHOOKS: &str = "/admin/v1/webhooks";

impl Client<'_> {
    pub(crate) fn add_webhook(&self, body: &WebhookBody) -> Result<WebhookAnswer, Failure> {
        self.post(WEBHOOKS.to_owned(), body)
    }

    pub(crate) fn webhooks(&self) -> Result<WebhooksAnswer, Failure> {
        self.ask(Call {
            method: Method::GET,
            path: WEBHOOKS.to_owned(),
            body: None,
        })
    }

    /// Returns a webhook with its secret.
    pub(crate) fn webhook(&self, id: WebhookId) -> Result<WebhookAnswer, Failure> {
        self.ask_about(Call {
            method: Method::GET,
            path: format!("{WEBHOOKS}/{id}"),
            body: None,
        })
    }

    pub(crate) fn remove_webhook(&self, id: WebhookId) -> Result<WebhookAnswer, Failure> {
        self.ask_about(Call {
            method: Method::DELETE,
            path: format!("{WEBHOOKS}/{id}"),
            body: None,
        })
    }

    pub(crate) fn test_webhook(&self, id: WebhookId) -> Result<WebhookTestAnswer, Failure> {
        self.ask_about(Call {
            method: Method::POST,
            path: format!("{WEBHOOKS}/{id}/test"),
            body: Some(("{}", "application/json")),
        })
    }
}
