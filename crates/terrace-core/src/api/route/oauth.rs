//! Routes of sign-in, and of token exchange for CI jobs.

/// A route of sign-in or token exchange.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OAuthRoute {
    /// `/oauth/exchange`: token exchange for CI jobs.
    Exchange,
    /// `/oauth/authorize`: the page that a terminal opens in a browser to sign in.
    Authorize,
    /// `/oauth/callback`: the page to which the identity provider redirects the browser.
    Callback,
    /// `/oauth/consent`: the person's consent or refusal.
    Consent,
    /// `/oauth/token`: the endpoint at which the terminal redeems its code.
    Token,
}

impl OAuthRoute {
    /// Parses the segments after `/oauth/`.
    #[inline(never)]
    pub(super) fn parse(segments: &[&str]) -> Option<Self> {
        match segments {
            ["exchange"] => Some(Self::Exchange),
            ["authorize"] => Some(Self::Authorize),
            ["callback"] => Some(Self::Callback),
            ["consent"] => Some(Self::Consent),
            ["token"] => Some(Self::Token),
            _ => None,
        }
    }
}
