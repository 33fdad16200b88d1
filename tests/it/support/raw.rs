//! HTTP/1.1 by hand: a client that can also send malformed requests.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use super::Response;

/// The time that a server has to respond. A connection on which the server waits for a missing body is closed
/// after it.
const PATIENCE: Duration = Duration::from_secs(10);

/// Sends `head` and `body` unchanged to `authority` and reads one response to its end. Returns `None` when
/// the server closed the connection without one.
pub fn exchange(authority: &str, head: &[u8], body: &[u8], is_head: bool) -> Option<Response> {
    let mut stream = TcpStream::connect(authority).expect("the registry listens");
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    // The server may respond and close the connection before it has read everything.
    let _ = stream.write_all(head).and_then(|()| stream.write_all(body));
    let mut received = Vec::new();
    let mut buffer = [0u8; 64 * 1024];
    loop {
        if let Some(response) = parse(&received, false, is_head) {
            return Some(response);
        }
        match stream.read(&mut buffer) {
            Ok(0) | Err(_) => return parse(&received, true, is_head),
            Ok(count) => received.extend_from_slice(&buffer[..count]),
        }
    }
}

fn parse(received: &[u8], ended: bool, is_head: bool) -> Option<Response> {
    let split = received
        .windows(4)
        .position(|window| window == b"\r\n\r\n")?;
    let head = String::from_utf8_lossy(&received[..split]).into_owned();
    let rest = &received[split + 4..];
    let mut lines = head.split("\r\n");
    let status: u16 = lines.next()?.split(' ').nth(1)?.parse().ok()?;
    let headers: Vec<(String, String)> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
        .collect();
    let header = |name: &str| {
        headers
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, value)| value.as_str())
    };
    if status == 100 {
        return parse(rest, ended, is_head);
    }
    let body = if is_head {
        Vec::new()
    } else if header("transfer-encoding") == Some("chunked") {
        dechunk(rest)?
    } else {
        match header("content-length").and_then(|length| length.parse::<usize>().ok()) {
            Some(length) if rest.len() >= length => rest[..length].to_vec(),
            _ if ended || status == 304 || status == 204 => rest.to_vec(),
            _ => return None,
        }
    };
    Some(Response {
        status,
        headers,
        body,
    })
}

fn dechunk(mut rest: &[u8]) -> Option<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let line = rest.windows(2).position(|window| window == b"\r\n")?;
        let size = std::str::from_utf8(&rest[..line]).ok()?.split(';').next()?;
        let size = usize::from_str_radix(size.trim(), 16).ok()?;
        rest = &rest[line + 2..];
        if size == 0 {
            return Some(body);
        }
        body.extend_from_slice(rest.get(..size)?);
        rest = rest.get(size + 2..)?;
    }
}
