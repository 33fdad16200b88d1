//! Routes of stored bytes, served by URLs that the Worker has signed.

use crate::storage::signed_path::{PullPath, SignedPath};

/// A route of stored bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BytesRoute {
    /// `/archives/{expires}/{hmac}/{sha256}.{extension}`
    Archive(SignedPath),
    /// `/pull/{expires}/{hmac}/{hostname}/{namespace}/{type}/{version}/{os}_{arch}.zip`
    Pull(PullPath),
}

impl BytesRoute {
    /// Parses the segments after `/archives/`.
    #[inline(never)]
    pub(super) fn parse_archive(segments: &[&str]) -> Option<Self> {
        match segments {
            [expires, mac, file_name] => {
                SignedPath::parse(expires, mac, file_name).map(Self::Archive)
            }
            _ => None,
        }
    }

    /// Parses the segments after `/pull/`.
    #[inline(never)]
    pub(super) fn parse_pull(segments: &[&str]) -> Option<Self> {
        match segments {
            [expires, mac, package @ ..] => {
                PullPath::parse(expires, mac, package.try_into().ok()?).map(Self::Pull)
            }
            _ => None,
        }
    }
}
