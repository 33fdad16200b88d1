//! The stored description of a token, from which the token cannot be reconstructed.

use serde::{Deserialize, Serialize};

use super::client_token::Resource;
use super::scope::Scopes;
use super::token::{KeyMark, TokenName};
use crate::model::token_id::TokenId;
use terrace_base::time::UnixTime;

/// A token as it was issued.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenDocument {
    /// The display name.
    pub name: TokenName,
    /// The scopes that it grants.
    pub scopes: Scopes,
    /// The time of issue.
    pub created: UnixTime,
    /// The name of the caller who issued it.
    pub by: String,
    /// The time when it expires; `None` for a token that never does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires: Option<UnixTime>,
    /// The time from which it is revoked, for listings only. [`super::RevocationDocument`] is authoritative.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revoked: Option<UnixTime>,
    /// The token that replaces it, if it was rotated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub successor: Option<TokenId>,
    /// The mark of the key that issued it; `None` for a token of an earlier version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<KeyMark>,
    /// The only resource that accepts it, if it is the token of an OAuth client.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource: Option<Resource>,
}

/// Begins the creator of a token that a person got by signing in; the account follows.
pub const SIGN_IN: &str = "login as ";

impl TokenDocument {
    /// Returns whether a person got the token by signing in.
    pub fn is_of_sign_in(&self) -> bool {
        self.by.starts_with(SIGN_IN)
    }
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
            successor: Some("0123456789abcdef".parse().unwrap()),
            key: Some(KeyMark(4)),
            resource: Some(Resource::new("https://a.example", "/mcp")),
        };
        let text = r#"{"name":"ci","scopes":"read publish:acme","created":1,"by":"root","expires":2,"revoked":3,"successor":"0123456789abcdef","key":4,"resource":"https://a.example/mcp"}"#;
        assert_pinned(&serde_json::to_string(&document).unwrap(), text);
        (document.expires, document.revoked) = (None, None);
        (document.successor, document.key) = (None, None);
        document.resource = None;
        let text = r#"{"name":"ci","scopes":"read publish:acme","created":1,"by":"root"}"#;
        assert_eq!(
            serde_json::from_str::<TokenDocument>(text).unwrap(),
            document
        );
    }
}
