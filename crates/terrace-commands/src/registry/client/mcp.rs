//! Messages of the Model Context Protocol.

use terrace_core::api::route::McpScope;
use ureq::http::Method;

use super::{Call, Client};
use crate::error::Failure;
use crate::http::Response;

impl Client<'_> {
    /// Sends a message with the headers that repeat parts of it, and returns the answer whatever its status.
    pub(crate) fn mcp(
        &self,
        body: &str,
        headers: [(&'static str, Option<String>); 3],
    ) -> Result<Response, Failure> {
        let accept = "application/json, text/event-stream".to_owned();
        let headers = headers.into_iter();
        let headers = headers.filter_map(|(name, value)| Some((name, value?)));
        self.send_with_key(
            &Call {
                method: Method::POST,
                path: McpScope::Visible.path().to_owned(),
                body: Some((body.to_owned(), "application/json")),
                headers: headers.chain([("accept", accept)]).collect(),
                paths: &[],
            },
            None,
        )
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
}
