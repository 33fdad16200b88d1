//! The application of Terrace: what a registry does with a request.
//!
//! [`pipeline`] answers requests over the seams of [`host`], which a platform implements. Nothing here names one, and
//! nothing is `Send`: a host has a thread for each instance, as a Worker has.
//!
//! The layers, of which each uses those above it in this list, and none below:
//!
//! | | |
//! |---|---|
//! | [`cache`], [`usage`], [`host`] | the seams, with what is remembered and counted behind them |
//! | [`driver`] | the read machine, in steps between which the host reads an index |
//! | `failure`, [`context`], `json`, `concurrent`, `endpoint` | what one request has at hand; the facts about each endpoint |
//! | `services` | what the registry does, in layers of their own |
//! | `handlers` | answers, by resource |
//! | `dispatch`, [`pipeline`], [`perform`] | the way from a request to its handler and back |

pub mod cache;
mod concurrent;
pub mod context;
mod dispatch;
pub mod driver;
mod failure;
mod handlers;
pub mod host;
mod json;
pub mod pipeline;
mod services;
mod tasks;
pub mod usage;

pub use services::repair::schedule::reconcile;
pub use tasks::perform;
