//! Messages of the Model Context Protocol.

use terrace_base::secret::Secret;
use terrace_core::api::route::McpScope;
use ureq::http::Request;

use super::Client;
use crate::error::Failure;
use crate::http::Response;

/// The headers that repeat parts of a message.
pub(crate) struct McpHeaders {
    /// The revision of the protocol, unless the client has not stated it yet.
    pub(crate) revision: Option<String>,
    /// The method; empty if the message has none.
    pub(crate) method: String,
    /// The name of the tool or the URI of the resource, in the form of the header.
    pub(crate) name: Option<String>,
}

impl Client<'_> {
    /// Sends a message, and returns the answer whatever its status.
    pub(crate) fn mcp(&self, body: &str, headers: &McpHeaders) -> Result<Response, Failure> {
        let token = self.tokens.token(&self.url, &self.http)?;
        let answer = self.mcp_as(token.as_ref(), body, headers)?;
        match token {
            Some(token) if answer.status == 401 && self.tokens.renew(&token) => {
                let token = self.tokens.token(&self.url, &self.http)?;
                self.mcp_as(token.as_ref(), body, headers)
            }
            _ => Ok(answer),
        }
    }

    /// Returns the failure that an answer means that is no message.
    pub(crate) fn mcp_failure(&self, answer: Response) -> Failure {
        match answer.is_success() {
            true => Failure::Unexpected(format!(
                "{} answered with something else than a message of the Model Context Protocol: is it a Terrace registry?",
                self.url
            )),
            false => self.failure(answer),
        }
    }

    fn mcp_as(
        &self,
        token: Option<&Secret>,
        body: &str,
        headers: &McpHeaders,
    ) -> Result<Response, Failure> {
        let send = || {
            let mut request =
                Request::post(format!("{}{}", self.url.origin(), McpScope::Visible.path()))
                    .header("content-type", "application/json")
                    .header("accept", "application/json, text/event-stream");
            if let Some(token) = token {
                request = request.header("authorization", format!("Bearer {}", token.expose()));
            }
            if let Some(revision) = &headers.revision {
                request = request.header("mcp-protocol-version", revision);
            }
            if !headers.method.is_empty() {
                request = request.header("mcp-method", &headers.method);
            }
            if let Some(name) = &headers.name {
                request = request.header("mcp-name", name);
            }
            Response::read(self.http.agent().run(request.body(body)?)?)
        };
        let answer = self.http.until_answered(self.url(), send)?;
        self.http.detail(&format!(
            "{} of the assistant: status {}",
            headers.method, answer.status
        ));
        Ok(answer)
    }
}
