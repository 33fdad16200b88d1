//! Authentication and authorisation: tokens and scopes, sign-in, trusted publishers.

pub mod access;
pub mod exchange;
pub mod login;
mod oauth;
pub mod oidc;
mod parameter;
