//! Who may do what: callers, the rules that trust them, the keys of issuers, and the status of what they ask for.

pub(crate) mod auth;
pub(crate) mod issuer;
pub(crate) mod rules;
pub(crate) mod status;
