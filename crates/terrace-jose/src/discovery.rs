//! What an issuer says about itself (OpenID Connect Discovery, section 3; RFC 8414, section 2).

use serde_json::{Map, Value};

use super::{IssuerUrl, Quoted, UrlError, json, limits};
use terrace_base::url::HttpsUrl;

/// Where an issuer has its keys, and where people sign in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Discovery {
    /// Its public keys.
    pub jwks_uri: HttpsUrl,
    /// Where people are sent to sign in. Those who issue tokens to jobs alone have none.
    pub authorization_endpoint: Option<HttpsUrl>,
    /// Where a code is exchanged for tokens.
    pub token_endpoint: Option<HttpsUrl>,
    /// The methods of PKCE that it knows; none unless it says so (RFC 8414, section 2).
    pub code_challenge_methods: Vec<String>,
    /// How a client may prove who it is; `client_secret_basic` unless it says otherwise.
    pub token_endpoint_auth_methods: Vec<String>,
}

/// Why a document is not what this issuer says about itself.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DiscoveryError {
    /// It is longer than the limit.
    #[error("the document is {0} bytes long, at most {max} are read", max = limits::DISCOVERY_BYTES)]
    TooLong(usize),
    /// It is no JSON object, or a member is there twice.
    #[error("the document is no JSON object that is read: {0}")]
    Json(String),
    /// It is another issuer's (OpenID Connect Discovery, section 4.3).
    #[error(
        "the document is of the issuer {found}, not {wanted}: configure it exactly as its documents and tokens have it"
    )]
    Issuer {
        /// Whose it is.
        found: Quoted,
        /// Whose it should be.
        wanted: Quoted,
    },
    /// A member that must be there is not.
    #[error("the document has no {0}")]
    Missing(&'static str),
    /// A member is something else than it must be.
    #[error("the document's {name} is {found}, which is no list of texts")]
    NoList {
        /// Which.
        name: &'static str,
        /// What it is.
        found: Quoted,
    },
    /// A URL is none to ask.
    #[error("the document's {name} is {found}: {cause}")]
    Url {
        /// Which.
        name: &'static str,
        /// What it is.
        found: Quoted,
        /// What is wrong with it.
        cause: UrlError,
    },
}

impl Discovery {
    /// Reads the document that was found at [`IssuerUrl::discovery_url`].
    ///
    /// # Errors
    /// When it is not that of this issuer, or does not say where the keys are.
    pub fn parse(issuer: &IssuerUrl, body: &[u8]) -> Result<Self, DiscoveryError> {
        if body.len() > limits::DISCOVERY_BYTES {
            return Err(DiscoveryError::TooLong(body.len()));
        }
        let document = json::parse(body).map_err(DiscoveryError::Json)?;
        let no_object = || DiscoveryError::Json("it is none".to_owned());
        let members = document.as_object().ok_or_else(no_object)?;
        if members.get("issuer").and_then(Value::as_str) != Some(issuer.as_str()) {
            return Err(DiscoveryError::Issuer {
                found: Quoted::value(members.get("issuer")),
                wanted: Quoted::text(issuer.as_str()),
            });
        }
        let auth_methods = list(members, "token_endpoint_auth_methods_supported")?;
        Ok(Self {
            jwks_uri: url(members, "jwks_uri")?.ok_or(DiscoveryError::Missing("jwks_uri"))?,
            authorization_endpoint: url(members, "authorization_endpoint")?,
            token_endpoint: url(members, "token_endpoint")?,
            code_challenge_methods: list(members, "code_challenge_methods_supported")?
                .unwrap_or_default(),
            token_endpoint_auth_methods: auth_methods
                .unwrap_or_else(|| vec!["client_secret_basic".to_owned()]),
        })
    }
}

fn url(
    members: &Map<String, Value>,
    name: &'static str,
) -> Result<Option<HttpsUrl>, DiscoveryError> {
    let Some(value) = members.get(name) else {
        return Ok(None);
    };
    let parsed = value.as_str().unwrap_or_default().parse::<HttpsUrl>();
    parsed.map(Some).map_err(|cause| DiscoveryError::Url {
        name,
        found: Quoted::value(Some(value)),
        cause: cause.into(),
    })
}

