//! Answers that contain signed URLs: of packages, in the registry and in the mirror, and of modules.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::Serialize;
use serde_json::value::RawValue;

use super::view::{MirrorView, PackageView, ProviderView, SigningKeyView};
use super::{Checksum, FinishError};
use crate::http::problem::Problem;
use crate::http::reply::{CachePolicy, Reply};
use crate::model::address::MirroredAddress;
use crate::model::package::{Package, PulledPackage};
use crate::model::platform::Platform;
use crate::model::version::Version;
use crate::storage::archive_url::ArchiveUrls;
use crate::storage::key::{ArchiveKey, ArchiveKind, BytesKey};
use crate::storage::release::ModuleArchiveDocument;
use terrace_base::json;
use terrace_base::time::UnixTime;

/// The inputs for signing URLs at this time.
pub(super) struct Urls<'a> {
    urls: &'a ArchiveUrls,
    origin: &'a str,
    now: UnixTime,
}

impl<'a> Urls<'a> {
    pub(super) fn new(
        urls: Option<&'a ArchiveUrls>,
        origin: &'a str,
        now: UnixTime,
    ) -> Result<Self, FinishError> {
        let urls = urls.ok_or_else(|| {
            let message = "download URLs cannot be signed: \
                           set TERRACE_ADMIN_TOKEN, TERRACE_URL_SECRET or the TERRACE_S3_… variables";
            FinishError::Problem(Problem::Misconfigured(message.to_owned()))
        })?;
        Ok(Self { urls, origin, now })
    }

    pub(super) fn of(&self, object: impl Into<BytesKey>) -> String {
        self.urls.download(self.origin, object, self.now)
    }
}

/// The answer of the provider registry protocol's "Find a Provider Package", without its [packages](packages_object).
#[derive(Serialize)]
struct ProviderDownload<'a> {
    protocols: &'a RawValue,
    os: &'a str,
    arch: &'a str,
    filename: &'a RawValue,
    download_url: String,
    shasums_url: String,
    shasums_signature_url: String,
    shasum: &'a str,
    signing_keys: SigningKeys<'a>,
}

#[derive(Serialize)]
struct SigningKeys<'a> {
    gpg_public_keys: [&'a SigningKeyView<'a>; 1],
}

#[inline(never)]
pub(super) fn provider_download<S>(
    index: &ProviderView<'_>,
    package: &Package,
    version: &Version,
    platform: &Platform,
    urls: &Urls<'_>,
) -> Result<Reply<S>, FinishError> {
    let packages = &index.packages;
    let name = platform.to_string();
    let Some(found) = packages.iter().find(|known| known.platform == name) else {
        let known: Vec<&str> = packages.iter().map(|known| known.platform).collect();
        return Err(FinishError::Problem(Problem::NotFound(format!(
            "version {version} of {} has no package for {platform}; it has {}",
            package.address(),
            known.join(", ")
        ))));
    };
    let key = |digest, kind| ArchiveKey { digest, kind };
    let answer = ProviderDownload {
        protocols: index.protocols,
        os: platform.os(),
        arch: platform.arch(),
        filename: found.filename,
        download_url: urls.of(zip(found.sha256)?),
        shasums_url: urls.of(key(index.shasums, ArchiveKind::Shasums)),
        shasums_signature_url: urls.of(key(index.signature, ArchiveKind::Signature)),
        shasum: found.sha256,
        signing_keys: SigningKeys {
            gpg_public_keys: [&index.signing_key],
        },
    };
    let mut text = json::to_string(&answer);
    if let Some(packages) = packages_object(packages) {
        // Continues within the JSON object of the answer.
        text.pop();
        text.push_str(",\"packages\":");
        text.push_str(&packages);
        text.push('}');
    }
    Ok(Reply::json(200, CachePolicy::NoStore, text))
}

fn zip(digest: &str) -> Result<ArchiveKey, FinishError> {
    let digest = digest.parse().map_err(|_| FinishError::Corrupt)?;
    Ok(ArchiveKey::zip(digest))
}

