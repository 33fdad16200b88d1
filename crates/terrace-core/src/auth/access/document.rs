//! What is stored of a token. Nobody can make the token of it.

use serde::{Deserialize, Serialize};

use super::scope::Scopes;
use super::token::TokenName;
use terrace_base::time::UnixTime;

/// A token as it was made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenDocument {
    /// Its name for people.
    pub name: TokenName,
    /// What it is good for.
    pub scopes: Scopes,
    /// When it was made.
    pub created: UnixTime,
    /// By whom.
    pub by: String,
    /// Until when it is good, if not for ever.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires: Option<UnixTime>,
    /// From when on it is revoked. Only for who lists tokens: what counts is [`super::RevocationDocument`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revoked: Option<UnixTime>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pinned::assert_pinned;

    #[test]
    fn the_document_is_pinned() {
        let mut document = TokenDocument {
            name: "ci".parse().unwrap(),
            scopes: "read publish:acme".parse().unwrap(),
            created: UnixTime(1),
            by: "root".to_owned(),
            expires: Some(UnixTime(2)),
            revoked: Some(UnixTime(3)),
        };
        let text = r#"{"name":"ci","scopes":"read publish:acme","created":1,"by":"root","expires":2,"revoked":3}"#;
        assert_pinned(&serde_json::to_string(&document).unwrap(), text);
        (document.expires, document.revoked) = (None, None);
        let text = r#"{"name":"ci","scopes":"read publish:acme","created":1,"by":"root"}"#;
        assert_eq!(
            serde_json::from_str::<TokenDocument>(text).unwrap(),
            document
        );
    }
}
