//! What reading tokens, keys and discovery documents is bounded by, so that hostile input costs little.

/// A token. GitHub's have 1.5 KB, GitLab's 2; Entra's with the groups of a person may have 10.
pub const TOKEN_BYTES: usize = 16 * 1024;

/// The keys of an issuer. Entra's, with a certificate for each, are 20 KB.
pub const KEYS_BYTES: usize = 128 * 1024;

/// Keys of one issuer. Two to eight are in use.
pub const KEYS: usize = 100;

/// The smallest RSA modulus (RFC 7518, section 3.3).
pub const RSA_MIN_BITS: u32 = 2048;

/// The largest RSA modulus. Issuers have 2048 to 4096; the work grows with the square.
pub const RSA_MAX_BITS: u32 = 8192;

/// What an issuer says about itself. Keycloak's is 6 KB.
pub const DISCOVERY_BYTES: usize = 64 * 1024;

/// How far clocks may differ, in seconds ("usually no more than a few minutes", RFC 7519, section
/// 4.1.4).
pub const LEEWAY_SECONDS: u64 = 60;

/// Characters of outside text that a message shows.
pub const QUOTED_CHARS: usize = 100;
