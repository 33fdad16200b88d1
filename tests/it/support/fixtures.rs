//! Providers and modules to publish, signed by the tests' own keys.

use std::io::Write as _;
use std::sync::LazyLock;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use zip::write::SimpleFileOptions;

use super::registry::{Registry, Response, Sent, unique};

#[expect(dead_code, reason = "the tests of terrace-openpgp use the rest")]
#[path = "../../../crates/terrace-openpgp/src/tests/forge.rs"]
mod forge;

/// The types of signatures that `forge` creates (RFC 9580, section 5.2.1).
mod kind {
    pub(super) const BINARY: u8 = 0x00;
    pub(super) const SUBKEY_BINDING: u8 = 0x18;
    pub(super) const PRIMARY_KEY_BINDING: u8 = 0x19;
}

pub fn sha256(bytes: &[u8]) -> String {
    let digest = Sha256::digest(bytes);
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Returns a zip of these files, the first of them executable.
pub fn zip_of(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut zip = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, content) in files {
        let options = SimpleFileOptions::default().unix_permissions(0o755);
        zip.start_file(*name, options).unwrap();
        zip.write_all(content).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

/// Returns a gzipped tar of these files.
pub fn tar_gz_of(files: &[(&str, &[u8])]) -> Vec<u8> {
    let gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    let mut tar = tar::Builder::new(gzip);
    for (name, content) in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(content.len() as u64);
        header.set_mode(0o644);
        header.set_cksum();
        tar.append_data(&mut header, name, *content).unwrap();
    }
    tar.into_inner().unwrap().finish().unwrap()
}

/// A key pair that signs releases.
pub struct Signer(forge::Key);

/// Returns a signature with armour.
pub fn armoured(signature: &[u8]) -> String {
    let signature = STANDARD.encode(signature);
    format!("-----BEGIN PGP SIGNATURE-----\n\n{signature}\n-----END PGP SIGNATURE-----\n")
}

impl Signer {
    /// Returns the key that fixtures are signed with.
    pub fn usual() -> &'static Self {
        static USUAL: LazyLock<Signer> = LazyLock::new(|| Signer(forge::Key::v4(1)));
        &USUAL
    }

    /// Returns a second key.
    pub fn other() -> &'static Self {
        static OTHER: LazyLock<Signer> = LazyLock::new(|| Signer(forge::Key::v4(2)));
        &OTHER
    }

    pub fn public_armor(&self) -> String {
        forge::armored(&forge::certificate(&self.0))
    }

    /// Returns a copy of the key that its owner made `age` seconds after its creation, and that expires a year after it.
    pub fn renewed_armor(&self, age: u32) -> String {
        let user_id = forge::user_id(
            &self.0,
            "forged",
            &[
                forge::key_flags(forge::CERTIFY | forge::SIGN),
                forge::created(forge::CREATED + age),
                forge::subpacket(9, &31_536_000_u32.to_be_bytes()),
            ],
        );
        forge::armored(&[forge::primary(&self.0), user_id].concat())
    }

    /// Returns the key ID, as 16 upper-case hexadecimal digits.
    pub fn key_id(&self) -> String {
        let fingerprint = self.0.fingerprint();
        fingerprint[12..]
            .iter()
            .map(|byte| format!("{byte:02X}"))
            .collect()
    }

    pub fn sign(&self, text: &[u8]) -> Vec<u8> {
        forge::detached(&self.0, text, &[])
    }
}

/// A provider version to publish.
#[derive(Debug, Clone)]
pub struct ProviderFixture {
    pub namespace: String,
    pub provider_type: String,
    pub version: String,
    pub protocols: Vec<String>,
    /// The packages, each as file name, os, arch and bytes.
    pub packages: Vec<(String, String, String, Vec<u8>)>,
    pub shasums: String,
    pub signature: Vec<u8>,
}

impl ProviderFixture {
    /// Returns a version of a provider in a namespace of its own, for two platforms.
    pub fn new(version: &str) -> Self {
        Self::of(&unique("p"), "widget", version)
    }

