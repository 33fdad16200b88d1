//! The authorization request of a program that waits for a token on a person's own machine: a terminal, or an assistant or
//! editor. It travels along until the program redeems its code.

use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;

use super::client::{ClientHost, ClientId, LoopbackRedirect};
use super::pkce::Challenge;
use crate::auth::access::Resource;
use crate::auth::parameter::{ParameterError, must_be, optional, required, wrong};
use crate::http::form::{Form, encoded};

/// Maximum length of a client's `state`. Terraform and OpenTofu send a UUID.
const LOGIN_STATE_BYTES: usize = 256;

/// The client ID that discovery assigns to terminals (clients.md 7.1).
pub const CLIENT_ID: &str = "terraform-cli";

/// The ports on which terminals listen for their code (clients.md 7.3).
pub const PORTS: RangeInclusive<u16> = 10_000..=10_010;

/// The code for a refused sign-in: it ends a terminal that would otherwise wait forever (clients.md 7.5).
pub(super) const REFUSED: &str = "refused";

/// A request for a token (OAuth 2.1, section 4.1.1; RFC 8252; RFC 7636).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Authorization {
    /// The program that waits for the token.
    pub client: Client,
    /// The URL at which it waits, on the person's own machine.
    pub redirect: LoopbackRedirect,
    /// The state to return, by which the program recognises its own sign-in. Terminals always send one.
    pub state: Option<ClientState>,
    /// The challenge that its verifier must match.
    pub challenge: Challenge,
}

/// A program that waits for a token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Client {
    /// A terminal in which `terraform login`, `tofu login` or `terrace login` waits.
    Terminal,
    /// An assistant or editor, which a document describes.
    Application {
        /// The URL of the document.
        id: ClientId,
        /// The only resource that its token is for.
        resource: Resource,
    },
}

/// The `state` of a client, in printable ASCII (RFC 6749, appendix A.5).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientState(String);

impl Authorization {
    /// Parses the query of the URL that a program opens in a browser. `hosts` are those of the documents of applications,
    /// `resources` those of this registry that accept their tokens.
    ///
    /// # Errors
    /// The first parameter that is missing or invalid.
    pub fn parse(
        query: &str,
        hosts: &[ClientHost],
        resources: &[Resource],
    ) -> Result<Self, ParameterError> {
        let form = Form(query);
        let id = client_id(form, true)?;
        if let Some(id) = id
            .as_ref()
            .filter(|id| !hosts.iter().any(|it| it.is_of(id)))
        {
            return Err(wrong("client_id", id.unknown_host()));
        }
        must_be(form, "response_type", "code")?;
        let redirect = match &id {
            None => redirect_of_terminal(form)?,
            Some(_) => required(form, "redirect_uri")?,
        };
        must_be(form, "code_challenge_method", "S256")?;
        let challenge = required(form, "code_challenge")?;
        Ok(Self {
            redirect,
            challenge,
            state: match &id {
                None => Some(required(form, "state")?),
                Some(_) => optional(form, "state")?,
            },
            client: match id {
                None => Client::Terminal,
                Some(id) => Client::Application {
                    id,
                    resource: resource(form, resources)?,
                },
            },
        })
    }

    /// Returns the URL that delivers a code. It always points to the person's own machine. `issuer` is the origin of this
    /// registry.
    pub fn redirect_to(&self, code: &str, issuer: &str) -> String {
        self.answered(&[("code", code)], issuer)
    }

    /// Returns the URL that ends the program without a token (RFC 6749, section 4.1.2.1). `terraform` and `tofu` need a code,
    /// and do not read the error.
    pub fn refusal(&self, issuer: &str) -> String {
        let error = ("error", "access_denied");
        match self.client {
            Client::Terminal => self.answered(&[("code", REFUSED), error], issuer),
            Client::Application { .. } => self.answered(&[error], issuer),
        }
    }

    /// Returns the URL with an answer. The issuer lets an application recognise the registry (RFC 9207).
    fn answered(&self, answer: &[(&str, &str)], issuer: &str) -> String {
        let state = self.state.as_ref().map(|it| ("state", it.0.as_str()));
        let issuer = match self.client {
            Client::Terminal => None,
            Client::Application { .. } => Some(("iss", issuer)),
        };
        let all = answer.iter().copied().chain(state).chain(issuer);
        self.redirect.with_query(&encoded(&all.collect::<Vec<_>>()))
    }

    pub(super) fn lines(&self) -> Vec<String> {
        let (id, resource) = match &self.client {
            Client::Terminal => (CLIENT_ID.to_owned(), String::new()),
            Client::Application { id, resource } => (id.to_string(), resource.to_string()),
        };
        let state = self.state.as_ref().map(|it| it.0.clone());
        let (redirect, challenge) = (self.redirect.to_string(), self.challenge.to_string());
        vec![id, resource, redirect, state.unwrap_or_default(), challenge]
    }

