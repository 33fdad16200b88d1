//! `terrace admin`: a whole registry, repaired, checked, cleaned, copied.

mod boring;
mod difference;
pub(crate) mod directory;
pub(crate) mod export;
pub(crate) mod garbage;
pub(crate) mod import;
pub(crate) mod loss;
pub(crate) mod reindex;
mod stored;
pub(crate) mod verify;
