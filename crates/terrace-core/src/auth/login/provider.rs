//! Requests to the identity provider.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;

use super::pkce::Verifier;
use crate::http::form::encoded;
use terrace_base::percent::encode;
use terrace_base::secret::Secret;
use terrace_jose::{Discovery, IssuerUrl};

/// The identity provider of a deployment.
#[derive(Debug, Clone)]
pub enum Provider {
    /// An OpenID Connect provider.
    OpenId(IssuerUrl, OAuthClient),
    /// GitHub, which supports only OAuth.
    GitHub(OAuthClient),
    /// Cloudflare Access, which passes on only the requests of people that it has signed in.
    CloudflareAccess {
        /// The team's domain, which is the issuer of its tokens.
        team: IssuerUrl,
        /// The audience tag of the Access application in front of the registry.
        audience: String,
    },
}

/// The registry's client at its provider.
#[derive(Debug, Clone)]
pub struct OAuthClient {
    /// The client ID.
    pub id: String,
    /// The client secret; `None` for a public client.
    pub secret: Option<Secret>,
    /// The requested scopes, separated by spaces.
    pub scopes: String,
}

/// The provider's response to a code (RFC 6749, sections 5.1 and 5.2; OpenID Connect Core, section 3.1.3.3).
#[derive(Debug, Default, Deserialize)]
pub struct ProviderAnswer {
    /// The ID token, which identifies the person.
    pub id_token: Option<String>,
    /// The token for the provider's own API.
    pub access_token: Option<String>,
    /// The error code of a response without tokens.
    pub error: Option<String>,
    /// The error in words.
    pub error_description: Option<String>,
}

impl OAuthClient {
    /// Returns whether sign-ins use PKCE: if the provider advertises support for it, and if nothing else
    /// binds a sign-in to this registry (RFC 9700, section 2.1.1).
    pub fn uses_pkce(&self, discovery: &Discovery) -> bool {
        let methods = &discovery.code_challenge_methods;
        self.secret.is_none() || methods.iter().any(|method| method == "S256")
    }

    /// Returns the URL of the provider at which a person signs in (OpenID Connect Core, section 3.1.2.1). The browser returns to
    /// `callback` with `state`. The provider puts the nonce into its ID token, and gets the challenge for the registry's own
    /// verifier.
    pub fn provider_url(
        &self,
        endpoint: &str,
        callback: &str,
        state: &str,
        nonce: Option<&str>,
        verifier: Option<&Verifier>,
    ) -> String {
        let mut parameters = vec![
            ("response_type", "code"),
            ("client_id", self.id.as_str()),
            ("redirect_uri", callback),
            ("scope", self.scopes.as_str()),
            ("state", state),
        ];
        parameters.extend(nonce.map(|nonce| ("nonce", nonce)));
        let challenge = verifier.map(Verifier::challenge);
        if let Some(challenge) = &challenge {
            parameters.push(("code_challenge", challenge.as_str()));
            parameters.push(("code_challenge_method", "S256"));
        }
        let joint = if endpoint.contains('?') { '&' } else { '?' };
        format!("{endpoint}{joint}{}", encoded(&parameters))
    }

    /// Returns the form that redeems a code, and its `Authorization` header, for each method of client authentication that the
    /// provider supports (OpenID Connect Core, section 9), in the order in which they are tried: the provider may allow this
    /// client only one of them.
    pub fn redemptions(
        &self,
        code: &str,
        callback: &str,
        verifier: Option<&Verifier>,
        auth_methods: &[String],
    ) -> Vec<(String, Option<String>)> {
        let mut parameters = vec![
            ("grant_type", "authorization_code"),
            ("code", code),
            ("redirect_uri", callback),
        ];
        parameters.extend(verifier.map(|it| ("code_verifier", it.as_str())));
        let knows = |method: &str| auth_methods.iter().any(|known| known == method);
        let Some(secret) = &self.secret else {
            parameters.push(("client_id", &self.id));
            return vec![(encoded(&parameters), None)];
        };
        let mut redemptions = Vec::new();
        if knows("client_secret_basic") {
            // Both are percent-encoded before base64 (RFC 6749, section 2.3.1).
            let (id, secret) = (encode(&self.id), encode(secret.expose()));
            let credentials = STANDARD.encode(format!("{id}:{secret}"));
            redemptions.push((encoded(&parameters), Some(format!("Basic {credentials}"))));
        }
        if knows("client_secret_post") {
            parameters.push(("client_id", &self.id));
            parameters.push(("client_secret", secret.expose()));
            redemptions.push((encoded(&parameters), None));
        }
        redemptions
    }
}

