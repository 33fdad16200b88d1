//! Versions of any kind to publish, and all reads of them.

use std::collections::BTreeMap;

use serde_json::Value;

use super::fixtures::{Signer, add_key, sha256, upload_request};
use super::memory::Memory;
use super::registry::{Registry, Response, Sent};
use super::{MirrorFixture, ModuleFixture, ProviderFixture};

/// A version to publish.
#[derive(Debug, Clone)]
pub enum Released {
    Provider(ProviderFixture),
    Mirrored(MirrorFixture),
    Module(ModuleFixture),
}

/// The response to a read: everything that a client sees, with the bytes at each URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: String,
    /// The digests of the bytes at its URLs.
    pub bytes: Vec<String>,
}

/// The responses to reads, by path.
pub type Answers = BTreeMap<String, Answer>;

impl Released {
    pub fn provider(version: &str) -> Self {
        Self::Provider(ProviderFixture::of("acme", "widget", version))
    }

    pub fn mirrored(version: &str) -> Self {
        Self::Mirrored(MirrorFixture::of(ProviderFixture::of(
            "acme", "widget", version,
        )))
    }

    pub fn module(version: &str) -> Self {
        Self::Module(ModuleFixture::of("acme", version))
    }

    pub fn mirrored_module(version: &str) -> Self {
        Self::Module(ModuleFixture::of("registry.example.com/acme", version))
    }

    pub fn version(&self) -> &str {
        match self {
            Self::Provider(fixture) => &fixture.version,
            Self::Mirrored(fixture) => &fixture.origin.version,
            Self::Module(fixture) => &fixture.version,
        }
    }

    /// Adds the key that must be registered before a publish.
    pub fn prepare(&self, registry: &Registry) {
        if let Self::Provider(fixture) = self {
            add_key(registry, &fixture.namespace, Signer::usual());
        }
    }

    /// Returns the request that publishes it.
    pub fn request(&self, registry: &Registry) -> Sent {
        let (path, body) = match self {
            Self::Provider(it) => (it.admin_path(), it.description()),
            Self::Mirrored(it) => (it.admin_path(), it.description()),
            Self::Module(it) => (it.admin_path(), it.description()),
        };
        Sent::new("PUT", &path)
            .header("authorization", &format!("Bearer {}", registry.token()))
            .body(body.to_string())
    }

    fn archives(&self) -> Vec<&[u8]> {
        match self {
            Self::Provider(it) => it.packages.iter().map(|it| it.3.as_slice()).collect(),
            Self::Mirrored(it) => it
                .origin
                .packages
                .iter()
                .map(|it| it.3.as_slice())
                .collect(),
            Self::Module(it) => vec![&it.archive],
        }
    }

    /// Publishes as a client does: describes the release, uploads the missing archives, describes it again.
    /// Returns the final status.
    pub async fn publish(&self, registry: &Registry) -> u16 {
        let request = self.request(registry);
        let first = registry.answer(&request).await;
        if first.status != 202 {
            return first.status;
        }
        match self.send_missing(registry, &first).await {
            Some(refused) => refused,
            None => registry.answer(&request).await.status,
        }
    }

    /// Uploads the missing archives. Returns the status of the first rejected upload.
    pub async fn send_missing(&self, registry: &Registry, answer: &Response) -> Option<u16> {
        let archives = self.archives();
        for missing in answer.json()["missing"].as_array().unwrap() {
            let wanted = missing["sha256"].as_str().unwrap();
            let bytes = archives.iter().find(|bytes| sha256(bytes) == wanted);
            let request = upload_request(missing, bytes.expect("an archive of this release"));
            let status = registry.answer(&request).await.status;
            // 412: another publisher has uploaded it meanwhile.
            if status >= 300 && status != 412 {
                return Some(status);
            }
        }
        None
    }

    /// Stores its archives, which are zips, in the bucket.
    pub fn store_archives(&self, memory: &Memory) {
        for zip in self.archives() {
            memory.put_object(&format!("archives/{}.zip", sha256(zip)), zip);
        }
    }

    /// Returns the paths of its version lists, in each protocol.
    pub fn lists(&self) -> Vec<String> {
        match self {
            Self::Provider(it) => vec![
                format!("{}/versions", it.path()),
                format!(
                    "/mirror/registry.test/{}/{}/index.json",
                    it.namespace, it.provider_type
                ),
                format!("/v2/{}/tags/list", self.repository()),
            ],
            Self::Mirrored(it) => vec![it.index(), format!("/v2/{}/tags/list", self.repository())],
            Self::Module(it) if it.is_mirrored() => vec![format!("{}/versions", it.path())],
            Self::Module(it) => vec![
                format!("{}/versions", it.path()),
                format!("/v2/{}/tags/list", self.repository()),
            ],
        }
    }

