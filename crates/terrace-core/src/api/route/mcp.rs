//! Routes of the Model Context Protocol.

use crate::auth::access::Resource;

/// The path of the metadata of a protected resource, before the path of the resource (RFC 9728, section 3.1).
const METADATA: &str = "/.well-known/oauth-protected-resource";

/// A route of the Model Context Protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum McpRoute {
    /// An endpoint, to which clients send messages.
    Endpoint(McpScope),
    /// `/.well-known/oauth-protected-resource/mcp`: where clients of an endpoint get tokens.
    Metadata(McpScope),
    /// `/.well-known/oauth-authorization-server`: how OAuth clients of the endpoints sign people in.
    AuthorizationServer,
}

/// The packages that an endpoint shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum McpScope {
    /// `/mcp`: those that the caller may see, which may be the public ones only.
    Visible,
    /// `/mcp/private`: the same, to callers with a token only. A client that gets a token when it is asked for one is asked
    /// here.
    Private,
}

impl McpRoute {
    /// Parses what follows `/mcp` and its slash.
    #[inline(never)]
    pub(super) fn parse(rest: Option<&str>) -> Option<Self> {
        match rest {
            None => Some(Self::Endpoint(McpScope::Visible)),
            Some("private") => Some(Self::Endpoint(McpScope::Private)),
            Some(_) => None,
        }
    }

    /// Parses what follows `/.well-known/`. The path without that of an endpoint is the metadata of the first one, for clients
    /// that look there.
    #[inline(never)]
    pub(super) fn parse_well_known(rest: &str) -> Option<Self> {
        match rest {
            "oauth-protected-resource" | "oauth-protected-resource/mcp" => {
                Some(Self::Metadata(McpScope::Visible))
            }
            "oauth-protected-resource/mcp/private" => Some(Self::Metadata(McpScope::Private)),
            "oauth-authorization-server" => Some(Self::AuthorizationServer),
            _ => None,
        }
    }
}

impl McpScope {
    /// All endpoints.
    pub const ALL: [Self; 2] = [Self::Visible, Self::Private];

    /// Returns the endpoint at a path.
    pub fn at(path: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|scope| scope.path() == path)
    }

    /// Returns the URL of the endpoint, which tokens may be bound to.
    pub fn resource(self, origin: &str) -> Resource {
        Resource::new(origin, self.path())
    }

    /// Returns the path of the endpoint.
    pub fn path(self) -> &'static str {
        match self {
            Self::Visible => "/mcp",
            Self::Private => "/mcp/private",
        }
    }

    /// Returns the path of the endpoint's metadata.
    pub fn metadata_path(self) -> String {
        format!("{METADATA}{}", self.path())
    }
}
