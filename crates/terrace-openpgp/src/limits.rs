//! Limits for the reading of keys and signatures, so that hostile input costs little.

/// The maximum length of the text of keys in one request. A certificate with a few user IDs and subkeys is 2
/// to 7 KB in armour; only keys with many third-party certifications come near this limit, and clients have
/// no use for those.
pub const KEYS_BYTES: usize = 64 * 1024;

/// The maximum number of certificates in one request. A namespace signs with one or two.
pub const CERTIFICATES: usize = 16;

/// The maximum number of self-signatures of one certificate that are verified. Each costs 0.1 to 50 ms of CPU
/// in wasm. The maximum in Debian's key ring of 1,200 developers is 70; almost all have fewer than 20.
pub const SELF_SIGNATURES: usize = 128;

/// The maximum length of a detached signature, armoured or not. One RSA-4096 signature is about 600 bytes, so
/// this leaves room for several signers.
pub const SIGNATURE_BYTES: usize = 16 * 1024;

/// The maximum nesting of signatures. One level is in use (a signing subkey's cross-signature); without a
/// limit, nesting could exhaust the stack.
pub const SIGNATURE_DEPTH: usize = 2;

/// The minimum size of an RSA modulus: Go's `crypto/rsa` refuses smaller ones since Go 1.24.
pub const RSA_MIN_BITS: u32 = 1024;

/// The maximum size of an RSA modulus, as in gpg. Keys of 10,240 bits are in use; the work grows with the
/// square.
pub const RSA_MAX_BITS: u32 = 16_384;
