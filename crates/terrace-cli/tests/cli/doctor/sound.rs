//! A sound registry with TLS and a storage of its own, into which a test injects one fault.

use std::fs;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use terrace_base::digest::Sha256;
use terrace_base::time::UnixTime;
use terrace_core::api::admin::{CopyFacts, DoctorAnswer, IndexFacts, RepairFacts};

use crate::support::http::{Head, Response, Then, start};
use crate::support::{NAME, TOKEN, fixture, tls, zip};

/// Changes a response.
type Fault = Box<dyn Fn(&Head, Response) -> Response + Send + Sync>;

/// A registry, and the storage that its archives come from.
pub(crate) struct Sound {
    pub(crate) url: String,
    state: Arc<State>,
}

struct State {
    storage: OnceLock<String>,
    fault: Fault,
    facts: Mutex<DoctorAnswer>,
}

pub(crate) fn now() -> UnixTime {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    UnixTime(since.as_secs())
}

/// Returns a time as in the header `Date`. Nobody reads the day of the week.
pub(crate) fn http_date(time: UnixTime) -> String {
    const MONTHS: [&str; 12] = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ];
    let text = time.to_string();
    let (date, clock) = text.trim_end_matches('Z').split_once('T').unwrap();
    let parts: Vec<&str> = date.split('-').collect();
    let month = MONTHS[parts[1].parse::<usize>().unwrap() - 1];
    format!("Sun, {} {month} {} {clock} GMT", parts[2], parts[0])
}

impl Sound {
    pub(crate) fn start(
        fault: impl Fn(&Head, Response) -> Response + Send + Sync + 'static,
    ) -> Self {
        let state = Arc::new(State {
            storage: OnceLock::new(),
            fault: Box::new(fault),
            facts: Mutex::new(sound_facts()),
        });
        let [url, storage] = [(); 2].map(|()| {
            let state = Arc::clone(&state);
            start(Some(tls()), move |head| state.then(head))
        });
        state.storage.set(storage).unwrap();
        Self { url, state }
    }

    /// Changes the facts that the registry states about itself.
    pub(crate) fn set_facts(&self, change: impl FnOnce(&mut DoctorAnswer)) {
        change(&mut self.state.facts.lock().unwrap());
    }
}

fn sound_facts() -> DoctorAnswer {
    let services = ["origin", "issuer"];
    let services = services.map(|it| json!({ "kind": it, "name": format!("{it}.example.com") }));
    let copy = CopyFacts {
        compared: Some(now().to_string()),
        stored: 5,
        ..CopyFacts::default()
    };
    let facts = json!({
        "version": env!("CARGO_PKG_VERSION"), "time": now().to_string(), "warnings": [], "archives": "bucket",
        "repair": RepairFacts { enabled: true, last: Some(now().to_string()), ..RepairFacts::default() },
        "audit": { "head": 7, "complete": true },
        "indices": IndexFacts { packages: 2, compared: 8, ..IndexFacts::default() },
        "services": services,
        "failover": { "configured": true, "serving": "main", "recorded": true, "copy": copy, "keeps_versions": false },
    });
    serde_json::from_value(facts).unwrap()
}

fn json(status: u16, document: &Value) -> Response {
    Response::new(status, document.to_string()).with("content-type", "application/json")
}

fn missing() -> Response {
    json(404, &json!({ "errors": ["Not Found"] }))
}

impl State {
    fn then(self: &Arc<Self>, head: &Head) -> Then {
        let mut answer = self.answer(head).with("date", http_date(now()));
        answer = (self.fault)(head, answer);
        if head.method == "HEAD" {
            let length = answer.body.len() as u64;
            answer.announced = answer.announced.or(Some(length));
            answer.body.clear();
        }
        Then::Answer(Box::new(move |_| answer))
    }

    /// Returns the URL of a stored file: valid for 15 minutes, and signed by a word.
    fn stored(&self, name: &str) -> String {
        let expires = now().0 + 900;
        let storage = self.storage.get().unwrap();
        format!("{storage}/archives/{expires}/5ecre751gna7ure/{name}")
    }

