//! A registry for the command: the application itself, in memory, behind a server that records the requests, and fails or answers
//! in its place on demand.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread;
use std::time::Duration;

use futures_util::FutureExt as _;
use rustls::ServerConfig;
use serde_json::{Value, json};
use terrace_app::host::Archives as _;
use terrace_core::auth::exchange::{EXCHANGE_PATH, ExchangeError, ExchangeRequest};
use terrace_core::config::Config;
use terrace_core::documentation;
use terrace_core::http::reply::{Body, Reply};
use terrace_core::model::package::Package;
use terrace_core::storage::key::BytesKey;
use terrace_metadata::OpenArchive;
use terrace_server::memory::Memory;
use terrace_server::server::{Server, ServerSettings, Stop};

use super::http::{Head, Response, Then};
use super::{JOB_SECRET, TOKEN, fixture};

/// One failure.
#[derive(Debug, Clone)]
pub(crate) enum Fault {
    Answer(Response),
    HangUpAfter(u64),
}

/// A registry on its own port.
pub(crate) struct Registry {
    url: String,
    state: Arc<Mutex<State>>,
    application: SocketAddr,
    memory: Memory,
    stop: Stop,
}

/// An action of somebody else, with the URL of the application behind the recording server.
type Interposed = Box<dyn FnOnce(&str) + Send>;

#[derive(Default)]
struct State {
    url: String,
    seen: Vec<Head>,
    /// The faults for matching requests, each used once: a method, and a part of the path.
    faults: Vec<(String, String, Fault)>,
    /// The answers to requests for these targets, or for a method and a target, with any token or none.
    pages: BTreeMap<String, Response>,
    /// The actions that precede the next publish.
    interposed: Vec<Interposed>,
    last_archive: Vec<u8>,
    last_documentation: Vec<u8>,
    descriptions: Vec<Value>,
    /// The tokens of trusted jobs, and the tokens that were issued for them.
    jobs: Vec<String>,
    given: Vec<String>,
    exchanges: usize,
    uploading: usize,
    most_uploading: usize,
    forgets: bool,
}

impl Drop for Registry {
    fn drop(&mut self) {
        self.stop.stop();
    }
}

impl Registry {
    /// Starts a registry with the publisher's key.
    pub(crate) fn start() -> Self {
        let registry = Self::without_keys();
        registry.add_key("publisher.asc");
        registry
    }

    pub(crate) fn without_keys() -> Self {
        Self::listen(None)
    }

    /// Starts a registry that uses TLS.
    pub(crate) fn with_tls(config: Arc<ServerConfig>) -> Self {
        Self::listen(Some(config))
    }

