//! Terrace, a serverless registry for Terraform and OpenTofu: the Worker.
//!
//! [`terrace_app`] answers requests over the seams of its [`host`](terrace_app::host); `platform` implements those
//! seams on Cloudflare Workers. Only this crate names the platform's.

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

/// The Worker's scheduled event: `triggers.crons` of `wrangler.toml`.
#[event(scheduled)]
async fn scheduled(_event: ScheduledEvent, env: Env, _context: ScheduleContext) {
    platform::reconcile(env).await;
}
