//! Releases as artifacts: the manifests that OpenTofu requires (clients.md 6.6, 6.7).

use serde::{Deserialize, Serialize};

use crate::model::address::ProviderAddress;
use crate::model::commit::CommitId;
use crate::model::oci::Digest;
use crate::model::package::package_filename;
use crate::model::platform::Platform;
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum MediaType {
    /// The manifest of one platform's package, or of a module.
    #[serde(rename = "application/vnd.oci.image.manifest.v1+json")]
    Manifest,
    /// The index of all platforms.
    #[serde(rename = "application/vnd.oci.image.index.v1+json")]
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

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Manifest<'a> {
    schema_version: u32,
    media_type: MediaType,
    artifact_type: &'a str,
    config: Descriptor<'a>,
    layers: [Descriptor<'a>; 1],
    #[serde(skip_serializing_if = "Option::is_none")]
    annotations: Option<SourceAnnotation<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Index<'a> {
    schema_version: u32,
    media_type: MediaType,
    artifact_type: &'a str,
    manifests: Vec<Descriptor<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    annotations: Option<SourceAnnotation<'a>>,
}

/// The annotations in which Renovate looks for release notes (clients.md 15.3). A release keeps the source and
/// the commit of its first publisher, or their absence: its manifests never change.
#[derive(Clone, Copy, Serialize)]
struct SourceAnnotation<'a> {
    #[serde(rename = "org.opencontainers.image.source")]
    source: &'a str,
    #[serde(
        rename = "org.opencontainers.image.revision",
        skip_serializing_if = "Option::is_none"
    )]
    revision: Option<&'a str>,
}

impl<'a> SourceAnnotation<'a> {
    fn of(source: Option<&'a SourceDocument>) -> Option<Self> {
        let SourceDocument { url, commit, .. } = source?;
        Some(Self {
            source: url.as_str(),
            revision: commit.as_ref().map(CommitId::as_str),
        })
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Descriptor<'a> {
    media_type: &'a str,
    digest: String,
    size: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    artifact_type: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    platform: Option<PlatformObject<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    annotations: Option<Annotations<'a>>,
}

#[derive(Serialize)]
struct PlatformObject<'a> {
    architecture: &'a str,
    os: &'a str,
}

#[derive(Serialize)]
struct Annotations<'a> {
    /// The file name that `oras pull` uses.
    #[serde(rename = "org.opencontainers.image.title")]
    title: &'a str,
}

/// Returns a release as an artifact; `None` if it contains nothing that OpenTofu could install.
pub fn artifact(release: &Release) -> Option<Artifact> {
    let source = SourceAnnotation::of(release.source());
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
    source: Option<SourceAnnotation<'_>>,
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
        manifests.push(target(&package.platform, &text));
        contents.push(Content::Manifest(MediaType::Manifest, text));
        contents.push(Content::Zip(package.sha256, package.size));
    }
    let index = Index {
        schema_version: 2,
        media_type: MediaType::Index,
        artifact_type: PROVIDER,
        manifests,
        annotations: source,
    };
    let index = Content::Manifest(MediaType::Index, json::to_string(&index));
    let tagged = index.digest();
    contents.push(index);
    Some(Artifact { tagged, contents })
}

fn target<'a>(platform: &'a Platform, manifest: &str) -> Descriptor<'a> {
    Descriptor {
        artifact_type: Some(PROVIDER_TARGET),
        platform: Some(PlatformObject {
            architecture: platform.arch(),
            os: platform.os(),
        }),
        ..Descriptor::of(
            MediaType::Manifest.as_str(),
            Sha256::of(manifest.as_bytes()),
            manifest.len() as u64,
        )
    }
}

/// Returns a module as an artifact. OpenTofu takes modules as zips only.
fn module(release: &ModuleRelease, source: Option<SourceAnnotation<'_>>) -> Option<Artifact> {
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

/// Returns the manifest of one zip.
fn manifest(
    artifact_type: &str,
    (sha256, size): (Sha256, u64),
    title: &str,
    source: Option<SourceAnnotation<'_>>,
) -> String {
    json::to_string(&Manifest {
        schema_version: 2,
        media_type: MediaType::Manifest,
        artifact_type,
        config: Descriptor {
            data: Some(EMPTY_DATA),
            ..Descriptor::of(EMPTY_TYPE, empty_config_digest(), EMPTY_CONFIG.len() as u64)
        },
        layers: [Descriptor {
            annotations: Some(Annotations { title }),
            ..Descriptor::of(ZIP, sha256, size)
        }],
        annotations: source,
    })
}

impl<'a> Descriptor<'a> {
    fn of(media_type: &'a str, digest: Sha256, size: u64) -> Self {
        Self {
            media_type,
            digest: Digest::Sha256(digest).to_string(),
            size,
            data: None,
            artifact_type: None,
            platform: None,
            annotations: None,
        }
    }
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
        let manifest = |commit: &str| {
            let source = SourceDocument::claimed(
                "https://github.com/acme/vpc".parse().unwrap(),
                commit.parse().ok(),
            );
            let archive = ModuleArchiveDocument {
                format: ArchiveFormat::Zip,
                sha256: Sha256::of(b"zip"),
                size: 7,
                subdir: None,
            };
            let (address, version) = ("acme/vpc/aws".parse().unwrap(), "1.0.0".parse().unwrap());
            let mut release = ModuleRelease::new(address, version, archive, UnixTime(0));
            release.source = Some(source);
            match artifact(&Release::Module(release))
                .unwrap()
                .contents
                .swap_remove(0)
            {
                Content::Manifest(_, text) => text,
                Content::Zip(..) => panic!("the manifest comes first"),
            }
        };
        let source =
            r#","annotations":{"org.opencontainers.image.source":"https://github.com/acme/vpc"}}"#;
        assert!(manifest("").ends_with(source), "{}", manifest(""));
        let revision = format!(r#","org.opencontainers.image.revision":"{COMMIT}"}}}}"#);
        assert!(
            manifest(COMMIT).ends_with(&revision),
            "{}",
            manifest(COMMIT)
        );
    }

    #[test]
    fn every_platform_has_its_own_manifest() {
        let packages = vec![package("darwin_arm64", 'b'), package("linux_amd64", 'a')];
        let found = artifact(&mirrored(packages)).unwrap();
        let mut digests: Vec<Sha256> = found.contents.iter().map(Content::digest).collect();
        digests.sort();
        digests.dedup();
        assert_eq!(digests.len(), 5);
    }

    #[test]
    fn a_release_without_packages_is_not_an_artifact() {
        assert_eq!(artifact(&mirrored(Vec::new())), None);
    }
}
