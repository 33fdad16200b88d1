//! Log lines about sign-ins.

use terrace_core::auth::access::SealError;
use terrace_core::auth::login::SignInError;
use terrace_core::limits;

use crate::cache::IssuerError;
use crate::context::Context;
use crate::failure::Failure;
use crate::host::Host;

pub(crate) fn unsealed<P: Host>(ctx: &Context<'_, P>, what: &str, fault: SealError) -> SignInError {
    write(ctx, &format!("{what}: {fault}"));
    match fault {
        SealError::Foreign => SignInError::Foreign,
        SealError::Stale(_) => SignInError::Stale,
    }
}

/// Logs an unusable response of the provider.
pub(crate) fn distrusted<P: Host>(ctx: &Context<'_, P>, why: impl ToString) -> SignInError {
    write(ctx, &why.to_string());
    SignInError::Distrusted
}

/// Logs that the provider did not respond, or failed.
pub(crate) fn unreachable<P: Host>(ctx: &Context<'_, P>, failure: Failure) -> SignInError {
    ctx.report(failure);
    SignInError::Unreachable
}

/// Logs that the provider gave no usable answer.
pub(crate) fn failed<P: Host>(ctx: &Context<'_, P>, error: IssuerError) -> SignInError {
    let is_permanent = error.is_permanent;
    ctx.report(error.into());
    match is_permanent {
        true => SignInError::Misconfigured,
        false => SignInError::Unreachable,
    }
}

pub(crate) fn write<P: Host>(ctx: &Context<'_, P>, what: &str) {
    let from = &ctx.client_address;
    ctx.host.log(&format!("login: {what}; from {from:?}"));
}

/// Returns the printable part of foreign text, for a page or a log line.
pub(crate) fn printable(text: &str) -> String {
    printable_up_to(limits::ORIGIN_TEXT_CHARS, text)
}

pub(crate) fn printable_up_to(limit: usize, text: &str) -> String {
    let chars = text.chars().filter(|c| matches!(c, ' '..='~'));
    chars.take(limit).collect()
}
