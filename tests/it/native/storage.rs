//! Stored documents and indices: their formats, and the effects of failed, concurrent or lost operations.

mod absences;
mod catalog;
mod changes;
mod copies;
mod crowds;
mod faults;
mod format;
mod formats;
mod keys;
mod lost;
mod races;
mod repair;
