//! Bodies of requests.

use terrace_core::http::problem::Problem;
use terrace_core::model::package::Package;

use crate::failure::Failure;
use crate::host::{BodyError, Request};

/// Returns the length that a request declares for its body.
pub(crate) fn content_length<R: Request>(request: &R) -> Result<u64, Problem> {
    let header = request
        .header("content-length")
        .ok_or(Problem::LengthRequired)?;
    header.parse().map_err(|_| {
        Problem::BadRequest(format!(
            "the header Content-Length is {header:?}: it must be a number of bytes"
        ))
    })
}

/// Reads the body of a request entirely. It is known to be small.
pub(crate) async fn whole<R: Request>(request: &mut R, limit: u64) -> Result<Vec<u8>, Failure> {
    if content_length(request)? > limit {
        return Err(Problem::TooLarge(limit).into());
    }
    request.bytes().await.map_err(|BodyError(cause)| {
        let message = format!("the body could not be read completely: {cause}");
        Problem::BadRequest(message).into()
    })
}

/// Parses the address of a package in a body.
pub(crate) fn package(text: &str) -> Result<Package, Problem> {
    Package::parse_address(text).ok_or_else(|| {
        Problem::BadRequest(format!(
            "package is {text:?}: it must be namespace/type, hostname/namespace/type or namespace/name/system"
        ))
    })
}

pub(crate) fn check_count(count: usize, limit: usize) -> Result<(), Problem> {
    if count <= limit {
        return Ok(());
    }
    Err(Problem::BadRequest(format!(
        "the request contains {count} items: it must contain at most {limit}"
    )))
}
