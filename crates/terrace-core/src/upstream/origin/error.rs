//! Errors from the responses of another registry.

use super::PackageInquiry;

/// Reasons why a response of an origin cannot be used. Quotations from it are escaped and short.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OriginError {
    /// The origin returned another status than 200.
    #[error("{what}: the origin answers with status {status}")]
    Status {
        /// The name of the fetched resource.
        what: &'static str,
        /// The status of the response.
        status: u16,
    },
    /// The discovery document has no `providers.v1`.
    #[error("the host serves no providers: its discovery document has no \"providers.v1\"")]
    NoProviders,
    /// Another reason, which is only shown.
    #[error("{0}")]
    Unusable(String),
}

impl OriginError {
    /// Returns whether the origin has no package for the platform that was asked for.
    pub fn is_no_package(&self) -> bool {
        matches!(
            self,
            Self::Status {
                what: PackageInquiry::DESCRIPTION,
                status: 404
            }
        )
    }

    /// Returns whether the origin denies access.
    pub fn is_denied(&self) -> bool {
        matches!(
            self,
            Self::Status {
                status: 401 | 403,
                ..
            }
        )
    }

    /// Returns whether the same request may succeed later.
    pub fn is_temporary(&self) -> bool {
        matches!(
            self,
            Self::Status {
                status: 429 | 500..=599,
                ..
            }
        )
    }
}
