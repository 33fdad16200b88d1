//! Terrace, a serverless registry for Terraform and OpenTofu: the Worker.
//!
//! [`pipeline`] answers requests over the seams of [`host`]; `platform` implements those seams on
//! Cloudflare Workers. Only this file and `platform` name the platform's crate.

pub mod cache;
mod concurrent;
pub mod context;
mod dispatch;
mod endpoint;
mod failure;
mod handlers;
pub mod host;
mod json;
pub mod pipeline;
mod platform;
pub mod reads;
mod services;
mod tasks;
pub mod usage;

pub use services::repair::schedule::reconcile;
pub use tasks::perform;

use worker::{Context, Env, ScheduleContext, ScheduledEvent, event, web_sys};

/// The Worker's fetch event.
#[event(fetch)]
async fn fetch(
    request: web_sys::Request,
    env: Env,
    context: Context,
) -> worker::Result<web_sys::Response> {
    platform::serve(request, env, context).await
}

/// The Worker's scheduled event: `triggers.crons` of `wrangler.toml`.
#[event(scheduled)]
async fn scheduled(_event: ScheduledEvent, env: Env, _context: ScheduleContext) {
    platform::reconcile(env).await;
}
