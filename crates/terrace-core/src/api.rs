//! The API: the routes of every protocol, and the documents of the admin API and of the registry's own API.

pub mod admin;
pub mod check;
pub mod details;
pub mod endpoint;
pub mod public;
pub mod route;
pub mod subject;