    /// Returns the admin path for the status of a version, or of the whole package.
    pub fn status_path(&self, version: Option<&str>) -> String {
        let (kind, address) = match self {
            Self::Provider(it) => (
                "providers",
                format!("{}/{}", it.namespace, it.provider_type),
            ),
            Self::Mirrored(it) => ("mirror", it.address()),
            Self::Module(it) => ("modules", it.address.clone()),
        };
        let version = version.map(|version| format!("/{version}"));
        let version = version.unwrap_or_default();
        format!("/admin/v1/{kind}/{address}{version}/status")
    }

    /// Returns whether OCI clients cannot get it.
    fn is_mirrored_module(&self) -> bool {
        matches!(self, Self::Module(it) if it.is_mirrored())
    }

    /// Returns its OCI repository.
    pub fn repository(&self) -> String {
        match self {
            Self::Provider(it) => format!("providers/{}/{}", it.namespace, it.provider_type),
            Self::Mirrored(it) => format!("providers/{}", it.address()),
            Self::Module(it) => format!("modules/{}", it.address),
        }
    }

    /// Returns the paths that depend on its version alone.
    pub fn downloads(&self) -> Vec<String> {
        let version = self.version();
        let mut paths = match self {
            Self::Provider(it) => {
                let platforms = it
                    .packages
                    .iter()
                    .map(|(_, os, arch, _)| format!("{os}/{arch}"));
                let path = |platform| format!("{}/{version}/download/{platform}", it.path());
                let mut paths: Vec<String> = platforms.map(path).collect();
                let (namespace, kind) = (&it.namespace, &it.provider_type);
                paths.push(format!(
                    "/mirror/registry.test/{namespace}/{kind}/{version}.json"
                ));
                paths
            }
            Self::Mirrored(it) => vec![it.packages()],
            Self::Module(it) => vec![format!("{}/{version}/download", it.path())],
        };
        if self.is_mirrored_module() {
            return paths;
        }
        let tag = version.replace('+', "_");
        paths.push(format!("/v2/{}/manifests/{tag}", self.repository()));
        paths
    }

    /// Returns these paths, and those of its manifests and zips. `registry`, which has published it, supplies
    /// their digests.
    pub fn everything(&self, registry: &Registry) -> Vec<String> {
        let mut paths = self.downloads();
        if self.is_mirrored_module() {
            return paths;
        }
        let repository = self.repository();
        let tagged = registry.get(paths.last().unwrap()).expect(200).json();
        let at = |it: &Value| it["digest"].as_str().unwrap().to_owned();
        let mut add_layer = |manifest: &Value| {
            paths.push(format!(
                "/v2/{repository}/blobs/{}",
                at(&manifest["layers"][0])
            ));
        };
        let mut manifests = Vec::new();
        match tagged["manifests"].as_array() {
            Some(children) => {
                for child in children {
                    let path = format!("/v2/{repository}/manifests/{}", at(child));
                    add_layer(&registry.get(&path).expect(200).json());
                    manifests.push(path);
                }
            }
            None => add_layer(&tagged),
        }
        paths.extend(manifests);
        paths
    }
}

/// Returns the responses of `registry` to these paths, with the bytes at the URLs that they contain.
pub fn answers(registry: &Registry, paths: &[String]) -> Answers {
    let answer = |path: &String| (path.clone(), answer(registry, path));
    paths.iter().map(answer).collect()
}

fn answer(registry: &Registry, path: &str) -> Answer {
    let response = registry.get(path);
    assert!(
        matches!(response.status, 200 | 307 | 404),
        "{path} answers {}: {}",
        response.status,
        response.text()
    );
    let urls = if response.status == 404 {
        Vec::new()
    } else {
        urls(&response)
    };
    let bytes = urls
        .iter()
        .map(|url| sha256(&registry.get(url).expect(200).body));
    Answer {
        bytes: bytes.collect(),
        status: response.status,
        body: response.text(),
        headers: response.headers,
    }
}

/// Returns every URL in a response.
fn urls(response: &Response) -> Vec<String> {
    if let Some(location) = response.header("location") {
        return vec![location.to_owned()];
    }
    let json = response.json();
    let names = [
        "download_url",
        "shasums_url",
        "shasums_signature_url",
        "location",
    ];
    let mut urls: Vec<&Value> = names.iter().map(|name| &json[*name]).collect();
    urls.extend(
        json["archives"]
            .as_object()
            .into_iter()
            .flatten()
            .map(|(_, it)| &it["url"]),
    );
    let texts = urls.into_iter().filter_map(Value::as_str);
    // go-getter removes the checksum before it sends the request (4.7).
    let asked = |url: &str| {
        let url = url.split("checksum=").next().unwrap();
        url.trim_end_matches(['?', '&']).to_owned()
    };
    texts.map(asked).collect()
}