    pub fn of(namespace: &str, provider_type: &str, version: &str) -> Self {
        let mut fixture = Self {
            namespace: namespace.to_owned(),
            provider_type: provider_type.to_owned(),
            version: version.to_owned(),
            protocols: vec!["5.0".to_owned(), "6.0".to_owned()],
            packages: Vec::new(),
            shasums: String::new(),
            signature: Vec::new(),
        };
        for arch in ["amd64", "arm64"] {
            let executable = format!("terraform-provider-{provider_type}_v{version}");
            let content = format!("#!/bin/sh\n# {namespace} {version} linux {arch}\n");
            fixture.add_package("linux", arch, zip_of(&[(&executable, content.as_bytes())]));
        }
        fixture.sign(Signer::usual());
        fixture
    }

    pub fn add_package(&mut self, os: &str, arch: &str, zip: Vec<u8>) {
        let Self {
            provider_type,
            version,
            ..
        } = self;
        let filename = format!("terraform-provider-{provider_type}_{version}_{os}_{arch}.zip");
        self.packages
            .push((filename, os.to_owned(), arch.to_owned(), zip));
    }

    /// Replaces the packages by one with a zip of these files.
    pub fn with_files(mut self, files: &[(&str, &[u8])]) -> Self {
        self.with_zip(zip_of(files))
    }

    /// Replaces the packages by one with this zip.
    pub fn with_zip(&mut self, zip: Vec<u8>) -> Self {
        self.packages.clear();
        self.add_package("linux", "amd64", zip);
        self.sign(Signer::usual());
        self.clone()
    }

    /// Puts a `v` before the version in the names of the packages.
    pub fn with_v(mut self) -> Self {
        let version = format!("_{}_", self.version);
        for package in &mut self.packages {
            package.0 = package.0.replace(&version, &format!("_v{}_", self.version));
        }
        self.sign(Signer::usual());
        self
    }

    /// Writes SHA256SUMS for the current packages, and signs it.
    pub fn sign(&mut self, signer: &Signer) {
        let line = |(name, _, _, zip): &(String, String, String, Vec<u8>)| {
            format!("{}  {name}\n", sha256(zip))
        };
        self.shasums = self.packages.iter().map(line).collect();
        self.signature = signer.sign(self.shasums.as_bytes());
    }

    /// Replaces SHA256SUMS by this text, and signs it.
    pub fn with_shasums(mut self, shasums: String) -> Self {
        self.signature = Signer::usual().sign(shasums.as_bytes());
        self.shasums = shasums;
        self
    }

    pub fn path(&self) -> String {
        format!("/v1/providers/{}/{}", self.namespace, self.provider_type)
    }

    pub fn versions(&self) -> String {
        format!("{}/versions", self.path())
    }

    pub fn download(&self) -> String {
        format!("{}/{}/download/linux/amd64", self.path(), self.version)
    }

    pub fn admin_path(&self) -> String {
        let Self {
            namespace,
            provider_type,
            version,
            ..
        } = self;
        format!("/admin/v1/providers/{namespace}/{provider_type}/{version}")
    }

    pub fn description(&self) -> Value {
        let package = |(filename, os, arch, zip): &(String, String, String, Vec<u8>)| json!({ "os": os, "arch": arch, "filename": filename, "sha256": sha256(zip), "size": zip.len() });
        json!({
            "protocols": self.protocols,
            "shasums": self.shasums,
            "signature": STANDARD.encode(&self.signature),
            "packages": self.packages.iter().map(package).collect::<Vec<_>>(),
        })
    }

    pub fn put(&self, registry: &Registry) -> Response {
        registry.put(&self.admin_path(), &self.description())
    }

    pub fn add_key(&self, registry: &Registry) {
        add_key(registry, &self.namespace, Signer::usual());
    }

    /// Adds the key, uploads the missing archives, and publishes.
    #[track_caller]
    pub fn publish(&self, registry: &Registry) -> Response {
        self.add_key(registry);
        self.upload(registry);
        self.put(registry).expect(201)
    }

    /// Uploads the archives that the registry reports as missing.
    #[track_caller]
    pub fn upload(&self, registry: &Registry) {
        let archives: Vec<&[u8]> = self
            .packages
            .iter()
            .map(|package| package.3.as_slice())
            .collect();
        upload(registry, &self.put(registry).expect(202), &archives);
    }
}

#[track_caller]
pub fn add_key(registry: &Registry, namespace: &str, signer: &Signer) {
    let path = format!("/admin/v1/namespaces/{namespace}/keys");
    registry
        .admin("PUT", &path, Some(signer.public_armor().as_bytes()))
        .expect(200);
}

