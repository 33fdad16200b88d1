//! The admin API.

mod keys;
mod operations;
mod own_token;
mod requests;
mod status;
mod tokens;
