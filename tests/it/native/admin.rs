//! The admin API behind the scenes.

mod audit;
mod observed;
mod standing;
