//! Tokens as issuers make them, and as attackers do.

mod accepted;
mod claim_forgeries;
mod forge;
mod keys;
mod no_panic;
mod sign_in;
mod signature_forgeries;
mod wycheproof;
