//! The document that describes a client.

use serde::Deserialize;
use serde_json::{Map, Value};

use super::{ClientId, LoopbackRedirect};
use crate::auth::access::TokenName;
use crate::auth::login::CLIENT_DOCUMENT_BYTES;
use terrace_base::untrusted::quoted;

/// A document of metadata (draft-ietf-oauth-client-id-metadata-document, section 4; RFC 7591, section 2). Further members
/// are ignored.
#[derive(Debug, Clone, Deserialize)]
pub struct ClientDocument {
    client_id: String,
    client_name: String,
    redirect_uris: Vec<String>,
    #[serde(default)]
    token_endpoint_auth_method: Option<String>,
    #[serde(default)]
    grant_types: Option<Vec<String>>,
    #[serde(default)]
    client_secret: Option<Value>,
}

impl ClientDocument {
    /// Parses the response of a host.
    ///
    /// # Errors
    /// The rule that it violates.
    pub fn parse(status: u16, content_type: Option<&str>, body: &[u8]) -> Result<Self, String> {
        if status != 200 {
            return Err(format!(
                "it is answered with status {status}: it must be 200, without a redirect"
            ));
        }
        let content_type = content_type.unwrap_or_default();
        if !is_json(content_type) {
            let found = quoted(content_type);
            return Err(format!(
                "its content type is {found}: it must be application/json"
            ));
        }
        if body.len() > CLIENT_DOCUMENT_BYTES {
            return Err(format!("it is longer than {CLIENT_DOCUMENT_BYTES} bytes"));
        }
        // serde would read a list, too.
        let object = serde_json::from_slice::<Map<String, Value>>(body);
        let parsed = object.and_then(|object| serde_json::from_value(Value::Object(object)));
        parsed.map_err(|error| {
            // The message may repeat a value of the document.
            let why = quoted(&error.to_string()).to_string();
            format!(
                "it is not a document of metadata with client_id, client_name and redirect_uris: {why}"
            )
        })
    }

    /// Returns the name that the client gives itself, if this document allows its request. Anyone may choose any name.
    ///
    /// # Errors
    /// The rule that the document or the request violates.
    pub fn allow(self, id: &ClientId, redirect: &LoopbackRedirect) -> Result<TokenName, String> {
        if self.client_id != id.as_str() {
            let found = quoted(&self.client_id);
            return Err(format!("its client_id is {found}: it must be its own URL"));
        }
        if self.client_secret.is_some() {
            return Err("it has a client_secret: a public document must not have one".to_owned());
        }
        if let Some(method) = self.token_endpoint_auth_method.filter(|it| it != "none") {
            let found = quoted(&method);
            return Err(format!(
                "its token_endpoint_auth_method is {found}: it must be none"
            ));
        }
        if let Some(types) = self.grant_types
            && !types.iter().any(|it| it == "authorization_code")
        {
            let found = quoted(&types.join(" ")).to_string();
            return Err(format!(
                "its grant_types are {found}: they must include authorization_code"
            ));
        }
        let mut registered = self.redirect_uris.iter();
        if !registered.any(|uri| redirect.is_registered_as(uri)) {
            let found = quoted(redirect.as_str());
            return Err(format!(
                "its redirect_uris do not contain the redirect_uri {found}"
            ));
        }
        Ok(TokenName::nearest(&self.client_name))
    }
}

/// Returns whether a content type is JSON (RFC 6839, section 3.1).
fn is_json(content_type: &str) -> bool {
    let essence = content_type.split(';').next().unwrap_or_default().trim();
    let essence = essence.to_ascii_lowercase();
    let of_application = essence.strip_prefix("application/");
    of_application.is_some_and(|subtype| subtype == "json" || subtype.ends_with("+json"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const ID: &str = "https://app.example.com/oauth/client.json";

    fn document() -> Value {
        json!({
            "client_id": ID,
            "client_name": "Example <b>",
            "client_uri": "https://app.example.com",
            "redirect_uris": ["http://127.0.0.1:3000/callback", "https://app.example.com/callback"],
            "grant_types": ["authorization_code", "refresh_token"],
            "response_types": ["code"],
            "token_endpoint_auth_method": "none",
        })
    }

    const JSON: Option<&str> = Some("application/json; charset=utf-8");

    fn answered(status: u16, content_type: Option<&str>, body: &str) -> Result<String, String> {
        let redirect = "http://127.0.0.1:33418/callback".parse().unwrap();
        let document = ClientDocument::parse(status, content_type, body.as_bytes())?;
        let name = document.allow(&ID.parse().unwrap(), &redirect)?;
        Ok(name.to_string())
    }

    fn with(name: &str, value: Value) -> Result<String, String> {
        let mut document = document();
        match value {
            Value::Null => document.as_object_mut().unwrap().remove(name),
            value => document
                .as_object_mut()
                .unwrap()
                .insert(name.to_owned(), value),
        };
        answered(200, JSON, &document.to_string())
    }

    #[test]
    fn a_document_allows_the_requests_of_its_client() {
        assert_eq!(with("x", json!({})).unwrap(), "Example <b>");
        for absent in [
            "token_endpoint_auth_method",
            "grant_types",
            "response_types",
        ] {
            assert!(with(absent, Value::Null).is_ok(), "{absent}");
        }
    }

    #[test]
    fn a_document_that_breaks_a_rule_is_refused_with_the_name_of_the_member() {
        for (name, value) in [
            ("client_id", json!("https://app.example.com/other")),
            ("client_id", Value::Null),
            ("client_id", json!(1)),
            ("client_name", Value::Null),
            ("redirect_uris", json!(["http://127.0.0.1/other"])),
            ("redirect_uris", json!([])),
            ("redirect_uris", json!("http://127.0.0.1/callback")),
            ("token_endpoint_auth_method", json!("private_key_jwt")),
            ("grant_types", json!(["client_credentials"])),
            ("client_secret", json!("s")),
        ] {
            let error = with(name, value).unwrap_err();
            assert!(error.contains(name), "{error}");
        }
    }

    #[test]
    fn a_response_that_is_no_document_is_refused() {
        let good = document().to_string();
        let long = good.clone() + &" ".repeat(CLIENT_DOCUMENT_BYTES);
        for (status, content_type, body) in [
            (301, JSON, good.as_str()),
            (404, JSON, &good),
            (206, JSON, &good),
            (200, None, &good),
            (200, Some("text/html"), &good),
            (200, Some("text/json"), &good),
            (200, JSON, &long),
            (200, JSON, "[]"),
            (200, JSON, "<html>"),
            (200, JSON, "\u{feff}{}"),
        ] {
            let found = answered(status, content_type, body);
            assert!(found.is_err(), "{status} {content_type:?} {body}");
        }
        for json in [
            "application/json",
            "Application/JSON",
            "application/client+json",
        ] {
            assert!(answered(200, Some(json), &good).is_ok(), "{json}");
        }
    }
}
