//! The provider network mirror, and the lists of other origins.

mod network;
mod origins;
