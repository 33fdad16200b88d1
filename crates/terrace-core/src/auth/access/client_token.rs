//! The token of an OAuth client: it reads, at one resource only.
//!
//! ```text
//! terrace_mcp_{fields}.{mac}
//!
//! fields   base64url of lines: the expiry, as seconds since 1970; the ID; the scopes, only for reading; the display
//!          name of the person; the resource
//! mac      as in a sealed text, with a key of its own that is derived from the admin token
//! ```
//!
//! A client token is a kind of its own. Only the endpoint that is its resource accepts it
//! ([`Access::caller_at`](super::Access::caller_at)), as RFC 8707 intends: a server to which the token leaks can use it
//! nowhere else. Everywhere else it is rejected, because it is neither in the form of an API token nor signed with the key of
//! one. Its document is stored, so that it is listed and revoked as other tokens are.

use std::fmt;

use super::{CredentialsError, Scopes, SealError, SealKeys, Sealable, TokenName};
use crate::model::token_id::TokenId;
use terrace_base::secret::Secret;
use terrace_base::time::UnixTime;
use terrace_base::url::Url;

/// The prefix of every client token. It begins with that of an API token, for scanners that look for leaked ones. No API
/// token begins with it, because it is not the ID of one.
pub const CLIENT_TOKEN_PREFIX: &str = "terrace_mcp_";

/// The URL of an endpoint that a client token is for (RFC 8707, section 2).
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(transparent)]
pub struct Resource(String);

/// The token of an OAuth client, which acts for a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientToken {
    /// The ID, which is unique among all tokens.
    pub id: TokenId,
    /// The display name of the person.
    pub name: TokenName,
    /// All of them are for reading.
    scopes: Scopes,
    resource: Resource,
}

/// The keys that issue client tokens and verify them.
#[derive(Debug, Clone)]
pub struct ClientTokenKeys(SealKeys);

impl Resource {
    /// Returns the resource at a path of this registry.
    pub fn new(origin: &str, path: &str) -> Self {
        Self(format!("{origin}{path}"))
    }

    /// Returns the URL.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns whether `url` is this resource. The case of the host, and a default port, do not count.
    pub fn is(&self, url: &str) -> bool {
        let parsed = |text: &str| text.parse::<Url>().ok();
        parsed(&self.0).zip(parsed(url)).is_some_and(|(own, url)| {
            own.origin() == url.origin() && own.path() == url.path() && url.query().is_none()
        })
    }
}

impl ClientToken {
    /// Creates the token of a client for a person with these scopes, of which it has those for reading.
    pub fn new(id: TokenId, name: TokenName, scopes: &Scopes, resource: Resource) -> Self {
        Self {
            id,
            name,
            scopes: scopes.to_read(),
            resource,
        }
    }

    /// The scopes, all of them for reading.
    pub fn scopes(&self) -> &Scopes {
        &self.scopes
    }
}

impl ClientTokenKeys {
    /// Derives the keys from these admin tokens. The previous one only verifies.
    pub fn new(newest: &Secret, previous: Option<&Secret>) -> Self {
        Self(SealKeys::labelled("terrace MCP token 1", newest, previous))
    }

    /// Returns the text of a token.
    pub fn write(&self, token: &ClientToken, expires: UnixTime) -> String {
        format!("{CLIENT_TOKEN_PREFIX}{}", self.0.seal(token, expires))
    }

    /// Parses and verifies a token that is presented at a resource.
    ///
    /// # Errors
    /// The reason why the token is rejected.
    pub fn read(
        &self,
        text: &str,
        resource: &Resource,
        now: UnixTime,
    ) -> Result<ClientToken, CredentialsError> {
        let sealed = text.strip_prefix(CLIENT_TOKEN_PREFIX).unwrap_or_default();
        let (token, _) = self.0.open::<ClientToken>(sealed, now)?;
        match token.resource == *resource {
            true => Ok(token),
            false => Err(CredentialsError::OtherResource),
        }
    }
}

impl From<SealError> for CredentialsError {
    fn from(error: SealError) -> Self {
        match error {
            SealError::Foreign => Self::Foreign,
            SealError::Stale(expired) => Self::Expired(expired),
        }
    }
}

impl Sealable for ClientToken {
    const PURPOSE: &'static str = "MCP token";

    fn lines(&self) -> Vec<String> {
        let Self {
            id,
            name,
            scopes,
            resource,
        } = self;
        vec![
            id.to_string(),
            scopes.to_string(),
            name.to_string(),
            resource.0.clone(),
        ]
    }

