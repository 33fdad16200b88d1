//! The API: the routes of every protocol, and the documents of the admin API.

pub mod admin;
pub mod endpoint;
pub mod route;