impl ProviderAnswer {
    /// Parses a response; one of another form is empty.
    pub fn parse(body: &[u8]) -> Self {
        serde_json::from_slice(body).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of RFC 7636, appendix B.
    const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";

    fn client(secret: Option<&str>) -> OAuthClient {
        OAuthClient {
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
    fn the_provider_url_contains_all_parameters() {
        let verifier = VERIFIER.parse().unwrap();
        let callback = "https://registry.example.com/oauth/callback";
        let url = |endpoint, nonce, verifier| {
            client(None).provider_url(endpoint, callback, "a.b", nonce, verifier)
        };
        assert_eq!(
            url("https://a.example/auth?kc=1", Some("n"), Some(&verifier)),
            "https://a.example/auth?kc=1&response_type=code&client_id=terrace%20%26%20co\
             &redirect_uri=https%3A%2F%2Fregistry.example.com%2Foauth%2Fcallback\
             &scope=openid%20email&state=a.b&nonce=n\
             &code_challenge=E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM&code_challenge_method=S256"
        );
        assert_eq!(
            url("https://a.example/auth", None, None),
            "https://a.example/auth?response_type=code&client_id=terrace%20%26%20co\
             &redirect_uri=https%3A%2F%2Fregistry.example.com%2Foauth%2Fcallback\
             &scope=openid%20email&state=a.b"
        );
    }

    #[test]
    fn the_client_authenticates_by_a_method_that_the_provider_supports() {
        let verifier = VERIFIER.parse().unwrap();
        let form = "grant_type=authorization_code&code=c%2F1&redirect_uri=https%3A%2F%2Fr%2Fc";
        let redemption = |secret, verifier: Option<&Verifier>, methods: &[&str]| {
            let methods: Vec<String> = methods.iter().map(|it| (*it).to_owned()).collect();
            client(secret).redemptions("c/1", "https://r/c", verifier, &methods)
        };
        let basic = Some("Basic dGVycmFjZSUyMCUyNiUyMGNvOnMlM0F0".to_owned());
        let basic = (form.to_owned(), basic);
        let posted = format!("{form}&client_id=terrace%20%26%20co&client_secret=s%3At");
        let posted = (posted, None);
        for (methods, expected) in [
            (&["client_secret_basic"][..], vec![basic.clone()]),
            (&["client_secret_post"], vec![posted.clone()]),
            (
                &["client_secret_post", "client_secret_basic"],
                vec![basic, posted],
            ),
            (&["private_key_jwt"], vec![]),
        ] {
            assert_eq!(redemption(Some("s:t"), None, methods), expected);
        }
        let public = format!("{form}&code_verifier={VERIFIER}&client_id=terrace%20%26%20co");
        let found = redemption(None, Some(&verifier), &["client_secret_basic"]);
        assert_eq!(found, [(public, None)]);
    }

    #[test]
    fn pkce_is_used_if_it_is_supported_or_nothing_else_binds_a_sign_in() {
        assert!(client(Some("s")).uses_pkce(&discovery("\"plain\",\"S256\"")));
        assert!(!client(Some("s")).uses_pkce(&discovery("\"plain\"")));
        assert!(client(None).uses_pkce(&discovery("")));
    }

    #[test]
    fn a_response_of_another_form_is_empty() {
        let answer = ProviderAnswer::parse(br#"{"id_token":"a.b.c","expires_in":1}"#);
        assert_eq!(answer.id_token.as_deref(), Some("a.b.c"));
        for body in ["", "[]", "<html>", r#"{"id_token":1}"#] {
            assert!(ProviderAnswer::parse(body.as_bytes()).id_token.is_none());
        }
    }
}
