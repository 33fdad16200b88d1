//! The names of OCI Distribution: repositories, tags, digests and uploads.

mod digest;
mod name;
pub mod tag;
mod upload_id;

pub use digest::Digest;
pub use name::{RepositoryName, Tag};
pub(crate) use name::{is_generated, is_name};
pub use upload_id::UploadId;

/// The path prefix of OCI Distribution.
pub const OCI_PREFIX: &str = "/v2/";
