//! The pages: hostile requests for them, and hostile texts in them.

mod addresses;
mod headers;
mod hosts;
mod links;
