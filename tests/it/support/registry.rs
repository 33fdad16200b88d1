//! A registry under test, in memory or at a URL, and the requests to it.

use std::env;
use std::future::Future as _;
use std::pin::pin;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::{Context, Poll, Waker};
use std::time::{SystemTime, UNIX_EPOCH};

use futures_util::FutureExt as _;
use futures_util::future::join_all;
use serde_json::Value;
use terrace_app::context::{Context as AppContext, Task};
use terrace_app::driver::Unfinished;
use terrace_app::host::{BodyError, Request as RequestSeam};
use terrace_app::pipeline;
use terrace_core::config::Config;
use terrace_core::http::reply::Body;
use terrace_core::storage::archive_url::ArchiveUrls;

use super::entry::{ByEntry, by_entry};
use super::memory::Memory;
use super::memory::second_bucket::COPIES;
use super::raw;
use super::raw::Server;

/// The admin token of a registry in memory.
pub const TOKEN: &str = "an-admin-token-for-tests";

/// The settings with which a registry in memory presigns URLs of its bucket; the bucket answers them.
pub const S3: [(&str, &str); 4] = [
    ("TERRACE_S3_ENDPOINT", "https://bucket.test"),
    ("TERRACE_S3_BUCKET", "terrace"),
    ("TERRACE_S3_ACCESS_KEY_ID", "id"),
    ("TERRACE_S3_SECRET_ACCESS_KEY", "secret"),
];

/// The URL of that bucket.
const BUCKET: &str = "https://bucket.test/terrace/";

/// A registry under test.
pub enum Registry {
    Memory { memory: Memory, config: Box<Config> },
    Http { server: Server, token: String },
}

/// A response of the registry.
#[derive(Debug, Clone)]
pub struct Response {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Response {
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }

    /// Returns the entity tag of a success.
    #[track_caller]
    pub fn etag(self) -> String {
        self.expect(200).header("etag").unwrap().to_owned()
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|error| panic!("{error}: {}", self.text()))
    }

    /// Returns the messages of an error, joined.
    pub fn errors(&self) -> String {
        let json = self.json();
        let errors = json["errors"]
            .as_array()
            .unwrap_or_else(|| panic!("no errors in {json}"));
        errors
            .iter()
            .map(|error| error.as_str().unwrap())
            .collect::<Vec<_>>()
            .join("\n")
    }

    #[track_caller]
    pub fn expect(self, status: u16) -> Self {
        assert_eq!(self.status, status, "{:?} {}", self.headers, self.text());
        self
    }

    /// Asserts an error whose messages contain this text. Returns them.
    #[track_caller]
    pub fn refuses(self, status: u16, text: &str) -> String {
        let errors = self.expect(status).errors();
        assert!(errors.contains(text), "{text:?} is not in {errors}");
        errors
    }

    /// Asserts a response whose body contains this text. Returns the body.
    #[track_caller]
    pub fn shows(self, status: u16, text: &str) -> String {
        let body = self.expect(status).text();
        assert!(body.contains(text), "{text:?} is not in {body}");
        body
    }

    /// Returns the JSON of a success.
    #[track_caller]
    pub fn found(self) -> Value {
        self.expect(200).json()
    }
}

/// A request to send.
#[derive(Debug, Clone)]
pub struct Sent {
    pub method: String,
    /// A path, or a whole URL.
    pub target: String,
    pub headers: Vec<(String, String)>,
    pub body: Option<Vec<u8>>,
    /// Whether the request omits the length of its body.
    pub is_unsized: bool,
}

impl Sent {
    pub fn new(method: &str, target: &str) -> Self {
        Self {
            method: method.to_owned(),
            target: target.to_owned(),
            headers: Vec::new(),
            body: None,
            is_unsized: false,
        }
    }

    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Returns the header `Host`, if the request has one of its own.
    fn host(&self) -> Option<&str> {
        let found = self.headers.iter().find(|(name, _)| name == "host");
        found.map(|(_, value)| value.as_str())
    }

