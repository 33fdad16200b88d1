//! Manifests, as far as a registry has to understand them: their types and references.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize};

use crate::http::oci_error::{OciCode, OciError};
use crate::limits;
use crate::model::oci::Digest;
use terrace_base::json;

/// Maximum length of a media type: two names of 127 bytes (RFC 6838, section 4.2) and a slash.
const MEDIA_TYPE_BYTES: usize = 255;

/// Maximum size of one descriptor with its annotations. A few are in memory before it is known whether they
/// fit into a response. A signature with its certificates, which some tools keep in annotations, has 10 KB.
const REFERRER_BYTES: usize = 64 * 1024;

/// The type of a manifest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ManifestType {
    /// An OCI image manifest: an image, or an artifact of another type.
    Manifest,
    /// An OCI image index.
    Index,
    /// Docker's image manifest.
    DockerManifest,
    /// Docker's manifest list.
    DockerList,
}

/// A parsed manifest.
#[derive(Debug)]
pub struct PushedManifest {
    kind: ManifestType,
    document: Document,
    references: Vec<ContentReference>,
    subject: Option<Digest>,
}

/// Content that a manifest requires in its repository.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ContentReference {
    /// A config or a layer.
    Blob(Digest),
    /// A manifest of an index.
    Manifest(Digest),
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Document {
    schema_version: u64,
    #[serde(default)]
    media_type: Option<String>,
    #[serde(default)]
    artifact_type: Option<String>,
    #[serde(default)]
    config: Option<Descriptor>,
    #[serde(default, deserialize_with = "list")]
    layers: Option<List>,
    #[serde(default, deserialize_with = "list")]
    manifests: Option<List>,
    #[serde(default)]
    subject: Option<Descriptor>,
    #[serde(default)]
    annotations: Option<BTreeMap<String, String>>,
}

/// A list; Go writes an uninitialised one as `null`.
type List = Option<Vec<Descriptor>>;

fn list<'de, D: Deserializer<'de>>(list: D) -> Result<Option<List>, D::Error> {
    List::deserialize(list).map(Some)
}

/// The description of other content in a manifest.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Descriptor {
    pub(super) media_type: String,
    digest: String,
    pub(super) size: u64,
    #[serde(default)]
    pub(super) artifact_type: Option<String>,
    #[serde(default)]
    pub(super) platform: Option<PlatformObject>,
    #[serde(default)]
    urls: Option<Vec<String>>,
}

#[derive(Debug, Deserialize)]
pub(super) struct PlatformObject {
    pub(super) os: String,
    pub(super) architecture: String,
    #[serde(default, rename = "os.version")]
    pub(super) os_version: Option<String>,
}

/// A descriptor as in a list of referrers.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Referrer<'a> {
    media_type: &'a str,
    digest: Digest,
    size: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    artifact_type: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    annotations: Option<&'a BTreeMap<String, String>>,
}

impl ManifestType {
    pub(crate) const ALL: [Self; 4] = [
        Self::Manifest,
        Self::Index,
        Self::DockerManifest,
        Self::DockerList,
    ];

    /// Returns the media type as in a header.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Manifest => "application/vnd.oci.image.manifest.v1+json",
            Self::Index => "application/vnd.oci.image.index.v1+json",
            Self::DockerManifest => "application/vnd.docker.distribution.manifest.v2+json",
            Self::DockerList => "application/vnd.docker.distribution.manifest.list.v2+json",
        }
    }

    fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == text)
    }

    fn is_index(self) -> bool {
        matches!(self, Self::Index | Self::DockerList)
    }
}

impl PushedManifest {
    /// Parses a pushed manifest. `content_type` is the header of that name.
    ///
    /// # Errors
    /// If it is not a manifest, or has another type than the header.
    pub fn pushed(bytes: &[u8], content_type: Option<&str>) -> Result<Self, OciError> {
        let manifest = Self::parse(bytes)?;
        let announced = content_type.unwrap_or_default();
        let announced = announced.split(';').next().unwrap_or_default().trim();
        let kind = manifest.kind.as_str();
        if !announced.is_empty() && !announced.eq_ignore_ascii_case(kind) {
            return Err(invalid(format!(
                "the manifest is of the type {kind}, but Content-Type names another one"
            )));
        }
        Ok(manifest)
    }

