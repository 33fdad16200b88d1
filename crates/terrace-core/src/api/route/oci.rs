//! Routes of OCI Distribution.

use crate::http::problem::Problem;
use crate::model::oci::{OCI_PREFIX, is_generated};
use crate::oci::GeneratedRequest;
use crate::oci::pushed::PushedRequest;

/// A route of OCI Distribution.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OciRoute {
    /// `/v2/`
    Base,
    /// `/v2/token`
    Token,
    /// `/v2/_catalog`: the list of all repositories, which is not supported.
    Catalog,
    /// `/v2/{repository}/…` of a repository that is generated from published releases.
    Generated(GeneratedRequest),
    /// `/v2/{repository}/…` of a repository that clients push to.
    Pushed(PushedRequest),
}

impl OciRoute {
    /// Parses a path below `/v2`.
    #[inline(never)]
    pub(super) fn parse(path: &str) -> Result<Self, Problem> {
        match path.strip_prefix(OCI_PREFIX) {
            // The base path, with or without its final slash.
            None | Some("") => Ok(Self::Base),
            Some("token") => Ok(Self::Token),
            Some("_catalog") => Ok(Self::Catalog),
            Some(rest) if is_generated(rest) => GeneratedRequest::parse(rest)
                .map(Self::Generated)
                .map_err(Problem::Oci),
            Some(rest) => PushedRequest::parse(rest)
                .map(Self::Pushed)
                .map_err(Problem::Oci),
        }
    }
}
