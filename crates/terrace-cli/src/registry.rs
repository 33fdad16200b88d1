//! A Terrace registry for its publishers and operators: the admin API, tokens for it, and uploads.

pub(crate) mod client;
mod job_identity;
pub(crate) mod publish;
pub(crate) mod token_source;
pub(crate) mod upload;
