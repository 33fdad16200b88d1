//! An OpenID Connect provider, and a person with a terminal and a browser who signs in there.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ed25519_dalek::SigningKey;
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};
use terrace_base::secret::Secret;
use terrace_base::time::UnixTime;
use terrace_core::auth::access::{Session, SessionKeys};
use url::Url;

use super::issuer;
use super::memory::Memory;
use super::registry::{Registry, Response, Sent, TOKEN};

pub const ISSUER: &str = "https://login.example.com";
pub const CLIENT: &str = "terrace";
pub const RULES: &str = r#"[
    {"scopes": ["read"], "claims": {"groups": "staff"}},
    {"scopes": ["publish:acme"], "claims": {"email": "ann@acme.example"}}]"#;

/// The registry's settings for sign-in.
pub const LOGIN: [(&str, &str); 4] = [
    ("TERRACE_LOGIN_ISSUER", ISSUER),
    ("TERRACE_LOGIN_CLIENT_ID", CLIENT),
    ("TERRACE_LOGIN_CLIENT_SECRET", "the client's secret"),
    ("TERRACE_LOGIN_RULES", RULES),
];

/// The example of RFC 7636, appendix B.
pub const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";

/// The OpenID Connect provider.
pub struct Provider {
    pub discovery: RefCell<Value>,
    /// The claims about the person who signs in, without the nonce.
    pub claims: RefCell<Map<String, Value>>,
    /// The response that replaces a token.
    pub answer: RefCell<Option<Response>>,
    pub key: RefCell<(String, SigningKey)>,
    /// The query of the last authorization request.
    pub asked: RefCell<Vec<(String, String)>>,
    /// The forms received at the token endpoint.
    pub forms: RefCell<Vec<String>>,
    /// The documents of OAuth clients, by their URLs.
    pub documents: RefCell<HashMap<String, Response>>,
}

/// All parties to a sign-in.
pub struct People {
    pub memory: Memory,
    pub registry: Registry,
    pub provider: Rc<Provider>,
}

/// Returns the query parameters of the URL that a terminal opens.
pub fn opened() -> Vec<(&'static str, String)> {
    let challenge = URL_SAFE_NO_PAD.encode(Sha256::digest(VERIFIER));
    vec![
        ("client_id", "terraform-cli".to_owned()),
        ("code_challenge", challenge),
        ("code_challenge_method", "S256".to_owned()),
        ("redirect_uri", "http://localhost:10003/login".to_owned()),
        ("response_type", "code".to_owned()),
        ("state", "74d3bbc5-7fc6".to_owned()),
    ]
}

/// Returns these parameters with one of them changed.
pub fn opened_with(name: &str, value: &str) -> Vec<(&'static str, String)> {
    let mut parts = opened();
    for part in &mut parts {
        if part.0 == name {
            part.1 = value.to_owned();
        }
    }
    parts
}

pub fn encoded<N: AsRef<str>, V: AsRef<str>>(parts: &[(N, V)]) -> String {
    let mut form = url::form_urlencoded::Serializer::new(String::new());
    for (name, value) in parts {
        form.append_pair(name.as_ref(), value.as_ref());
    }
    form.finish()
}

/// Returns a parameter of a URL's query.
pub fn parameter(url: &str, name: &str) -> Option<String> {
    let url = Url::parse(url).unwrap();
    let found = url.query_pairs().find(|(known, _)| known == name);
    found.map(|(_, value)| value.into_owned())
}

impl Provider {
    fn new(now: u64) -> Self {
        let claims = json!({
            "iss": ISSUER, "aud": CLIENT, "sub": "248289761001", "iat": now, "exp": now + 300,
            "email": "ann@acme.example", "email_verified": true, "groups": ["staff"],
        });
        Self {
            discovery: RefCell::new(json!({
                "issuer": ISSUER,
                "authorization_endpoint": format!("{ISSUER}/auth"),
                "token_endpoint": format!("{ISSUER}/token"),
                "jwks_uri": format!("{ISSUER}/jwks"),
                "code_challenge_methods_supported": ["S256"],
            })),
            claims: RefCell::new(claims.as_object().unwrap().clone()),
            answer: RefCell::default(),
            key: RefCell::new(("k1".to_owned(), SigningKey::from_bytes(&[7; 32]))),
            asked: RefCell::default(),
            forms: RefCell::default(),
            documents: RefCell::default(),
        }
    }

