//! What is asked of the provider that knows people.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;

use super::{Challenge, Verifier};
use crate::http::form::encoded;
use terrace_base::percent::encode;
use terrace_base::secret::Secret;
use terrace_jose::{Discovery, IssuerUrl};

/// Who knows people.
#[derive(Debug, Clone)]
pub enum Provider {
    /// A provider of OpenID Connect.
    OpenId(IssuerUrl, Client),
    /// GitHub, which has OAuth alone.
    GitHub(Client),
    /// Cloudflare Access, which lets nobody through to us whom it does not know.
    CloudflareAccess {
        /// The team's domain, which issues its tokens.
        team: IssuerUrl,
        /// The tag of the application that stands before us.
        audience: String,
    },
}

/// What the registry is to its provider.
#[derive(Debug, Clone)]
pub struct Client {
    /// Its name there.
    pub id: String,
    /// What it proves itself by; none where it is a public client.
    pub secret: Option<Secret>,
    /// What it asks to be told, with spaces between.
    pub scopes: String,
}

/// A visit of somebody to their provider, from which they come back.
#[derive(Debug)]
pub struct Visit<'v> {
    /// Where people sign in there.
    pub endpoint: &'v str,
    /// Where they come back to.
    pub callback: &'v str,
    /// What they bring back.
    pub state: &'v str,
    /// What the provider puts into its token.
    pub nonce: Option<&'v str>,
    /// What we prove ourselves by, when they are back.
    pub challenge: Option<&'v Challenge>,
}

/// What a provider answers for a code (RFC 6749, sections 5.1 and 5.2; OpenID Connect Core, section
/// 3.1.3.3).
#[derive(Debug, Default, Deserialize)]
pub struct ProviderAnswer {
    /// Who it is.
    pub id_token: Option<String>,
    /// What opens the provider's own API.
    pub access_token: Option<String>,
    /// Why there is nothing.
    pub error: Option<String>,
    /// The same in words.
    pub error_description: Option<String>,
}

impl Client {
    /// Whether a sign-in is bound to us by PKCE: wherever the provider says that it knows it, and where
    /// nothing else binds it (RFC 9700, section 2.1.1).
    pub fn uses_pkce(&self, discovery: &Discovery) -> bool {
        let methods = &discovery.code_challenge_methods;
        self.secret.is_none() || methods.iter().any(|method| method == "S256")
    }

    /// Where somebody is sent to sign in (OpenID Connect Core, section 3.1.2.1).
    pub fn visit(&self, visit: &Visit<'_>) -> String {
        let mut parameters = vec![
            ("response_type", "code"),
            ("client_id", self.id.as_str()),
            ("redirect_uri", visit.callback),
            ("scope", self.scopes.as_str()),
            ("state", visit.state),
        ];
        parameters.extend(visit.nonce.map(|nonce| ("nonce", nonce)));
        if let Some(challenge) = visit.challenge {
            parameters.push(("code_challenge", challenge.as_str()));
            parameters.push(("code_challenge_method", "S256"));
        }
        let joint = if visit.endpoint.contains('?') {
            '&'
        } else {
            '?'
        };
        format!("{}{joint}{}", visit.endpoint, encoded(&parameters))
    }

    /// The form that asks for tokens, and the header `Authorization` that goes with it, in the first way
    /// that the provider knows to prove who we are (OpenID Connect Core, section 9); `None` if it knows
    /// none of ours.
    pub fn redemption(
        &self,
        code: &str,
        callback: &str,
        verifier: Option<&Verifier>,
        auth_methods: &[String],
    ) -> Option<(String, Option<String>)> {
        let mut parameters = vec![
            ("grant_type", "authorization_code"),
            ("code", code),
            ("redirect_uri", callback),
        ];
        parameters.extend(verifier.map(|it| ("code_verifier", it.as_str())));
        let knows = |method: &str| auth_methods.iter().any(|known| known == method);
        let Some(secret) = &self.secret else {
            parameters.push(("client_id", &self.id));
            return Some((encoded(&parameters), None));
        };
        if knows("client_secret_basic") {
            // Encoded before it is encoded (RFC 6749, section 2.3.1).
            let (id, secret) = (encode(&self.id), encode(secret.expose()));
            let credentials = STANDARD.encode(format!("{id}:{secret}"));
            return Some((encoded(&parameters), Some(format!("Basic {credentials}"))));
        }
        parameters.push(("client_id", &self.id));
        parameters.push(("client_secret", secret.expose()));
        knows("client_secret_post").then(|| (encoded(&parameters), None))
    }
}