    /// Adds a body without announcing its length.
    pub fn unsized_body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.is_unsized = true;
        self.body(body)
    }

    pub fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = Some(body.into());
        self
    }
}

impl Registry {
    /// Returns the registry at `TERRACE_TEST_URL`, or else an empty one in memory.
    pub fn start() -> Self {
        match env::var("TERRACE_TEST_URL") {
            Ok(url) => Self::Http {
                server: Server::of(&url).expect("a URL").0,
                token: env::var("TERRACE_TEST_TOKEN").expect("TERRACE_TEST_TOKEN"),
            },
            Err(_) => Self::in_memory(&Memory::new(), &[]),
        }
    }

    /// Returns a registry over `memory`, with the admin token and these variables.
    pub fn in_memory(memory: &Memory, vars: &[(&str, &str)]) -> Self {
        let config = Config::from_vars(&[vars, &[("TERRACE_ADMIN_TOKEN", TOKEN)]].concat());
        Self::Memory {
            memory: memory.clone(),
            config: Box::new(config.unwrap()),
        }
    }

    /// Returns such a registry with its memory, which is new.
    pub fn with_memory(vars: &[(&str, &str)]) -> (Memory, Self) {
        let memory = Memory::new();
        let registry = Self::in_memory(&memory, vars);
        (memory, registry)
    }

    /// Returns the memory and the settings of a registry in memory.
    fn parts(&self) -> (&Memory, &Config) {
        match self {
            Self::Memory { memory, config } => (memory, config),
            Self::Http { .. } => panic!("only a registry in memory can do this"),
        }
    }

    pub fn token(&self) -> &str {
        match self {
            Self::Memory { .. } => TOKEN,
            Self::Http { token, .. } => token,
        }
    }

    /// Returns its server, if it is reached over HTTP.
    pub fn server(&self) -> Option<&Server> {
        match self {
            Self::Memory { .. } => None,
            Self::Http { server, .. } => Some(server),
        }
    }

    /// Returns the origin of its URLs.
    pub fn origin(&self) -> String {
        let server = self.server().map(Server::to_string);
        server.unwrap_or_else(|| "https://registry.test".to_owned())
    }

    /// Returns the hostname under which it is reached, without a port.
    pub fn hostname(&self) -> &str {
        self.server().map_or("registry.test", Server::hostname)
    }

    /// Returns whether downloads are presigned by the bucket.
    pub fn is_presigned(&self) -> bool {
        match self {
            Self::Memory { config, .. } => {
                let urls = config.archive_urls.as_ref();
                urls.is_some_and(|urls| urls.path_signer().is_none())
            }
            Self::Http { .. } => {
                env::var("TERRACE_TEST_MODE").is_ok_and(|mode| mode == "presigned")
            }
        }
    }

    /// Returns whether uploads go to the bucket, by presigned URLs. With them, downloads may still be signed by the Worker.
    pub fn has_bucket(&self) -> bool {
        match self {
            Self::Memory { config, .. } => {
                let urls = config.archive_urls.as_ref();
                urls.is_some_and(ArchiveUrls::has_bucket)
            }
            Self::Http { .. } => match env::var("TERRACE_TEST_UPLOADS") {
                Ok(mode) => mode == "presigned",
                Err(_) => self.is_presigned(),
            },
        }
    }

    pub fn get(&self, target: &str) -> Response {
        self.send(&Sent::new("GET", target))
    }

    pub fn head(&self, target: &str) -> Response {
        self.send(&Sent::new("HEAD", target))
    }

    /// Returns the JSON at a path.
    #[track_caller]
    pub fn read(&self, target: &str) -> Value {
        self.get(target).found()
    }

    /// Returns the JSON at a path, as the administrator sees it.
    #[track_caller]
    pub fn read_as_admin(&self, target: &str) -> Value {
        self.admin("GET", target, None).found()
    }

