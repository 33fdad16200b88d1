//! Clients of the identity providers, and of the documents of OAuth clients.

pub(crate) mod clients;
pub(crate) mod cloudflare;
pub(crate) mod github;
pub(crate) mod log;
pub(crate) mod openid;
pub(crate) mod person;
