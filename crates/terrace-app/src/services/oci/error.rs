//! Errors as defined by the OCI specification.

use terrace_core::http::oci_error::OciError;
use terrace_core::http::problem::Problem;

use crate::failure::Failure;

/// Wraps an error of the specification.
pub(crate) fn denied(error: OciError) -> Failure {
    Problem::Oci(error).into()
}
