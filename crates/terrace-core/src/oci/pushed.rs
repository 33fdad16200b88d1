//! Repositories that clients push to: all names except those of generated repositories.
//!
//! There is one fact for each thing that can be named: the bytes of a blob, which all repositories share, the
//! link that gives a repository the blob, a manifest, a tag, a referrer. So each write happens as a whole or
//! not at all, and no list has to be changed with it. Clients read indices, as they do for published
//! packages; [`crate::index`] explains why these converge to the newest state. Here most indices follow from
//! one fact ([`PushedIndex::fact`](crate::storage::key::PushedIndex::fact)), and its revision is the marker.

mod document;
mod manifest;
mod provider;
mod request;
mod upload;

pub use document::{
    LinkDocument, ListedTag, TagDocument, blob_index, manifest_index, may_be_of_type,
    referrer_metadata, tags_index,
};
pub use manifest::{ContentReference, ManifestType, PushedManifest};
pub use provider::ProviderRepositories;
pub(crate) use request::split;
pub use request::{PushedRequest, Reference, RepositoryPath};
pub use upload::UploadSession;
