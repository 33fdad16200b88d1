//! Directories as `terraform providers mirror` writes them.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tempfile::TempDir;
use terrace_base::digest::Sha256;
use terrace_core::model::package_hash::PackageHash;

/// The provider in the directory.
pub(crate) const HELLO: &str = "registry.example.com/acme/hello";

/// A mirror directory, to be modified by a test.
pub(crate) struct Mirror(TempDir);

/// The zip of a provider, and its hashes.
pub(crate) struct Zip {
    pub(crate) bytes: Vec<u8>,
    pub(crate) h1: String,
    pub(crate) zh: String,
}

impl Mirror {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    /// Creates one version for two platforms, with the hashes that `terraform` writes.
    pub(crate) fn of_terraform() -> Self {
        let mirror = Self::new();
        for platform in ["linux_amd64", "darwin_arm64"] {
            let zip = Zip::new(platform);
            mirror.add("1.2.3", platform, &zip, &[&zip.h1]);
        }
        mirror
    }

    /// Adds a package, listed with these hashes.
    pub(crate) fn add(&self, version: &str, platform: &str, zip: &Zip, hashes: &[&str]) {
        let path = self.zip(version, platform);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, &zip.bytes).unwrap();
        let name = path.file_name().unwrap().to_str().unwrap();
        edit(&self.file("index.json"), |index| {
            index["versions"][version] = json!({})
        });
        edit(&self.file(&format!("{version}.json")), |document| {
            document["archives"][platform] = json!({ "url": name, "hashes": hashes });
        });
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn text(&self) -> String {
        self.path().to_str().unwrap().to_owned()
    }

    /// Returns the path of a file of the provider.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.path().join(HELLO).join(name)
    }

    pub(crate) fn zip(&self, version: &str, platform: &str) -> PathBuf {
        self.file(&format!(
            "terraform-provider-hello_{version}_{platform}.zip"
        ))
    }
}

impl Zip {
    /// Creates the zip of a provider that can be installed.
    pub(crate) fn new(content: &str) -> Self {
        let name = "terraform-provider-hello_v1";
        let bytes = super::zip(&[(name, content)]);
        let h1 = PackageHash::h1_of([(name, Sha256::of(content.as_bytes()))]).unwrap();
        Self {
            h1: h1.to_string(),
            zh: PackageHash::zh(Sha256::of(&bytes)).to_string(),
            bytes,
        }
    }
}

fn edit(path: &Path, change: impl FnOnce(&mut Value)) {
    let text = fs::read_to_string(path).unwrap_or_else(|_| "{}".to_owned());
    let mut document = serde_json::from_str(&text).unwrap();
    change(&mut document);
    fs::write(path, serde_json::to_string_pretty(&document).unwrap()).unwrap();
}