    /// Returns a token with these claims.
    pub fn sign(&self, claims: &Map<String, Value>) -> String {
        let (id, key) = &*self.key.borrow();
        let header = json!({ "alg": "EdDSA", "kid": id, "typ": "JWT" });
        issuer::by(key, &header, claims)
    }

    pub fn keys(&self) -> Value {
        let (id, key) = &*self.key.borrow();
        json!({ "keys": [issuer::jwk(key, id)] })
    }

    fn answer(&self, url: &str) -> Option<Response> {
        if let Some(form) = url.strip_prefix(&format!("{ISSUER}/token#")) {
            self.forms.borrow_mut().push(form.to_owned());
            if let Some(answer) = self.answer.borrow().clone() {
                return Some(answer);
            }
            return Some(self.redeem(form));
        }
        if let Some(document) = self.documents.borrow().get(url) {
            return Some(document.clone());
        }
        match url.strip_prefix(ISSUER)? {
            "/.well-known/openid-configuration" => Some(ok(&self.discovery.borrow())),
            "/jwks" => Some(ok(&self.keys())),
            _ => None,
        }
    }

    fn redeem(&self, form: &str) -> Response {
        let form: Vec<(String, String)> = url::form_urlencoded::parse(form.as_bytes())
            .into_owned()
            .collect();
        let asked = self.asked.borrow();
        let of = |parts: &[(String, String)], name: &str| {
            let found = parts.iter().find(|(known, _)| known == name);
            found.map(|(_, value)| value.clone())
        };
        let verifier = of(&form, "code_verifier");
        let told = verifier.map(|it| URL_SAFE_NO_PAD.encode(Sha256::digest(it)));
        assert_eq!(told, of(&asked, "code_challenge"), "PKCE");
        assert_eq!(of(&form, "redirect_uri"), of(&asked, "redirect_uri"));
        let mut claims = self.claims.borrow().clone();
        if !claims.contains_key("nonce") {
            claims.insert("nonce".to_owned(), of(&asked, "nonce").into());
        }
        ok(&json!({ "access_token": "x", "token_type": "Bearer", "id_token": self.sign(&claims) }))
    }
}

pub fn ok(json: &Value) -> Response {
    answer(200, json)
}

pub fn answer(status: u16, json: &Value) -> Response {
    Response {
        status,
        headers: vec![("content-type".to_owned(), "application/json".to_owned())],
        body: json.to_string().into_bytes(),
    }
}

impl People {
    pub fn new() -> Self {
        Self::with(&[])
    }

    /// Returns a registry with additional settings, which take precedence over [`LOGIN`].
    pub fn with(vars: &[(&str, &str)]) -> Self {
        let memory = Memory::new();
        let vars = [vars, &LOGIN].concat();
        let registry = Registry::in_memory(&memory, &vars);
        let provider = Rc::new(Provider::new(1_800_000_000));
        let known = Rc::clone(&provider);
        memory.connect(move |url| known.answer(url));
        Self {
            memory,
            registry,
            provider,
        }
    }

    /// Opens the authorization URL with these parameters.
    pub fn open(&self, parts: &[(&str, String)]) -> Response {
        let target = format!("/oauth/authorize?{}", encoded(parts));
        self.registry.get(&target)
    }

    /// Opens a valid authorization URL. Returns the browser's cookie, and the `state` at the provider.
    pub fn begin(&self) -> (String, String) {
        self.begin_with(&opened())
    }

    /// Opens the authorization URL with these valid parameters.
    pub fn begin_with(&self, parts: &[(&str, String)]) -> (String, String) {
        self.begun(&self.open(parts))
    }

