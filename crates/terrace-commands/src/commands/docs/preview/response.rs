//! Sends a response of the preview.

use std::convert::Infallible;
use std::io::Write as _;
use std::net::TcpStream;

use terrace_core::http::reply::{Body, CachePolicy, Reply};

/// A response.
pub(super) type Response = Reply<Infallible>;

/// Returns the response to a request that is refused.
pub(super) fn refusal(status: u16, reason: &str) -> Response {
    Reply::text(status, CachePolicy::NoStore, format!("{reason}\n")).with_security_headers()
}

/// Sends a response. No other site can read it.
pub(super) fn send(response: &Response, mut stream: &TcpStream) {
    let body = match &response.body {
        Body::Text(text) => text.as_str(),
        Body::Empty => "",
        Body::Stream(never) => match *never {},
    };
    let mut head = format!(
        "HTTP/1.1 {} \r\nconnection: close\r\ncontent-length: {}\r\n",
        response.status,
        body.len()
    );
    for (name, value) in &response.headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    if response.header(SAME_ORIGIN.0).is_none() {
        head.push_str(&format!("{}: {}\r\n", SAME_ORIGIN.0, SAME_ORIGIN.1));
    }
    // The browser may have closed the connection.
    let _ = stream.write_all(format!("{head}\r\n{body}").as_bytes());
}

const SAME_ORIGIN: (&str, &str) = ("cross-origin-resource-policy", "same-origin");
