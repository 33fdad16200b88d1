//! Clients of the identity providers.

pub(crate) mod cloudflare;
pub(crate) mod github;
pub(crate) mod log;
pub(crate) mod openid;
pub(crate) mod person;
