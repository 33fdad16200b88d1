//! The provider network mirror, mirrored modules, and the version lists of other origins.

mod modules;
mod network;
mod origins;
