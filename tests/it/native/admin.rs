//! The admin API, with a view of its storage.

mod audit;
mod observed;
mod status;