    /// Sends a request with the admin token.
    pub fn admin(&self, method: &str, target: &str, body: Option<&[u8]>) -> Response {
        let sent =
            Sent::new(method, target).header("authorization", &format!("Bearer {}", self.token()));
        self.send(&match body {
            Some(body) => sent.body(body),
            None => sent,
        })
    }

    /// Sends a PUT request with this document and the admin token.
    pub fn put(&self, target: &str, body: &Value) -> Response {
        self.admin("PUT", target, Some(body.to_string().as_bytes()))
    }

    pub fn send(&self, sent: &Sent) -> Response {
        match self {
            Self::Memory { .. } => {
                let answer = self.answer(sent).now_or_never();
                answer.expect("operations in memory are immediate")
            }
            Self::Http { server, .. } => over_http(server, sent),
        }
    }

    /// Returns the response of a registry in memory. The future never completes if its caller is killed.
    pub async fn answer(&self, sent: &Sent) -> Response {
        let (memory, config) = self.parts();
        match sent.target.strip_prefix(BUCKET) {
            Some(key) => in_the_bucket(memory, key, sent),
            None if sent.target.starts_with(COPIES) => in_the_second_bucket(memory, sent),
            None => in_memory(memory, config, sent, None).await,
        }
    }

    /// Returns the response of the Worker's entry, if it answers without the application.
    pub fn by_entry(&self, sent: &Sent) -> Option<ByEntry> {
        let (memory, config) = self.parts();
        by_entry(memory, config, sent, 0).ok()
    }

    /// Returns the Worker's response: that of its entry, or that of the application, which continues where
    /// the entry stopped. The entry's KV read takes `kv_millis` milliseconds.
    pub fn by_worker(&self, sent: &Sent, kv_millis: u64) -> Response {
        let (memory, config) = self.parts();
        match by_entry(memory, config, sent, kv_millis) {
            Ok(answer) => {
                memory.note_answer(answer.line, answer.download);
                answer.response
            }
            Err(unfinished) => {
                let answer = in_memory(memory, config, sent, Some(unfinished)).now_or_never();
                answer.expect("operations in memory are immediate")
            }
        }
    }

    /// Runs one step of the periodic repair, as if enough time had passed since the last one.
    pub fn run_repair_step(&self) {
        if let Self::Memory { memory, .. } = self {
            memory.make_repair_due();
        }
        self.run_repair_step_if_due();
    }

    /// Runs the cron trigger.
    pub fn run_repair_step_if_due(&self) {
        let (memory, config) = self.parts();
        let context = AppContext::new(config, memory.clone(), String::new());
        let done = terrace_app::run_job(&context).now_or_never();
        done.expect("operations in memory are immediate");
    }

    /// Waits until the catalogue of all owners may be rebuilt, and rebuilds it as a request would after its response.
    pub fn merge_catalog(&self) {
        let (memory, config) = self.parts();
        memory.advance(CATALOG_SECONDS);
        let context = AppContext::new(config, memory.clone(), String::new());
        let done = terrace_app::perform(&context, vec![Task::MergeCatalogIfDue]).now_or_never();
        done.expect("operations in memory are immediate");
    }

    /// Returns the responses to concurrent requests, over a memory that [interleaves](Memory::interleave).
    /// Each request begins after its number of `turns` of the others.
    pub fn send_after(&self, sent: &[Sent], turns: &[usize]) -> Vec<Response> {
        let (memory, config) = self.parts();
        let turns = turns.iter().copied().chain(std::iter::repeat(0));
        let answers = sent.iter().zip(turns).map(async |(sent, turns)| {
            for _ in 0..turns {
                memory.pause().await;
            }
            in_memory(memory, config, sent, None).await
        });
        let mut answers = pin!(join_all(answers));
        let mut context = Context::from_waker(Waker::noop());
        loop {
            if let Poll::Ready(answers) = answers.as_mut().poll(&mut context) {
                return answers;
            }
        }
    }

