//! Stored documents and indices: their form, and what happens when operations break, overlap or are lost.

mod changes;
mod copies;
mod crowds;
mod faults;
mod format;
mod formats;
mod lost;
mod races;
mod repair;
