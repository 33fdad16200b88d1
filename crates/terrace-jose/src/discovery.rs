//! An issuer's metadata document (OpenID Connect Discovery, section 3; RFC 8414, section 2).

use serde_json::{Map, Value};

use super::{IssuerUrl, Quoted, json, limits};
use terrace_base::url::HttpsUrl;

/// The addresses of an issuer's keys and endpoints.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Discovery {
    /// The URL of its public keys.
    pub jwks_uri: HttpsUrl,
    /// The sign-in page for people. Issuers that issue tokens only to jobs have none.
    pub authorization_endpoint: Option<HttpsUrl>,
    /// The endpoint that exchanges a code for tokens.
    pub token_endpoint: Option<HttpsUrl>,
    /// The PKCE methods that the issuer supports; none if the document lists none (RFC 8414, section 2).
    pub code_challenge_methods: Vec<String>,
    /// The methods of client authentication; both with a secret if the document lists none, although the default is
    /// `client_secret_basic` alone: each client is registered for one.
    pub token_endpoint_auth_methods: Vec<String>,
}

/// The reason why a document is not this issuer's metadata.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DiscoveryError {
    /// It is no such document, as a page for maintenance.
    #[error("the document {0}")]
    NoMetadata(String),
    /// Only a change of the document, or of the configuration, helps.
    #[error("the document's {0}")]
    Misfit(String),
}

impl Discovery {
    /// Reads the document fetched from [`IssuerUrl::discovery_url`].
    ///
    /// # Errors
    /// If the document is not this issuer's, or does not contain the URL of its keys.
    pub fn parse(issuer: &IssuerUrl, body: &[u8]) -> Result<Self, DiscoveryError> {
        if body.len() > limits::DISCOVERY_BYTES {
            let (bytes, max) = (body.len(), limits::DISCOVERY_BYTES);
            return Err(DiscoveryError::NoMetadata(format!(
                "is {bytes} bytes long, but at most {max} are read"
            )));
        }
        let no_object =
            |why: String| DiscoveryError::NoMetadata(format!("is not a valid JSON object: {why}"));
        let document = json::parse(body).map_err(no_object)?;
        let members = document.as_object();
        let members = members.ok_or_else(|| no_object("it has another type".to_owned()))?;
        if members.get("issuer").and_then(Value::as_str) != Some(issuer.as_str()) {
            let found = Quoted::value(members.get("issuer"));
            let wanted = Quoted::text(issuer.as_str());
            return Err(DiscoveryError::Misfit(format!(
                "issuer is {found}, not {wanted}: configure the issuer exactly as it appears in its documents and tokens"
            )));
        }
        let missing = || DiscoveryError::Misfit("jwks_uri is missing".to_owned());
        let auth_methods = list(members, "token_endpoint_auth_methods_supported")?;
        Ok(Self {
            jwks_uri: url(members, "jwks_uri")?.ok_or_else(missing)?,
            authorization_endpoint: url(members, "authorization_endpoint")?,
            token_endpoint: url(members, "token_endpoint")?,
            code_challenge_methods: list(members, "code_challenge_methods_supported")?
                .unwrap_or_default(),
            token_endpoint_auth_methods: auth_methods
                .unwrap_or_else(|| SECRET_METHODS.map(str::to_owned).into()),
        })
    }
}

const SECRET_METHODS: [&str; 2] = ["client_secret_basic", "client_secret_post"];

fn url(members: &Map<String, Value>, name: &str) -> Result<Option<HttpsUrl>, DiscoveryError> {
    let Some(value) = members.get(name) else {
        return Ok(None);
    };
    let parsed = value.as_str().unwrap_or_default().parse::<HttpsUrl>();
    parsed.map(Some).map_err(|cause| {
        let found = Quoted::value(Some(value));
        DiscoveryError::Misfit(format!("{name} is {found}: {cause}"))
    })
}

fn list(members: &Map<String, Value>, name: &str) -> Result<Option<Vec<String>>, DiscoveryError> {
    let Some(value) = members.get(name) else {
        return Ok(None);
    };
    let texts = value.as_array().and_then(|all| {
        let texts = all.iter().map(|one| one.as_str().map(str::to_owned));
        texts.collect::<Option<Vec<_>>>()
    });
    texts.map(Some).ok_or_else(|| {
        let found = Quoted::value(Some(value));
        DiscoveryError::Misfit(format!("{name} is {found}, which is not a list of strings"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

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
        assert_eq!(found.token_endpoint_auth_methods, SECRET_METHODS);
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
            let error = parse(wanted, &body).unwrap_err().to_string();
            let expected = format!("the document's issuer is {other:?}, not {wanted:?}");
            assert!(error.starts_with(&expected), "{error}");
        }
        let body = r#"{"jwks_uri":"https://a.example/k"}"#;
        let error = parse(wanted, body).unwrap_err();
        assert!(error.to_string().contains("issuer is nothing"), "{error}");
    }

    #[test]
    fn an_incomplete_or_malformed_document_is_refused() {
        for (rest, complaint) in [
            ("", "jwks_uri is missing"),
            (r#","jwks_uri":"http://a.example/k""#, "https://"),
            (r#","jwks_uri":7"#, "jwks_uri is 7"),
            (
                r#","jwks_uri":"https://a.example/k","token_endpoint":"/token""#,
                "token_endpoint",
            ),
            (
                r#","jwks_uri":"https://a.example/k","code_challenge_methods_supported":"S256""#,
                "not a list",
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
}
