//! Pull-through: fetches packages of other registries on demand.

pub(crate) mod commit;
pub(crate) mod package;
pub(crate) mod puller;
pub(crate) mod upstream;
