//! Pushes as OCI clients make them.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::fixtures::{sha256, zip_of};
use super::registry::{Registry, Response, Sent, unique};

pub const INDEX: &str = "application/vnd.oci.image.index.v1+json";
pub const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
pub const PROVIDER: &str = "application/vnd.opentofu.provider";
pub const TARGET: &str = "application/vnd.opentofu.provider-target";

/// Returns the code of an error.
pub fn code(response: &Response) -> String {
    let json = response.json();
    json["errors"][0]["code"].as_str().unwrap().to_owned()
}

/// Returns the digest of bytes, in OCI's notation.
pub fn digest(bytes: &[u8]) -> String {
    format!("sha256:{}", sha256(bytes))
}

/// Returns the path of a blob below its repository.
pub fn blob_at(bytes: &[u8]) -> String {
    format!("blobs/{}", digest(bytes))
}

/// Returns the path of a manifest below its repository, by its digest.
pub fn manifest_at(text: &str) -> String {
    format!("manifests/{}", digest(text.as_bytes()))
}

/// Returns the member of a manifest that names this one as its subject.
pub fn referrer_of(text: &str) -> Value {
    let subject =
        json!({ "mediaType": MANIFEST, "digest": digest(text.as_bytes()), "size": text.len() });
    json!({ "subject": subject })
}

/// A repository under test.
pub struct Pushed<'a> {
    pub registry: &'a Registry,
    pub name: String,
}

impl<'a> Pushed<'a> {
    /// Returns a repository that no other test uses.
    pub fn new(registry: &'a Registry) -> Self {
        Self::of(registry, &unique("team/app"))
    }

    pub fn of(registry: &'a Registry, name: &str) -> Self {
        let name = name.to_owned();
        Self { registry, name }
    }

    pub fn path(&self, rest: &str) -> String {
        format!("/v2/{}/{rest}", self.name)
    }

    /// Returns a request below this repository, or to a location, with the admin token as a password.
    pub fn request(&self, method: &str, rest: &str) -> Sent {
        let target = if rest.starts_with('/') {
            rest.to_owned()
        } else {
            self.path(rest)
        };
        let credentials = STANDARD.encode(format!("me:{}", self.registry.token()));
        Sent::new(method, &target).header("authorization", &format!("Basic {credentials}"))
    }

    pub fn send(&self, method: &str, rest: &str) -> Response {
        self.registry.send(&self.request(method, rest))
    }

    pub fn get(&self, rest: &str) -> Response {
        self.registry.get(&self.path(rest))
    }

    pub fn head(&self, rest: &str) -> Response {
        self.registry.head(&self.path(rest))
    }

    /// Begins an upload. Returns its location.
    #[track_caller]
    pub fn begin(&self) -> String {
        let begun = self
            .registry
            .send(&self.request("POST", "blobs/uploads/").body(b""));
        begun.expect(202).header("location").unwrap().to_owned()
    }

    /// Pushes a blob as ORAS does. Returns its digest.
    #[track_caller]
    pub fn blob(&self, bytes: &[u8]) -> String {
        let digest = digest(bytes);
        self.complete(&self.begin(), &digest.replace(':', "%3A"), bytes)
            .expect(201);
        digest
    }

    /// Returns the request that pushes a blob at once.
    pub fn pushing(&self, bytes: &[u8]) -> Sent {
        let path = format!("blobs/uploads/?digest={}", digest(bytes));
        self.request("POST", &path).body(bytes)
    }

    /// Appends a chunk to an upload.
    pub fn append(&self, location: &str, chunk: &[u8]) -> Response {
        self.registry
            .send(&self.request("PATCH", location).body(chunk))
    }

    /// Completes an upload by its last chunk.
    pub fn complete(&self, location: &str, digest: &str, chunk: &[u8]) -> Response {
        let put = format!("{location}?digest={digest}");
        self.registry.send(&self.request("PUT", &put).body(chunk))
    }

    pub fn put_manifest(&self, reference: &str, media_type: &str, text: &str) -> Response {
        let sent = self.request("PUT", &format!("manifests/{reference}"));
        self.registry
            .send(&sent.header("content-type", media_type).body(text))
    }

    /// Pushes an artifact with one layer. Returns its manifest's text.
    #[track_caller]
    pub fn artifact(&self, reference: &str, layer: &[u8], more: Value) -> String {
        let config = self.blob(b"{}");
        let layer = json!({
            "mediaType": "application/octet-stream",
            "digest": self.blob(layer),
            "size": layer.len(),
        });
        let mut manifest = json!({
            "schemaVersion": 2,
            "mediaType": MANIFEST,
            "artifactType": "application/vnd.example",
            "config": { "mediaType": "application/vnd.oci.empty.v1+json", "digest": config, "size": 2 },
            "layers": [layer],
        });
        for (name, value) in more.as_object().unwrap() {
            manifest[name] = value.clone();
        }
        let text = manifest.to_string();
        self.put_manifest(reference, MANIFEST, &text).expect(201);
        text
    }

    pub fn tags(&self) -> Vec<String> {
        let json = self.get("tags/list").expect(200).json();
        serde_json::from_value(json["tags"].clone()).unwrap()
    }
}

/// A version of a provider, to be pushed according to OpenTofu's documentation.
pub struct PushedProvider {
    pub namespace: String,
    /// The zips by architecture.
    pub zips: Vec<(&'static str, Vec<u8>)>,
}

impl PushedProvider {
    pub fn new(marker: &str) -> Self {
        Self::of(&unique("acme"), marker)
    }

    pub fn of(namespace: &str, marker: &str) -> Self {
        let zip = |arch: &'static str| {
            let program = format!("program {marker} for {arch}");
            let file = ("terraform-provider-widget_v1", program.as_bytes());
            (arch, zip_of(&[file]))
        };
        Self {
            namespace: namespace.to_owned(),
            zips: vec![zip("amd64"), zip("arm64")],
        }
    }

    pub fn repository(&self) -> String {
        format!("opentofu-providers/{}/widget", self.namespace)
    }

    pub fn mirror(&self, file: &str) -> String {
        format!(
            "/mirror/registry.opentofu.org/{}/widget/{file}",
            self.namespace
        )
    }

    /// Pushes everything but the index. Returns the index.
    #[track_caller]
    pub fn prepare(&self, registry: &Registry) -> Value {
        let pushed = Pushed::of(registry, &self.repository());
        let mut manifests = Vec::new();
        for (arch, zip) in &self.zips {
            let layer = json!([{
                "mediaType": "archive/zip", "digest": pushed.blob(zip), "size": zip.len(),
            }]);
            let manifest = json!({
                "schemaVersion": 2,
                "mediaType": MANIFEST,
                "artifactType": TARGET,
                "config": { "mediaType": "a/b", "digest": pushed.blob(b"{}"), "size": 2 },
                "layers": layer,
            });
            let text = manifest.to_string();
            let digest = digest(text.as_bytes());
            pushed.put_manifest(&digest, MANIFEST, &text).expect(201);
            manifests.push(json!({
                "mediaType": MANIFEST,
                "digest": digest,
                "size": text.len(),
                "artifactType": TARGET,
                "platform": { "os": "linux", "architecture": arch },
            }));
        }
        json!({
            "schemaVersion": 2,
            "mediaType": INDEX,
            "artifactType": PROVIDER,
            "manifests": manifests,
        })
    }

    pub fn tag(&self, registry: &Registry, tag: &str, index: &Value) -> Response {
        let pushed = Pushed::of(registry, &self.repository());
        pushed.put_manifest(tag, INDEX, &index.to_string())
    }
}
