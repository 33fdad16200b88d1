//! Tokens of other issuers, and their exchange.

use terrace_core::auth::access::Scopes;
use terrace_core::auth::exchange::{self, ExchangeRequest};
use terrace_core::auth::oidc::{LoginRules, TrustedPublishers};
use terrace_jose::{Discovery, IssuerKeys, IssuerUrl, UnverifiedToken};

use crate::{NOW, split, text};

/// Verifies a token of another party, in the first line, with its issuer's documents in the rest. Also parses
/// the input as rules.
pub fn oidc(data: &[u8]) {
    let (first, rest) = split(data, b'\n');
    let issuer: IssuerUrl = "https://issuer.example.com".parse().expect("a URL");
    let keys = IssuerKeys::parse(&issuer, rest);
    let _ = Discovery::parse(&issuer, rest);
    if let Some(token) = text(first)
        && let Ok(token) = UnverifiedToken::parse(token)
    {
        let _ = token.claimed_issuer();
        if let Ok(keys) = &keys {
            let _ = token.verify(keys, &["terrace"], NOW);
        }
    }
    if let Some(text) = text(data) {
        let _ = (
            text.parse::<TrustedPublishers>(),
            text.parse::<LoginRules>(),
        );
        let _ = text.parse::<IssuerUrl>();
    }
}

/// Parses the form of a job's token exchange. The first line is the form's content type.
pub fn exchange(data: &[u8]) {
    let (content_type, body) = split(data, b'\n');
    let origin = "https://registry.example.com";
    let asked = ExchangeRequest::parse(text(content_type), body, origin);
    let granted: Scopes = "publish:acme read:globex".parse().expect("scopes");
    match asked {
        Ok(request) => {
            assert!(!request.subject_token().is_empty());
            if let Ok(scopes) = request.narrow(&granted) {
                assert!(scopes.iter().all(|scope| granted.cover(scope)), "{scopes}");
            }
        }
        Err(error) => assert!(error.reply::<()>().status >= 400),
    }
    if let Some(token) = text(body) {
        let form = exchange::request_body(token);
        let form_type = Some("application/x-www-form-urlencoded");
        let read = ExchangeRequest::parse(form_type, form.as_bytes(), origin);
        let same = read.as_ref().is_ok_and(|it| it.subject_token() == token);
        let is_long = form.len() as u64 > terrace_core::auth::exchange::EXCHANGE_BYTES;
        assert!(same || token.is_empty() || is_long, "{read:?}");
    }
}
