//! A proxy that leads to a registry on this machine under a name and at port 443, where a test cannot listen.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::thread;

use super::sound::Fault;
use crate::support::http::{Response, Then, serve};

/// Starts the proxy. Requests for plain HTTP get a redirect to TLS, into which the fault is injected. Returns its URL.
pub(crate) fn start(registry: u16, fault: Fault) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let fault = fault.clone();
            thread::spawn(move || connect(stream, registry, &fault));
        }
    });
    url
}

/// Answers a CONNECT request, and passes on what follows.
fn connect(mut client: TcpStream, registry: u16, fault: &Fault) -> Option<()> {
    let mut start = [0; 8];
    client.peek(&mut start).ok()?;
    if !start.starts_with(b"CONNECT ") {
        plain(client, fault);
        return None;
    }
    // Nothing follows the head before it is answered.
    let mut reader = BufReader::new(client.try_clone().ok()?);
    let mut first = String::new();
    reader.read_line(&mut first).ok()?;
    let mut line = String::new();
    while reader.read_line(&mut line).ok()? > 2 {
        line.clear();
    }
    let target = first.split(' ').nth(1)?;
    let port: u16 = target.rsplit_once(':')?.1.parse().ok()?;
    client.write_all(b"HTTP/1.1 200 Connected\r\n\r\n").ok()?;
    let port = match port {
        80 => {
            plain(client, fault);
            return None;
        }
        443 => registry,
        other => other,
    };
    let server = TcpStream::connect(("127.0.0.1", port)).ok()?;
    let back = (server.try_clone().ok()?, client.try_clone().ok()?);
    thread::spawn(move || copy(back.0, back.1));
    copy(client, server);
    Some(())
}

fn plain(client: TcpStream, fault: &Fault) {
    serve(client, |head| {
        let secure = Response::new(301, "").with("location", "https://registry.example.com/");
        let answer = fault(head, secure);
        Then::Answer(Box::new(move |_| answer))
    });
}

fn copy(mut from: TcpStream, mut to: TcpStream) {
    let mut bytes = [0; 16 * 1024];
    while let Ok(count @ 1..) = from.read(&mut bytes) {
        if to
            .write_all(bytes.get(..count).unwrap_or_default())
            .is_err()
        {
            break;
        }
    }
    let _: io::Result<()> = to.shutdown(Shutdown::Write);
}
