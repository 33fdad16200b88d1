//! `terrace docs preview`: a server for this machine alone.
//!
//! No page runs a script but that of the preview. No other site can read the pages: requests under another host name,
//! which another site can direct to this machine, are refused.

mod page;
mod request;
mod response;
mod site;

use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use serde_json::json;

use crate::args::{DocsPreviewArguments, DocsSubject};
use crate::error::Failure;
use crate::output::Output;
use request::Request;
use response::Response;
use site::Site;

/// Time for which a connection may be idle: browsers open some in advance.
const IDLE: Duration = Duration::from_secs(30);

const STYLE: &str = include_str!("../../../assets/preview.css");
const SCRIPT: &str = include_str!("../../../assets/preview.js");

/// Serves the documentation until the user stops the program.
pub(super) fn run(arguments: &DocsPreviewArguments, output: &Output) -> Result<(), Failure> {
    let site = Mutex::new(Site::read(&arguments.subject)?);
    let port = arguments.port;
    let failed = |error: std::io::Error| {
        Failure::Local(format!(
            "port {port} of this machine: {error}; select another one with --port"
        ))
    };
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).map_err(failed)?;
    let url = format!("http://{}/", listener.local_addr().map_err(failed)?);
    let text = format!("the preview is at {url} until you press Ctrl-C");
    output.result(&[text], &json!({ "status": "ok", "url": url }));
    thread::scope(|scope| {
        for stream in listener.incoming().flatten() {
            let site = &site;
            scope.spawn(move || serve(&stream, site, &arguments.subject));
        }
    });
    Ok(())
}

/// Answers one request. If the connection breaks, the browser repeats the request.
fn serve(stream: &TcpStream, site: &Mutex<Site>, subject: &DocsSubject) {
    let limited = stream
        .set_read_timeout(Some(IDLE))
        .and_then(|()| stream.set_write_timeout(Some(IDLE)));
    if limited.is_err() {
        return;
    }
    let response = match Request::read(stream) {
        Some(Ok(request)) => answer(&request, site, subject),
        Some(Err(refusal)) => refusal,
        None => return,
    };
    response.send(stream);
}

fn answer(request: &Request, site: &Mutex<Site>, subject: &DocsSubject) -> Response {
    match request.path.as_str() {
        "/style.css" => return Response::ok("text/css", STYLE),
        "/reload.js" => return Response::ok("text/javascript", SCRIPT),
        _ => {}
    }
    let mut site = site.lock().unwrap_or_else(PoisonError::into_inner);
    site.refresh(subject);
    if request.path == "/revision" {
        return Response::ok("text/plain", site.revision());
    }
    match site.page(&request.path) {
        Some(html) => Response::ok("text/html", html),
        None => Response::failed("404 Not Found", "there is no such page"),
    }
}
