//! Routes of sign-in, and of tokens for jobs of a CI.

/// A route by which people sign in, or jobs get tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OAuthRoute {
    /// `/oauth/exchange`: tokens for the jobs of a CI.
    Exchange,
    /// `/oauth/authorize`: where a terminal sends a browser to sign in.
    Authorize,
    /// `/oauth/callback`: where the identity provider sends the browser back.
    Callback,
    /// `/oauth/consent`: what a person allows or refuses.
    Consent,
    /// `/oauth/token`: what the terminal sends its code to.
    Token,
}

impl OAuthRoute {
    /// Reads the segments after `/oauth/`.
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
