//! The document that describes a client.

use std::fmt;
use std::str::FromStr;

use serde::Deserialize;
use serde_json::{Map, Value};

use super::{ClientId, LoopbackRedirect};
use crate::auth::login::CLIENT_DOCUMENT_BYTES;
use terrace_base::untrusted::{is_unprintable, quoted};

/// Maximum length of the name of an OAuth client, in characters: a line of the page that asks for consent.
const CLIENT_NAME_CHARS: usize = 64;

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

/// The name that a client gives itself, on one line. Anyone may choose any name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientName(String);

/// The reason why the document of a client is not accepted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ClientDocumentError {
    /// The response has another status than 200. Redirects are not followed.
    #[error("it is answered with status {0}: it must be 200, without a redirect")]
    Status(u16),
    /// The response is not JSON by its type.
    #[error("its content type is {}: it must be application/json", quoted(.0))]
    ContentType(String),
    /// The response is too long.
    #[error("it is longer than {} bytes", CLIENT_DOCUMENT_BYTES)]
    TooLong,
    /// The response does not have the form of such a document.
    #[error("it is not a document of metadata with client_id, client_name and redirect_uris: {0}")]
    Form(String),
    /// The document describes another client.
    #[error("its client_id is {}: it must be its own URL", quoted(.0))]
    OtherClient(String),
    /// The client has no name.
    #[error("its client_name is empty")]
    NoName,
    /// The client waits at a URL that it has not registered.
    #[error("its redirect_uris do not contain the redirect_uri {}", quoted(.0))]
    OtherRedirect(String),
    /// The client authenticates itself, which public clients cannot.
    #[error("its token_endpoint_auth_method is {}: it must be none", quoted(.0))]
    AuthMethod(String),
    /// The document contains a secret, which is public then.
    #[error("it has a client_secret: a public document must not have one")]
    Secret,
    /// The client uses another grant.
    #[error("its grant_types are {}: they must include authorization_code", quoted(.0))]
    GrantTypes(String),
}

impl ClientDocument {
    /// Parses the response of a host.
    ///
    /// # Errors
    /// The rule that it violates.
    pub fn parse(
        status: u16,
        content_type: Option<&str>,
        body: &[u8],
    ) -> Result<Self, ClientDocumentError> {
        if status != 200 {
            return Err(ClientDocumentError::Status(status));
        }
        let content_type = content_type.unwrap_or_default();
        if !is_json(content_type) {
            return Err(ClientDocumentError::ContentType(content_type.to_owned()));
        }
        if body.len() > CLIENT_DOCUMENT_BYTES {
            return Err(ClientDocumentError::TooLong);
        }
        // serde would read a list, too.
        let object = serde_json::from_slice::<Map<String, Value>>(body);
        let parsed = object.and_then(|object| serde_json::from_value(Value::Object(object)));
        parsed.map_err(|error| {
            // The message may repeat a value of the document.
            ClientDocumentError::Form(quoted(&error.to_string()).to_string())
        })
    }

    /// Returns the name of the client if this document allows its request.
    ///
    /// # Errors
    /// The rule that the document or the request violates.
    pub fn allow(
        self,
        id: &ClientId,
        redirect: &LoopbackRedirect,
    ) -> Result<ClientName, ClientDocumentError> {
        if self.client_id != id.as_str() {
            return Err(ClientDocumentError::OtherClient(self.client_id));
        }
        if self.client_secret.is_some() {
            return Err(ClientDocumentError::Secret);
        }
        match self.token_endpoint_auth_method {
            None => {}
            Some(method) if method == "none" => {}
            Some(other) => return Err(ClientDocumentError::AuthMethod(other)),
        }
        if let Some(types) = self.grant_types
            && !types.iter().any(|it| it == "authorization_code")
        {
            return Err(ClientDocumentError::GrantTypes(types.join(" ")));
        }
        let mut registered = self.redirect_uris.iter();
        if !registered.any(|uri| redirect.is_registered_as(uri)) {
            return Err(ClientDocumentError::OtherRedirect(redirect.to_string()));
        }
        ClientName::nearest(&self.client_name).ok_or(ClientDocumentError::NoName)
    }
}

/// Returns whether a content type is JSON (RFC 6839, section 3.1).
fn is_json(content_type: &str) -> bool {
    let essence = content_type.split(';').next().unwrap_or_default().trim();
    let essence = essence.to_ascii_lowercase();
    let of_application = essence.strip_prefix("application/");
    of_application.is_some_and(|subtype| subtype == "json" || subtype.ends_with("+json"))
}

impl ClientName {
    /// Returns the valid name closest to any text, if there is one: unprintable characters are replaced, and a long text is
    /// truncated.
    fn nearest(text: &str) -> Option<Self> {
        let shown = text.trim().chars().take(CLIENT_NAME_CHARS);
        let shown = shown.map(|c| match is_unprintable(c) {
            true => char::REPLACEMENT_CHARACTER,
            false => c,
        });
        Some(shown.collect::<String>())
            .filter(|name| !name.is_empty())
            .map(Self)
    }
}

impl FromStr for ClientName {
    type Err = ClientDocumentError;

    fn from_str(text: &str) -> Result<Self, ClientDocumentError> {
        Self::nearest(text).ok_or(ClientDocumentError::NoName)
    }
}

impl fmt::Display for ClientName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
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

    fn answered(
        status: u16,
        content_type: Option<&str>,
        body: &str,
    ) -> Result<String, ClientDocumentError> {
        let redirect = "http://127.0.0.1:33418/callback".parse().unwrap();
        let document = ClientDocument::parse(status, content_type, body.as_bytes())?;
        let name = document.allow(&ID.parse().unwrap(), &redirect)?;
        Ok(name.to_string())
    }

    fn with(name: &str, value: Value) -> Result<String, ClientDocumentError> {
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
            ("client_name", json!(" ")),
            ("client_name", Value::Null),
            ("redirect_uris", json!(["http://127.0.0.1/other"])),
            ("redirect_uris", json!([])),
            ("redirect_uris", json!("http://127.0.0.1/callback")),
            ("token_endpoint_auth_method", json!("private_key_jwt")),
            ("grant_types", json!(["client_credentials"])),
            ("client_secret", json!("s")),
        ] {
            let error = with(name, value).unwrap_err().to_string();
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

    #[test]
    fn a_name_is_one_printable_line_of_limited_length() {
        let long = with("client_name", json!("n\n\u{202e}".repeat(100))).unwrap();
        assert_eq!(long.chars().count(), CLIENT_NAME_CHARS);
        assert!(long.starts_with("n\u{fffd}\u{fffd}n"), "{long}");
        assert_eq!(long.parse::<ClientName>().unwrap().to_string(), long);
    }
}
