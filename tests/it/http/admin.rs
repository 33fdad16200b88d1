//! The admin API.

mod keys;
mod operations;
mod requests;
mod status;
mod tokens;
