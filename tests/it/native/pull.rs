//! Pull-through of providers: when they are fetched from another registry, and when they are not.

mod block;
mod blocked;
mod erased;
mod keys;
mod lease;
mod list;
mod parts;
mod push;
mod release;
mod zip;

use std::rc::Rc;

use serde_json::Value;

use crate::support::memory::Memory;
use crate::support::{MirrorFixture, ProviderFixture, Registry, Response};

const PATTERN: &str = "registry.example.com/*/* registry.opentofu.org/*/*";

/// Changes an origin's response, given its URL.
type Tamper = Rc<dyn Fn(&str, Response) -> Response>;

/// A registry that pulls from another one.
struct Pulling {
    memory: Memory,
    registry: Registry,
    origin_memory: Memory,
    origin: Rc<Registry>,
}

impl Pulling {
    fn new() -> Self {
        Self::with(&[])
    }

    /// Returns a registry and the only provider of its origin.
    fn one() -> (Self, MirrorFixture) {
        let pulling = Self::new();
        let fixture = pulling.publish(&ProviderFixture::new("1.0.0"));
        (pulling, fixture)
    }

    /// Returns the same after a client has listed the provider.
    fn listed() -> (Self, MirrorFixture) {
        let (pulling, fixture) = Self::one();
        pulling.versions(&fixture);
        (pulling, fixture)
    }

    /// Returns a registry with additional settings.
    fn with(vars: &[(&str, &str)]) -> Self {
        let memory = Memory::new();
        let registry = pulling(&memory, vars);
        let origin_memory = Memory::new();
        let origin = Rc::new(Registry::in_memory(&origin_memory, &[]));
        let pulling = Self {
            memory,
            registry,
            origin_memory,
            origin,
        };
        pulling.connect();
        pulling
    }

    fn connect(&self) {
        self.tamper(Rc::new(|_: &str, response| response));
    }

    /// Passes the origin's responses through `tamper`.
    fn tamper(&self, tamper: Tamper) {
        let origin = Rc::clone(&self.origin);
        self.memory.connect(move |url| {
            let response = origin.get(&path_of(url));
            let mut response = tamper(url, response);
            let told = response.header("told-length").map(str::to_owned);
            let length = told.unwrap_or_else(|| response.body.len().to_string());
            response
                .headers
                .retain(|(name, _)| name != "content-length");
            response.headers.push(("content-length".to_owned(), length));
            Some(response)
        });
    }

    /// Lets the origin answer requests for URLs that contain `part` with this status.
    fn fail(&self, part: &str, status: u16) {
        let part = part.to_owned();
        self.tamper(Rc::new(move |url: &str, mut response: Response| {
            if url.contains(&part) {
                response.status = status;
            }
            response
        }));
    }

    /// Publishes a version at the origin.
    fn publish(&self, provider: &ProviderFixture) -> MirrorFixture {
        provider.publish(&self.origin);
        MirrorFixture::of(provider.clone())
    }

    fn versions(&self, fixture: &MirrorFixture) -> Vec<String> {
        let json = self.registry.read(&fixture.index());
        json["versions"]
            .as_object()
            .unwrap()
            .keys()
            .cloned()
            .collect()
    }

    fn archives(&self, fixture: &MirrorFixture) -> Value {
        let json = self.registry.read(&fixture.packages());
        json["archives"].clone()
    }

    /// Returns the URL of the amd64 zip.
    fn url(&self, fixture: &MirrorFixture) -> String {
        let archives = self.archives(fixture);
        archives["linux_amd64"]["url"].as_str().unwrap().to_owned()
    }

    /// Returns the number of requests to other registries for URLs that contain `what`.
    fn asked(&self, what: &str) -> usize {
        let operations = self.memory.operations();
        let is_it =
            |operation: &&String| operation.starts_with("fetch ") && operation.contains(what);
        operations.iter().filter(is_it).count()
    }

    fn logs(&self, what: &str) -> bool {
        self.memory.log().iter().any(|line| line.contains(what))
    }

    /// Advances the time of both registries.
    fn advance(&self, seconds: u64) {
        self.memory.advance(seconds);
        self.origin_memory.advance(seconds);
    }
}

fn path_of(url: &str) -> String {
    let rest = url.strip_prefix("https://").unwrap();
    format!("/{}", rest.split_once('/').unwrap().1)
}

fn pulling(memory: &Memory, vars: &[(&str, &str)]) -> Registry {
    let mut all = vec![("TERRACE_PULL_THROUGH", PATTERN)];
    all.extend(vars);
    Registry::in_memory(memory, &all)
}

fn amd64(fixture: &MirrorFixture) -> &[u8] {
    &fixture.origin.packages[0].3
}

fn another(provider: &ProviderFixture, version: &str) -> ProviderFixture {
    ProviderFixture::of(&provider.namespace, &provider.provider_type, version)
}
