//! Authentication and authorisation: callers, rules, the keys of issuers, and the status of releases.

pub(crate) mod auth;
pub(crate) mod issuer;
pub(crate) mod rules;
pub(crate) mod status;
