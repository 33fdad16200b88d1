//! Limits for reading tokens, keys and discovery documents, so that hostile input costs little.

/// The maximum length of a token. GitHub's have 1.5 KB, GitLab's 2; Entra's with a person's groups may have
/// 10.
pub const TOKEN_BYTES: usize = 16 * 1024;

/// The maximum length of an issuer's key set. Entra's, with a certificate for each key, has 20 KB.
pub const KEYS_BYTES: usize = 128 * 1024;

/// The maximum number of keys of one issuer. Two to eight are in use.
pub const KEYS: usize = 100;

/// The minimum size of an RSA modulus (RFC 7518, section 3.3).
pub const RSA_MIN_BITS: u32 = 2048;

/// The maximum size of an RSA modulus. Issuers have 2048 to 4096; the work grows with the square.
pub const RSA_MAX_BITS: u32 = 8192;

/// The maximum length of a discovery document. Keycloak's has 6 KB.
pub const DISCOVERY_BYTES: usize = 64 * 1024;

/// The maximum difference between clocks, in seconds ("usually no more than a few minutes", RFC 7519, section
/// 4.1.4).
pub const LEEWAY_SECONDS: u64 = 60;

/// The maximum number of characters of external text in a message.
pub const QUOTED_CHARS: usize = 100;