fn list(
    members: &Map<String, Value>,
    name: &'static str,
) -> Result<Option<Vec<String>>, DiscoveryError> {
    let Some(value) = members.get(name) else {
        return Ok(None);
    };
    let texts = value.as_array().and_then(|all| {
        let texts = all.iter().map(|one| one.as_str().map(str::to_owned));
        texts.collect::<Option<Vec<_>>>()
    });
    let found = || Quoted::value(Some(value));
    let texts = texts.ok_or_else(|| DiscoveryError::NoList {
        name,
        found: found(),
    })?;
    Ok(Some(texts))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parse(issuer: &str, body: &str) -> Result<Discovery, DiscoveryError> {
        Discovery::parse(&issuer.parse().unwrap(), body.as_bytes())
    }

    #[test]
    fn github_names_its_keys_and_no_endpoints() {
        let found = parse(
            "https://token.actions.githubusercontent.com",
            r#"{"issuer":"https://token.actions.githubusercontent.com",
                "jwks_uri":"https://token.actions.githubusercontent.com/.well-known/jwks",
                "subject_types_supported":["public","pairwise"],
                "response_types_supported":["id_token"],
                "id_token_signing_alg_values_supported":["RS256"],
                "scopes_supported":["openid"]}"#,
        );
        let found = found.unwrap();
        let jwks = "https://token.actions.githubusercontent.com/.well-known/jwks";
        assert_eq!(found.jwks_uri.as_str(), jwks);
        assert_eq!(found.authorization_endpoint, None);
        assert_eq!(found.token_endpoint, None);
        assert!(found.code_challenge_methods.is_empty());
        assert_eq!(found.token_endpoint_auth_methods, ["client_secret_basic"]);
    }

    #[test]
    fn an_issuer_for_people_names_endpoints_and_methods() {
        let found = parse(
            "https://login.example.com:8443/realms/acme",
            r#"{"issuer":"https://login.example.com:8443/realms/acme",
                "authorization_endpoint":"https://login.example.com:8443/auth?kc=1",
                "token_endpoint":"https://login.example.com:8443/token",
                "jwks_uri":"https://login.example.com:8443/certs",
                "code_challenge_methods_supported":["plain","S256"],
                "token_endpoint_auth_methods_supported":["client_secret_post","none"]}"#,
        );
        let found = found.unwrap();
        assert!(found.authorization_endpoint.is_some() && found.token_endpoint.is_some());
        assert_eq!(found.code_challenge_methods, ["plain", "S256"]);
        assert_eq!(
            found.token_endpoint_auth_methods,
            ["client_secret_post", "none"]
        );
    }

    #[test]
    fn the_document_of_another_issuer_is_refused() {
        let wanted = "https://a.example";
        for other in [
            "https://a.example/",
            "https://A.example",
            "https://a.example:443",
            "https://b.example",
            "http://a.example",
            "",
        ] {
            let body = format!(r#"{{"issuer":"{other}","jwks_uri":"https://a.example/k"}}"#);
            let found = Quoted::text(other);
            let wanted = Quoted::text(wanted);
            let expected = DiscoveryError::Issuer { found, wanted };
            assert_eq!(parse("https://a.example", &body), Err(expected));
        }
        let body = r#"{"jwks_uri":"https://a.example/k"}"#;
        let error = parse(wanted, body).unwrap_err();
        assert!(
            error.to_string().contains("of the issuer nothing"),
            "{error}"
        );
    }

    #[test]
    fn what_does_not_say_where_the_keys_are_is_refused() {
        for (rest, complaint) in [
            ("", "no jwks_uri"),
            (r#","jwks_uri":"http://a.example/k""#, "https://"),
            (r#","jwks_uri":7"#, "jwks_uri is 7"),
            (
                r#","jwks_uri":"https://a.example/k","token_endpoint":"/token""#,
                "token_endpoint",
            ),
            (
                r#","jwks_uri":"https://a.example/k","code_challenge_methods_supported":"S256""#,
                "no list",
            ),
            (r#","issuer":"https://a.example""#, "twice"),
        ] {
            let body = format!(r#"{{"issuer":"https://a.example"{rest}}}"#);
            let error = parse("https://a.example", &body).unwrap_err().to_string();
            assert!(error.contains(complaint), "{error}");
        }
        for body in ["", "[]", "null", &" ".repeat(limits::DISCOVERY_BYTES + 1)] {
            assert!(parse("https://a.example", body).is_err());
        }
    }

    proptest! {
        #[test]
        fn no_document_panics(body in "\\{(\"(issuer|jwks_uri)\":(\"\\PC{0,9}\"|1|\\[\\]),?){0,3}\\}") {
            let _ = parse("https://a.example", &body);
        }
    }
}