    /// Parses a stored manifest. Its type follows from its bytes alone, so nothing else has to be stored for it.
    ///
    /// # Errors
    /// If it is not a manifest.
    pub fn parse(bytes: &[u8]) -> Result<Self, OciError> {
        let document: Document = serde_json::from_slice(bytes)
            .map_err(|error| invalid(format!("the body is not a manifest: {}", short(&error))))?;
        if document.schema_version != 2 {
            return Err(invalid("schemaVersion must be 2"));
        }
        let kind = match &document.media_type {
            Some(text) => ManifestType::parse(text).ok_or_else(|| {
                let known: Vec<&str> = ManifestType::ALL.iter().map(|kind| kind.as_str()).collect();
                let known = known.join(", ");
                invalid(format!("mediaType must be one of {known}"))
            })?,
            None if matches!(document.manifests, Some(Some(_))) => ManifestType::Index,
            None => ManifestType::Manifest,
        };
        if let Some(artifact_type) = &document.artifact_type
            && !is_media_type(artifact_type)
        {
            return Err(invalid("artifactType must be a media type"));
        }
        let references = references(&document, kind)?;
        let subject = document.subject.as_ref().map(Descriptor::digest);
        Ok(Self {
            kind,
            references,
            subject: subject.transpose()?,
            document,
        })
    }

    /// The type of the manifest.
    pub fn kind(&self) -> ManifestType {
        self.kind
    }

    /// The artifact type of the manifest, if it has one.
    pub fn artifact_type(&self) -> Option<&str> {
        let text = self.document.artifact_type.as_deref();
        text.filter(|text| !text.is_empty())
    }

    /// The content that must be in the repository before the manifest. Layers that are not distributed are
    /// not required, and neither is its subject.
    pub fn references(&self) -> &[ContentReference] {
        &self.references
    }

    /// The manifest that this one refers to as its subject.
    pub fn subject(&self) -> Option<Digest> {
        self.subject
    }

    /// Returns the descriptor of the manifest in a list of referrers. `bytes` are its own, and `digest` is
    /// their digest.
    ///
    /// # Errors
    /// If the descriptor is too long.
    pub fn referrer(&self, bytes: &[u8], digest: Digest) -> Result<String, OciError> {
        let descriptor = json::to_string(&Referrer {
            media_type: self.kind.as_str(),
            digest,
            size: bytes.len(),
            artifact_type: self.referrer_type(),
            annotations: self.document.annotations.as_ref(),
        });
        let limit = REFERRER_BYTES;
        if descriptor.len() > limit {
            return Err(invalid(format!(
                "the descriptor of a referrer, with its annotations, may have at most {limit} bytes"
            )));
        }
        Ok(descriptor)
    }

    /// The artifact type by which a list of referrers is filtered: for a manifest without one, the type of
    /// its config (OCI Distribution 1.1, "Listing Referrers").
    pub fn referrer_type(&self) -> Option<&str> {
        let config = self.document.config.as_ref();
        let config = config.map(|config| config.media_type.as_str());
        self.artifact_type().or(config)
    }

    pub(super) fn layers(&self) -> &[Descriptor] {
        descriptors(self.document.layers.as_ref()).unwrap_or_default()
    }

    pub(super) fn manifests(&self) -> &[Descriptor] {
        descriptors(self.document.manifests.as_ref()).unwrap_or_default()
    }
}

impl Descriptor {
    pub(super) fn digest(&self) -> Result<Digest, OciError> {
        Digest::parse(&self.digest).map_err(|_| {
            invalid("the digest of a descriptor must be a sha256 or sha512 in lower case")
        })
    }

    /// Returns whether the content is deliberately stored elsewhere.
    fn is_elsewhere(&self) -> bool {
        self.urls.as_ref().is_some_and(|urls| !urls.is_empty())
            || self.media_type.contains(".nondistributable.")
            || self.media_type.contains(".foreign.")
    }
}

fn references(document: &Document, kind: ManifestType) -> Result<Vec<ContentReference>, OciError> {
    let config = &document.config;
    let (mut layers, mut manifests) = (
        descriptors(document.layers.as_ref()),
        descriptors(document.manifests.as_ref()),
    );
    // The meaning of `null` depends on the type of the manifest, which must be explicit.
    if document.media_type.is_some() {
        if kind.is_index() && matches!(document.manifests, Some(None)) {
            manifests = Some(&[]);
        } else if !kind.is_index() && matches!(document.layers, Some(None)) {
            layers = Some(&[]);
        }
    }
    let mut references = Vec::new();
    // A document must not be valid as two types (CVE-2021-41190).
    match (kind.is_index(), manifests, config, layers) {
        (true, Some(manifests), None, None) => {
            for descriptor in manifests {
                references.push(ContentReference::Manifest(descriptor.digest()?));
            }
        }
        (false, None, Some(config), Some(layers)) => {
            references.push(ContentReference::Blob(config.digest()?));
            for layer in layers.iter().filter(|layer| !layer.is_elsewhere()) {
                references.push(ContentReference::Blob(layer.digest()?));
            }
        }
        (true, ..) => {
            return Err(invalid(
                "an index must have manifests, and neither a config nor layers",
            ));
        }
        (false, ..) => {
            return Err(invalid(
                "a manifest must have a config and layers, and no manifests",
            ));
        }
    }
    let limit = limits::MANIFEST_REFERENCES;
    if references.len() > limit {
        let message = format!("a manifest may refer to at most {limit} blobs or manifests");
        return Err(invalid(message));
    }
    let mut once: Vec<ContentReference> = Vec::new();
    for reference in references {
        if !once.contains(&reference) {
            once.push(reference);
        }
    }
    Ok(once)
}

