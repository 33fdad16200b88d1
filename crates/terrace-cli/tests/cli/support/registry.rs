//! A fake registry that stores everything in memory, and fails on demand.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread;
use std::time::Duration;

use rustls::{ServerConfig, ServerConnection, StreamOwned};
use serde_json::{Value, json};
use terrace_base::digest::Sha256;
use terrace_core::auth::exchange::{EXCHANGE_PATH, ExchangeError, ExchangeRequest};
use terrace_core::documentation;
use terrace_core::http::reply::{Body, Reply};
use terrace_core::model::package::Package;
use terrace_core::storage::release::SigningKeyDocument;
use terrace_metadata::OpenArchive;
use terrace_openpgp::parse_signing_keys;

use super::http::{Head, Response, Then, serve};
use super::{JOB_SECRET, TOKEN, URL_SECRET, fixture};

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
}

#[derive(Default)]
struct State {
    url: String,
    seen: Vec<Head>,
    /// The faults for matching requests, each used once: a method, and a part of the path.
    faults: Vec<(String, String, Fault)>,
    /// The answers to GET requests for these targets, with any token or none.
    pages: BTreeMap<String, Response>,
    archives: BTreeSet<String>,
    last_archive: Vec<u8>,
    last_documentation: Vec<u8>,
    releases: BTreeMap<String, Value>,
    /// The documentation by the paths of the releases.
    documentation: BTreeMap<String, Value>,
    /// The documentation and releases that other publishers send before the next request for a release is answered.
    interposed_documentation: Vec<(String, Value)>,
    interposed_releases: Vec<(String, Value)>,
    descriptions: Vec<Value>,
    keys: Vec<SigningKeyDocument>,
    /// The tokens of trusted jobs, and the tokens that were issued for them.
    jobs: Vec<String>,
    given: Vec<String>,
    exchanges: usize,
    uploading: usize,
    most_uploading: usize,
    forgets: bool,
}

impl Registry {
    /// Starts a registry with the publisher's key.
    pub(crate) fn start() -> Self {
        let registry = Self::without_keys();
        registry.add_key("publisher.asc");
        registry
    }

    pub(crate) fn without_keys() -> Self {
        Self::listen("http", |stream, state| {
            serve(stream, |head| State::decide(state, head));
        })
    }

    /// Starts a registry that uses TLS.
    pub(crate) fn with_tls(config: Arc<ServerConfig>) -> Self {
        Self::listen("https", move |stream, state| {
            let connection = ServerConnection::new(Arc::clone(&config)).unwrap();
            let stream = StreamOwned::new(connection, stream);
            serve(stream, |head| State::decide(state, head));
        })
    }

