//! The OCI protocol.

use terrace_base::digest::Sha256;
use terrace_core::http::form::Query;
use terrace_core::http::range;
use terrace_core::model::oci::UploadId;
use terrace_core::model::oci::{Digest, RepositoryName};
use terrace_core::model::platform::Platform;
use terrace_core::model::version::Version;
use terrace_core::oci::pushed::{
    ProviderRepositories, PushedManifest, PushedRequest, Reference, RepositoryPath, TagDocument,
    UploadSession,
};
use terrace_core::oci::{GeneratedRequest, TagPage};
use terrace_core::publish::MirrorPublication;

use crate::{round_trip, split, text};

/// Handles requests of OCI clients: a path, a query and a range, one per line.
pub fn oci(data: &[u8]) {
    let Some(all) = text(data) else { return };
    let mut lines = all.splitn(3, '\n');
    let mut next = || lines.next().unwrap_or_default();
    let (path, query, header) = (next(), next(), next());
    if let Ok(GeneratedRequest {
        path: RepositoryPath::Manifest(Reference::Tag(tag)),
        ..
    }) = GeneratedRequest::parse(path)
        && let Some(version) = tag.version()
    {
        round_trip::<Version>(&version.to_string());
    }
    if let Ok(PushedRequest { repository, path }) = PushedRequest::parse(path) {
        let location = path.location(&repository);
        let again = location.strip_prefix("/v2/").map(PushedRequest::parse);
        let sent = PushedRequest { repository, path };
        assert!(!sent.path.location(&sent.repository).is_empty());
        assert_eq!(again.and_then(Result::ok), Some(sent), "{location}");
    }
    let _ = ProviderRepositories::parse_one(path);
    for name in [
        "n",
        "last",
        "digest",
        "mount",
        "from",
        "tag",
        "artifactType",
    ] {
        let values: Vec<_> = Query(query).values(name).collect();
        assert_eq!(values.is_empty(), Query(query).value(name).is_none());
    }
    if let Ok(Some(page)) = TagPage::parse(query) {
        let _ = page.of(r#"{"name":"acme","tags":["1.0.0","1.1.0","2.0.0"]}"#);
    }
    if let Ok(digest) = Digest::parse(path) {
        assert_eq!(digest.to_string(), path);
    }
    for size in [0, 1, 1_000, u64::MAX] {
        let _ = range::requested_range(header, size);
    }
    let name = RepositoryName::parse("acme/things").expect("a name");
    let _ = UploadSession::new(&name).accepts(Some(header), Some(1));
    if let Some(id) = UploadId::parse(path) {
        assert_eq!(UploadId::parse(&id.to_string()), Some(id));
    }
}

/// Parses a pushed manifest.
pub fn pushed(data: &[u8]) {
    let (content_type, bytes) = split(data, b'\n');
    let _ = PushedManifest::pushed(bytes, text(content_type));
    for bytes in [data, bytes] {
        let Ok(manifest) = PushedManifest::parse(bytes) else {
            continue;
        };
        let digest = Digest::Sha256(Sha256::of(bytes));
        let _ = (manifest.references().len(), manifest.subject());
        let _ = manifest.referrer(bytes, digest);
        let _ = manifest.provider_targets();
        let tag = TagDocument::of(digest, &manifest, 0);
        let metadata = tag.to_metadata();
        let told = |name: &str| {
            let found = metadata.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| value.as_str())
        };
        assert_eq!(TagDocument::from_metadata(told), Some(tag));
        let platform = Platform::new("linux", "amd64").expect("a platform");
        let address = "registry.example.com/acme/widget"
            .parse()
            .expect("an address");
        let version = "1.2.3".parse().expect("a version");
        if let Ok(package) = manifest.package(&address, &version, &platform) {
            let _ = MirrorPublication::of_pushed(address, version, vec![package]);
        }
    }
}
