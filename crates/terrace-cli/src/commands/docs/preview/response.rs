//! A response of the preview.

use std::io::Write as _;
use std::net::TcpStream;

/// The policy of all pages: nothing but the style and the script of the preview itself.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

pub(super) struct Response {
    pub(super) status: &'static str,
    media_type: &'static str,
    body: String,
}

impl Response {
    pub(super) fn ok(media_type: &'static str, body: impl Into<String>) -> Self {
        Self {
            status: "200 OK",
            media_type,
            body: body.into(),
        }
    }

    pub(super) fn failed(status: &'static str, reason: &str) -> Self {
        Self {
            status,
            media_type: "text/plain",
            body: format!("{reason}\n"),
        }
    }

    pub(super) fn send(&self, mut stream: &TcpStream) {
        let Self {
            status,
            media_type,
            body,
        } = self;
        let length = body.len();
        let head = format!(
            "HTTP/1.1 {status}\r\nconnection: close\r\ncontent-type: {media_type}; charset=utf-8\r\n\
             content-length: {length}\r\ncontent-security-policy: {POLICY}\r\nx-content-type-options: nosniff\r\n\
             referrer-policy: no-referrer\r\ncross-origin-resource-policy: same-origin\r\ncache-control: no-store\r\n\r\n"
        );
        // The browser may have closed the connection.
        let _ = stream.write_all(format!("{head}{body}").as_bytes());
    }
}