/// The packages of a download, by platform, which OpenTofu 1.12 checks as well (clients.md 2.4):
/// `{"linux_amd64":{"hashes":["zh:…","h1:…"],"package_size":1}}`. The registry has verified `zh:`, the digest of the zip, and
/// the size; `h1:`, of the files in the zip, is as the publisher computed it.
///
/// `None` if the `h1:` of any package is unknown. Dependabot considers the hashes complete for a lock file,
/// so a list without `h1:` would make it drop those that the file has.
///
/// Written by hand: with a map and a serialiser, a download of 15 platforms took 45,000 instructions more, of
/// 193,000. The texts are borrowed from JSON strings without escapes.
fn packages_object(packages: &[PackageView<'_>]) -> Option<String> {
    let mut object = String::with_capacity(packages.len() * USUAL_PACKAGE_BYTES);
    let mut before = "{\"";
    for package in packages {
        object.push_str(before);
        object.push_str(package.platform);
        object.push_str("\":{\"hashes\":[\"zh:");
        object.push_str(package.sha256);
        object.push_str("\",\"");
        object.push_str(package.h1?);
        object.push_str("\"],\"package_size\":");
        object.push_str(itoa::Buffer::new().format(package.size));
        object.push('}');
        before = ",\"";
    }
    object.push('}');
    (!packages.is_empty()).then_some(object)
}

/// More than the JSON of a package usually takes, in bytes.
const USUAL_PACKAGE_BYTES: usize = 224;

/// The answer of the network mirror protocol's "List Available Installation Packages", as one text:
/// `{"archives":{"linux_amd64":{"url":"…","hashes":["zh:…","h1:…"]}}}` (clients.md 5.4, 5.8); `None` if there
/// are no packages.
#[inline(never)]
pub(super) fn mirror_packages<S>(
    index: MirrorView<'_>,
    offerer: Option<(&MirroredAddress, &Version)>,
    urls: &Urls<'_>,
) -> Result<Option<Reply<S>>, FinishError> {
    let mut archives = BTreeMap::new();
    for package in &index.packages {
        let hashes = [
            Some(format!("zh:{}", package.sha256)),
            package.h1.map(str::to_owned),
        ];
        let archive = MirrorArchive {
            url: urls.of(zip(package.sha256)?),
            hashes: hashes.into_iter().flatten().collect(),
        };
        archives.insert(Cow::Borrowed(package.platform), archive);
    }
    for offer in index.offered {
        let Some((address, version)) = offerer else {
            break;
        };
        let name = offer.platform.to_string();
        let package = PulledPackage {
            address: address.clone(),
            version: version.clone(),
            platform: offer.platform,
        };
        if let Some(url) = urls.urls.pull(urls.origin, package, urls.now) {
            let hashes = vec![format!("zh:{}", offer.sha256)];
            archives.insert(Cow::Owned(name), MirrorArchive { url, hashes });
        }
    }
    if archives.is_empty() {
        return Ok(None);
    }
    let answer = MirrorArchives { archives };
    let text = json::to_string(&answer);
    Ok(Some(Reply::json(200, CachePolicy::NoStore, text)))
}

#[derive(Serialize)]
struct MirrorArchives<'i> {
    archives: BTreeMap<Cow<'i, str>, MirrorArchive>,
}

#[derive(Serialize)]
struct MirrorArchive {
    url: String,
    hashes: Vec<String>,
}

/// The answer of the module registry protocol's "Download Source Code".
#[derive(Serialize)]
struct ModuleLocation<'a> {
    location: &'a str,
}

/// Returns the location both in the body, which OpenTofu reads, and in the header, which Terraform reads
/// (clients.md 3.4). go-getter verifies the checksum and removes it before the request (4.7). The checksum is
/// not part of a signed query, so only clients that remove it get one there; a URL with its signature in the
/// path always has it.
#[inline(never)]
pub(super) fn module_download<S>(
    index: &ModuleArchiveDocument,
    checksum: Checksum,
    urls: &Urls<'_>,
) -> Result<Reply<S>, FinishError> {
    let url = urls.of(index.archive_key());
    let (path, signed_query) = url.split_once('?').unwrap_or((url.as_str(), ""));
    let mut location = path.to_owned();
    if let Some(subdir) = &index.subdir {
        location.push_str("//");
        location.push_str(subdir.as_str());
    }
    let mut separator = '?';
    if !signed_query.is_empty() {
        location.push(separator);
        location.push_str(signed_query);
        separator = '&';
    }
    if signed_query.is_empty() || checksum == Checksum::Appended {
        write!(location, "{separator}checksum=sha256:{}", index.sha256)
            .map_err(|_| FinishError::Corrupt)?;
    }
    let body = ModuleLocation {
        location: &location,
    };
    let text = json::to_string(&body);
    Ok(Reply::json(200, CachePolicy::NoStore, text).with("x-terraform-get", location))
}
