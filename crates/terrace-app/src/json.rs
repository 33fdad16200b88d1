//! JSON bodies of requests and replies.

use serde::Serialize;
use serde::de::DeserializeOwned;
use terrace_core::http::problem::Problem;
use terrace_core::http::reply::{CachePolicy, Reply};

use crate::failure::Failure;

pub(crate) fn parse<T: DeserializeOwned>(body: &[u8]) -> Result<T, Problem> {
    check_is_object(body)?;
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
    check_is_object(body)?;
    serde_json::from_slice(body).map_err(|error| {
        Problem::BadRequest(format!(
            "the body is not valid JSON for this request: {error}"
        ))
    })
}

/// Rejects an array, which serde would read as an object with members that have no names.
fn check_is_object(body: &[u8]) -> Result<(), Problem> {
    match body.trim_ascii_start().first() {
        Some(b'[') => {
            let message = "the body is a JSON array: it must be an object".to_owned();
            Err(Problem::BadRequest(message))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, serde::Deserialize)]
    struct Named {
        name: String,
    }

    #[test]
    fn an_array_is_not_read_as_an_object() {
        let named: Named = parse(br#" {"name":"ci"}"#).unwrap();
        assert_eq!(named.name, "ci");
        for array in [r#"["ci"]"#, " \n [\"ci\"]"] {
            let Err(Problem::BadRequest(message)) = parse::<Named>(array.as_bytes()) else {
                panic!("{array} is accepted");
            };
            assert!(message.contains("JSON array"), "{message}");
            assert!(parse_publication::<Named>(array.as_bytes()).is_err());
        }
    }
}
