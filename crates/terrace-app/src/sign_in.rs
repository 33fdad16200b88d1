//! Sign-in: from the terminal through the browser to the provider, and back.

pub(crate) mod browser;
pub(crate) mod callback;
pub(crate) mod clients;
pub(crate) mod cloudflare;
pub(crate) mod consent;
pub(crate) mod github;
pub(crate) mod log;
pub(crate) mod openid;
pub(crate) mod shared;
pub(crate) mod start;
pub(crate) mod token;
