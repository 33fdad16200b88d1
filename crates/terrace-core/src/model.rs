//! The words of the domain: addresses, versions, digests of packages, the status of a release.
//!
//! # In scope
//! Values that can only be made by parsing, and their text.
//!
//! # Out of scope
//! Where they are stored ([`crate::storage`]) and how a protocol writes them.

pub mod address;
pub mod name;
pub mod oci;
pub mod own_hosts;
pub mod package;
pub mod package_hash;
pub mod platform;
pub mod protocol_version;
pub mod shasums;
pub mod source;
pub mod status;
pub mod subdir;
pub mod token_id;
pub mod version;
