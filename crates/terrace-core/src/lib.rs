//! The pure part of Terrace.
//!
//! # In scope
//! What a registry *is*: addresses, versions, the stored documents, the index
//! functions, each protocol's wire format, request parsing into one [`route::Route`],
//! URL signing, and every check a publish must pass.
//!
//! # Out of scope
//! Everything that touches the world. Nothing here reads a clock, opens a
//! connection, awaits, or names a platform; time, keys and bytes are arguments.
//! That is what lets native tests, the Worker and the `terrace` command share it.

pub mod access;
pub mod address;
pub mod admin;
pub mod archive;
pub mod archive_url;
mod arithmetic;
pub mod audit;
pub mod config;
pub mod digest;
pub mod exchange;
pub mod index;
pub mod key;
pub mod limits;
pub mod login;
mod mac;
pub mod name;
pub mod oci;
pub mod oidc;
pub mod openpgp;
pub mod order;
pub mod origin;
pub mod own_hosts;
pub mod package_hash;
mod percent;
#[cfg(test)]
mod pinned;
pub mod platform;
pub mod presign;
pub mod problem;
pub mod protocol_version;
pub mod publish;
pub mod pull;
pub mod range;
pub mod read;
pub mod release;
pub mod repair;
pub mod reply;
pub mod request_line;
pub mod restore;
pub mod route;
pub mod secret;
pub mod shasums;
pub mod signed_path;
pub mod source;
mod spelling;
pub mod standing;
pub mod subdir;
mod text_serde;
pub mod time;
pub mod untrusted;
pub mod version;
