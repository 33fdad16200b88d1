//! A browser without a memory.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

/// Requests a path of a host from a server. Returns the whole response.
pub(crate) fn get(server: &str, host: &str, path: &str) -> String {
    let head = format!("GET {path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n");
    ask(server, &head)
}

/// Sends a text to a server. Returns everything that it answers.
pub(crate) fn ask(server: &str, text: &str) -> String {
    let mut stream = TcpStream::connect(server).unwrap();
    stream.write_all(text.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}
