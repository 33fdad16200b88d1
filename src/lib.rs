//! Terrace, a serverless registry for Terraform and OpenTofu: the Worker.
//!
//! [`terrace_app`] answers requests through the traits of its [`host`](terrace_app::host); `platform`
//! implements them on Cloudflare Workers. Only this crate uses the platform's APIs.

mod platform;

use worker::{Context, Env, ScheduleContext, ScheduledEvent, event, web_sys};

/// The Worker's fetch event.
#[event(fetch)]
async fn fetch(
    request: web_sys::Request,
    env: Env,
    context: Context,
) -> worker::Result<web_sys::Response> {
    platform::serve(request, env, context, None).await
}

/// The Worker's scheduled event, configured by `triggers.crons` in `wrangler.toml`.
#[event(scheduled)]
async fn scheduled(_event: ScheduledEvent, env: Env, _context: ScheduleContext) {
    platform::run_job(env).await;
}
