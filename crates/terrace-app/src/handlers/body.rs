//! Bodies of requests.

use terrace_core::http::problem::Problem;

use crate::failure::Failure;
use crate::host::{BodyError, Request};

/// The length that a request declares for its body.
pub(crate) fn content_length<R: Request>(request: &R) -> Result<u64, Problem> {
    let header = request
        .header("content-length")
        .ok_or(Problem::LengthRequired)?;
    header.parse().map_err(|_| {
        Problem::BadRequest(format!(
            "Content-Length {header:?} is not a number of bytes"
        ))
    })
}

/// The body of a request, whole: it is small.
pub(crate) async fn whole<R: Request>(request: &mut R, most: u64) -> Result<Vec<u8>, Failure> {
    if content_length(request)? > most {
        return Err(Problem::TooLarge(most).into());
    }
    request.bytes().await.map_err(|BodyError(cause)| {
        let message = format!("the body could not be read to its end: {cause}");
        Problem::BadRequest(message).into()
    })
}

/// What to go on behind.
pub(crate) const AFTER: &str = "it must be the `next` of the answer before";

pub(crate) fn check_count(count: usize, most: usize) -> Result<(), Problem> {
    if count <= most {
        return Ok(());
    }
    Err(Problem::BadRequest(format!(
        "there are {count}, and one request takes at most {most}"
    )))
}
