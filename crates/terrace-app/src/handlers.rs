//! The request handlers, by resource.

pub(crate) mod archive_inventory;
pub(crate) mod archive_transfers;
pub(crate) mod audit;
pub(crate) mod body;
pub(crate) mod document;
pub(crate) mod documentation;
pub(crate) mod erasures;
pub(crate) mod exchange;
pub(crate) mod facts;
pub(crate) mod garbage;
pub(crate) mod health;
pub(crate) mod keys;
pub(crate) mod listing;
pub(crate) mod login;
pub(crate) mod namespaces;
pub(crate) mod oci;
pub(crate) mod outcome;
pub(crate) mod pages;
pub(crate) mod public_lists;
pub(crate) mod publish;
pub(crate) mod pull;
pub(crate) mod reindex;
pub(crate) mod search;
pub(crate) mod status;
pub(crate) mod tokens;
