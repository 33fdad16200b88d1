//! Releases as artifacts: the manifests that OpenTofu requires (clients.md 6.6, 6.7).

use crate::model::address::ProviderAddress;
use crate::model::oci::Digest;
use crate::model::package::package_filename;
use crate::model::source::SourceDocument;
use crate::model::version::Version;
use crate::storage::release::{ModuleRelease, PackageDocument, ProviderRelease, Release};
use terrace_archive::ArchiveFormat;
use terrace_base::digest::Sha256;
use terrace_base::json;

pub(super) const PROVIDER: &str = "application/vnd.opentofu.provider";
pub(super) const PROVIDER_TARGET: &str = "application/vnd.opentofu.provider-target";
const MODULE: &str = "application/vnd.opentofu.modulepkg";
pub(super) const ZIP: &str = "archive/zip";

/// The config of every manifest: the empty JSON object (OCI Image 1.1, "Guidance for an Empty
/// Descriptor").
pub const EMPTY_CONFIG: &str = "{}";
const EMPTY_TYPE: &str = "application/vnd.oci.empty.v1+json";
/// The bytes of the empty config as base64.
const EMPTY_DATA: &str = "e30=";

/// The kind of a manifest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MediaType {
    /// The manifest of one platform's package, or of a module.
    Manifest,
    /// The index of all platforms.
    Index,
}

/// A release as an artifact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Artifact {
    /// The digest of the manifest that the tag names.
    pub tagged: Sha256,
    /// All content that clients can request by digest.
    pub contents: Vec<Content>,
}

/// Content with a digest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    /// A manifest, with its text.
    Manifest(MediaType, String),
    /// A zip, by its digest and its length in bytes.
    Zip(Sha256, u64),
}

impl MediaType {
    /// Returns the media type as in a header.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Manifest => "application/vnd.oci.image.manifest.v1+json",
            Self::Index => "application/vnd.oci.image.index.v1+json",
        }
    }
}

impl Content {
    /// Returns the digest by which clients request it.
    pub fn digest(&self) -> Sha256 {
        match self {
            Self::Manifest(_, text) => Sha256::of(text.as_bytes()),
            Self::Zip(digest, _) => *digest,
        }
    }
}

/// Returns the digest of [`EMPTY_CONFIG`].
pub fn empty_config_digest() -> Sha256 {
    Sha256::of(EMPTY_CONFIG.as_bytes())
}

/// Returns a release as an artifact; `None` if it contains nothing that OpenTofu could install.
pub fn artifact(release: &Release) -> Option<Artifact> {
    let source = &annotations(release.source());
    match release {
        Release::Provider(ProviderRelease {
            address,
            version,
            packages,
            ..
        }) => provider((address, version), packages, source),
        Release::Mirrored(release) => {
            let of = (&release.address.provider, &release.version);
            provider(of, &release.packages, source)
        }
        Release::Module(release) => module(release, source),
        Release::Erased(_) => None,
    }
}

fn provider(
    (address, version): (&ProviderAddress, &Version),
    packages: &[PackageDocument],
    source: &str,
) -> Option<Artifact> {
    if packages.is_empty() {
        return None;
    }
    let mut manifests = Vec::new();
    let mut contents = Vec::new();
    for package in packages {
        let title = package_filename(address, version, &package.platform);
        let zip = (package.sha256, package.size);
        let text = manifest(PROVIDER_TARGET, zip, &title, source);
        let (os, architecture) = (package.platform.os(), package.platform.arch());
        let platform = format!(
            r#","artifactType":"{PROVIDER_TARGET}","platform":{{"architecture":"{architecture}","os":"{os}"}}"#
        );
        let (digest, size) = (Sha256::of(text.as_bytes()), text.len() as u64);
        let target = MediaType::Manifest.as_str();
        manifests.push(descriptor(target, (digest, size), &platform));
        contents.push(Content::Manifest(MediaType::Manifest, text));
        contents.push(Content::Zip(package.sha256, package.size));
    }
    let (media_type, manifests) = (MediaType::Index.as_str(), manifests.join(","));
    let index = format!(
        r#"{{"schemaVersion":2,"mediaType":"{media_type}","artifactType":"{PROVIDER}","manifests":[{manifests}]{source}}}"#
    );
    let index = Content::Manifest(MediaType::Index, index);
    let tagged = index.digest();
    contents.push(index);
    Some(Artifact { tagged, contents })
}

/// Returns a module as an artifact. OpenTofu takes modules as zips only.
fn module(release: &ModuleRelease, source: &str) -> Option<Artifact> {
    let archive = &release.archive;
    // No client gets a module of another registry by OCI without another address in its source.
    if archive.format != ArchiveFormat::Zip || release.address.hostname.is_some() {
        return None;
    }
    let (address, version) = (&release.address, &release.version);
    let title = format!("{}_{version}.zip", address.name);
    let text = manifest(MODULE, (archive.sha256, archive.size), &title, source);
    let manifest = Content::Manifest(MediaType::Manifest, text);
    Some(Artifact {
        tagged: manifest.digest(),
        contents: vec![manifest, Content::Zip(archive.sha256, archive.size)],
    })
}

