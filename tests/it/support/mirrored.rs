//! A version of another registry's provider, to mirror.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::fixtures::{ProviderFixture, Signer, upload};
use super::registry::{Registry, Response};

/// The request to mirror a provider version.
#[derive(Debug, Clone)]
pub struct MirrorFixture {
    pub hostname: String,
    /// The release that the origin published.
    pub origin: ProviderFixture,
    /// Whether the origin's signature is sent too.
    pub signed: bool,
    /// The architectures to send packages for.
    pub architectures: Vec<&'static str>,
    /// The public key that is sent as the origin's.
    pub key: String,
}

impl MirrorFixture {
    /// Returns a signed version of a provider that no other test mirrors, for two platforms.
    pub fn new(version: &str) -> Self {
        Self::of(ProviderFixture::new(version))
    }

    pub fn of(origin: ProviderFixture) -> Self {
        Self {
            hostname: "registry.example.com".to_owned(),
            origin,
            signed: true,
            architectures: vec!["amd64", "arm64"],
            key: Signer::usual().public_armor(),
        }
    }

    pub fn unsigned(mut self) -> Self {
        self.signed = false;
        self
    }

    pub fn only(mut self, architecture: &'static str) -> Self {
        self.architectures = vec![architecture];
        self
    }

    /// Returns the address, `hostname/namespace/type`.
    pub fn address(&self) -> String {
        let ProviderFixture {
            namespace,
            provider_type,
            ..
        } = &self.origin;
        format!("{}/{namespace}/{provider_type}", self.hostname)
    }

    pub fn index(&self) -> String {
        format!("/mirror/{}/index.json", self.address())
    }

    pub fn packages(&self) -> String {
        format!("/mirror/{}/{}.json", self.address(), self.origin.version)
    }

    pub fn admin_path(&self) -> String {
        format!(
            "/admin/v1/mirror/{}/{}",
            self.address(),
            self.origin.version
        )
    }

    pub fn description(&self) -> Value {
        let mut body = self.origin.description();
        let wanted = |package: &Value| {
            let arch = package["arch"].as_str().unwrap();
            self.architectures.contains(&arch)
        };
        let packages = body["packages"].as_array().unwrap().iter();
        let packages: Vec<Value> = packages
            .filter(|package| wanted(package))
            .cloned()
            .collect();
        let protocols = body["protocols"].take();
        let mut description = json!({ "packages": packages });
        if self.signed {
            description["protocols"] = protocols;
            description["signed"] = json!({
                "shasums": self.origin.shasums,
                "signature": STANDARD.encode(&self.origin.signature),
                "signing_key": self.key,
            });
        }
        description
    }

    pub fn put(&self, registry: &Registry) -> Response {
        let body = self.description().to_string();
        registry.admin("PUT", &self.admin_path(), Some(body.as_bytes()))
    }

    /// Uploads the archives that the registry reports as missing.
    #[track_caller]
    pub fn upload(&self, registry: &Registry) {
        let zips = self.origin.packages.iter();
        let zips: Vec<&[u8]> = zips.map(|package| package.3.as_slice()).collect();
        upload(registry, &self.put(registry).expect(202), &zips);
    }

    #[track_caller]
    pub fn publish(&self, registry: &Registry) -> Response {
        self.upload(registry);
        self.put(registry).expect(201)
    }
}
