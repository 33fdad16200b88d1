//! The catalogue: a card for each package in R2, and in KV the catalogue of each owner and of all owners.
//!
//! A card follows from the facts of its package, and is written with the version lists. The catalogue of an owner is a
//! listing of the owner's cards, and the merged catalogue one of all cards. Neither fails a publish: they are written after
//! the response.

pub(crate) mod cards;
pub(crate) mod merged;
pub(crate) mod shards;
mod turn;
