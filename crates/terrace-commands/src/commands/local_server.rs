//! HTTP for a browser on this machine: the requests that it sends, and their responses.

use std::convert::Infallible;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use terrace_core::http::reply::{Body, CachePolicy, Reply};

/// Maximum length of the head of a request: that of common servers.
const HEAD_BYTES: usize = 16 * 1024;

const HEADERS: usize = 64;

/// The names of this machine.
const HOSTS: [&str; 3] = ["127.0.0.1", "localhost", "[::1]"];

/// A GET request for this machine.
pub(super) struct Request {
    /// The path.
    pub(super) path: String,
    /// The query, which may be empty.
    pub(super) query: String,
}

impl Request {
    /// Reads a request, or the response that refuses it. Returns `None` if the connection ends before.
    pub(super) fn read(mut stream: &TcpStream) -> Option<Result<Self, Box<Response>>> {
        let mut head = Vec::new();
        let mut buffer = [0; 4096];
        loop {
            let count = stream.read(&mut buffer).ok().filter(|count| *count > 0)?;
            head.extend_from_slice(buffer.get(..count)?);
            match Self::parse(&head) {
                None if head.len() > HEAD_BYTES => {
                    let reason = "the head of the request is too long";
                    return Some(Err(Box::new(refusal(431, reason))));
                }
                None => {}
                parsed => return parsed,
            }
        }
    }

    /// Parses the head of a request. Returns `None` if it is not complete.
    fn parse(head: &[u8]) -> Option<Result<Self, Box<Response>>> {
        let mut headers = [httparse::EMPTY_HEADER; HEADERS];
        let mut request = httparse::Request::new(&mut headers);
        match request.parse(head) {
            Ok(status) if status.is_partial() => None,
            Ok(_) => Some(Self::check(&request)),
            Err(error) => {
                let reason = format!("the request is not valid HTTP: {error}");
                Some(Err(Box::new(refusal(400, &reason))))
            }
        }
    }

    fn check(request: &httparse::Request<'_, '_>) -> Result<Self, Box<Response>> {
        let headers = request.headers.iter();
        let mut hosts = headers.filter(|header| header.name.eq_ignore_ascii_case("host"));
        let host = hosts
            .next()
            .and_then(|header| str::from_utf8(header.value).ok());
        if !host.is_some_and(is_this_machine) || hosts.next().is_some() {
            let reason = "this is only for this machine: open it at http://127.0.0.1 and its port";
            return Err(Box::new(refusal(421, reason)));
        }
        if request.method != Some("GET") {
            let reason = "only GET is answered";
            return Err(Box::new(refusal(405, reason)));
        }
        let target = request.path.unwrap_or_default();
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        Ok(Self {
            path: path.to_owned(),
            query: query.to_owned(),
        })
    }
}

/// Returns whether a `Host` header names this machine, with any port.
fn is_this_machine(host: &str) -> bool {
    let is_port = |port: &str| port.bytes().all(|byte| byte.is_ascii_digit());
    HOSTS.into_iter().any(|name| {
        let split = host.split_at_checked(name.len());
        split.is_some_and(|(start, rest)| {
            let is_end = rest.is_empty() || rest.strip_prefix(':').is_some_and(is_port);
            start.eq_ignore_ascii_case(name) && is_end
        })
    })
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_this_machine_are_accepted() {
        for (host, expected) in [
            ("127.0.0.1:8090", true),
            ("localhost:8090", true),
            ("LOCALHOST", true),
            ("[::1]:1", true),
            ("127.0.0.1.evil.example:8090", false),
            ("evil.example", false),
            ("localhost.evil.example", false),
            ("localhost:80@evil.example", false),
            ("", false),
        ] {
            assert_eq!(is_this_machine(host), expected, "{host}");
        }
    }

    #[test]
    fn a_request_is_refused_without_one_host_or_with_another_method() {
        let status = |head: &str| match Request::parse(head.as_bytes()) {
            None => 100,
            Some(Ok(_)) => 200,
            Some(Err(response)) => response.status,
        };
        for (head, expected) in [
            ("GET /a?b HTTP/1.1\r\nHost: localhost\r\n\r\n", 200),
            ("GET / HTTP/1.1\r\nHost: localhost\r\n", 100),
            ("GET / HTTP/1.1\r\n\r\n", 421),
            (
                "GET / HTTP/1.1\r\nHost: localhost\r\nHost: a.example\r\n\r\n",
                421,
            ),
            ("GET / HTTP/1.1\r\nHost: a.example\r\n\r\n", 421),
            ("POST / HTTP/1.1\r\nHost: localhost\r\n\r\n", 405),
            ("\0", 400),
        ] {
            assert_eq!(status(head), expected, "{head}");
        }
    }
}