    /// Parses lines of which `id` is the first.
    pub(super) fn read<'l>(id: &str, lines: &mut impl Iterator<Item = &'l str>) -> Option<Self> {
        let resource = lines.next()?;
        Some(Self {
            client: match id {
                CLIENT_ID => Client::Terminal,
                id => Client::Application {
                    id: id.parse().ok()?,
                    resource: Resource::new(resource, ""),
                },
            },
            redirect: lines.next()?.parse().ok()?,
            state: match lines.next()? {
                "" => None,
                state => Some(state.parse().ok()?),
            },
            challenge: lines.next()?.parse().ok()?,
        })
    }
}

/// Parses the ID of a client: that of terminals (`None`), or of an application, if this registry accepts those.
pub(super) fn client_id(
    form: Form<'_>,
    accepts_applications: bool,
) -> Result<Option<ClientId>, ParameterError> {
    let id = form.value("client_id").ok().flatten();
    let is_url = id.is_some_and(|id| id.starts_with("https:") || id.starts_with("http:"));
    match is_url && accepts_applications {
        true => required(form, "client_id").map(Some),
        false => must_be(form, "client_id", CLIENT_ID).map(|()| None),
    }
}

/// Parses the redirect URI of a terminal, in which only the port may vary (clients.md 7.4).
pub(super) fn redirect_of_terminal(form: Form<'_>) -> Result<LoopbackRedirect, ParameterError> {
    let text: String = required(form, "redirect_uri")?;
    let mut ports = PORTS;
    let is_known = ports.any(|port| text == format!("http://localhost:{port}/login"));
    match text.parse() {
        Ok(redirect) if is_known => Ok(redirect),
        _ => {
            let (first, last) = (PORTS.start(), PORTS.end());
            let rule =
                format!("must be http://localhost:<port>/login with a port from {first} to {last}");
            Err(wrong("redirect_uri", rule))
        }
    }
}

/// Parses the resource that a token is requested for (RFC 8707, section 2.1).
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

impl FromStr for ClientState {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let is_state = (1..=LOGIN_STATE_BYTES).contains(&text.len())
            && text.bytes().all(|byte| (b' '..=b'~').contains(&byte));
        is_state.then(|| Self(text.to_owned())).ok_or_else(|| {
            let limit = LOGIN_STATE_BYTES;
            format!("must be 1 to {limit} printable ASCII characters")
        })
    }
}

