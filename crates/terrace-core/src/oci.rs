//! OCI Distribution 1.1, as far as a registry of providers and modules speaks it.
//!
//! # Virtual repositories
//! Nobody pushes a published version a second time: each *is* an artifact. A provider's repository
//! is `providers/{hostname}/{namespace}/{type}`, or without the hostname if it is hosted here, a
//! module's is `modules/{namespace}/{name}/{system}`. The tags are the versions, with `_` for `+`
//! (clients.md 6.3). Manifests are functions of the release and nothing else, in the form that
//! OpenTofu demands (clients.md 6.6, 6.7), so they are written once, as indices.
//!
//! # Pushed repositories
//! Every other name is a repository that clients push to: [`pushed`].

mod artifact;
mod auth;
pub mod pushed;
mod repository;
mod tag;

pub use artifact::{Artifact, Content, EMPTY_CONFIG, MediaType, artifact, empty_config};
pub use auth::{TokenAnswer, challenge, unauthorized};
pub use repository::{OciPath, OciRequest, Reference, Repository};
pub use tag::{TagPage, tags};
