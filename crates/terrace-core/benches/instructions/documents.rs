//! Parsing and writing every document that is stored as JSON.

use std::fmt::Write as _;
use std::hint::black_box;

use gungraun::{library_benchmark, library_benchmark_group};
use serde::Serialize;
use serde::de::DeserializeOwned;
use terrace_base::digest::Sha256;
use terrace_core::api::admin::SigningKeysDocument;
use terrace_core::auth::access::{RevocationDocument, Revocations, TokenDocument};
use terrace_core::index::{self};
use terrace_core::maintenance::audit::{AuditEntry, AuditHead};
use terrace_core::maintenance::garbage::GarbageDocument;
use terrace_core::maintenance::repair::CursorDocument;
use terrace_core::model::status::StatusDocument;
use terrace_core::oci::pushed::{LinkDocument, PushedManifest, TagDocument, UploadSession};
use terrace_core::storage::index_document::IndexMetadata;
use terrace_core::storage::release::{ModuleArchiveDocument, Release};
use terrace_core::upstream::pull::OriginDocument;

use crate::releases::{mirrored, module, provider, signing_key};

/// A stored document, with the function that parses it.
pub(crate) struct Document {
    text: String,
    read: fn(&[u8]) -> Box<dyn Written>,
}

/// A value that can be written as JSON.
pub(crate) trait Written {
    fn write(&self) -> String;
}

impl<T: Serialize> Written for T {
    fn write(&self) -> String {
        serde_json::to_string(self).unwrap()
    }
}

impl Document {
    fn of<T: Serialize + DeserializeOwned + 'static>(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            read: |bytes| Box::new(serde_json::from_slice::<T>(bytes).unwrap()),
        }
    }

    fn read(&self) -> Box<dyn Written> {
        (self.read)(self.text.as_bytes())
    }
}

#[library_benchmark]
#[bench::provider_release(release(&provider()))]
#[bench::mirrored_release(release(&mirrored()))]
#[bench::module_release(release(&module()))]
#[bench::module_index(module_index())]
#[bench::index_metadata(index_metadata())]
#[bench::signing_keys(signing_keys())]
#[bench::standings_of_50(statuses())]
#[bench::token(token())]
#[bench::revocation(revocation())]
#[bench::revocations_of_1000(revocations())]
#[bench::audit_entry(audit_entry())]
#[bench::audit_head(audit_head())]
#[bench::origin_of_50(origin())]
#[bench::link(link())]
#[bench::tag(tag())]
#[bench::upload_session(upload_session())]
#[bench::cursor(cursor())]
#[bench::garbage(garbage())]
fn read(document: Document) -> (Box<dyn Written>, Document) {
    let read = black_box(black_box(&document).read());
    (read, document)
}

#[library_benchmark]
#[bench::provider_release(release(&provider()).read())]
#[bench::mirrored_release(release(&mirrored()).read())]
#[bench::module_release(release(&module()).read())]
#[bench::module_index(module_index().read())]
#[bench::index_metadata(index_metadata().read())]
#[bench::signing_keys(signing_keys().read())]
#[bench::standings_of_50(statuses().read())]
#[bench::token(token().read())]
#[bench::revocation(revocation().read())]
#[bench::revocations_of_1000(revocations().read())]
#[bench::audit_entry(audit_entry().read())]
#[bench::audit_head(audit_head().read())]
#[bench::origin_of_50(origin().read())]
#[bench::link(link().read())]
#[bench::tag(tag().read())]
#[bench::upload_session(upload_session().read())]
#[bench::cursor(cursor().read())]
#[bench::garbage(garbage().read())]
fn write(document: Box<dyn Written>) -> (String, Box<dyn Written>) {
    let text = black_box(black_box(&document).write());
    (text, document)
}

// Pushed content is stored as received, and only parsed.
#[library_benchmark]
#[bench::of_15_platforms(image_index())]
fn read_manifest(text: String) -> (PushedManifest, String) {
    let manifest = black_box(PushedManifest::parse(black_box(text.as_bytes())));
    (manifest.unwrap(), text)
}

library_benchmark_group!(
    name = stored_documents,
    benchmarks = [read, write, read_manifest]
);

fn release(release: &Release) -> Document {
    Document {
        text: release.to_document(),
        read: |bytes| Box::new(Release::from_document(bytes).unwrap()),
    }
}

fn module_index() -> Document {
    Document::of::<ModuleArchiveDocument>(index::version(&module()).text)
}