impl fmt::Display for ClientState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The query that OpenTofu 1.12 sends (clients.md 7.4).
    pub(in crate::auth::login) const TERMINAL: &str = "client_id=terraform-cli\
        &code_challenge=E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM&code_challenge_method=S256\
        &redirect_uri=http%3A%2F%2Flocalhost%3A10003%2Flogin&response_type=code&state=a%20%22state";

    pub(in crate::auth::login) const APPLICATION: &str = "client_id=https%3A%2F%2Fapp.example.com%2Foauth%2Fclient.json\
        &code_challenge=E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM&code_challenge_method=S256\
        &redirect_uri=http%3A%2F%2F127.0.0.1%3A33418%2Fcallback&response_type=code&state=a%20%22state\
        &resource=https%3A%2F%2Fregistry.example.com%2Fmcp%2Fprivate&scope=read";

    const ISSUER: &str = "https://registry.example.com";

    pub(in crate::auth::login) fn parse(query: &str) -> Result<Authorization, ParameterError> {
        let hosts = ["app.example.com".parse().unwrap()];
        let resources = ["/mcp", "/mcp/private"].map(|path| Resource::new(ISSUER, path));
        Authorization::parse(query, &hosts, &resources)
    }

    #[test]
    fn the_request_of_a_terminal_is_parsed_and_answered_on_its_own_machine_7_4() {
        let request = parse(TERMINAL).unwrap();
        assert_eq!(request.client, Client::Terminal);
        assert_eq!(
            request.redirect_to("a.b", ISSUER),
            "http://localhost:10003/login?code=a.b&state=a%20%22state"
        );
        assert_eq!(
            request.refusal(ISSUER),
            "http://localhost:10003/login?code=refused&error=access_denied&state=a%20%22state"
        );
    }

    #[test]
    fn the_request_of_an_application_is_parsed_and_answered_on_its_own_machine() {
        let request = parse(APPLICATION).unwrap();
        let resource = Resource::new(ISSUER, "/mcp/private");
        let id = "https://app.example.com/oauth/client.json".parse().unwrap();
        assert_eq!(request.client, Client::Application { id, resource });
        let issuer = "iss=https%3A%2F%2Fregistry.example.com";
        assert_eq!(
            request.redirect_to("a.b", ISSUER),
            format!("http://127.0.0.1:33418/callback?code=a.b&state=a%20%22state&{issuer}")
        );
        let without_state = parse(&APPLICATION.replace("&state=a%20%22state", "")).unwrap();
        assert_eq!(
            without_state.refusal(ISSUER),
            format!("http://127.0.0.1:33418/callback?error=access_denied&{issuer}")
        );
    }

    #[test]
    fn an_invalid_request_is_rejected_with_the_parameter() {
        for query in [TERMINAL, APPLICATION] {
            for (from, to, parameter) in [
                ("type=code", "type=token", "response_type"),
                ("S256", "plain", "code_challenge_method"),
                ("_method=S256", "_method=", "code_challenge_method"),
                ("w-cM", "w-c", "code_challenge"),
                ("w-cM", "w%2BcM", "code_challenge"),
                ("code_challenge=", "x=", "code_challenge"),
                ("state=a", "state=%0d%0a", "state"),
                ("state=a", "state=%ff", "state"),
                ("state=a", "state=%c3%a4", "state"),
                ("client_id=", "client_id=x&client_id=", "client_id"),
                ("client_id=", "x=", "client_id"),
            ] {
                assert_rejected(&query.replacen(from, to, 1), parameter);
            }
        }
        let id = "terraform-cli";
        assert_rejected(&TERMINAL.replace(id, "Terraform-CLI"), "client_id");
        assert_rejected(&TERMINAL.replace("state=", "x="), "state");
        let long = format!("{TERMINAL}{}", "x".repeat(LOGIN_STATE_BYTES));
        assert_rejected(&long, "state");
    }

    fn assert_rejected(query: &str, parameter: &str) {
        let fault = parse(query).expect_err(query);
        assert_eq!(fault.parameter, parameter, "{query}");
    }

    #[test]
    fn an_application_has_a_named_host_a_redirect_to_its_person_and_a_resource_of_this_registry() {
        let long = "x".repeat(600);
        let host = "app.example.com";
        for (from, to, parameter) in [
            ("app.example", "evil.example", "client_id"),
            (host, "app.example.com.evil.example", "client_id"),
            ("https%3A%2F%2Fapp", "http%3A%2F%2Fapp", "client_id"),
            ("%2Foauth%2Fclient.json", "%2F..%2Fclient.json", "client_id"),
            ("client.json", "client.json%23x", "client_id"),
            ("%2Foauth%2Fclient.json", "", "client_id"),
            ("%2Foauth%2Fclient.json", "%2F", "client_id"),
            (
                "app.example.com%2F",
                "ann%40app.example.com%2F",
                "client_id",
            ),
            ("client.json", long.as_str(), "client_id"),
            ("127.0.0.1", "app.example.com", "redirect_uri"),
            ("http%3A%2F%2F127", "https%3A%2F%2F127", "redirect_uri"),
            ("127.0.0.1", "127.0.0.1%40evil.example", "redirect_uri"),
            ("127.0.0.1", "127.0.0.1.evil.example", "redirect_uri"),
            ("mcp%2Fprivate", "v2", "resource"),
            ("registry.example", "other.example", "resource"),
            ("&resource=", "&x=", "resource"),
        ] {
            assert_rejected(&APPLICATION.replacen(from, to, 1), parameter);
        }
    }

    #[test]
    fn a_code_for_a_terminal_is_sent_only_to_a_port_of_this_machine_7_4() {
        let redirect = |uri: &str| {
            let query = encoded(&[("redirect_uri", uri)]);
            redirect_of_terminal(Form(&query)).map(|it| it.to_string())
        };
        for uri in [
            "",
            "https://localhost:10003/login",
            "http://127.0.0.1:10003/login",
            "http://LOCALHOST:10003/login",
            "http://localhost/login",
            "http://localhost:9999/login",
            "http://localhost:10011/login",
            "http://localhost:010003/login",
            "http://localhost:10003/login/",
            "http://localhost:10003/login?x",
            "http://localhost:10003/login\n",
            "http://user@localhost:10003/login",
            "http://localhost:10003@evil.example/login",
            "http://localhost:10003.evil.example/login",
        ] {
            assert!(redirect(uri).is_err(), "{uri:?}");
        }
        for port in PORTS {
            let uri = format!("http://localhost:{port}/login");
            assert_eq!(redirect(&uri), Ok(uri));
        }
    }

    proptest! {
        #[test]
        fn no_query_leads_anywhere_but_to_this_machine(
            redirect in "http://(127.0.0.1|localhost|\\[::1\\]|[a-z.@:/?#]{0,12}){1,2}(:[0-9]{0,6})?[/?#@a-z.%]{0,12}",
            state in "\\PC{0,40}",
        ) {
            for (query, own) in [(TERMINAL, "http://localhost:10003/login"), (APPLICATION, "http://127.0.0.1:33418/callback")] {
                let encode = terrace_base::percent::encode;
                let query = query.replace(&encode(own), &encode(&redirect)).replace("a%20%22state", &encode(&state));
                let Ok(request) = parse(&query) else { continue };
                let url = request.redirect_to("a.b", ISSUER);
                let host = url.strip_prefix("http://").and_then(|rest| rest.split(['/', '?', '#']).next()).unwrap();
                let host = host.rsplit_once(':').filter(|(_, port)| port.parse::<u16>().is_ok()).map_or(host, |it| it.0);
                prop_assert!(["127.0.0.1", "localhost", "[::1]"].contains(&host), "{url}");
                prop_assert!(url.bytes().all(|byte| byte.is_ascii_graphic()));
            }
        }
    }
}
