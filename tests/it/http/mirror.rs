//! The provider network mirror, and the version lists of other origins.

mod network;
mod origins;