/// Uploads the archives that a response requests, to the URLs in it.
#[track_caller]
pub fn upload(registry: &Registry, answer: &Response, archives: &[&[u8]]) {
    for missing in answer.json()["missing"]
        .as_array()
        .expect("missing archives")
    {
        let wanted = missing["sha256"].as_str().unwrap();
        let bytes = archives
            .iter()
            .find(|bytes| sha256(bytes) == wanted)
            .expect("an archive of this fixture");
        send_upload(registry, missing, bytes).expect(if registry.has_bucket() { 200 } else { 201 });
    }
}

/// Uploads `bytes` as the missing archive.
pub fn send_upload(registry: &Registry, missing: &Value, bytes: &[u8]) -> Response {
    registry.send(&upload_request(missing, bytes))
}

/// Returns the request that uploads `bytes` as the missing archive.
pub fn upload_request(missing: &Value, bytes: &[u8]) -> Sent {
    let upload = &missing["upload"];
    let mut sent = Sent::new(
        upload["method"].as_str().unwrap(),
        upload["url"].as_str().unwrap(),
    );
    for (name, value) in upload["headers"].as_object().unwrap() {
        sent = sent.header(name, value.as_str().unwrap());
    }
    sent.body(bytes)
}

/// A module version to publish.
#[derive(Debug, Clone)]
pub struct ModuleFixture {
    /// The module's address, `namespace/name/system`.
    pub address: String,
    pub version: String,
    pub format: String,
    pub archive: Vec<u8>,
    pub subdir: Option<String>,
}

impl ModuleFixture {
    /// Returns a version of a module in a namespace of its own, as a zip.
    pub fn new(version: &str) -> Self {
        Self::of(&unique("m"), version)
    }

    pub fn of(namespace: &str, version: &str) -> Self {
        let main = format!("output \"where\" {{\n  value = \"{namespace} {version}\"\n}}\n");
        Self {
            address: format!("{namespace}/vpc/aws"),
            version: version.to_owned(),
            format: "zip".to_owned(),
            archive: zip_of(&[("main.tf", main.as_bytes())]),
            subdir: None,
        }
    }

    pub fn with_zip(mut self, archive: Vec<u8>) -> Self {
        self.archive = archive;
        self
    }

    pub fn with_tar_gz(mut self, archive: Vec<u8>) -> Self {
        self.format = "tar.gz".to_owned();
        self.archive = archive;
        self
    }

    /// The hostname and the rest of the address of a mirrored module: `of` has got it in the namespace.
    fn mirrored(&self) -> Option<(&str, &str)> {
        self.address
            .split_once('/')
            .filter(|(it, _)| it.contains('.'))
    }

    pub fn is_mirrored(&self) -> bool {
        self.mirrored().is_some()
    }

    pub fn path(&self) -> String {
        match self.mirrored() {
            Some((hostname, own)) => format!("/origins/{hostname}/v1/modules/{own}"),
            None => format!("/v1/modules/{}", self.address),
        }
    }

    /// Returns the path of its list of versions.
    pub fn versions(&self) -> String {
        format!("{}/versions", self.path())
    }

    pub fn download(&self) -> String {
        format!("{}/{}/download", self.path(), self.version)
    }

    pub fn admin_path(&self) -> String {
        format!("/admin/v1/modules/{}/{}", self.address, self.version)
    }

    pub fn description(&self) -> Value {
        let mut description = json!({
            "archive": { "format": self.format, "sha256": sha256(&self.archive), "size": self.archive.len() }
        });
        if let Some(subdir) = &self.subdir {
            description["subdir"] = subdir.as_str().into();
        }
        if self.is_mirrored() {
            description["source"] = "https://github.com/acme/terraform-aws-vpc".into();
            description["commit"] = "0123456789abcdef0123456789abcdef01234567".into();
        }
        description
    }

    pub fn put(&self, registry: &Registry) -> Response {
        registry.put(&self.admin_path(), &self.description())
    }

    #[track_caller]
    pub fn upload(&self, registry: &Registry) {
        upload(registry, &self.put(registry).expect(202), &[&self.archive]);
    }

    /// Uploads the archive, unless another module has the same, and publishes.
    #[track_caller]
    pub fn publish(&self, registry: &Registry) -> Response {
        let first = self.put(registry);
        if first.status == 201 {
            return first;
        }
        upload(registry, &first.expect(202), &[&self.archive]);
        self.put(registry).expect(201)
    }
}