/// Returns the manifest of one zip, which has its title as the file name that `oras pull` uses.
fn manifest(artifact_type: &str, zip: (Sha256, u64), title: &str, source: &str) -> String {
    let data = format!(r#","data":"{EMPTY_DATA}""#);
    let empty = (empty_config_digest(), EMPTY_CONFIG.len() as u64);
    let config = descriptor(EMPTY_TYPE, empty, &data);
    let title = format!(r#","annotations":{{"org.opencontainers.image.title":"{title}"}}"#);
    let layer = descriptor(ZIP, zip, &title);
    let media_type = MediaType::Manifest.as_str();
    format!(
        r#"{{"schemaVersion":2,"mediaType":"{media_type}","artifactType":"{artifact_type}","config":{config},"layers":[{layer}]{source}}}"#
    )
}

/// Returns a descriptor, which ends with these members.
fn descriptor(media_type: &str, (sha256, size): (Sha256, u64), members: &str) -> String {
    let digest = Digest::Sha256(sha256);
    format!(r#"{{"mediaType":"{media_type}","digest":"{digest}","size":{size}{members}}}"#)
}

/// Returns the member with the annotations in which Renovate looks for release notes (clients.md 15.3), if there are any. A
/// release keeps the source and the commit of its first publisher, or their absence: its manifests never change.
fn annotations(source: Option<&SourceDocument>) -> String {
    let Some(SourceDocument { url, commit, .. }) = source else {
        return String::new();
    };
    let url = json::to_string(url.as_str());
    let revision = commit.as_ref().map(|commit| {
        format!(
            r#","org.opencontainers.image.revision":"{}""#,
            commit.as_str()
        )
    });
    let revision = revision.unwrap_or_default();
    format!(r#","annotations":{{"org.opencontainers.image.source":{url}{revision}}}"#)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::provenance::tests::COMMIT;
    use crate::storage::release::{MirroredContents, MirroredRelease, ModuleArchiveDocument};
    use terrace_base::time::UnixTime;

    fn package(platform: &str, digit: char) -> PackageDocument {
        PackageDocument {
            platform: platform.parse().unwrap(),
            filename: format!("terraform-provider-widget_1.0.0_{platform}.zip"),
            sha256: digit.to_string().repeat(64).parse().unwrap(),
            size: 7,
            h1: None,
            shasums: None,
        }
    }

    fn mirrored(packages: Vec<PackageDocument>) -> Release {
        let contents = MirroredContents {
            protocols: Vec::new(),
            signed: Vec::new(),
            packages,
        };
        let address = "registry.example.com/acme/widget".parse().unwrap();
        let version = "1.0.0".parse().unwrap();
        Release::Mirrored(MirroredRelease::new(
            address,
            version,
            contents,
            UnixTime(0),
        ))
    }

    /// Files of users contain the digests of manifests: changing a byte changes them.
    #[test]
    fn the_texts_of_manifests_are_pinned() {
        assert_eq!(artifact(&mirrored(Vec::new())), None);
        let release = mirrored(vec![package("linux_amd64", 'a')]);
        let found = artifact(&release).unwrap();
        let manifest = r#"{"schemaVersion":2,"mediaType":"application/vnd.oci.image.manifest.v1+json","artifactType":"application/vnd.opentofu.provider-target","config":{"mediaType":"application/vnd.oci.empty.v1+json","digest":"sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a","size":2,"data":"e30="},"layers":[{"mediaType":"archive/zip","digest":"sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa","size":7,"annotations":{"org.opencontainers.image.title":"terraform-provider-widget_1.0.0_linux_amd64.zip"}}]}"#;
        let digest = Sha256::of(manifest.as_bytes());
        let index = format!(
            r#"{{"schemaVersion":2,"mediaType":"application/vnd.oci.image.index.v1+json","artifactType":"application/vnd.opentofu.provider","manifests":[{{"mediaType":"application/vnd.oci.image.manifest.v1+json","digest":"sha256:{digest}","size":{},"artifactType":"application/vnd.opentofu.provider-target","platform":{{"architecture":"amd64","os":"linux"}}}}]}}"#,
            manifest.len()
        );
        assert_eq!(
            found.contents,
            [
                Content::Manifest(MediaType::Manifest, manifest.to_owned()),
                Content::Zip("a".repeat(64).parse().unwrap(), 7),
                Content::Manifest(MediaType::Index, index.clone()),
            ]
        );
        assert_eq!(found.tagged, Sha256::of(index.as_bytes()));
    }

    /// The manifests of stored releases never change: only a release with a commit has the annotation.
    #[test]
    fn a_manifest_names_the_commit_only_if_the_release_has_one() {
        let of_module = |format, commit: &str| {
            let source = SourceDocument::claimed(
                "https://github.com/acme/vpc".parse().unwrap(),
                commit.parse().ok(),
            );
            let archive = ModuleArchiveDocument {
                format,
                sha256: Sha256::of(b"zip"),
                size: 7,
                subdir: None,
            };
            let (address, version) = ("acme/vpc/aws".parse().unwrap(), "1.0.0".parse().unwrap());
            let mut release = ModuleRelease::new(address, version, archive, UnixTime(0));
            release.source = Some(source);
            artifact(&Release::Module(release))
        };
        let manifest = |commit| {
            let mut module = of_module(ArchiveFormat::Zip, commit).unwrap();
            match module.contents.swap_remove(0) {
                Content::Manifest(_, text) => text,
                Content::Zip(..) => panic!("the manifest comes first"),
            }
        };
        let source =
            r#","annotations":{"org.opencontainers.image.source":"https://github.com/acme/vpc"}}"#;
        assert!(manifest("").ends_with(source), "{}", manifest(""));
        let revision = format!(r#","org.opencontainers.image.revision":"{COMMIT}"}}}}"#);
        assert!(manifest(COMMIT).ends_with(&revision), "{revision}");
        // OpenTofu accepts only zips.
        assert_eq!(of_module(ArchiveFormat::TarGz, COMMIT), None);
    }
}