    fn listen(tls: Option<Arc<ServerConfig>>) -> Self {
        let memory = Memory::new();
        let (application, stop) = start_application(&memory);
        let state = Arc::new(Mutex::new(State::default()));
        let deciding = Arc::clone(&state);
        let url = super::http::start(tls, move |head| State::decide(&deciding, head, application));
        state.lock().unwrap().url.clone_from(&url);
        Self {
            url,
            state,
            application,
            memory,
            stop,
        }
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// Returns the URL under which requests are neither recorded nor changed.
    pub(crate) fn unrecorded(&self) -> String {
        format!("http://{}", self.application)
    }

    pub(crate) fn add_key(&self, file: &str) {
        let text = std::fs::read(fixture(file)).unwrap();
        let added = self.ask("PUT", "/admin/v1/namespaces/acme/keys", &text);
        assert!(added.is_some());
    }

    /// Sends a request with the admin token, past the record. Returns the document in a successful answer.
    fn ask(&self, method: &str, target: &str, body: &[u8]) -> Option<Value> {
        let head = Head {
            method: method.to_owned(),
            target: target.to_owned(),
            headers: BTreeMap::from([
                ("host".to_owned(), self.application.to_string()),
                ("authorization".to_owned(), format!("Bearer {TOKEN}")),
                ("content-length".to_owned(), body.len().to_string()),
            ]),
        };
        let answer = String::from_utf8(forward(self.application, &head, body)).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        head.starts_with("HTTP/1.1 20")
            .then(|| serde_json::from_str(body).unwrap())
    }

    /// Makes the next matching request fail. Those about documentation only match parts of their own paths:
    /// `/documentation`. The path of an upload begins with `/bucket/`.
    pub(crate) fn fail(&self, method: &str, path: &str, fault: Fault) {
        let fault = (method.to_owned(), path.to_owned(), fault);
        self.state().faults.push(fault);
    }

    /// Answers the next matching request with this document.
    pub(crate) fn answer(&self, method: &str, path: &str, document: &Value) {
        let answer = Response::new(200, document.to_string());
        self.fail(method, path, Fault::Answer(answer));
    }

    /// Refuses the next matching request for these reasons.
    pub(crate) fn refuse(&self, method: &str, path: &str, status: u16, reasons: &[&str]) {
        self.fail(method, path, Fault::Answer(errors(status, reasons)));
    }

    /// Sets the document that answers requests for a path with its query.
    pub(crate) fn set_json(&self, target: &str, document: &Value) {
        self.set(target, Response::new(200, document.to_string()));
    }

    /// Sets the answer to requests for a path with its query, with any token or none.
    pub(crate) fn set(&self, target: &str, response: Response) {
        self.state().pages.insert(target.to_owned(), response);
    }

    /// Sets the versions of a package in the catalogue, the newest first.
    pub(crate) fn set_package(&self, path: &str, versions: &Value) {
        let (kind, address) = path.split_once('/').unwrap();
        let details = json!({
            "kind": if kind == "modules" { "module" } else { "provider" }, "address": address, "path": format!("/api/v1/{path}"),
            "latest": versions[0]["version"], "versions": versions,
        });
        self.set_json(&format!("/api/v1/{path}"), &details);
    }

    /// Forgets the faults that no request has used.
    pub(crate) fn forget_faults(&self) {
        self.state().faults.clear();
    }

    /// Issues tokens to the job with this token.
    pub(crate) fn trust_job(&self, token: &str) {
        self.state().jobs.push(token.to_owned());
    }

    /// Answers the next requests for the document at a path with a changed one.
    pub(crate) fn edit_release(&self, path: &str, edit: impl FnOnce(&mut Value)) {
        let mut document = self.ask("GET", path, b"").unwrap();
        edit(&mut document);
        let answer = Response::new(200, document.to_string());
        self.set(&format!("GET {path}"), answer);
    }

    /// Removes the stored archives.
    pub(crate) fn lose_archives(&self) {
        let done = "operations in memory are immediate";
        let listed = self.memory.list_bytes("archives/", None, 1_000);
        for object in listed.now_or_never().expect(done).unwrap().objects {
            let key = BytesKey::Archive(object.name.parse().unwrap());
            let removed = self.memory.discard(key).now_or_never();
            removed.expect(done).unwrap();
        }
    }

    /// Discards every archive that it accepts.
    pub(crate) fn forget_archives(&self) {
        self.state().forgets = true;
    }

    /// Returns the requests since the last call that are not about documentation, as `METHOD /path`.
    pub(crate) fn requests(&self) -> Vec<String> {
        let seen = std::mem::take(&mut self.state().seen);
        let path = |head: &Head| head.target.split('?').next().unwrap().to_owned();
        let line = |head: &Head| format!("{} {}", head.method, path(head));
        let seen = seen.iter().filter(|head| !is_about_documentation(head));
        seen.map(line).collect()
    }

    /// Returns those of the requests since the last call that may change something.
    pub(crate) fn changes(&self) -> Vec<String> {
        let mut requests = self.requests();
        requests.retain(|request| !request.starts_with("GET "));
        requests
    }

    /// Returns the requests since the last call, as `METHOD /path?query` without the names of uploads.
    pub(crate) fn all_requests(&self) -> Vec<String> {
        let seen = std::mem::take(&mut self.state().seen);
        let line = |head: &Head| {
            let target = match (is_upload(head), is_about_documentation(head)) {
                (true, true) => "/docs-bucket",
                (true, false) => "/bucket",
                (false, _) => &head.target,
            };
            format!("{} {target}", head.method)
        };
        seen.iter().map(line).collect()
    }

    /// Runs an action of somebody else before the next request for a release is answered.
    pub(crate) fn interpose(&self, action: impl FnOnce(&str) + Send + 'static) {
        self.state().interposed.push(Box::new(action));
    }

    /// Returns the state of the documentation of the version at a path.
    pub(crate) fn documentation(&self, path: &str) -> Option<Value> {
        self.ask("GET", &format!("{path}/documentation"), b"")
    }

    /// Returns the `authorization` headers of the requests so far.
    pub(crate) fn authorizations(&self) -> Vec<String> {
        let state = self.state();
        let headers = state
            .seen
            .iter()
            .filter_map(|head| head.headers.get("authorization"));
        headers.cloned().collect()
    }

    /// Returns the values of a header of the requests since the last call of a function that returns those.
    pub(crate) fn headers(&self, name: &str) -> Vec<String> {
        let seen = std::mem::take(&mut self.state().seen);
        let headers = seen.iter().filter_map(|head| head.headers.get(name));
        headers.cloned().collect()
    }

    /// Returns the heads of the uploads so far.
    pub(crate) fn uploads(&self) -> Vec<Head> {
        let is_archive = |head: &&Head| is_upload(head) && !is_about_documentation(head);
        let state = self.state();
        state.seen.iter().filter(is_archive).cloned().collect()
    }

    /// Returns the last description of a release.
    pub(crate) fn description(&self) -> Value {
        self.descriptions().pop().unwrap()
    }

    /// Returns all descriptions of releases.
    pub(crate) fn descriptions(&self) -> Vec<Value> {
        self.state().descriptions.clone()
    }

    /// Returns the bytes of the last archive.
    pub(crate) fn last_archive(&self) -> Vec<u8> {
        self.state().last_archive.clone()
    }

    /// Returns the archive of the last documentation.
    pub(crate) fn last_documentation(&self) -> Vec<u8> {
        self.state().last_documentation.clone()
    }

    /// Returns the head of the last documentation of a package.
    pub(crate) fn documentation_head(&self, address: &str) -> documentation::Head {
        let package = Package::parse_address(address).unwrap();
        let state = self.state();
        let archive = OpenArchive::parse(&state.last_documentation, &package).unwrap();
        archive.head().clone()
    }

    pub(crate) fn most_uploads_at_once(&self) -> usize {
        self.state().most_uploading
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }
}

/// Starts the application over a memory, in a thread of its own.
fn start_application(memory: &Memory) -> (SocketAddr, Stop) {
    let vars = [
        ("TERRACE_ADMIN_TOKEN", TOKEN),
        ("TERRACE_MIRRORED_DOCS", "true"),
        ("TERRACE_LOG_REQUESTS", "none"),
    ];
    let settings = ServerSettings {
        listen: "127.0.0.1:0".parse().unwrap(),
        threads: NonZeroUsize::new(1),
        tls: None,
        trusted_proxies: Vec::new(),
        look_interval: None,
    };
    let server = Server::bind(settings, Config::from_vars(&vars).unwrap()).unwrap();
    let (address, stop) = (server.address(), server.stop());
    let (bucket, indices) = (memory.clone(), memory.clone());
    thread::spawn(move || server.run(bucket, indices));
    (address, stop)
}

impl State {
    fn decide(this: &Arc<Mutex<Self>>, head: &Head, application: SocketAddr) -> Then {
        let named = named(head);
        let is_publish = is_publish(&named);
        let interposed = {
            let mut state = this.lock().unwrap();
            state.seen.push(named.clone());
            is_publish.then(|| std::mem::take(&mut state.interposed))
        };
        for action in interposed.into_iter().flatten() {
            action(&format!("http://{application}"));
        }
        let mut state = this.lock().unwrap();
        let is_about_documentation = is_about_documentation(&named);
        let hit = state.faults.iter().position(|(method, path, _)| {
            *method == named.method
                && named.target.contains(path.as_str())
                && is_about_documentation == path.contains("/documentation")
        });
        match hit.map(|hit| state.faults.remove(hit).2) {
            Some(Fault::HangUpAfter(bytes)) => return Then::HangUpAfter(bytes),
            Some(Fault::Answer(response)) => return Then::Answer(Box::new(|_| response)),
            None => {}
        }
        let of_method = format!("{} {}", head.method, head.target);
        let page = state.pages.get(&head.target);
        if let Some(page) = page.or_else(|| state.pages.get(&of_method)).cloned() {
            return Then::Answer(Box::new(|_| page));
        }
        let (this, mut head) = (Arc::clone(this), head.clone());
        if head.target == EXCHANGE_PATH {
            let answer = move |body: Vec<u8>| this.lock().unwrap().exchange(&head, &body);
            return Then::Answer(Box::new(answer));
        }
        state.translate(&mut head);
        Then::Pass(Box::new(move |body| {
            if is_publish {
                let description = serde_json::from_slice(&body).unwrap();
                this.lock().unwrap().descriptions.push(description);
            }
            match is_upload(&named) {
                true => Self::upload(&this, application, &head, &body),
                false => forward(application, &head, &body),
            }
        }))
    }

