//! `terrace docs preview`: the pages of a registry, from a server for this machine alone.
//!
//! The content security policy is that of a registry. No other site can read the pages: requests under another host name,
//! which another site can direct to this machine, are refused.

mod contents;
mod pages;

use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use clap::Args;
use serde_json::json;
use terrace_core::http::reply::{Body, CachePolicy, Reply};

use crate::args::PackageSpec;
use crate::commands::docs::DocsSubject;
use crate::commands::docs::add::package_of_registry;
use crate::commands::documentation::provider_type;
use crate::commands::local_server::{Request, Response, send};
use crate::error::Failure;
use crate::output::Output;
use contents::Contents;
use pages::{Pages, SCRIPT_PATH};

#[derive(Debug, Clone, Args)]
pub(crate) struct DocsPreviewArguments {
    #[command(flatten)]
    pub(crate) subject: DocsSubject,
    /// The address in the pages: <namespace>/<type> for a provider, <namespace>/<name>/<system> for a module. By
    /// default it has the name of the directory
    #[arg(long, value_parser = package_of_registry, conflicts_with = "provider_type")]
    pub(crate) address: Option<PackageSpec>,
    /// The port of the local server; 0 selects a free one
    #[arg(long, default_value_t = 8090)]
    pub(crate) port: u16,
}

/// Time for which a connection may be idle: browsers open some in advance.
const IDLE: Duration = Duration::from_secs(30);

/// The path of a text that changes with the files.
const REVISION_PATH: &str = "/_preview/revision";

const SCRIPT: &str = include_str!("../../../assets/preview.js");

/// The documentation and its server.
struct Preview {
    arguments: DocsPreviewArguments,
    contents: Mutex<Contents>,
    pages: Pages,
}

/// Serves the documentation until the user stops the program.
pub(super) fn run(arguments: &DocsPreviewArguments, output: &Output) -> Result<(), Failure> {
    let mut arguments = arguments.clone();
    if let Some(address) = &arguments.address {
        arguments.subject.provider_type = provider_type(&address.package).cloned();
    }
    let contents = Mutex::new(Contents::read(&arguments)?);
    let port = arguments.port;
    let failed = |error: std::io::Error| {
        Failure::Local(format!(
            "port {port} of this machine: {error}; select another one with --port"
        ))
    };
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).map_err(failed)?;
    let origin = format!("http://{}", listener.local_addr().map_err(failed)?);
    let url = format!("{origin}/");
    let preview = Preview {
        arguments,
        contents,
        pages: Pages::new(origin),
    };
    let text = format!("the preview is at {url} until you press Ctrl-C");
    output.result(&[text], &json!({ "status": "ok", "url": url }));
    thread::scope(|scope| {
        for stream in listener.incoming().flatten() {
            let preview = &preview;
            scope.spawn(move || preview.serve(&stream));
        }
    });
    Ok(())
}

impl Preview {
    /// Answers one request. If the connection breaks, the browser repeats the request.
    fn serve(&self, stream: &TcpStream) {
        let limited = stream
            .set_read_timeout(Some(IDLE))
            .and_then(|()| stream.set_write_timeout(Some(IDLE)));
        if limited.is_err() {
            return;
        }
        let response = match Request::read(stream) {
            Some(Ok(request)) => self.answer(&request),
            Some(Err(refusal)) => *refusal,
            None => return,
        };
        send(&response, stream);
    }

    fn answer(&self, request: &Request) -> Response {
        if request.path == SCRIPT_PATH {
            let reply = Reply::new(200, CachePolicy::NoStore);
            let reply = reply.with("content-type", "text/javascript; charset=utf-8");
            let reply = reply.with_security_headers();
            return reply.with_body(Body::Text(SCRIPT.to_owned()));
        }
        let contents = self.contents.lock();
        let mut contents = contents.unwrap_or_else(PoisonError::into_inner);
        contents.refresh(&self.arguments);
        if request.path == REVISION_PATH {
            return Reply::text(200, CachePolicy::NoStore, contents.revision());
        }
        self.pages.answer(&request.path, &contents)
    }
}
