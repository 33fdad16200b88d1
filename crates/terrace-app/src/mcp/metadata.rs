//! The metadata by which clients of an endpoint get access.

use serde::Serialize;
use terrace_base::json;
use terrace_core::api::route::{McpScope, PageRoute};
use terrace_core::auth::access::Resource;
use terrace_core::config::{Config, MCP_CLIENT_HOSTS};
use terrace_core::http::problem::Problem;
use terrace_core::http::reply::{CachePolicy, Reply};

use crate::outcome::Handled;

/// The metadata of an endpoint (RFC 9728, section 2).
#[derive(Serialize)]
struct ProtectedResource<'o> {
    resource: Resource,
    resource_name: &'static str,
    resource_documentation: String,
    /// Absent if only administrators create tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    authorization_servers: Option<[&'o str; 1]>,
    bearer_methods_supported: [&'static str; 1],
    scopes_supported: [&'static str; 1],
}

/// The metadata of the sign-in of OAuth clients (RFC 8414, section 2; RFC 9207, section 3;
/// draft-ietf-oauth-client-id-metadata-document, section 6).
#[derive(Serialize)]
struct AuthorizationServer<'o> {
    issuer: &'o str,
    authorization_endpoint: String,
    token_endpoint: String,
    service_documentation: String,
    scopes_supported: [&'static str; 1],
    response_types_supported: [&'static str; 1],
    grant_types_supported: [&'static str; 1],
    token_endpoint_auth_methods_supported: [&'static str; 1],
    code_challenge_methods_supported: [&'static str; 1],
    client_id_metadata_document_supported: bool,
    authorization_response_iss_parameter_supported: bool,
}

/// Describes how clients of an endpoint get access.
pub(crate) fn resource<S>(config: &Config, origin: &str, scope: McpScope) -> Reply<S> {
    let document = ProtectedResource {
        resource: scope.resource(origin),
        resource_name: "Terrace, a registry for Terraform and OpenTofu",
        resource_documentation: format!("{origin}{}", PageRoute::Assistants),
        authorization_servers: accepts_clients(config).then_some([origin]),
        bearer_methods_supported: ["header"],
        scopes_supported: ["read"],
    };
    Reply::json(200, CachePolicy::Short, json::to_string(&document))
}

/// Describes how OAuth clients sign people in.
pub(crate) fn authorization_server<S>(config: &Config, origin: &str) -> Handled<S> {
    if !accepts_clients(config) {
        let message = format!(
            "this registry has no sign-in for OAuth clients: {MCP_CLIENT_HOSTS} is not set; create a token"
        );
        return Err(Problem::NotFound(message).into());
    }
    let document = AuthorizationServer {
        issuer: origin,
        authorization_endpoint: format!("{origin}/oauth/authorize"),
        token_endpoint: format!("{origin}/oauth/token"),
        service_documentation: format!("{origin}{}", PageRoute::Assistants),
        scopes_supported: ["read"],
        response_types_supported: ["code"],
        grant_types_supported: ["authorization_code"],
        token_endpoint_auth_methods_supported: ["none"],
        code_challenge_methods_supported: ["S256"],
        client_id_metadata_document_supported: true,
        authorization_response_iss_parameter_supported: true,
    };
    let text = json::to_string(&document);
    Ok(Reply::json(200, CachePolicy::Short, text).into())
}

fn accepts_clients(config: &Config) -> bool {
    let login = config.login.as_deref();
    login.is_some_and(|login| login.accepts_clients())
}
