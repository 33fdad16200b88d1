//! A fake of another registry, with TLS, that has the signed release as `acme/hello`.

use std::collections::BTreeMap;
use std::fs;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use terrace_base::digest::Sha256;

use super::http::{Head, Response, Then, start};
use super::{NAME, fixture, tls};

/// The hostname of the origin. The program gets its address by `--origin`.
pub(crate) const HOSTNAME: &str = "origin.example";

const PLATFORMS: [&str; 6] = [
    "darwin_amd64",
    "darwin_arm64",
    "freebsd_amd64",
    "linux_amd64",
    "linux_arm64",
    "windows_amd64",
];

/// A registry on its own port.
pub(crate) struct Origin {
    url: String,
    pages: Arc<Mutex<BTreeMap<String, Response>>>,
    seen: Arc<Mutex<Vec<Head>>>,
}

impl Origin {
    pub(crate) fn start() -> Self {
        let (pages, seen) = <(Arc<Mutex<BTreeMap<_, Response>>>, Arc<Mutex<Vec<_>>>)>::default();
        let (known, asked) = (Arc::clone(&pages), Arc::clone(&seen));
        let url = start(Some(tls()), move |head: &Head| {
            asked.lock().unwrap().push(head.clone());
            let page = known.lock().unwrap().get(&head.target).cloned();
            let response = page.unwrap_or_else(|| Response::new(404, "nothing"));
            Then::Answer(Box::new(move |_| response))
        });
        let origin = Self { url, pages, seen };
        origin.fill();
        origin
    }

    fn fill(&self) {
        self.set(
            "/.well-known/terraform.json",
            Response::new(
                200,
                r#"{"providers.v1": "/v1/", "modules.v1": "/modules/"}"#,
            )
            .with("content-type", "application/json"),
        );
        let split = |platform: &str| {
            let (os, arch) = platform.split_once('_').unwrap();
            json!({ "os": os, "arch": arch })
        };
        let platforms: Vec<_> = PLATFORMS.iter().map(|platform| split(platform)).collect();
        let version = |version: &str| json!({ "version": version, "protocols": ["6.0"], "platforms": platforms });
        let versions = ["1.2.3", "1.2.2", "2.0.0-rc.1", "v9.9.9"].map(version);
        self.set_json("/v1/acme/hello/versions", &json!({ "versions": versions }));
        let key = fs::read_to_string(fixture("publisher.asc")).unwrap();
        for platform in PLATFORMS {
            let filename = format!("{NAME}_{platform}.zip");
            let zip = fs::read(fixture(&format!("release/{filename}"))).unwrap();
            let (os, arch) = platform.split_once('_').unwrap();
            self.set_json(
                &description_of(platform),
                &json!({
                    "protocols": ["6.0"], "os": os, "arch": arch, "filename": filename,
                    "download_url": format!("/files/{filename}?X-Signature=a%2Fb"),
                    "shasum": Sha256::of(&zip).to_string(),
                    "shasums_url": "/files/SHA256SUMS",
                    "shasums_signature_url": "/files/SHA256SUMS.sig",
                    "signing_keys": { "gpg_public_keys": [{ "ascii_armor": key }] },
                }),
            );
            self.set(&zip_of(platform), Response::new(200, zip));
        }
        for end in ["SHA256SUMS", "SHA256SUMS.sig"] {
            let bytes = fs::read(fixture(&format!("release/{NAME}_{end}"))).unwrap();
            self.set(&format!("/files/{end}"), Response::new(200, bytes));
        }
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// Returns the address of its provider service, for `--origin`.
    pub(crate) fn place(&self) -> String {
        format!("{HOSTNAME}={}", self.url)
    }

    /// Changes a response from now on.
    pub(crate) fn set(&self, target: &str, response: Response) {
        let mut pages = self.pages.lock().unwrap();
        pages.insert(target.to_owned(), response);
    }

    pub(crate) fn set_json(&self, target: &str, document: &Value) {
        self.set(target, Response::new(200, document.to_string()));
    }

    /// Lists versions of the module `acme/NAME`, each with the response about its location.
    pub(crate) fn list_module(&self, name: &str, versions: &[(&str, Response)]) {
        let listed = versions.iter().map(|(it, _)| json!({ "version": it }));
        let listed: Vec<Value> = listed.collect();
        let document = json!({ "modules": [{ "versions": listed }] });
        self.set_json(&format!("/modules/acme/{name}/versions"), &document);
        for (version, response) in versions {
            let target = format!("/modules/acme/{name}/{version}/download");
            self.set(&target, response.clone());
        }
    }

    /// Returns a response.
    pub(crate) fn page(&self, target: &str) -> Response {
        self.pages.lock().unwrap()[target].clone()
    }

    /// Changes the text of a page.
    pub(crate) fn edit(&self, target: &str, edit: impl Fn(&str) -> String) {
        let mut pages = self.pages.lock().unwrap();
        let page = pages.get_mut(target).unwrap();
        page.body = edit(std::str::from_utf8(&page.body).unwrap()).into_bytes();
    }

    /// Redirects a request to another URL.
    pub(crate) fn redirect(&self, target: &str, location: &str) {
        self.set(target, Response::new(302, "").with("location", location));
    }

    /// Returns the requests since the last call.
    pub(crate) fn requests(&self) -> Vec<Head> {
        std::mem::take(&mut *self.seen.lock().unwrap())
    }
}

/// Returns the response that names the location of a module.
pub(crate) fn located(location: &str) -> Response {
    Response::new(204, "").with("x-terraform-get", location)
}

pub(crate) fn description_of(platform: &str) -> String {
    format!(
        "/v1/acme/hello/1.2.3/download/{}",
        platform.replace('_', "/")
    )
}

pub(crate) fn zip_of(platform: &str) -> String {
    format!("/files/{NAME}_{platform}.zip?X-Signature=a%2Fb")
}
