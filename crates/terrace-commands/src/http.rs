//! HTTP for all requests to a registry: connections, retries, responses.

mod agent;
mod base_url;
mod probe;
mod response;
mod retry;

use std::thread;
use std::time::Duration;

use ureq::Agent;
use url::Url;

pub(crate) use agent::{
    describe, download_agent, guard_error, guarded_agent, is_transient_error, is_transient_status,
    retry_after, text,
};
pub(crate) use base_url::{BaseUrl, BaseUrlError, is_loopback};
pub(crate) use probe::{Ask, Probe, ProbeError, Seen, header};
pub(crate) use response::Response;
pub(crate) use retry::Retries;

use crate::error::Failure;
use crate::output::Output;

/// Requests to a registry, and to the services that issue tokens to a CI job. Sends no token of its own.
pub(crate) struct Http<'a> {
    agent: Agent,
    /// The maximum number of retries of a request after a transient failure.
    retries: u32,
    /// Whether secrets may be sent over plain HTTP.
    insecure: bool,
    output: &'a Output,
}

impl<'a> Http<'a> {
    /// Creates the client for the registry at `url`.
    pub(crate) fn new(
        url: &BaseUrl,
        retries: u32,
        insecure: bool,
        output: &'a Output,
    ) -> Result<Self, Failure> {
        Ok(Self {
            agent: agent::agent(url.url())?,
            retries,
            insecure,
            output,
        })
    }

    /// Returns the agent that archives are sent with.
    pub(crate) fn agent(&self) -> &Agent {
        &self.agent
    }

    /// Returns the maximum number of retries of a failed request.
    pub(crate) fn retries(&self) -> u32 {
        self.retries
    }

    /// Checks that a secret is not sent in plain text to a URL, which messages call `place`, or that the user
    /// allows this.
    ///
    /// # Errors
    /// The URL, and the option that allows it.
    pub(crate) fn check_transport(
        &self,
        url: &Url,
        place: &str,
        secret: &str,
    ) -> Result<(), Failure> {
        if !is_in_the_clear(url) {
            return Ok(());
        }
        if !self.insecure {
            return Err(Failure::Usage(format!(
                "{place} is plain HTTP to another machine, so others could read {secret} in transit, and nothing \
                 was sent: use https://, or allow this with --insecure (TERRACE_INSECURE=1)"
            )));
        }
        self.output.warning(&format!(
            "{secret} is sent to {place} unencrypted, as --insecure allows: others can read it in transit"
        ));
        Ok(())
    }

    /// Repeats a request to `server` until the response is not a transient failure.
    pub(crate) fn until_answered(
        &self,
        server: &str,
        send: impl Fn() -> Result<Response, ureq::Error>,
    ) -> Result<Response, Failure> {
        let mut retries = Retries::new(self.retries);
        loop {
            let (failure, asked) = match send() {
                Ok(response) if is_transient_status(response.status) => {
                    let asked = response.retry_after;
                    (response.into_failure(server), asked)
                }
                Ok(response) => return Ok(response),
                Err(error) => {
                    let reason = describe(&error);
                    let failure = Failure::Unavailable(format!(
                        "{server} cannot be reached: {reason}; check its address and the network, then run it again"
                    ));
                    if !is_transient_error(&error) {
                        return Err(failure);
                    }
                    (failure, None)
                }
            };
            match retries.next(asked) {
                Some(pause) => self.wait(&failure, pause),
                None => return Err(failure),
            }
        }
    }

    /// Returns where lines about the requests are printed.
    pub(crate) fn output(&self) -> &Output {
        self.output
    }

    /// Pauses before a retry, and reports why.
    pub(crate) fn wait(&self, failure: &Failure, pause: Duration) {
        wait(failure, pause, self.output);
    }
}

/// Pauses before a retry, and reports why.
pub(crate) fn wait(failure: &Failure, pause: Duration, output: &Output) {
    let reasons = failure.reasons().join("; ");
    let seconds = pause.as_secs_f64();
    output.progress(&format!("{reasons}; retrying in {seconds:.1} s"));
    thread::sleep(pause);
}

/// Returns whether requests to this URL can be read in transit: it is plain HTTP to another machine.
fn is_in_the_clear(url: &Url) -> bool {
    url.scheme() == "http" && !base_url::is_loopback(url)
}