fn index_metadata() -> Document {
    let indices = index::of_version(&module(), &[], &StatusDocument::default());
    let (_, manifest) = indices.last().unwrap();
    Document::of::<IndexMetadata>(manifest.metadata.write())
}

fn signing_keys() -> Document {
    let status = r#"{"state":"retired","reason":"a test","at":1800000000,"by":"root"}"#;
    let keys = [signing_key(), signing_key()].write();
    let key_statuses = format!(r#"{{"51852D87348FFC4C":{status}}}"#);
    Document::of::<SigningKeysDocument>(format!(r#"{{"keys":{keys},"statements":{key_statuses}}}"#))
}

fn statuses() -> Document {
    let status =
        r#"{"state":"deprecated","reason":"use the next one","at":1800000000,"by":"root"}"#;
    let of_version = |number| format!(r#""1.{number}.0":{status}"#);
    let versions: Vec<String> = (0..50).map(of_version).collect();
    let versions = versions.join(",");
    Document::of::<StatusDocument>(format!(
        r#"{{"package":{status},"versions":{{{versions}}}}}"#
    ))
}

fn token() -> Document {
    Document::of::<TokenDocument>(
        r#"{"name":"continuous integration","scopes":"read publish:acme","created":1800000000,"by":"root","expires":1800000600}"#,
    )
}

fn revocation() -> Document {
    Document::of::<RevocationDocument>(r#"{"from":1800000000,"expires":1800000600}"#)
}

fn revocations() -> Document {
    let of_token = |number| format!(r#""{number:016x}":1800000000"#);
    let revoked: Vec<String> = (0..1_000).map(of_token).collect();
    Document::of::<Revocations>(format!(r#"{{"revoked":{{{}}}}}"#, revoked.join(",")))
}

fn audit_entry() -> Document {
    let digest = Sha256::of(b"");
    Document::of::<AuditEntry>(format!(
        r#"{{"number":1,"at":1800000000,"by":"root","from":"192.0.2.1","what":"PUT /admin/v1/providers/acme/widget/1.2.3","status":201,"sent":"{digest}","previous":"{digest}"}}"#
    ))
}

fn audit_head() -> Document {
    Document::of::<AuditHead>(r#"{"number":12345}"#)
}

fn origin() -> Document {
    let platforms = r#"["darwin_arm64","linux_amd64","linux_arm64","windows_amd64"]"#;
    let of_version = |number| {
        format!(r#"{{"version":"1.{number}.0","platforms":{platforms},"first_seen":1800000000}}"#)
    };
    let versions: Vec<String> = (0..50).map(of_version).collect();
    let versions = versions.join(",");
    Document {
        text: format!(r#"{{"schema":1,"checked_at":1800000000,"versions":[{versions}]}}"#),
        read: |bytes| Box::new(OriginDocument::from_document(bytes).unwrap()),
    }
}

fn link() -> Document {
    Document::of::<LinkDocument>(r#"{"size":20000000}"#)
}

fn tag() -> Document {
    let digest = Sha256::of(b"a manifest");
    Document::of::<TagDocument>(format!(
        r#"{{"digest":"sha256:{digest}","media_type":"application/vnd.oci.image.manifest.v1+json","artifact_type":"application/vnd.example","push":3}}"#
    ))
}

fn upload_session() -> Document {
    let chunks = [r#"{"length":5242880,"writer":1234567890}"#; 10].join(",");
    Document::of::<UploadSession>(format!(
        r#"{{"repository":"acme/things","chunks":[{chunks}]}}"#
    ))
}

fn cursor() -> Document {
    Document::of::<CursorDocument>(r#"{"next":"packages acme/widget","begun":1800000000}"#)
}

fn garbage() -> Document {
    Document::of::<GarbageDocument>(r#"{"state":"marked","since":1800000000}"#)
}

fn image_index() -> String {
    let mut manifests = String::new();
    for number in 0..15 {
        let digest = Sha256::of(&[number]);
        let comma = if number == 0 { "" } else { "," };
        write!(
            manifests,
            r#"{comma}{{"mediaType":"application/vnd.oci.image.manifest.v1+json","artifactType":"application/vnd.opentofu.provider-target","digest":"sha256:{digest}","size":700,"platform":{{"architecture":"amd64","os":"linux"}}}}"#
        )
        .unwrap();
    }
    format!(
        r#"{{"schemaVersion":2,"mediaType":"application/vnd.oci.image.index.v1+json","artifactType":"application/vnd.opentofu.provider","manifests":[{manifests}]}}"#
    )
}
