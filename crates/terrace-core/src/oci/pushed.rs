//! Repositories that clients push to: every name that is not made of what is published.
//!
//! The facts are one object for each thing that can be named: a blob's bytes, which all repositories
//! share, that a repository has it, a manifest, a tag, a referrer. So each write is whole or did not
//! happen, and no list has to be changed for it. What clients read are indices, as of what is
//! published; why they end up as the newest is told in [`crate::index`]. Here most of them follow one
//! fact ([`PushedIndex::fact`](crate::storage::key::PushedIndex::fact)), whose revision is the marker.

mod document;
mod manifest;
mod provider;
mod request;
mod upload;

pub use document::{
    LinkDocument, ListedTag, TagDocument, blob_index, manifest_index, may_be_of_type,
    referrer_metadata, tags_index,
};
pub use manifest::{ManifestType, PushedManifest, Reference as ManifestReference};
pub use provider::ProviderRepositories;
pub use request::{ManifestName, PushedPath, PushedRequest};
pub use upload::UploadSession;
