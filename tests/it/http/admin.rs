//! The admin API.

mod keys;
mod operations;
mod requests;
mod standing;
mod tokens;
