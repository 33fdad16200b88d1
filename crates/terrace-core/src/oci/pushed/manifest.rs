//! Manifests, as far as a registry has to understand them: what they are, and to what they refer.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize};

use crate::http::oci_error::{OciCode, OciError};
use crate::limits;
use crate::model::oci::Digest;
use terrace_base::json;

/// What a manifest is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ManifestType {
    /// An OCI image manifest: an image, or whatever its artifact type says.
    Manifest,
    /// An OCI image index.
    Index,
    /// What Docker calls an image manifest.
    DockerManifest,
    /// What Docker calls a manifest list.
    DockerList,
}

/// A manifest that was understood.
#[derive(Debug)]
pub struct PushedManifest {
    kind: ManifestType,
    document: Document,
    references: Vec<Reference>,
    subject: Option<Digest>,
}

/// Something that a manifest needs in its repository to be whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reference {
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

/// A list; Go writes an empty one as `null` where nobody has made it.
type List = Option<Vec<Descriptor>>;

fn list<'de, D: Deserializer<'de>>(list: D) -> Result<Option<List>, D::Error> {
    List::deserialize(list).map(Some)
}

/// What a manifest says of something else.
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

/// A descriptor as a list of referrers has it.
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
    const ALL: [Self; 4] = [
        Self::Manifest,
        Self::Index,
        Self::DockerManifest,
        Self::DockerList,
    ];

    /// As a header has it.
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
    /// Reads what is pushed. `content_type` is the header of that name.
    ///
    /// # Errors
    /// In what way it is no manifest, or another than is announced.
    pub fn pushed(bytes: &[u8], content_type: Option<&str>) -> Result<Self, OciError> {
        let manifest = Self::parse(bytes)?;
        let announced = content_type.unwrap_or_default();
        let announced = announced.split(';').next().unwrap_or_default().trim();
        let kind = manifest.kind.as_str();
        if !announced.is_empty() && !announced.eq_ignore_ascii_case(kind) {
            return Err(invalid(format!(
                "the body is {kind}, which is not what Content-Type says"
            )));
        }
        Ok(manifest)
    }

    /// Reads what is stored. What it is can be told from its bytes alone, so nothing else has to be
    /// kept for that.
    ///
    /// # Errors
    /// In what way it is no manifest.
    pub fn parse(bytes: &[u8]) -> Result<Self, OciError> {
        let document: Document = serde_json::from_slice(bytes)
            .map_err(|error| invalid(format!("the body is no manifest: {}", short(&error))))?;
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
            return Err(invalid("artifactType is no media type"));
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

    /// What it is.
    pub fn kind(&self) -> ManifestType {
        self.kind
    }

    /// What it says it is for.
    pub fn artifact_type(&self) -> Option<&str> {
        let text = self.document.artifact_type.as_deref();
        text.filter(|text| !text.is_empty())
    }

    /// Everything that must be in its repository for it to be whole. Layers that are not distributed need
    /// not, and neither need its subject.
    pub fn references(&self) -> &[Reference] {
        &self.references
    }

    /// What it is about.
    pub fn subject(&self) -> Option<Digest> {
        self.subject
    }

    /// How a list of referrers describes it. `bytes` are its own, and `digest` theirs.
    ///
    /// # Errors
    /// When that is too long.
    pub fn referrer(&self, bytes: &[u8], digest: Digest) -> Result<String, OciError> {
        let descriptor = json::to_string(&Referrer {
            media_type: self.kind.as_str(),
            digest,
            size: bytes.len(),
            artifact_type: self.referrer_type(),
            annotations: self.document.annotations.as_ref(),
        });
        let most = limits::REFERRER_BYTES;
        if descriptor.len() > most {
            return Err(invalid(format!(
                "the descriptor of what refers to a manifest, with its annotations, may have {most} bytes"
            )));
        }
        Ok(descriptor)
    }

    /// The artifact type by which a list of referrers is filtered: of a manifest that has none it is
    /// the type of its config (OCI Distribution 1.1, "Listing Referrers").
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
            invalid("the digest of a descriptor is neither sha256 nor sha512 in lower case")
        })
    }

    /// Whether it is somewhere else on purpose.
    fn is_elsewhere(&self) -> bool {
        self.urls.as_ref().is_some_and(|urls| !urls.is_empty())
            || self.media_type.contains(".nondistributable.")
            || self.media_type.contains(".foreign.")
    }
}

fn references(document: &Document, kind: ManifestType) -> Result<Vec<Reference>, OciError> {
    let config = &document.config;
    let (mut layers, mut manifests) = (
        descriptors(document.layers.as_ref()),
        descriptors(document.manifests.as_ref()),
    );
    // What `null` is depends on what should be there, and that must be said.
    if document.media_type.is_some() {
        if kind.is_index() && matches!(document.manifests, Some(None)) {
            manifests = Some(&[]);
        } else if !kind.is_index() && matches!(document.layers, Some(None)) {
            layers = Some(&[]);
        }
    }
    let mut references = Vec::new();
    // One text must not be two things (CVE-2021-41190).
    match (kind.is_index(), manifests, config, layers) {
        (true, Some(manifests), None, None) => {
            for descriptor in manifests {
                references.push(Reference::Manifest(descriptor.digest()?));
            }
        }
        (false, None, Some(config), Some(layers)) => {
            references.push(Reference::Blob(config.digest()?));
            for layer in layers.iter().filter(|layer| !layer.is_elsewhere()) {
                references.push(Reference::Blob(layer.digest()?));
            }
        }
        (true, ..) => {
            return Err(invalid(
                "an index has manifests, and neither config nor layers",
            ));
        }
        (false, ..) => {
            return Err(invalid(
                "a manifest has a config and layers, and no manifests",
            ));
        }
    }
    let most = limits::MANIFEST_REFERENCES;
    if references.len() > most {
        let told = format!("a manifest may refer to at most {most} others");
        return Err(invalid(told));
    }
    let mut once: Vec<Reference> = Vec::new();
    for reference in references {
        if !once.contains(&reference) {
            once.push(reference);
        }
    }
    Ok(once)
}

