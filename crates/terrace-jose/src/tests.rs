//! Tokens as issuers and as attackers create them.

mod accepted;
mod claim_forgeries;
mod forge;
mod keys;
mod no_panic;
mod sign_in;
mod signature_forgeries;
