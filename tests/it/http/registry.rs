//! Discovery and the registry protocols of providers and modules.

mod archives;
mod discovery;
mod modules;
mod providers;
mod source;