/// Returns the descriptors of a list; `None` if it is `null` or missing.
fn descriptors(list: Option<&List>) -> Option<&[Descriptor]> {
    list?.as_deref()
}

/// Returns the text of an error, truncated because serde may quote the input in it.
fn short(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.chars().take(limits::QUOTED_CHARS).collect()
}

/// Returns whether the text is valid where media types appear: in a header and in a query.
pub(super) fn is_media_type(text: &str) -> bool {
    text.len() <= MEDIA_TYPE_BYTES && text.bytes().all(|byte| byte.is_ascii_graphic())
}

pub(super) fn invalid(message: impl Into<String>) -> OciError {
    OciError::new(OciCode::ManifestInvalid, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    const OCI: &str = "application/vnd.oci.image.manifest.v1+json";

    fn digest(digit: char) -> String {
        format!("sha256:{}", digit.to_string().repeat(64))
    }

    fn descriptor(digit: char) -> String {
        format!(
            r#"{{"mediaType":"a/b","digest":"{}","size":1}}"#,
            digest(digit)
        )
    }

    fn manifest(more: &str) -> String {
        let (config, layer) = (descriptor('a'), descriptor('b'));
        format!(r#"{{"schemaVersion":2,"config":{config},"layers":[{layer},{layer}]{more}}}"#)
    }

    fn refused(text: &str) -> String {
        let error = PushedManifest::parse(text.as_bytes()).expect_err(text);
        assert_eq!(error.status(), 400);
        error.message().to_owned()
    }

    #[test]
    fn each_reference_of_a_manifest_is_returned_once() {
        let text = manifest("");
        let read = PushedManifest::parse(text.as_bytes()).unwrap();
        assert_eq!(read.kind(), ManifestType::Manifest);
        let blob = |digit| ContentReference::Blob(Digest::parse(&digest(digit)).unwrap());
        assert_eq!(read.references(), [blob('a'), blob('b')]);
        assert_eq!(read.subject(), None);
    }

    #[test]
    fn layers_stored_elsewhere_are_not_required() {
        let foreign = format!(
            r#"{{"mediaType":"application/vnd.oci.image.layer.nondistributable.v1.tar","digest":"{}","size":1}}"#,
            digest('c')
        );
        let elsewhere = |urls: &str| {
            let layer = descriptor('c');
            let layer = layer.trim_end_matches('}');
            format!(r#"{layer},"urls":{urls}}}"#)
        };
        let needed = |layer: &str| {
            let config = descriptor('a');
            let text = format!(r#"{{"schemaVersion":2,"config":{config},"layers":[{layer}]}}"#);
            let read = PushedManifest::parse(text.as_bytes()).unwrap();
            read.references().len() - 1
        };
        assert_eq!(needed(&foreign), 0);
        assert_eq!(needed(&elsewhere(r#"["https://example.com/x"]"#)), 0);
        assert_eq!(needed(&elsewhere("[]")), 1);
    }

    #[test]
    fn the_type_must_match_the_content_type_header() {
        let text = manifest(&format!(r#","mediaType":"{OCI}""#));
        let read = |header| PushedManifest::pushed(text.as_bytes(), header).map(|it| it.kind());
        let parameters = format!("{OCI}; charset=utf-8");
        for header in [None, Some(OCI), Some(parameters.as_str())] {
            assert_eq!(read(header), Ok(ManifestType::Manifest));
        }
        let docker = ManifestType::DockerManifest.as_str();
        for header in ["application/json", ManifestType::Index.as_str(), docker] {
            assert!(read(Some(header)).is_err(), "{header}");
        }
    }

    #[test]
    fn the_descriptor_of_a_referrer_follows_the_specification() {
        let subject = descriptor('d');
        let text = manifest(&format!(
            r#","subject":{subject},"annotations":{{"a":"b"}}"#
        ));
        let read = PushedManifest::parse(text.as_bytes()).unwrap();
        assert_eq!(read.subject(), Some(Digest::parse(&digest('d')).unwrap()));
        let own = Digest::parse(&digest('e')).unwrap();
        assert_eq!(
            read.referrer(text.as_bytes(), own).unwrap(),
            format!(
                r#"{{"mediaType":"{OCI}","digest":"{own}","size":{},"artifactType":"a/b","annotations":{{"a":"b"}}}}"#,
                text.len()
            )
        );
        let index = format!(r#"{{"schemaVersion":2,"manifests":[],"subject":{subject}}}"#);
        let read = PushedManifest::parse(index.as_bytes()).unwrap();
        assert_eq!(read.referrer_type(), None);
        let long = format!(r#","annotations":{{"a":"{}"}}"#, "x".repeat(REFERRER_BYTES));
        let long = manifest(&long);
        let read = PushedManifest::parse(long.as_bytes()).unwrap();
        let refused = read.referrer(long.as_bytes(), own);
        assert_eq!(refused.map_err(|error| error.status()), Err(400));
    }

    #[test]
    fn an_invalid_manifest_is_rejected() {
        let both = manifest(r#","manifests":[]"#);
        let unknown = manifest(r#","mediaType":"application/json""#);
        let subject = manifest(r#","subject":{"mediaType":"a/b","digest":"md5:0","size":1}"#);
        let crossed = manifest(r#","mediaType":"application/vnd.oci.image.index.v1+json""#);
        let artifact = manifest(r#","artifactType":"a\nb""#);
        let deep = format!("{}{}", "[".repeat(5_000), "]".repeat(5_000));
        for (text, message) in [
            ("", "not a manifest"),
            ("[]", "not a manifest"),
            ("{}", "not a manifest"),
            ("\u{feff}{}", "not a manifest"),
            (deep.as_str(), "not a manifest"),
            (r#"{"schemaVersion":1}"#, "must be 2"),
            (r#"{"schemaVersion":"2"}"#, "not a manifest"),
            (r#"{"schemaVersion":2}"#, "a config and layers"),
            (r#"{"schemaVersion":2,"layers":[]}"#, "a config and layers"),
            (r#"{"schemaVersion":2,"manifests":{}}"#, "not a manifest"),
            (both.as_str(), "neither a config"),
            (unknown.as_str(), "must be one of"),
            (subject.as_str(), "a sha256 or sha512"),
            (crossed.as_str(), "neither a config"),
            (artifact.as_str(), "artifactType"),
        ] {
            let found = refused(text);
            assert!(found.contains(message), "{found}");
        }
        let long = format!(r#"{{"schemaVersion":"{}"}}"#, "x".repeat(100_000));
        assert!(refused(&long).len() < 1_000);
    }

    #[test]
    fn null_is_an_empty_list_if_the_type_is_explicit() {
        let config = descriptor('a');
        let typed = |kind: ManifestType, rest: &str| {
            let kind = kind.as_str();
            format!(r#"{{"schemaVersion":2,"mediaType":"{kind}",{rest}}}"#)
        };
        let layers = format!(r#""config":{config},"layers":null"#);
        let count = |text: &str| {
            PushedManifest::parse(text.as_bytes())
                .unwrap()
                .references()
                .len()
        };
        assert_eq!(count(&typed(ManifestType::Index, r#""manifests":null"#)), 0);
        assert_eq!(
            count(&typed(
                ManifestType::Index,
                r#""manifests":[],"layers":null"#
            )),
            0
        );
        assert_eq!(count(&typed(ManifestType::Manifest, &layers)), 1);
        for unclear in [
            r#"{"schemaVersion":2,"manifests":null}"#.to_owned(),
            format!(r#"{{"schemaVersion":2,{layers}}}"#),
            typed(ManifestType::Index, r#""subject":null"#),
            typed(ManifestType::Manifest, &format!(r#""config":{config}"#)),
        ] {
            refused(&unclear);
        }
    }

    #[test]
    fn a_manifest_with_too_many_references_is_rejected() {
        let one = |number: usize| {
            format!(r#"{{"mediaType":"a/b","digest":"sha256:{number:064}","size":1}}"#)
        };
        let index = |count: usize| {
            let all: Vec<String> = (0..count).map(one).collect();
            format!(r#"{{"schemaVersion":2,"manifests":[{}]}}"#, all.join(","))
        };
        let limit = limits::MANIFEST_REFERENCES;
        assert!(PushedManifest::parse(index(limit).as_bytes()).is_ok());
        assert!(refused(&index(limit + 1)).contains("500"));
    }
}