/// The descriptors of a list; `None` where it is `null` or not there.
fn descriptors(list: Option<&List>) -> Option<&[Descriptor]> {
    list?.as_deref()
}

/// What serde says, which may repeat whatever it was given.
fn short(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.chars().take(limits::QUOTED_CHARS).collect()
}

/// Whether it can stand where media types stand: in a header and in a query.
pub(super) fn is_media_type(text: &str) -> bool {
    text.len() <= limits::MEDIA_TYPE_BYTES && text.bytes().all(|byte| byte.is_ascii_graphic())
}

pub(super) fn invalid(told: impl Into<String>) -> OciError {
    OciError::new(OciCode::ManifestInvalid, told)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

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
    fn what_a_manifest_needs_is_told_once() {
        let text = manifest("");
        let read = PushedManifest::parse(text.as_bytes()).unwrap();
        assert_eq!(read.kind(), ManifestType::Manifest);
        let blob = |digit| Reference::Blob(Digest::parse(&digest(digit)).unwrap());
        assert_eq!(read.references(), [blob('a'), blob('b')]);
        assert_eq!(read.subject(), None);
    }

    #[test]
    fn layers_that_are_elsewhere_are_not_needed() {
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
    fn the_type_must_be_the_one_that_is_announced() {
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
    fn a_referrer_is_described_as_the_specification_says() {
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
    }

    #[test]
    fn what_is_no_manifest_is_refused() {
        let both = manifest(r#","manifests":[]"#);
        let unknown = manifest(r#","mediaType":"application/json""#);
        let subject = manifest(r#","subject":{"mediaType":"a/b","digest":"md5:0","size":1}"#);
        let crossed = manifest(r#","mediaType":"application/vnd.oci.image.index.v1+json""#);
        let artifact = manifest(r#","artifactType":"a\nb""#);
        let deep = format!("{}{}", "[".repeat(5_000), "]".repeat(5_000));
        for (text, told) in [
            ("", "no manifest"),
            ("[]", "no manifest"),
            ("{}", "no manifest"),
            ("\u{feff}{}", "no manifest"),
            (deep.as_str(), "no manifest"),
            (r#"{"schemaVersion":1}"#, "must be 2"),
            (r#"{"schemaVersion":"2"}"#, "no manifest"),
            (r#"{"schemaVersion":2}"#, "a config and layers"),
            (r#"{"schemaVersion":2,"layers":[]}"#, "a config and layers"),
            (r#"{"schemaVersion":2,"manifests":{}}"#, "no manifest"),
            (both.as_str(), "neither config"),
            (unknown.as_str(), "must be one of"),
            (subject.as_str(), "neither sha256"),
            (crossed.as_str(), "neither config"),
            (artifact.as_str(), "artifactType"),
        ] {
            let found = refused(text);
            assert!(found.contains(told), "{found}");
        }
        let long = format!(r#"{{"schemaVersion":"{}"}}"#, "x".repeat(100_000));
        assert!(refused(&long).len() < 1_000);
    }

    #[test]
    fn null_is_an_empty_list_where_it_is_clear_what_it_should_be() {
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
    fn what_refers_to_a_manifest_is_described_in_few_words() {
        let describe = |length: usize| {
            let text = manifest(&format!(
                r#","annotations":{{"a":"{}"}}"#,
                "x".repeat(length)
            ));
            let read = PushedManifest::parse(text.as_bytes()).unwrap();
            let own = Digest::parse(&digest('e')).unwrap();
            read.referrer(text.as_bytes(), own)
                .map_err(|error| error.status())
        };
        assert!(describe(limits::REFERRER_BYTES - 300).is_ok());
        assert_eq!(describe(limits::REFERRER_BYTES), Err(400));
    }

    #[test]
    fn a_manifest_of_too_much_is_refused() {
        let one = |number: usize| {
            format!(r#"{{"mediaType":"a/b","digest":"sha256:{number:064}","size":1}}"#)
        };
        let index = |count: usize| {
            let all: Vec<String> = (0..count).map(one).collect();
            format!(r#"{{"schemaVersion":2,"manifests":[{}]}}"#, all.join(","))
        };
        let most = limits::MANIFEST_REFERENCES;
        assert!(PushedManifest::parse(index(most).as_bytes()).is_ok());
        assert!(refused(&index(most + 1)).contains("500"));
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "\\PC{0,200}") {
            let _ = PushedManifest::parse(text.as_bytes());
        }

        #[test]
        fn near_misses_do_not_panic(
            text in r#"\{"schemaVersion":2(,"(config|layers|manifests|subject|mediaType|annotations)":(\{\}|\[\]|null|1|"a"|\[\{"digest":"x"\}\])){0,6}\}"#
        ) {
            let _ = PushedManifest::parse(text.as_bytes());
        }
    }
}
