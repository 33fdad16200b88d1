//! OAuth clients with documents of metadata: the sign-in of assistants and editors, which the Model Context Protocol
//! prescribes (<https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization>).
//!
//! The ID of such a client is the URL of a document that describes it
//! (<https://datatracker.ietf.org/doc/draft-ietf-oauth-client-id-metadata-document/>). The registry fetches it only from the
//! hosts that its operator names, and only for a person who is signed in. A code goes only to the person's own machine.

mod document;
mod host;
mod id;
mod redirect;

pub use document::{ClientDocument, ClientDocumentError, ClientName};
pub use host::{ClientHost, ClientHostError};
pub use id::ClientId;
pub use redirect::LoopbackRedirect;

use super::terminal::{
    Challenge, ParameterError, TerminalState, must_be, optional, required, wrong,
};
use crate::auth::access::Resource;
use crate::http::form::{Form, encoded};

/// Maximum length of the URL of an OAuth client: its ID, or the one at which it waits. Both travel to the sign-in provider and
/// back in a URL, next to a code of its own.
pub(super) const CLIENT_URL_BYTES: usize = 512;

/// The authorization request of an OAuth client that waits on the person's machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientRequest {
    /// The client.
    pub id: ClientId,
    /// The URL at which it waits for its code.
    pub redirect: LoopbackRedirect,
    /// The state to return, if it sent one.
    pub state: Option<TerminalState>,
    /// The challenge that its verifier must match.
    pub challenge: Challenge,
    /// The resource that its token is for.
    pub resource: Resource,
}

impl ClientRequest {
    /// Returns whether a request names its client by a URL.
    pub fn is_named_by_url(form: Form<'_>) -> bool {
        let id = form.value("client_id").ok().flatten();
        id.is_some_and(|id| id.starts_with("https:") || id.starts_with("http:"))
    }

    /// Parses the query of the URL that a client opens in a browser (OAuth 2.1, section 4.1.1; RFC 8707, section 2.1).
    ///
    /// # Errors
    /// The first parameter that is missing or invalid.
    pub fn parse(
        query: &str,
        hosts: &[ClientHost],
        resources: &[Resource],
    ) -> Result<Self, ParameterError> {
        let form = Form(query);
        let id: ClientId = required(form, "client_id")?;
        if !hosts.iter().any(|host| host.is_of(&id)) {
            return Err(wrong("client_id", id.unknown_host()));
        }
        must_be(form, "response_type", "code")?;
        let redirect = required(form, "redirect_uri")?;
        must_be(form, "code_challenge_method", "S256")?;
        Ok(Self {
            id,
            redirect,
            challenge: required(form, "code_challenge")?,
            state: optional(form, "state")?,
            resource: resource(form, resources)?,
        })
    }

    /// Returns the URL that delivers a code to the client. It always points to the user's own machine. The issuer lets the
    /// client recognise the registry (RFC 9207).
    pub(super) fn redirect_to(&self, code: &str, issuer: &str) -> String {
        self.with(("code", code), issuer)
    }

    /// Returns the URL that ends the client without a token (RFC 6749, section 4.1.2.1).
    pub(super) fn refusal(&self, issuer: &str) -> String {
        self.with(("error", "access_denied"), issuer)
    }

    fn with(&self, outcome: (&'static str, &str), issuer: &str) -> String {
        let state = self.state.as_ref().map(ToString::to_string);
        let mut parameters = vec![outcome];
        parameters.extend(state.as_ref().map(|state| ("state", state.as_str())));
        parameters.push(("iss", issuer));
        self.redirect.with_query(&encoded(&parameters))
    }
}

/// Parses the resource that a token is requested for.
fn resource(form: Form<'_>, resources: &[Resource]) -> Result<Resource, ParameterError> {
    let asked: String = required(form, "resource")?;
    let found = resources.iter().find(|resource| resource.is(&asked));
    found.cloned().ok_or_else(|| {
        let all: Vec<&str> = resources.iter().map(Resource::as_str).collect();
        let all = all.join(" or ");
        let shown = terrace_base::untrusted::quoted(&asked);
        wrong("resource", format!("is {shown}: it must be {all}"))
    })
}

#[cfg(test)]
mod tests {
    use super::super::terminal::assert_rejected;
    use super::*;
    use proptest::prelude::*;

    const ID: &str = "https://app.example.com/oauth/client.json";
    const ISSUER: &str = "https://registry.example.com";

    fn query() -> String {
        encoded(&[
            ("client_id", ID),
            ("response_type", "code"),
            ("redirect_uri", "http://127.0.0.1:33418/callback"),
            (
                "code_challenge",
                "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM",
            ),
            ("code_challenge_method", "S256"),
            ("state", "a state"),
            ("resource", "https://registry.example.com/mcp/private"),
            ("scope", "read"),
        ])
    }

    fn parse(query: &str) -> Result<ClientRequest, ParameterError> {
        let hosts = ["app.example.com".parse().unwrap()];
        let resources = ["/mcp", "/mcp/private"].map(|path| Resource::new(ISSUER, path));
        ClientRequest::parse(query, &hosts, &resources)
    }

