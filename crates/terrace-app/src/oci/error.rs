//! Turns an error for OCI clients into a failure.

use terrace_core::http::oci_error::OciError;
use terrace_core::http::problem::Problem;

use crate::failure::Failure;

/// Returns the failure that is answered with this error.
pub(crate) fn oci_failure(error: OciError) -> Failure {
    Problem::Oci(error).into()
}
