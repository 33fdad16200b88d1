//! `terrace mirror add`, `sync` and `push`: copies of other registries' providers and modules. `commands::mirrored` has the
//! other subcommands, which use the commands for operators; `terrace admin import` uses these.

pub(crate) mod directory;
pub(crate) mod pull;
pub(crate) mod push;