impl ProviderAnswer {
    /// Reads an answer; one that is none says nothing.
    pub fn parse(body: &[u8]) -> Self {
        serde_json::from_slice(body).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(secret: Option<&str>) -> Client {
        Client {
            id: "terrace & co".to_owned(),
            secret: secret.map(Secret::new),
            scopes: "openid email".to_owned(),
        }
    }

    fn discovery(methods: &str) -> Discovery {
        let body = format!(
            r#"{{"issuer":"https://a.example","jwks_uri":"https://a.example/k"
                ,"code_challenge_methods_supported":[{methods}]}}"#
        );
        Discovery::parse(&"https://a.example".parse().unwrap(), body.as_bytes()).unwrap()
    }

    #[test]
    fn somebody_is_sent_to_sign_in_with_all_that_comes_back() {
        let challenge = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
            .parse()
            .unwrap();
        let mut visit = Visit {
            endpoint: "https://a.example/auth?kc=1",
            callback: "https://registry.example.com/oauth/callback",
            state: "a.b",
            nonce: Some("n"),
            challenge: Some(&challenge),
        };
        assert_eq!(
            client(None).visit(&visit),
            "https://a.example/auth?kc=1&response_type=code&client_id=terrace%20%26%20co\
             &redirect_uri=https%3A%2F%2Fregistry.example.com%2Foauth%2Fcallback\
             &scope=openid%20email&state=a.b&nonce=n\
             &code_challenge=E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM&code_challenge_method=S256"
        );
        (visit.endpoint, visit.nonce, visit.challenge) = ("https://a.example/auth", None, None);
        let url = client(None).visit(&visit);
        assert!(
            url.starts_with("https://a.example/auth?response_type=code&"),
            "{url}"
        );
        assert!(
            !url.contains("nonce") && !url.contains("challenge"),
            "{url}"
        );
    }

    #[test]
    fn we_prove_who_we_are_in_a_way_that_the_provider_knows() {
        let verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
            .parse()
            .unwrap();
        let form = "grant_type=authorization_code&code=c%2F1&redirect_uri=https%3A%2F%2Fr%2Fc";
        let redemption = |secret, verifier: Option<&Verifier>, methods: &[&str]| {
            let methods: Vec<String> = methods.iter().map(|it| (*it).to_owned()).collect();
            client(secret).redemption("c/1", "https://r/c", verifier, &methods)
        };
        let basic = Some("Basic dGVycmFjZSUyMCUyNiUyMGNvOnMlM0F0".to_owned());
        for methods in [
            &["client_secret_basic"][..],
            &["client_secret_post", "client_secret_basic"],
        ] {
            let found = redemption(Some("s:t"), None, methods);
            assert_eq!(found, Some((form.to_owned(), basic.clone())));
        }
        let posted = format!("{form}&client_id=terrace%20%26%20co&client_secret=s%3At");
        let found = redemption(Some("s:t"), None, &["client_secret_post"]);
        assert_eq!(found, Some((posted, None)));
        assert_eq!(redemption(Some("s:t"), None, &["private_key_jwt"]), None);
        let public = format!(
            "{form}&code_verifier={}&client_id=terrace%20%26%20co",
            "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
        );
        let found = redemption(None, Some(&verifier), &["client_secret_basic"]);
        assert_eq!(found, Some((public, None)));
    }

    #[test]
    fn pkce_is_used_where_it_is_known_or_nothing_else_binds_a_sign_in() {
        assert!(client(Some("s")).uses_pkce(&discovery("\"plain\",\"S256\"")));
        assert!(!client(Some("s")).uses_pkce(&discovery("\"plain\"")));
        assert!(client(None).uses_pkce(&discovery("")));
    }

    #[test]
    fn an_answer_is_read_and_one_that_is_none_says_nothing() {
        let answer = ProviderAnswer::parse(br#"{"id_token":"a.b.c","expires_in":1}"#);
        assert_eq!(answer.id_token.as_deref(), Some("a.b.c"));
        for body in ["", "[]", "<html>", r#"{"id_token":1}"#] {
            assert!(ProviderAnswer::parse(body.as_bytes()).id_token.is_none());
        }
    }
}