    /// Returns the responses to two concurrent requests, over a memory that [interleaves](Memory::interleave). The greater
    /// `delay` is, the later one of them begins: the first one if it is even, otherwise the second one.
    pub fn send_both(&self, mut sent: [Sent; 2], delay: usize) -> [Response; 2] {
        let is_swapped = delay % 2 == 1;
        if is_swapped {
            sent.reverse();
        }
        let answers = self.send_after(&sent, &[delay / 2, 0]);
        let mut answers: [Response; 2] = answers.try_into().expect("two responses");
        if is_swapped {
            answers.reverse();
        }
        answers
    }

    /// Returns the responses to `count` concurrent requests, over a memory that
    /// [interleaves](Memory::interleave).
    pub fn get_at_once(&self, target: &str, count: usize) -> Vec<Response> {
        self.get_together(&vec![target.to_owned(); count])
    }

    /// Returns the responses to concurrent GET requests of different targets.
    pub fn get_together(&self, targets: &[String]) -> Vec<Response> {
        let sent = targets.iter().map(|target| Sent::new("GET", target));
        self.send_after(&sent.collect::<Vec<_>>(), &[])
    }
}

/// Time after which the catalogue of all owners may be rebuilt again, however often it was, in seconds.
pub const CATALOG_SECONDS: u64 = 181;

/// Returns a name that no other test and no earlier run uses. It begins with `TERRACE_TEST_PREFIX`, if that is set: a registry
/// that runs elsewhere keeps what tests write.
pub fn unique(prefix: &str) -> String {
    let own = env::var("TERRACE_TEST_PREFIX").unwrap_or_default();
    static RUN: OnceLock<u64> = OnceLock::new();
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let run = RUN.get_or_init(|| {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        u64::try_from(now.as_millis()).unwrap()
    });
    format!(
        "{own}{prefix}{run:x}x{}",
        COUNT.fetch_add(1, Ordering::Relaxed)
    )
}

/// Returns the bucket's own response to a presigned URL. Like R2 it keeps no checksum of such uploads.
fn in_the_bucket(memory: &Memory, key: &str, sent: &Sent) -> Response {
    let (key, query) = key.split_once('?').expect("a signature");
    assert!(query.contains("X-Amz-Signature="), "{query}");
    let is_there = memory.keys().iter().any(|known| known == key);
    let (status, body) = match (sent.method.as_str(), is_there, &sent.body) {
        ("GET", true, _) => (200, memory.object_bytes(key)),
        ("GET", false, _) => (404, Vec::new()),
        ("PUT", true, _) => (412, Vec::new()),
        ("PUT", false, Some(bytes)) => {
            memory.put_object(key, bytes);
            (200, Vec::new())
        }
        other => panic!("the registry does not presign {other:?}"),
    };
    Response {
        status,
        headers: Vec::new(),
        body,
    }
}

/// Returns the response of the second bucket to a presigned URL for a download.
fn in_the_second_bucket(memory: &Memory, sent: &Sent) -> Response {
    let (url, query) = sent.target.split_once('?').expect("a signature");
    assert!(query.contains("X-Amz-Signature="), "{query}");
    assert_eq!(sent.method, "GET");
    let copies = memory.copies();
    let found = url.strip_prefix(COPIES).and_then(|key| copies.get(key));
    Response {
        status: if found.is_some() { 200 } else { 404 },
        headers: Vec::new(),
        body: found.cloned().unwrap_or_default(),
    }
}

