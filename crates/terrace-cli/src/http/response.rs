//! A response of a registry, and its meaning.

use std::time::Duration;

use serde::Deserialize;
use terrace_core::api::admin::ErrorBody;
use ureq::Body;
use ureq::http;

use super::agent::{retry_after, text};
use crate::error::Failure;

/// A response, read to its end.
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) text: String,
    /// Where a redirect leads.
    location: Option<String>,
    /// The pause that is asked for.
    pub(crate) retry_after: Option<Duration>,
}

/// How an exchange of tokens fails.
#[derive(Deserialize)]
struct OAuthError {
    error_description: String,
}

impl Response {
    pub(crate) fn read(response: http::Response<Body>) -> Result<Self, ureq::Error> {
        let location = response.headers().get("location");
        let location = location.and_then(|value| value.to_str().ok().map(str::to_owned));
        Ok(Self {
            status: response.status().as_u16(),
            retry_after: retry_after(&response),
            location,
            text: text(response)?,
        })
    }

    pub(crate) fn is_success(&self) -> bool {
        (200..=299).contains(&self.status)
    }

    /// What it says is wrong, or that it says nothing.
    pub(crate) fn reasons(&self, whom: &str) -> Vec<String> {
        let body = serde_json::from_str::<ErrorBody>(&self.text);
        let errors = body.map(|body| body.errors).unwrap_or_default();
        if !errors.is_empty() {
            return errors;
        }
        let told = serde_json::from_str::<OAuthError>(&self.text);
        let told = told.map(|error| error.error_description);
        vec![told.unwrap_or_else(|_| format!("{whom} answered with status {}", self.status))]
    }

    /// What it means that this is no success.
    pub(crate) fn into_failure(self, url: &str) -> Failure {
        let reasons = self.reasons(url);
        let joined = reasons.join("; ");
        match self.status {
            300..=399 => Failure::Unexpected(format!(
                "{url} redirects to {}: give the registry's own address as TERRACE_URL",
                self.location.unwrap_or_else(|| "somewhere else".to_owned())
            )),
            401 | 403 => Failure::NotAllowed(joined),
            404 => Failure::NotAllowed(format!(
                "{url} has nothing to publish to: {joined}. Is it a Terrace registry, and is its \
                 secret TERRACE_ADMIN_TOKEN set?"
            )),
            409 => Failure::Conflict(reasons),
            429 | 500..=599 => Failure::Unavailable(joined),
            400..=499 => Failure::Refused(reasons),
            _ => Failure::Unexpected(joined),
        }
    }
}
