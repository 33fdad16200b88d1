//! The headers of a request, which repeat parts of its body.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::error::McpError;
use crate::model::name::Hostname;
use terrace_base::url;

/// The mark before a value in Base64.
const MARK: &str = "=?base64?";

/// The mark after a value in Base64.
const END: &str = "?=";

/// The headers of an MCP request, as sent.
#[derive(Debug, Clone, Copy, Default)]
pub struct McpHead<'a> {
    /// `MCP-Protocol-Version`
    pub revision: Option<&'a str>,
    /// `Mcp-Method`
    pub method: Option<&'a str>,
    /// `Mcp-Name`
    pub name: Option<&'a str>,
}

/// Checks that a request does not come from a page of another website: a browser states the origin of the page that sends a
/// request. `origin` is that of this registry as the client reached it, `hostnames` are its others.
///
/// # Errors
/// [`McpError::ForeignOrigin`]
pub fn check_origin(
    header: Option<&str>,
    origin: &str,
    hostnames: &[Hostname],
) -> Result<(), McpError> {
    let Some(header) = header else { return Ok(()) };
    let is_configured = |hostname: &Hostname| {
        header.strip_prefix("https://").is_some_and(|authority| {
            url::split_port(authority)
                .0
                .eq_ignore_ascii_case(hostname.as_str())
        })
    };
    if header.eq_ignore_ascii_case(origin) || hostnames.iter().any(is_configured) {
        return Ok(());
    }
    Err(McpError::ForeignOrigin(header.to_owned()))
}

/// Checks that the body of a request is JSON.
///
/// # Errors
/// [`McpError::ContentType`]
pub fn check_content_type(header: Option<&str>) -> Result<(), McpError> {
    let header = header.unwrap_or_default();
    let media_type = header.split(';').next().unwrap_or_default().trim();
    match media_type.eq_ignore_ascii_case("application/json") {
        true => Ok(()),
        false => Err(McpError::ContentType(header.to_owned())),
    }
}

/// Returns the header `Mcp-Name` for a name, which is in Base64 if no header can hold it.
pub fn mcp_name_header(name: &str) -> String {
    let is_plain = name.bytes().all(|byte| (b' '..=b'~').contains(&byte));
    let is_trimmed = name.trim() == name;
    let is_marked = name.starts_with(MARK) && name.ends_with(END);
    match is_plain && is_trimmed && !is_marked {
        true => name.to_owned(),
        false => format!("{MARK}{}{END}", STANDARD.encode(name)),
    }
}

/// Returns the value of `Mcp-Name`. A value that no header can hold is in Base64, within marks; `None` if that is invalid.
pub(super) fn decoded(header: &str) -> Option<String> {
    let encoded = header
        .strip_prefix(MARK)
        .and_then(|rest| rest.strip_suffix(END));
    match encoded {
        None => Some(header.to_owned()),
        Some(encoded) => String::from_utf8(STANDARD.decode(encoded).ok()?).ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_of_another_website_is_refused() {
        let own = ["registry.example.com".parse().unwrap()];
        let check = |header| check_origin(header, "https://terrace.workers.dev", &own).is_ok();
        for allowed in [
            None,
            Some("https://terrace.workers.dev"),
            Some("https://registry.example.com"),
            Some("https://Registry.example.com:8443"),
        ] {
            assert!(check(allowed), "{allowed:?}");
        }
        for foreign in [
            "null",
            "",
            "https://evil.example",
            "http://terrace.workers.dev",
            "http://registry.example.com",
            "https://registry.example.com.evil.example",
            "https://evil.example/registry.example.com",
        ] {
            assert!(!check(Some(foreign)), "{foreign}");
        }
    }

    #[test]
    fn a_body_is_json_by_its_content_type() {
        for json in ["application/json", "Application/JSON; charset=utf-8"] {
            assert_eq!(check_content_type(Some(json)), Ok(()));
        }
        for other in [
            None,
            Some(""),
            Some("text/plain"),
            Some("application/jsonx"),
        ] {
            assert!(check_content_type(other).is_err(), "{other:?}");
        }
    }

    #[test]
    fn a_name_in_base64_is_decoded() {
        for (header, name) in [
            ("get_docs", Some("get_docs")),
            ("=?base64?SGVsbG8sIOS4lueVjA==?=", Some("Hello, 世界")),
            (
                "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?=",
                Some("=?base64?literal?="),
            ),
            ("=?base64?%?=", None),
            ("=?base64?/w==?=", None),
            ("=?base64?SGVsbG8", Some("=?base64?SGVsbG8")),
        ] {
            assert_eq!(decoded(header).as_deref(), name, "{header}");
        }
    }

    proptest::proptest! {
        #[test]
        fn a_name_is_decoded_from_the_header_that_it_is_sent_in(name in "(=\\?base64\\?)?\\PC{0,20}(\\?=)?") {
            let header = mcp_name_header(&name);
            proptest::prop_assert!(header.bytes().all(|byte| (b' '..=b'~').contains(&byte)));
            proptest::prop_assert_eq!(decoded(&header), Some(name));
        }
    }
}