    fn parse<'l>(mut lines: impl Iterator<Item = &'l str>) -> Option<Self> {
        let id = lines.next()?.parse().ok()?;
        let scopes: Scopes = lines.next()?.parse().ok()?;
        let name = lines.next()?.parse().ok()?;
        let resource = Resource::new(lines.next()?, "");
        Some(Self::new(id, name, &scopes, resource))
    }
}

impl fmt::Display for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::auth::access::token::tests::token_with;
    use crate::auth::access::{Access, Caller, ReadPolicy, TokenKeys};

    const NOW: UnixTime = UnixTime(1_800_000_000);
    const ADMIN: &str = "0123456789abcdef";

    fn keys() -> ClientTokenKeys {
        ClientTokenKeys::new(&Secret::new(ADMIN), None)
    }

    fn access() -> Access {
        let policy = ReadPolicy {
            is_private: true,
            exceptions: Vec::new(),
        };
        Access::new(Some(Secret::new(ADMIN)), None, policy)
    }

    fn resource() -> Resource {
        Resource::new("https://registry.example.com", "/mcp/private")
    }

    fn token(scopes: &str) -> ClientToken {
        let [id, name] = ["0123456789abcdef", "ann@acme.example"];
        let scopes: Scopes = scopes.parse().unwrap();
        ClientToken::new(
            id.parse().unwrap(),
            name.parse().unwrap(),
            &scopes,
            resource(),
        )
    }

    fn bearer(text: &str) -> String {
        format!("Bearer {text}")
    }

    #[test]
    fn a_client_token_is_valid_until_it_expires() {
        let text = keys().write(&token("read"), NOW);
        assert!(text.starts_with(CLIENT_TOKEN_PREFIX), "{text}");
        let read = |now| keys().read(&text, &resource(), now);
        assert_eq!(read(NOW), Ok(token("read")));
        assert_eq!(read(NOW.plus(1)), Err(CredentialsError::Expired(NOW)));
    }

    /// A token outlives the version that issued it.
    #[test]
    fn the_lines_of_a_client_token_are_pinned() {
        let lines = token("read publish:acme").lines().join("\n");
        assert_eq!(
            lines,
            "0123456789abcdef\nread\nann@acme.example\nhttps://registry.example.com/mcp/private"
        );
    }

    #[test]
    fn a_client_token_is_accepted_at_its_resource_only() {
        let header = bearer(&keys().write(&token("read"), NOW));
        let at = |resource: Option<&Resource>| access().caller_at(Some(&header), resource, || NOW);
        let client = Caller::Client(Box::new(token("read")));
        assert_eq!(at(Some(&resource())), Ok(client));
        for (origin, path) in [
            ("https://registry.example.com", "/mcp"),
            ("https://registry.example.org", "/mcp/private"),
            ("http://registry.example.com", "/mcp/private"),
        ] {
            let other = at(Some(&Resource::new(origin, path)));
            assert_eq!(
                other,
                Err(CredentialsError::OtherResource),
                "{origin}{path}"
            );
        }
        assert_eq!(at(None), Err(CredentialsError::Client));
        let caller = access().caller(Some(&header), || NOW);
        assert_eq!(caller, Err(CredentialsError::Client));
    }

    #[test]
    fn other_tokens_are_accepted_at_a_resource() {
        let token = token_with("read");
        let text = TokenKeys::new(&Secret::new(ADMIN), None).write(&token);
        let caller = access().caller_at(Some(&bearer(&text)), Some(&resource()), || NOW);
        assert_eq!(caller, Ok(Caller::Bearer(Box::new(token))));
    }

    #[test]
    fn a_resource_is_compared_without_the_case_of_its_host() {
        let resource = resource();
        assert!(resource.is("https://registry.example.com/mcp/private"));
        assert!(resource.is("https://Registry.Example.com:443/mcp/private"));
        for other in [
            "",
            "https://registry.example.com",
            "https://registry.example.com/mcp",
            "https://registry.example.com/mcp/private/",
            "https://registry.example.com/MCP/private",
            "https://registry.example.com/mcp/private?a",
            "https://registry.example.com/mcp/private#a",
            "https://registry.example.comä/mcp/private",
            "http://registry.example.com/mcp/private",
        ] {
            assert!(!resource.is(other), "{other}");
        }
    }
}
