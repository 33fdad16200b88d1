//! The admin API, with a view of its storage.

mod audit;
mod delegation;
mod observed;
mod status;