    /// Returns the browser's cookie, and the `state` at the provider.
    fn begun(&self, response: &Response) -> (String, String) {
        let response = response.clone().expect(303);
        let location = response.header("location").unwrap();
        let url = Url::parse(location).unwrap();
        *self.provider.asked.borrow_mut() = url.query_pairs().into_owned().collect();
        let cookie = response.header("set-cookie").unwrap();
        let pair = cookie.split(';').next().unwrap().to_owned();
        (pair, parameter(location, "state").unwrap())
    }

    /// Returns from the provider to the registry.
    pub fn come_back(&self, cookie: &str, parts: &[(&str, &str)]) -> Response {
        let target = format!("/oauth/callback?{}", encoded(parts));
        let sent = Sent::new("GET", &target).header("cookie", cookie);
        self.registry.send(&sent)
    }

    /// Opens `/sign-in` for a page. Returns the browser's cookie, and the `state` at the provider.
    pub fn begin_for(&self, to: &str) -> (String, String) {
        let target = format!("/sign-in?{}", encoded(&[("to", to)]));
        self.begun(&self.registry.get(&target))
    }

    /// Signs a browser in for a page. Returns the answer to its return from the provider.
    pub fn sign_in_for(&self, to: &str) -> Response {
        let (cookie, state) = self.begin_for(to);
        self.come_back(&cookie, &[("code", "c"), ("state", &state)])
    }

    /// Signs in, up to the consent question. Returns the browser's cookie, and the page.
    pub fn sign_in(&self) -> (String, Response) {
        let (cookie, state) = self.begin();
        let page = self.come_back(&cookie, &[("code", "c"), ("state", &state)]);
        (cookie, page)
    }

    /// Answers the consent question.
    pub fn consent(&self, cookie: &str, consent: &str, answer: &str) -> Response {
        let body = encoded(&[("consent", consent), ("answer", answer)]);
        let sent = Sent::new("POST", "/oauth/consent").header("cookie", cookie);
        self.registry.send(&sent.body(body))
    }

    /// Signs in and gives consent. Returns the code.
    pub fn allow(&self) -> String {
        let (cookie, page) = self.sign_in();
        let page = page.expect(200);
        let allowed = self.consent(&cookie, &hidden(&page), "allow").expect(303);
        let location = allowed.header("location").unwrap();
        assert_eq!(parameter(location, "state").unwrap(), "74d3bbc5-7fc6");
        parameter(location, "code").unwrap()
    }

    /// Sends a terminal's request for its token.
    pub fn exchange(&self, parts: &[(&str, &str)]) -> Response {
        let sent = Sent::new("POST", "/oauth/token");
        self.registry.send(&sent.body(encoded(parts)))
    }
}

/// Returns the parameters of a terminal's request for its token.
pub fn exchanged(code: &str) -> Vec<(&'static str, &str)> {
    vec![
        ("client_id", "terraform-cli"),
        ("code", code),
        ("code_verifier", VERIFIER),
        ("grant_type", "authorization_code"),
        ("redirect_uri", "http://localhost:10003/login"),
    ]
}

/// Returns the cookie of a browser in which a person with these scopes has signed in to a registry in memory.
pub fn session(scopes: &str, now: u64) -> String {
    let [name, account] = ["ann@acme.example", "248289761001"].map(|text| text.parse().unwrap());
    let session = Session::new(name, account, &scopes.parse().unwrap());
    let keys = SessionKeys::new(&Secret::new(TOKEN), None);
    let cookie = keys.begin(&session, UnixTime(now), 3_600).unwrap();
    cookie.split(';').next().unwrap().to_owned()
}

/// Returns the hidden value of a form.
pub fn hidden(page: &Response) -> String {
    let text = page.text();
    let (_, rest) = text
        .split_once("name=\"consent\" value=\"")
        .expect("a form");
    rest.split_once('"').unwrap().0.to_owned()
}
