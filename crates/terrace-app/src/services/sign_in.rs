//! Providers of identities, asked who somebody is.

pub(crate) mod cloudflare;
pub(crate) mod github;
pub(crate) mod log;
pub(crate) mod openid;
pub(crate) mod person;
