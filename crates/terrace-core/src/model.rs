//! The domain vocabulary: addresses, versions, digests of packages, the status of a release.
//!
//! # In scope
//! Value types that can only be created by parsing, and their text form.
//!
//! # Out of scope
//! Storage ([`crate::storage`]) and the wire formats of protocols.

/// Implements `Display` for types that hold their text.
macro_rules! text_display {
    ($($type:ty),+) => {$(
        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(&self.0)
            }
        }
    )+};
}
pub(crate) use text_display;

pub mod address;
pub mod commit;
pub mod mirrored_part;
pub mod name;
pub mod oci;
pub mod own_hosts;
pub mod owner;
pub mod package;
pub mod package_hash;
pub mod platform;
pub mod protocol_version;
pub mod provenance;
mod random_id;
pub mod relative_path;
pub mod rule_id;
pub mod shasums;
pub mod source;
pub mod source_url;
pub mod status;
pub mod subdir;
pub mod token_id;
pub mod version;
pub mod webhook_id;
pub mod webhook_name;