    /// Starts to listen. The threads end with the tests.
    fn listen(
        scheme: &str,
        serve: impl Fn(TcpStream, &Arc<Mutex<State>>) + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("{scheme}://{}", listener.local_addr().unwrap());
        let state = Arc::new(Mutex::new(State {
            url: url.clone(),
            ..State::default()
        }));
        let registry = Self {
            url,
            state: Arc::clone(&state),
        };
        let serve = Arc::new(serve);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (serve, state) = (Arc::clone(&serve), Arc::clone(&state));
                thread::spawn(move || serve(stream, &state));
            }
        });
        registry
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    pub(crate) fn add_key(&self, file: &str) {
        let text = std::fs::read_to_string(fixture(file)).unwrap();
        self.state().add_keys(&text);
    }

    /// Makes the next matching request fail. Those about documentation only match parts of their own paths:
    /// `/documentation` and `/docs-bucket`.
    pub(crate) fn fail(&self, method: &str, path: &str, fault: Fault) {
        let fault = (method.to_owned(), path.to_owned(), fault);
        self.state().faults.push(fault);
    }

    /// Sets the answer to GET requests for a path with its query, with any token or none.
    pub(crate) fn set(&self, target: &str, response: Response) {
        self.state().pages.insert(target.to_owned(), response);
    }

    /// Forgets the faults that no request has used.
    pub(crate) fn forget_faults(&self) {
        self.state().faults.clear();
    }

    /// Issues tokens to the job with this token.
    pub(crate) fn trust_job(&self, token: &str) {
        self.state().jobs.push(token.to_owned());
    }

    /// Treats the tokens that were issued to jobs as expired.
    pub(crate) fn expire_given(&self) {
        self.state().given.clear();
    }

    /// Changes the stored document of a version.
    pub(crate) fn edit_release(&self, path: &str, edit: impl FnOnce(&mut Value)) {
        edit(self.state().releases.get_mut(path).unwrap());
    }

    /// Removes the stored archives.
    pub(crate) fn lose_archives(&self) {
        self.state().archives.clear();
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

    /// Returns the requests since the last call, as `METHOD /path?query` without the secrets of uploads.
    pub(crate) fn all_requests(&self) -> Vec<String> {
        let seen = std::mem::take(&mut self.state().seen);
        let target = |head: &Head| {
            let is_upload = head.target.contains("bucket/");
            let upload = head.target.split("bucket/").next().unwrap_or_default();
            match is_upload {
                true => format!("{upload}bucket"),
                false => head.target.clone(),
            }
        };
        let line = |head: &Head| format!("{} {}", head.method, target(head));
        seen.iter().map(line).collect()
    }

    /// Stores the documentation of another publisher for a path before the next request for a release is answered.
    pub(crate) fn interpose_documentation(&self, path: &str, description: Value) {
        let interposed = (path.to_owned(), description);
        self.state().interposed_documentation.push(interposed);
    }

    /// Publishes the release of another publisher at a path before the next request for a release is answered.
    pub(crate) fn interpose_release(&self, path: &str, description: Value) {
        let interposed = (path.to_owned(), description);
        self.state().interposed_releases.push(interposed);
    }

    /// Publishes a release at a path.
    pub(crate) fn put_release(&self, path: &str) {
        self.state().releases.insert(path.to_owned(), json!({}));
    }

    /// Returns the description of the documentation of the release that is published at a path.
    pub(crate) fn documentation(&self, path: &str) -> Option<Value> {
        self.state().documentation.get(path).cloned()
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
        let is_upload = |head: &&Head| head.target.starts_with("/bucket/");
        self.state()
            .seen
            .iter()
            .filter(is_upload)
            .cloned()
            .collect()
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

impl State {
    fn decide(this: &Arc<Mutex<Self>>, head: &Head) -> Then {
        let mut state = this.lock().unwrap();
        state.seen.push(head.clone());
        let is_about_documentation = is_about_documentation(head);
        if head.method == "PUT" && !is_about_documentation {
            state.interpose();
        }
        let hit = state.faults.iter().position(|(method, path, _)| {
            let is_for_documentation =
                path.contains("/documentation") || path.contains("/docs-bucket");
            *method == head.method
                && head.target.contains(path.as_str())
                && is_about_documentation == is_for_documentation
        });
        match hit.map(|hit| state.faults.remove(hit).2) {
            Some(Fault::HangUpAfter(bytes)) => Then::HangUpAfter(bytes),
            Some(Fault::Answer(response)) => Then::Answer(Box::new(|_| response)),
            None => {
                let (this, head) = (Arc::clone(this), head.clone());
                Then::Answer(Box::new(move |body| Self::answer(&this, &head, &body)))
            }
        }
    }

    fn interpose(&mut self) {
        let documentation = std::mem::take(&mut self.interposed_documentation);
        self.documentation.extend(documentation);
        let releases = std::mem::take(&mut self.interposed_releases);
        self.releases.extend(releases);
    }

    fn answer(this: &Mutex<Self>, head: &Head, body: &[u8]) -> Response {
        let bucket = ["/bucket/", "/docs-bucket/"];
        if let Some(rest) = bucket.iter().find_map(|it| head.target.strip_prefix(it)) {
            return Self::store(this, head, rest, body);
        }
        let mut state = this.lock().unwrap();
        if let Some(page) = state.pages.get(&head.target) {
            return page.clone();
        }
        if head.target == EXCHANGE_PATH {
            return state.exchange(head, body);
        }
        let is_known =
            |token: &str| head.headers.get("authorization") == Some(&format!("Bearer {token}"));
        if !is_known(TOKEN) && !state.given.iter().any(|token| is_known(token)) {
            return errors(401, &["a valid token is needed"]);
        }
        if let Some(release) = head.target.strip_prefix("/api/v1/") {
            return state.cataloged(release);
        }
        let path: Vec<&str> = head.target.split('/').skip(3).collect();
        match (head.method.as_str(), path.as_slice()) {
            ("PUT", ["mirror" | "modules" | "providers", ..]) if is_about_documentation(head) => {
                state.document(&head.target, body)
            }
            ("GET", ["mirror" | "modules" | "providers", ..]) if is_about_documentation(head) => {
                state.documented(&head.target)
            }
            ("DELETE", ["mirror" | "modules" | "providers", ..])
                if is_about_documentation(head) =>
            {
                state.remove_documentation(&head.target)
            }
            ("PUT", ["mirror" | "modules" | "providers", ..]) => state.publish(&head.target, body),
            ("GET", ["mirror", ..]) => state.mirrored(&head.target),
            ("GET", ["namespaces", _, "keys"]) => state.keys(),
            ("PUT", ["namespaces", _, "keys"]) => {
                state.add_keys(std::str::from_utf8(body).unwrap());
                state.keys()
            }
            ("DELETE", ["namespaces", _, "keys", id]) => {
                state.keys.retain(|key| key.key_id.to_string() != *id);
                state.keys()
            }
            _ => errors(404, &["this registry has no such path: check the URL"]),
        }
    }

    fn exchange(&mut self, head: &Head, body: &[u8]) -> Response {
        let content_type = head.headers.get("content-type").map(String::as_str);
        let asked = ExchangeRequest::parse(content_type, body, &self.url).unwrap();
        if !self.jobs.iter().any(|job| job == asked.subject_token()) {
            return ExchangeError::Untrusted.reply::<()>().into();
        }
        self.exchanges += 1;
        let token = format!("terrace_{JOB_SECRET}_{}", self.exchanges);
        self.given.push(token.clone());
        Response::new(
            200,
            json!({ "access_token": token, "expires_in": 300 }).to_string(),
        )
    }

    fn add_keys(&mut self, text: &str) {
        let stored = self.keys.iter().map(|key| key.ascii_armor.as_str());
        let both = stored.chain([text]).collect::<Vec<_>>().concat();
        let keys = parse_signing_keys(&both).unwrap();
        self.keys = keys.iter().map(SigningKeyDocument::from).collect();
    }

    fn keys(&self) -> Response {
        Response::new(200, json!({ "keys": self.keys }).to_string())
    }

    fn publish(&mut self, target: &str, body: &[u8]) -> Response {
        let description: Value = serde_json::from_slice(body).unwrap();
        self.descriptions.push(description.clone());
        let answer = |status: &str| {
            let published = json!({ "status": status, "address": "a/b", "version": "1.2.3" });
            published.to_string()
        };
        let whole = match self.releases.get(target) {
            None => Some(description.clone()),
            Some(published) => with(published, &description).or_else(|| {
                description["replace"]
                    .is_string()
                    .then(|| description.clone())
            }),
        };
        let Some(whole) = whole else {
            let reasons = ["it is published with other bytes"];
            let conflict = json!({ "status": "conflict", "errors": reasons });
            return Response::new(409, conflict.to_string());
        };
        if self.releases.get(target) == Some(&whole) {
            return Response::new(200, answer("unchanged"));
        }
        let missing = self.missing(&description);
        if missing.is_empty() {
            self.releases.insert(target.to_owned(), whole);
            return Response::new(201, answer("created"));
        }
        let incomplete = json!({ "status": "incomplete", "missing": missing });
        Response::new(202, incomplete.to_string())
    }

    fn document(&mut self, target: &str, body: &[u8]) -> Response {
        let (release, query) = target.split_once("/documentation").unwrap();
        let is_published = self.releases.contains_key(release);
        if is_published && query == "?unpublished=true" {
            return errors(409, &["the version is published"]);
        }
        let description: Value = serde_json::from_slice(body).unwrap();
        let sha256 = description["sha256"].as_str().unwrap();
        if !self.archives.contains(sha256) {
            let mut missing = self.missing(&json!({ "archive": description }));
            let upload = &mut missing[0]["upload"]["url"];
            *upload = json!(
                upload
                    .as_str()
                    .unwrap()
                    .replace("/bucket/", "/docs-bucket/")
            );
            let incomplete = json!({ "status": "incomplete", "missing": missing });
            return Response::new(202, incomplete.to_string());
        }
        let earlier = self
            .documentation
            .insert(release.to_owned(), description.clone());
        let (code, status) = match earlier {
            None => (201, "created"),
            Some(earlier) if earlier == description => (200, "unchanged"),
            Some(_) => (200, "changed"),
        };
        let answer = json!({
            "status": status, "address": "a/b", "version": "1.2.3", "sequence": 1, "is_published": is_published,
        });
        Response::new(code, answer.to_string())
    }

    fn documented(&self, target: &str) -> Response {
        let release = target.split("/documentation").next().unwrap();
        let Some(mut state) = self.documentation.get(release).cloned() else {
            return errors(404, &["it has no documentation"]);
        };
        for (name, value) in [
            ("address", json!("a/b")),
            ("version", json!("1.2.3")),
            ("sequence", json!(1)),
            ("history", json!([])),
        ] {
            state[name] = value;
        }
        Response::new(200, state.to_string())
    }

    /// Answers a request of the catalogue: for a version, or for a page of namespaces if there are any.
    fn cataloged(&self, target: &str) -> Response {
        let is_published = self.releases.contains_key(&format!("/admin/v1/{target}"));
        let is_list = target.starts_with("namespaces?") && !self.releases.is_empty();
        match is_published || is_list {
            true => Response::new(200, "{}"),
            false => errors(404, &["there is no such version"]),
        }
    }

    fn remove_documentation(&mut self, target: &str) -> Response {
        let (release, query) = target.split_once("/documentation").unwrap();
        let expected = query.strip_prefix("?unpublished=true&sha256=").unwrap();
        if self.releases.contains_key(release) {
            return errors(409, &["the version is published"]);
        }
        let stored = self.documentation.get(release);
        if stored.is_some_and(|stored| stored["sha256"] != expected) {
            return errors(409, &["the version has other documentation"]);
        }
        match self.documentation.remove(release) {
            Some(_) => Response::new(
                200,
                json!({ "address": "a/b", "version": "1.2.3" }).to_string(),
            ),
            None => errors(404, &["it has no documentation"]),
        }
    }

    /// Returns the stored document of a mirrored version.
    fn mirrored(&self, target: &str) -> Response {
        let Some(release) = self.releases.get(target) else {
            return errors(404, &["it is not mirrored"]);
        };
        let body = json!({
            "protocols": release["protocols"].as_array().cloned().unwrap_or_default(),
            "signed": release["signed"].is_object(),
            "packages": release["packages"],
        });
        Response::new(200, body.to_string())
    }

    fn missing(&self, description: &Value) -> Vec<Value> {
        let archives = match description["packages"].as_array() {
            Some(packages) => packages.clone(),
            None => vec![description["archive"].clone()],
        };
        let is_missing = |archive: &&Value| {
            let sha256 = archive["sha256"].as_str().unwrap();
            !self.archives.contains(sha256)
        };
        let upload = |archive: &Value| {
            let sha256 = archive["sha256"].as_str().unwrap();
            let filename = archive["filename"].as_str().unwrap_or("archive");
            json!({
                "filename": filename, "sha256": sha256, "size": archive["size"],
                "upload": {
                    "method": "PUT",
                    "url": format!("{}/bucket/{sha256}?X-Amz-Signature={URL_SECRET}", self.url),
                    "headers": {
                        "content-type": "application/zip",
                        "if-none-match": "*",
                        "x-amz-checksum-sha256": sha256.parse::<Sha256>().unwrap().to_base64(),
                    },
                },
            })
        };
        archives.iter().filter(is_missing).map(upload).collect()
    }

    fn store(this: &Mutex<Self>, head: &Head, rest: &str, body: &[u8]) -> Response {
        let sha256 = rest.split('?').next().unwrap();
        {
            let mut state = this.lock().unwrap();
            state.uploading += 1;
            state.most_uploading = state.most_uploading.max(state.uploading);
        }
        // Long enough for other uploads to arrive.
        thread::sleep(Duration::from_millis(100));
        let mut state = this.lock().unwrap();
        state.uploading -= 1;
        if state.archives.contains(sha256) {
            return Response::new(412, "<Error><Code>PreconditionFailed</Code></Error>");
        }
        let promised = head.headers.get("x-amz-checksum-sha256");
        if promised != Some(&Sha256::of(body).to_base64()) {
            return Response::new(400, "<Error><Code>BadDigest</Code></Error>");
        }
        if !state.forgets {
            state.archives.insert(sha256.to_owned());
            match is_about_documentation(head) {
                true => state.last_documentation = body.to_vec(),
                false => state.last_archive = body.to_vec(),
            }
        }
        Response::new(200, "")
    }
}

fn is_about_documentation(head: &Head) -> bool {
    let path = head.target.split('?').next().unwrap_or_default();
    path.ends_with("/documentation") || path.starts_with("/docs-bucket/")
}

/// Merges a description into a release, of which only a mirrored one may grow. Returns `None` if the two
/// contradict each other.
fn with(published: &Value, description: &Value) -> Option<Value> {
    if published.get("archive").is_some() || published.get("shasums").is_some() {
        return (published == description).then(|| published.clone());
    }
    let packages = |release: &Value| release["packages"].as_array().unwrap().clone();
    let platform = |package: &Value| (package["os"].clone(), package["arch"].clone());
    let mut whole = published.clone();
    let mut all = packages(published);
    for package in packages(description) {
        match all
            .iter_mut()
            .find(|known| platform(known) == platform(&package))
        {
            None => all.push(package),
            Some(known) if known["sha256"] != package["sha256"] => return None,
            Some(known) => *known = package,
        }
    }
    whole["packages"] = json!(all);
    Some(whole)
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
