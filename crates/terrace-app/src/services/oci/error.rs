//! Failures as the OCI specification names them.

use terrace_core::http::oci_error::OciError;
use terrace_core::http::problem::Problem;

use crate::failure::Failure;

/// An error of the specification as the answer.
pub(crate) fn denied(error: OciError) -> Failure {
    Problem::Oci(error).into()
}
