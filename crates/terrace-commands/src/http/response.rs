//! A response of a registry, and its meaning.

use std::time::Duration;

use serde::Deserialize;
use terrace_core::api::admin::ErrorBody;
use ureq::{Body, http};

use super::agent::{retry_after, text};
use crate::error::Failure;

/// A response, with its whole body.
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) text: String,
    /// The target of a redirect.
    location: Option<String>,
    /// The pause that the server requests.
    pub(crate) retry_after: Option<Duration>,
}

/// The variable that a registry without admin routes names in its error.
const ADMIN_TOKEN: &str = "TERRACE_ADMIN_TOKEN";

/// The end of the registry's message about a path that no route has, in an older version or at another URL.
const NO_SUCH_PATH: &str = ": check the URL";

/// The error of a token exchange.
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

    /// Returns the errors in the response, or its status if it contains none.
    pub(crate) fn reasons(&self, whom: &str) -> Vec<String> {
        let status = || vec![format!("{whom} responded with status {}", self.status)];
        self.errors().unwrap_or_else(status)
    }

    /// Returns the registry's message if the response states that something does not exist. A registry without admin
    /// routes names the variable that it lacks instead.
    pub(crate) fn missing(&self) -> Option<String> {
        let message = self.errors()?.join("; ");
        (self.status == 404 && !message.contains(ADMIN_TOKEN)).then_some(message)
    }

    /// Returns the errors that a registry put into the response.
    fn errors(&self) -> Option<Vec<String>> {
        let body = serde_json::from_str::<ErrorBody>(&self.text);
        let errors = body.map(|body| body.errors).unwrap_or_default();
        if !errors.is_empty() {
            return Some(errors);
        }
        let error = serde_json::from_str::<OAuthError>(&self.text).ok()?;
        Some(vec![error.error_description])
    }

    /// Returns the failure that an unsuccessful response means.
    pub(crate) fn into_failure(self, url: &str) -> Failure {
        let is_of_terrace = self.errors().is_some();
        let reasons = self.reasons(url);
        let joined = reasons.join("; ");
        match self.status {
            300..=399 => Failure::Unexpected(format!(
                "{url} redirects to {}: set TERRACE_URL to the registry's own address",
                self.location.unwrap_or_else(|| "another URL".to_owned())
            )),
            401 | 403 => Failure::NotAllowed(joined),
            404 | 405 | 501 if !is_of_terrace => Failure::NotAllowed(format!(
                "{joined}, and without an error of Terrace: this is not a Terrace registry; check TERRACE_URL"
            )),
            404 if joined.contains(ADMIN_TOKEN) || joined.contains(NO_SUCH_PATH) => {
                Failure::NotAllowed(format!("not found at {url}: {joined}"))
            }
            404 => Failure::Missing(format!("not found at {url}: {joined}")),
            409 => Failure::Conflict(reasons),
            410 => Failure::Erased(reasons),
            429 | 500..=599 => Failure::Unavailable(joined),
            400..=499 => Failure::Refused(reasons),
            _ => Failure::Unexpected(joined),
        }
    }
}
