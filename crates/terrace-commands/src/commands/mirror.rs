//! `terrace mirror add`, `sync` and `push`: copies of other registries' providers. `commands::mirrored` has the other
//! subcommands, which use the commands for operators; `terrace admin import` uses these.

pub(crate) mod directory;
pub(crate) mod pull;
pub(crate) mod push;
pub(crate) mod report;
