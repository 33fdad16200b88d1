//! A fake of the GitHub Actions service that issues tokens to jobs.

use std::process::Command;
use std::sync::{Arc, Mutex};

use serde_json::json;

use super::JOB_SECRET;
use super::http::{Head, Response, Then, start};

/// A runner's token service, on its own port.
pub(crate) struct Actions {
    url: String,
    asked: Arc<Mutex<Vec<Head>>>,
}

impl Actions {
    /// Starts a service with this response.
    pub(crate) fn answering(response: Response) -> Self {
        let asked = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&asked);
        let url = start(None, move |head| {
            seen.lock().unwrap().push(head.clone());
            let response = response.clone();
            Then::Answer(Box::new(|_| response))
        });
        let url = format!("{url}/token?api-version=2.0");
        Self { url, asked }
    }

    /// Starts a service that issues this token.
    pub(crate) fn making(token: &str) -> Self {
        Self::answering(Response::new(200, json!({ "value": token }).to_string()))
    }

    /// Sets the environment of a step in a job that may request tokens.
    pub(crate) fn run<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        command
            .env("ACTIONS_ID_TOKEN_REQUEST_URL", &self.url)
            .env("ACTIONS_ID_TOKEN_REQUEST_TOKEN", bearer())
    }

    /// Returns the targets of the requests since the last call. Each of them must have the credential.
    pub(crate) fn asked(&self) -> Vec<String> {
        let asked = std::mem::take(&mut *self.asked.lock().unwrap());
        let target = |head: &Head| {
            let shown = head.headers.get("authorization");
            assert_eq!(shown, Some(&format!("Bearer {}", bearer())));
            head.target.clone()
        };
        asked.iter().map(target).collect()
    }
}

fn bearer() -> String {
    format!("runner-{JOB_SECRET}")
}