/// Returns the application's response to a request, from where the entry stopped if it has `begun` it.
async fn in_memory(
    memory: &Memory,
    config: &Config,
    sent: &Sent,
    begun: Option<Box<Unfinished<Vec<u8>>>>,
) -> Response {
    let target = sent
        .target
        .strip_prefix("https://registry.test")
        .unwrap_or(&sent.target);
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let mut headers = sent.headers.clone();
    if let Some(body) = &sent.body
        && !sent.is_unsized
    {
        headers.push(("content-length".to_owned(), body.len().to_string()));
    }
    let request = MemoryRequest {
        method: sent.method.clone(),
        origin: format!("https://{}", sent.host().unwrap_or("registry.test")),
        path: path.to_owned(),
        query: query.to_owned(),
        headers,
        body: sent.body.clone(),
    };
    let context = AppContext::new(config, memory.clone(), request.client_address());
    let reply = match begun {
        None => pipeline::handle(&context, request).await,
        Some(unfinished) => pipeline::resume(&context, request, unfinished).await,
    };
    memory.note_reply();
    terrace_app::perform(&context, context.take_tasks()).await;
    Response {
        status: reply.status,
        headers: reply
            .headers
            .iter()
            .map(|(name, value)| ((*name).to_owned(), value.to_string()))
            .collect(),
        body: match reply.body {
            Body::Empty => Vec::new(),
            Body::Text(text) => text.into_bytes(),
            Body::Stream(bytes) => bytes,
        },
    }
}

struct MemoryRequest {
    method: String,
    origin: String,
    path: String,
    query: String,
    headers: Vec<(String, String)>,
    body: Option<Vec<u8>>,
}

impl RequestSeam for MemoryRequest {
    type Stream = Vec<u8>;

    fn method(&self) -> &str {
        &self.method
    }

    fn origin(&self) -> &str {
        &self.origin
    }

    fn path(&self) -> &str {
        &self.path
    }

    fn query(&self) -> &str {
        &self.query
    }

    fn client_address(&self) -> String {
        self.header("cf-connecting-ip").unwrap_or_default()
    }

    fn header(&self, name: &str) -> Option<String> {
        let found = self
            .headers
            .iter()
            .find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.clone())
    }

    async fn bytes(&mut self) -> Result<Vec<u8>, BodyError> {
        Ok(self.body.take().unwrap_or_default())
    }

    async fn bytes_up_to(&mut self, limit: u64) -> Result<Vec<u8>, BodyError> {
        let mut bytes = self.body.take().unwrap_or_default();
        bytes.truncate(usize::try_from(limit).unwrap() + 1);
        Ok(bytes)
    }

    fn stream(&mut self) -> Option<Vec<u8>> {
        self.body.take()
    }
}

/// The size from which a server may respond before the body has arrived, in bytes: more than the buffers on the way.
const LARGE_BODY: usize = 1024 * 1024;

fn over_http(registry: &Server, sent: &Sent) -> Response {
    let named = Server::of(&sent.target);
    let (server, target) = match &named {
        Some((server, target)) => (server, *target),
        None => (registry, sent.target.as_str()),
    };
    let mut head = format!("{} {target} HTTP/1.1\r\nconnection: close\r\n", sent.method);
    if sent.host().is_none() {
        head.push_str(&format!("host: {}\r\n", server.authority));
    }
    for (name, value) in &sent.headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    let mut body = sent.body.clone().unwrap_or_default();
    if sent.is_unsized {
        head.push_str("transfer-encoding: chunked\r\n");
        let pieces = body.chunks(1_000).map(|piece| {
            let length = format!("{:x}\r\n", piece.len());
            [length.as_bytes(), piece, b"\r\n"].concat()
        });
        body = [pieces.collect::<Vec<_>>().concat(), b"0\r\n\r\n".to_vec()].concat();
    } else if sent.body.is_some() {
        head.push_str(&format!("content-length: {}\r\n", body.len()));
    }
    head.push_str("\r\n");
    let exchange = || raw::exchange(server, head.as_bytes(), &body, sent.method == "HEAD");
    // The proxy of `wrangler dev` sometimes closes the connection when the Worker responds before it has read a large body.
    let may_lose = std::env::var("TERRACE_TEST_WRANGLER").is_ok() && body.len() > LARGE_BODY;
    let attempts = if may_lose { 3 } else { 1 };
    (0..attempts).find_map(|_| exchange()).expect("a response")
}
