//! Other registries and sign-in providers, with responses that a test defines.

use std::cell::RefCell;
use std::rc::Rc;

use terrace_app::host::{
    BucketRequest, Download, IdentityProviderRequest, Upstream, UpstreamError, WebhookRequest,
};
use terrace_core::http::guard::{Guard, UrlParts};
use terrace_core::upstream::origin::{Fetch, Fetched};
use url::Url;

use super::Memory;
use crate::support::faults::{Operation, When};
use crate::support::registry::Response;

/// The responses of other hosts, by URL; `None` for a host that does not respond.
type Answers = Rc<dyn Fn(&str) -> Option<Response>>;

/// The hosts that can be reached, if any.
#[derive(Default)]
pub struct Internet(RefCell<Option<Answers>>, RefCell<Vec<WebhookRequest>>);

impl Memory {
    /// Connects the registry to `internet`, which answers for all other hosts.
    pub fn connect(&self, internet: impl Fn(&str) -> Option<Response> + 'static) {
        *self.world.internet.0.borrow_mut() = Some(Rc::new(internet));
    }

    /// Returns the deliveries to webhooks that were attempted.
    pub fn deliveries(&self) -> Vec<WebhookRequest> {
        self.world.internet.1.borrow().clone()
    }

    /// Makes all other hosts unreachable.
    pub fn disconnect(&self) {
        self.world.internet.0.borrow_mut().take();
    }

    fn ask(&self, fetch: &Fetch, guard: &Guard) -> Result<(String, Response), UpstreamError> {
        let url = match &fetch.base {
            Some(base) => Url::parse(base).unwrap().join(&fetch.reference),
            None => Url::parse(&fetch.reference),
        };
        let url = url.map_err(|error| UpstreamError(error.to_string()))?;
        let parts = UrlParts {
            scheme: url.scheme(),
            has_userinfo: !url.username().is_empty(),
            host: url.host_str().unwrap_or_default(),
            port: url.port(),
        };
        guard
            .check(parts)
            .map_err(|error| UpstreamError(error.to_string()))?;
        let operation = Operation::new("fetch", url.as_str());
        self.world.faults.interrupt(When::Before, &operation);
        self.world.journal.note(&operation);
        let answers = self.world.internet.0.borrow().clone();
        let response = answers.and_then(|answers| answers(url.as_str()));
        let response = response.ok_or_else(|| UpstreamError("no answer".to_owned()))?;
        Ok((url.to_string(), response))
    }
}

impl Upstream for Memory {
    type Stream = Vec<u8>;

    async fn fetch(
        &self,
        fetch: &Fetch,
        guard: &Guard,
        seconds: u32,
    ) -> Result<Fetched, UpstreamError> {
        self.pause().await;
        if seconds == 0 {
            return Err(UpstreamError(
                "no time is left for this request: earlier responses were too slow".to_owned(),
            ));
        }
        self.ask(fetch, guard).map(fetched)
    }

    async fn inquire(
        &self,
        inquiry: &IdentityProviderRequest,
        guard: &Guard,
        _seconds: u32,
    ) -> Result<Fetched, UpstreamError> {
        self.pause().await;
        let fetch = Fetch {
            base: None,
            // The part after the URL distinguishes a form from a GET.
            reference: match &inquiry.form {
                Some(form) => format!("{}#{form}", inquiry.url),
                None => inquiry.url.clone(),
            },
            max_bytes: inquiry.max_bytes,
            with_token: false,
            what: "an inquiry",
        };
        self.ask(&fetch, guard).map(fetched)
    }

    async fn notify(
        &self,
        delivery: &WebhookRequest,
        guard: &Guard,
        _seconds: u32,
    ) -> Result<u16, UpstreamError> {
        self.pause().await;
        let fetch = Fetch {
            base: None,
            reference: delivery.url.clone(),
            max_bytes: 0,
            with_token: false,
            what: "a delivery",
        };
        self.world.internet.1.borrow_mut().push(delivery.clone());
        let (_, response) = self.ask(&fetch, guard)?;
        Ok(response.status)
    }

    async fn ask_bucket(
        &self,
        request: BucketRequest<Vec<u8>>,
        guard: &Guard,
        seconds: u32,
    ) -> Result<Fetched, UpstreamError> {
        self.answer_of_bucket(request, guard, seconds).await
    }

    async fn open(&self, fetch: &Fetch, guard: &Guard) -> Result<Download<Vec<u8>>, UpstreamError> {
        self.pause().await;
        let (_, response) = self.ask(fetch, guard)?;
        let length = response.header("content-length").unwrap();
        Ok(Download {
            status: response.status,
            length: length.parse().ok(),
            stream: Some(response.body),
        })
    }

    fn fork(&self, stream: Vec<u8>, length: u64) -> Result<(Vec<u8>, Vec<u8>), UpstreamError> {
        assert_eq!(stream.len() as u64, length, "the test's internet is sound");
        Ok((stream.clone(), stream))
    }
}

fn fetched((final_url, response): (String, Response)) -> Fetched {
    Fetched {
        status: response.status,
        final_url,
        content_type: response.header("content-type").map(str::to_owned),
        body: response.body,
    }
}
