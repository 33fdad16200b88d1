//! Rules, with matching and non-matching tokens.

mod claim_forgeries;
mod forge;
mod people;
mod provenance;
mod rules;