    /// Replaces a token that was issued to a job by one that the application knows.
    fn translate(&self, head: &mut Head) {
        if let Some(authorization) = head.headers.get_mut("authorization")
            && let Some(token) = authorization.strip_prefix("Bearer ")
            && self.given.iter().any(|given| given == token)
        {
            *authorization = format!("Bearer {TOKEN}");
        }
    }

    /// Exchanges the token of a job, which no CI has signed.
    fn exchange(&mut self, head: &Head, body: &[u8]) -> Response {
        let content_type = head.headers.get("content-type").map(String::as_str);
        let asked = ExchangeRequest::parse(content_type, body, &self.url).unwrap();
        if !self.jobs.iter().any(|job| job == asked.subject_token()) {
            return ExchangeError::Untrusted.reply::<()>().into();
        }
        self.exchanges += 1;
        let token = format!("terrace_{JOB_SECRET}_{}", self.exchanges);
        self.given.push(token.clone());
        let answer = json!({ "access_token": token, "expires_in": 300 });
        Response::new(200, answer.to_string())
    }

    fn upload(this: &Mutex<Self>, application: SocketAddr, head: &Head, body: &[u8]) -> Vec<u8> {
        {
            let mut state = this.lock().unwrap();
            state.uploading += 1;
            state.most_uploading = state.most_uploading.max(state.uploading);
        }
        // Long enough for other uploads to arrive.
        thread::sleep(Duration::from_millis(100));
        let forgets = {
            let mut state = this.lock().unwrap();
            state.uploading -= 1;
            match head.target.ends_with(".docs") {
                true => state.last_documentation = body.to_vec(),
                false => state.last_archive = body.to_vec(),
            }
            state.forgets
        };
        match forgets {
            true => b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 0\r\n\r\n".to_vec(),
            false => forward(application, head, body),
        }
    }
}

/// Returns a request whose upload is named without its signature.
fn named(head: &Head) -> Head {
    let mut named = head.clone();
    if head.method == "PUT" && head.target.starts_with("/archives/") {
        let (_, name) = head.target.rsplit_once('/').unwrap();
        named.target = format!("/bucket/{name}");
    }
    named
}

fn is_upload(named: &Head) -> bool {
    named.target.starts_with("/bucket/")
}

fn is_about_documentation(named: &Head) -> bool {
    let path = named.target.split('?').next().unwrap_or_default();
    path.ends_with("/documentation") || path.ends_with(".docs")
}

/// Returns whether a request publishes a version.
fn is_publish(named: &Head) -> bool {
    let kinds = ["mirror/", "modules/", "providers/"];
    let rest = named.target.strip_prefix("/admin/v1/");
    let is_release = rest.is_some_and(|rest| kinds.iter().any(|kind| rest.starts_with(kind)));
    let is_status = named.target.ends_with("/status");
    named.method == "PUT" && is_release && !is_status && !is_about_documentation(named)
}

/// Sends a request to the application. Returns its answer.
fn forward(application: SocketAddr, head: &Head, body: &[u8]) -> Vec<u8> {
    let mut text = format!("{} {} HTTP/1.1\r\n", head.method, head.target);
    for (name, value) in head
        .headers
        .iter()
        .filter(|(name, _)| *name != "connection")
    {
        text.push_str(&format!("{name}: {value}\r\n"));
    }
    text.push_str("connection: close\r\n\r\n");
    let mut stream = TcpStream::connect(application).unwrap();
    // The application may answer before it has read everything.
    let _ = stream.write_all(&[text.as_bytes(), body].concat());
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    let _ = stream.shutdown(Shutdown::Both);
    answer
}

impl From<Reply<()>> for Response {
    fn from(reply: Reply<()>) -> Self {
        let body = match reply.body {
            Body::Text(text) => text,
            Body::Empty | Body::Stream(()) => String::new(),
        };
        let headers = reply.headers.into_iter();
        let response = Self::new(reply.status, body);
        headers.fold(response, |response, (name, value)| {
            response.with(name, value)
        })
    }
}

/// Returns an error response as the registry sends it.
pub(crate) fn errors(status: u16, reasons: &[&str]) -> Response {
    Response::new(status, json!({ "errors": reasons }).to_string())
}
