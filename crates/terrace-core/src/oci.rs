//! OCI Distribution 1.1, as far as a registry of providers and modules needs it.
//!
//! # Generated repositories
//! Publishers do not push a published version a second time: each *is* an artifact. A provider's repository
//! is `providers/{hostname}/{namespace}/{type}`, or without the hostname if the provider is hosted here; a
//! module's is `modules/{namespace}/{name}/{system}`. The tags are the versions, with `_` for `+`
//! (clients.md 6.3). Manifests are functions of the release alone, in the form that OpenTofu requires
//! (clients.md 6.6, 6.7), so they are written once, as indices.
//!
//! # Pushed repositories
//! Every other name is that of a repository that clients push to: see [`pushed`].

mod artifact;
mod auth;
pub mod pushed;
mod repository;
mod tag;

pub use artifact::{Artifact, Content, EMPTY_CONFIG, MediaType, artifact, empty_config_digest};
pub use auth::{OciTokenAnswer, challenge, unauthorized};
pub use repository::{GeneratedRequest, package_of, repository_of};
pub use tag::{TagPage, tags};
