//! A Terrace registry for its publishers, operators and users: the admin API, the catalogue, tokens, and uploads.

pub(crate) mod client;
pub(crate) mod documentation;
mod job_identity;
pub(crate) mod publish;
pub(crate) mod rounds;
pub(crate) mod token_source;
pub(crate) mod upload;