    fn answer(&self, head: &Head) -> Response {
        let path = head.target.split('?').next().unwrap();
        let bearer = head.headers.get("authorization");
        let is_admin = bearer == Some(&format!("Bearer {TOKEN}"));
        if let Some(rest) = path.strip_prefix("/archives/") {
            return self.archive(head, rest);
        }
        if path.starts_with("/admin/") || path == "/api/v1/token" {
            return self.admin(path, is_admin);
        }
        match path {
            "/.well-known/terraform.json" => json(
                200,
                &json!({
                    "providers.v1": "/v1/providers/",
                    "modules.v1": "/v1/modules/",
                    "login.v1": {
                        "client": "terraform-cli", "grant_types": ["authz_code"],
                        "authz": "/oauth/authorize", "token": "/oauth/token", "ports": [10000, 10010],
                    },
                }),
            ),
            "/healthz" => json(200, &json!({ "kv": "ok", "r2": "ok" })),
            "/api/v1/namespaces" => {
                let namespace =
                    json!({ "namespace": "acme", "path": "", "modules": 1, "providers": 1 });
                json(200, &json!({ "namespaces": [namespace] }))
            }
            "/api/v1/namespaces/acme" => {
                let (kind, address) = match head.target.ends_with("kind=module") {
                    true => ("module", "acme/vpc/aws"),
                    false => ("provider", "acme/hello"),
                };
                let package = json!({ "kind": kind, "address": address, "path": "", "latest": "1.0.0", "versions": 1,
                                      "is_documented": false, "description": "" });
                json(200, &json!({ "namespace": "acme", "packages": [package] }))
            }
            "/v1/providers/acme/hello/versions" => {
                let platforms = json!([{ "os": "linux", "arch": "amd64" }]);
                let version =
                    json!({ "version": "1.2.3", "protocols": ["6.0"], "platforms": platforms });
                json(200, &json!({ "versions": [version] }))
            }
            "/v1/providers/acme/hello/1.2.3/download/linux/amd64" => self.description(),
            "/v1/modules/acme/vpc/aws/versions" => json(
                200,
                &json!({ "modules": [{ "versions": [{ "version": "1.0.0" }] }] }),
            ),
            "/v1/modules/acme/vpc/aws/1.0.0/download" => {
                let location = self.stored("module.zip");
                json(200, &json!({ "location": location })).with("x-terraform-get", location)
            }
            _ => missing(),
        }
    }

    fn description(&self) -> Response {
        let filename = format!("{NAME}_linux_amd64.zip");
        let key = String::from_utf8(file("publisher.asc")).unwrap();
        let document = json!({
            "protocols": ["6.0"], "os": "linux", "arch": "amd64", "filename": filename,
            "download_url": self.stored("package.zip"),
            "shasum": Sha256::of(&file(&format!("release/{filename}"))).to_string(),
            "shasums_url": self.stored("SHA256SUMS"),
            "shasums_signature_url": self.stored("SHA256SUMS.sig"),
            "signing_keys": { "gpg_public_keys": [{ "ascii_armor": key }] },
        });
        json(200, &document)
    }

    fn archive(&self, head: &Head, rest: &str) -> Response {
        let parts: Vec<&str> = rest.split('/').collect();
        let refused = |code: &str| {
            let error = format!("<Error><Code>{code}</Code></Error>");
            Response::new(403, error).with("content-type", "application/xml")
        };
        if head.headers.contains_key("authorization") {
            return refused("AuthorizationNotAllowed");
        }
        let bytes = match parts[2] {
            "package.zip" => file(&format!("release/{NAME}_linux_amd64.zip")),
            "module.zip" => zip(&[("main.tf", "")]),
            name => file(&format!("release/{NAME}_{name}")),
        };
        Response::new(200, bytes).with("content-type", "application/zip")
    }

    fn admin(&self, path: &str, is_admin: bool) -> Response {
        if !is_admin {
            return json(401, &json!({ "errors": ["this request needs a token"] }));
        }
        match path {
            "/api/v1/token" => json(200, &json!({ "name": "root", "scopes": ["admin"] })),
            "/admin/v1/doctor" => {
                let facts = self.facts.lock().unwrap();
                json(200, &serde_json::to_value(&*facts).unwrap())
            }
            _ => json(200, &json!({ "entries": [], "newest": 0 })),
        }
    }
}

/// Returns the bytes of a fixture.
pub(crate) fn file(name: &str) -> Vec<u8> {
    fs::read(fixture(name)).unwrap()
}

/// Sets a header in place of an earlier one.
pub(crate) fn set(mut response: Response, name: &'static str, value: &str) -> Response {
    response.headers.retain(|(known, _)| *known != name);
    response.with(name, value)
}
