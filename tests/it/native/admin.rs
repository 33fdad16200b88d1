//! The admin API, with a view of its storage.

mod audit;
mod delegation;
mod doctor;
mod lifetimes;
mod observed;
mod status;
