//! Rules, and the tokens that they are for or not.

mod accepted;
mod claim_forgeries;
mod forge;
mod no_panic;
mod people;
mod rules;
