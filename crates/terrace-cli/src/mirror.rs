//! `terrace mirror`: keeping copies of other registries' providers.

mod directory;
mod endurance;
pub(crate) mod pull;
pub(crate) mod push;
mod report;
