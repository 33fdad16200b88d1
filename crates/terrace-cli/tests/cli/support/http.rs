//! A minimal HTTP server: one request for each connection.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read, Write};
use std::net::TcpListener;
use std::sync::Arc;
use std::thread;

use rustls::{ServerConfig, ServerConnection, StreamOwned};

/// A request without its body.
#[derive(Debug, Clone)]
pub(crate) struct Head {
    pub(crate) method: String,
    /// The path and the query.
    pub(crate) target: String,
    /// The headers by their names in lower case.
    pub(crate) headers: BTreeMap<String, String>,
}

impl Head {
    pub(crate) fn content_length(&self) -> u64 {
        self.headers
            .get("content-length")
            .map_or(0, |length| length.parse().expect("a number"))
    }
}

/// A response to send.
#[derive(Debug, Clone)]
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) body: Vec<u8>,
    /// The announced length, if it is not that of the body.
    pub(crate) announced: Option<u64>,
    /// Whether the body is repeated until the client closes the connection, with no announced length.
    pub(crate) is_endless: bool,
}

impl Response {
    pub(crate) fn new(status: u16, body: impl Into<Vec<u8>>) -> Self {
        Self {
            status,
            headers: Vec::new(),
            body: body.into(),
            announced: None,
            is_endless: false,
        }
    }

    /// Repeats the body without an end.
    pub(crate) fn endless(mut self) -> Self {
        self.is_endless = true;
        self
    }

    /// Announces another length. The connection is closed long before that.
    pub(crate) fn announcing(mut self, length: u64) -> Self {
        self.announced = Some(length);
        self
    }

    pub(crate) fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }
}

/// The reaction to a request, decided from its head.
pub(crate) enum Then {
    Answer(Box<dyn FnOnce(Vec<u8>) -> Response>),
    /// Send the bytes that another server has answered.
    Pass(Box<dyn FnOnce(Vec<u8>) -> Vec<u8>>),
    /// Read this many bytes of the body, and close the connection.
    HangUpAfter(u64),
}

/// Starts a server on its own port, with TLS if it has a configuration for it. Returns its URL. The threads end with the tests.
pub(crate) fn start(
    tls: Option<Arc<ServerConfig>>,
    decide: impl Fn(&Head) -> Then + Send + Sync + 'static,
) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let scheme = if tls.is_some() { "https" } else { "http" };
    let url = format!("{scheme}://{}", listener.local_addr().unwrap());
    let decide = Arc::new(decide);
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let (decide, tls) = (Arc::clone(&decide), tls.clone());
            thread::spawn(move || match tls {
                None => serve(stream, |head| decide(head)),
                Some(config) => {
                    let connection = ServerConnection::new(config).unwrap();
                    serve(StreamOwned::new(connection, stream), |head| decide(head));
                }
            });
        }
    });
    url
}

/// Serves one request.
pub(crate) fn serve(stream: impl Read + Write, decide: impl FnOnce(&Head) -> Then) {
    let mut reader = BufReader::new(stream);
    let Some(head) = read_head(&mut reader) else {
        return;
    };
    match decide(&head) {
        Then::Answer(answer) => {
            if let Some(body) = read_body(&mut reader, head.content_length()) {
                write(reader.get_mut(), &answer(body));
            }
        }
        Then::Pass(answer) => {
            if let Some(body) = read_body(&mut reader, head.content_length()) {
                let _ = reader.get_mut().write_all(&answer(body));
                let _ = reader.get_mut().flush();
            }
        }
        Then::HangUpAfter(bytes) => {
            let _ = std::io::copy(&mut reader.by_ref().take(bytes), &mut std::io::sink());
        }
    }
}

fn read_body(reader: &mut impl Read, length: u64) -> Option<Vec<u8>> {
    let mut body = Vec::new();
    let read = reader.take(length).read_to_end(&mut body).ok()?;
    (read as u64 == length).then_some(body)
}

fn read_head(reader: &mut impl std::io::BufRead) -> Option<Head> {
    let mut lines = reader.by_ref().lines();
    let first = lines.next()?.ok()?;
    let mut words = first.split(' ');
    let (method, target) = (words.next()?.to_owned(), words.next()?.to_owned());
    let mut headers = BTreeMap::new();
    for line in lines {
        let line = line.ok()?;
        if line.is_empty() {
            break;
        }
        let (name, value) = line.split_once(": ")?;
        headers.insert(name.to_ascii_lowercase(), value.to_owned());
    }
    Some(Head {
        method,
        target,
        headers,
    })
}

fn write(stream: &mut impl Write, response: &Response) {
    let Response {
        status,
        headers,
        body,
        announced,
        is_endless,
    } = response;
    let mut head = format!("HTTP/1.1 {status} Status\r\nconnection: close\r\n");
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    if *is_endless {
        head.push_str("\r\n");
        let mut written = stream.write_all(head.as_bytes());
        while written.is_ok() {
            written = stream.write_all(body);
        }
        return;
    }
    let length = announced.unwrap_or(body.len() as u64);
    head.push_str(&format!("content-length: {length}\r\n\r\n"));
    // The program may have closed the connection.
    let _ = stream.write_all(&[head.as_bytes(), body].concat());
    let _ = stream.flush();
}
