//! The registry's own tokens.

use terrace_base::secret::Secret;
use terrace_base::time::UnixTime;
use terrace_core::auth::access::{Scopes, Token, TokenKeys, TokenName};
use terrace_core::model::provenance::Provenance;
use terrace_core::model::token_id::TokenId;

use crate::{NOW, OPEN, configured, round_trip, text};

/// Parses a token; or builds one from its parts, one per line.
pub fn token(data: &[u8]) {
    let Some(text) = text(data) else { return };
    let keys = TokenKeys::new(&Secret::new("0123456789abcdef"), None);
    // A valid token cannot be guessed.
    assert!(keys.read(text, || NOW).is_err() || text.len() > 80);
    let mut lines = text.split('\n');
    let mut next = || lines.next().unwrap_or_default();
    let (id, name, scopes, expires) = (next(), next(), next(), next());
    let provenance = serde_json::from_str::<Provenance>(next()).ok();
    let provenance = provenance.and_then(|it| it.to_text());
    if let Some(text) = &provenance {
        let job = text.parse().expect("a written text");
        assert_eq!(job.to_text().as_ref(), Some(text));
    }
    round_trip::<Scopes>(scopes);
    round_trip::<TokenId>(id);
    if let (Ok(id), Ok(name), Ok(scopes)) = (
        id.parse::<TokenId>(),
        name.parse::<TokenName>(),
        scopes.parse::<Scopes>(),
    ) {
        let expires = expires.parse().ok().map(UnixTime);
        let token = Token {
            id,
            name,
            scopes,
            expires,
            is_of_previous: false,
            provenance,
        };
        let written = keys.write(&token);
        if written.len() <= terrace_core::limits::TOKEN_BYTES {
            let read = keys.read(&written, || UnixTime(0));
            assert_eq!(read.as_ref(), Ok(&token), "{written}");
        }
        let config = configured(&OPEN).expect("a valid configuration");
        let _ = config
            .access
            .caller(Some(&format!("Bearer {written}")), || NOW);
    }
    let config = configured(&OPEN).expect("a valid configuration");
    let _ = config.access.caller(Some(text), || NOW);
}
