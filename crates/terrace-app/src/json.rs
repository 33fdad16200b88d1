//! JSON bodies of requests and replies.

use serde::Serialize;
use serde::de::DeserializeOwned;
use terrace_core::http::problem::Problem;
use terrace_core::http::reply::{CachePolicy, Reply};

use crate::failure::Failure;

pub(crate) fn parse<T: DeserializeOwned>(body: &[u8]) -> Result<T, Problem> {
    serde_json::from_slice(body).map_err(|error| Problem::BadRequest(format!("the body: {error}")))
}

pub(crate) fn reply<S, T: Serialize>(status: u16, answer: &T) -> Result<Reply<S>, Failure> {
    Ok(Reply::json(status, CachePolicy::NoStore, text(answer)?))
}

pub(crate) fn text<T: Serialize>(document: &T) -> Result<String, Failure> {
    let text = serde_json::to_string(document);
    text.map_err(Failure::corrupt)
}

pub(crate) fn parse_publication<T: DeserializeOwned>(body: &[u8]) -> Result<T, Problem> {
    serde_json::from_slice(body).map_err(|error| {
        Problem::BadRequest(format!(
            "the body is not valid JSON for this request: {error}"
        ))
    })
}