    #[test]
    fn the_request_of_a_client_is_parsed_and_answered_on_its_own_machine() {
        let request = parse(&query()).unwrap();
        assert_eq!(
            request.resource.as_str(),
            "https://registry.example.com/mcp/private"
        );
        assert_eq!(
            request.redirect_to("a.b", ISSUER),
            "http://127.0.0.1:33418/callback?code=a.b&state=a%20state&iss=https%3A%2F%2Fregistry.example.com"
        );
        assert_eq!(
            request.refusal(ISSUER),
            "http://127.0.0.1:33418/callback?error=access_denied&state=a%20state\
             &iss=https%3A%2F%2Fregistry.example.com"
        );
        let without_state = query().replace("&state=a%20state", "");
        assert_eq!(parse(&without_state).unwrap().state, None);
    }

    #[test]
    fn an_invalid_request_is_rejected_with_the_parameter_and_the_rule() {
        let loopback = "must be http:// with 127.0.0.1, [::1] or localhost";
        let long = "x".repeat(600);
        let changes = [
            (
                "app.example",
                "evil.example",
                "client_id",
                "\"evil.example.com\"",
            ),
            (
                "app.example.com",
                "app.example.com%3A8443",
                "client_id",
                "\"app.example.com:8443\"",
            ),
            (
                "app.example.com",
                "app.example.com%3A443",
                "client_id",
                "other than 443",
            ),
            (
                "app.example.com",
                "App.example.com",
                "client_id",
                "lower case",
            ),
            (
                "app.example.com",
                "app.example.com.evil.example",
                "client_id",
                "TERRACE_MCP_CLIENT_HOSTS",
            ),
            (
                "https%3A%2F%2Fapp",
                "http%3A%2F%2Fapp",
                "client_id",
                "https://",
            ),
            (
                "%2Foauth%2Fclient.json",
                "%2F..%2Fclient.json",
                "client_id",
                "\"..\"",
            ),
            ("client.json", "client.json%23x", "client_id", "fragment"),
            ("%2Foauth%2Fclient.json", "", "client_id", "path"),
            ("%2Foauth%2Fclient.json", "%2F", "client_id", "path"),
            (
                "app.example.com%2F",
                "ann%40app.example.com%2F",
                "client_id",
                "user name",
            ),
            ("client.json", long.as_str(), "client_id", "512"),
            ("127.0.0.1", "app.example.com", "redirect_uri", loopback),
            (
                "http%3A%2F%2F127",
                "https%3A%2F%2F127",
                "redirect_uri",
                loopback,
            ),
            (
                "127.0.0.1",
                "127.0.0.1%40evil.example",
                "redirect_uri",
                "user name",
            ),
            (
                "127.0.0.1",
                "127.0.0.1.evil.example",
                "redirect_uri",
                loopback,
            ),
            ("state=a", "state=%0a", "state", "printable"),
            (
                "mcp%2Fprivate",
                "v2",
                "resource",
                "/mcp or https://registry.example.com/mcp/private",
            ),
            (
                "registry.example",
                "other.example",
                "resource",
                "\"https://other.example.com/mcp/private\"",
            ),
            ("&resource=", "&x=", "resource", "is missing"),
        ];
        assert_rejected(&query(), &changes, parse);
    }

    #[test]
    fn a_client_is_named_by_url_or_is_none_of_these() {
        for (query, expected) in [
            (query().as_str(), true),
            ("client_id=http%3A%2F%2Fa", true),
            ("client_id=terraform-cli", false),
            ("client_id=https%3A%2F%2Fa&client_id=x", false),
            ("", false),
        ] {
            assert_eq!(
                ClientRequest::is_named_by_url(Form(query)),
                expected,
                "{query}"
            );
        }
    }

    proptest! {
        #[test]
        fn no_query_leads_anywhere_but_to_this_machine(redirect in "http://(127.0.0.1|localhost|\\[::1\\]|[a-z.@:/?#]{0,12}){1,2}(:[0-9]{0,6})?[/?#@a-z.%]{0,12}") {
            let query = query().replace("http%3A%2F%2F127.0.0.1%3A33418%2Fcallback", &terrace_base::percent::encode(&redirect));
            if let Ok(request) = parse(&query) {
                let url = request.redirect_to("a.b", ISSUER);
                let host = url.strip_prefix("http://").and_then(|rest| rest.split(['/', '?', '#']).next()).unwrap();
                let host = host.rsplit_once(':').filter(|(_, port)| port.parse::<u16>().is_ok()).map_or(host, |it| it.0);
                prop_assert!(["127.0.0.1", "localhost", "[::1]"].contains(&host), "{url}");
            }
        }

        #[test]
        fn no_query_panics(text in "(client_id=https%3A%2F%2Fapp.example.com%2Fc|redirect_uri=|resource=|=|&|%|[a-z.]|\\PC){0,40}") {
            let _ = parse(&text);
        }
    }
}
