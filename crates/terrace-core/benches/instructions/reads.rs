//! Whole reads, with only a map lookup as storage.

use std::collections::BTreeMap;
use std::hint::black_box;

use gungraun::{library_benchmark, library_benchmark_group};
use terrace_core::config::Config;
use terrace_core::http::reply::{Body, Reply};
use terrace_core::index::{self};
use terrace_core::model::status::StatusDocument;
use terrace_core::read::{
    CookieHeader, Decision, IndexForm, Lookup, ReadOutcome, RequestHead, StoredIndex, begin,
};
use terrace_core::storage::index_document::IndexDocument;
use terrace_core::storage::key::IndexKey;
use terrace_core::storage::release::Release;

use crate::access::{SCOPES, written};
use crate::releases::{NOW, ORIGIN, listed, mirrored, module, provider};

/// A body of the platform, which is forwarded unread.
#[derive(Debug)]
pub(crate) struct Stream;

/// A request, and the only index that it requests.
pub(crate) struct Read {
    config: Config,
    path: &'static str,
    query: &'static str,
    if_none_match: Option<String>,
    authorization: Option<String>,
    index: Option<IndexDocument>,
}

const ADMIN_TOKEN: (&str, &str) = ("TERRACE_ADMIN_TOKEN", "0123456789abcdef0123456789abcdef");

const BY_WORKER: [(&str, &str); 1] = [ADMIN_TOKEN];

const PRESIGNED: [(&str, &str); 5] = [
    ADMIN_TOKEN,
    (
        "TERRACE_S3_ENDPOINT",
        "https://account.r2.cloudflarestorage.com",
    ),
    ("TERRACE_S3_BUCKET", "terrace"),
    ("TERRACE_S3_ACCESS_KEY_ID", "0123456789abcdef"),
    (
        "TERRACE_S3_SECRET_ACCESS_KEY",
        "fedcba9876543210fedcba9876543210",
    ),
];

const PRIVATE: [(&str, &str); 2] = [ADMIN_TOKEN, ("TERRACE_ACCESS", "private")];

const PROVIDER_VERSIONS: &str = "/v1/providers/acme/widget/versions";
const PROVIDER_DOWNLOAD: &str = "/v1/providers/acme/widget/1.2.3/download/linux/amd64";
const MODULE_VERSIONS: &str = "/v1/modules/acme/network/aws/versions";
const MODULE_DOWNLOAD: &str = "/v1/modules/acme/network/aws/1.2.3/download";
const MIRROR_INDEX: &str = "/mirror/registry.opentofu.org/acme/widget/index.json";
const MIRROR_VERSION: &str = "/mirror/registry.opentofu.org/acme/widget/1.2.3.json";
const TAGS: &str = "/v2/providers/acme/widget/tags/list";
const MANIFEST: &str = "/v2/providers/acme/widget/manifests/1.2.3";

#[library_benchmark]
#[bench::discovery(Read::of("/.well-known/terraform.json", &BY_WORKER))]
#[bench::no_route(Read::of("/v1/plugins/index.php", &BY_WORKER))]
#[bench::provider_versions(Read::of(PROVIDER_VERSIONS, &BY_WORKER).found())]
#[bench::provider_versions_unchanged(Read::of(PROVIDER_VERSIONS, &BY_WORKER).found().unchanged())]
#[bench::provider_versions_missing(Read::of(PROVIDER_VERSIONS, &BY_WORKER))]
#[bench::provider_versions_private(Read::of(PROVIDER_VERSIONS, &PRIVATE).found().with_token())]
#[bench::provider_versions_hidden(Read::of(PROVIDER_VERSIONS, &PRIVATE))]
#[bench::provider_download_presigned(Read::of(PROVIDER_DOWNLOAD, &PRESIGNED).found())]
#[bench::provider_download_by_worker(Read::of(PROVIDER_DOWNLOAD, &BY_WORKER).found())]
#[bench::provider_download_private(Read::of(PROVIDER_DOWNLOAD, &PRIVATE).found().with_token())]
#[bench::module_versions(Read::of(MODULE_VERSIONS, &BY_WORKER).found())]
#[bench::module_download_presigned(Read::of(MODULE_DOWNLOAD, &PRESIGNED).found())]
#[bench::module_download_by_worker(Read::of(MODULE_DOWNLOAD, &BY_WORKER).found())]
#[bench::mirror_versions(Read::of(MIRROR_INDEX, &BY_WORKER).found())]
#[bench::mirror_packages_presigned(Read::of(MIRROR_VERSION, &PRESIGNED).found())]
#[bench::mirror_packages_by_worker(Read::of(MIRROR_VERSION, &BY_WORKER).found())]
#[bench::tags(Read::of(TAGS, &BY_WORKER).found())]
#[bench::tags_page(Read::of(TAGS, &BY_WORKER).page("n=10").found())]
#[bench::manifest(Read::of(MANIFEST, &BY_WORKER).found())]
#[bench::blob_presigned(Read::of_blob(&PRESIGNED))]
#[bench::blob_by_worker(Read::of_blob(&BY_WORKER))]
fn answer(mut read: Read) -> (Reply<Stream>, Read) {
    let reply = black_box(black_box(&mut read).answer());
    (reply, read)
}

library_benchmark_group!(name = read_machine, benchmarks = [answer]);

impl Read {
    fn of(path: &'static str, vars: &[(&str, &str)]) -> Self {
        Self {
            config: Config::from_vars(vars).unwrap(),
            path,
            query: "",
            if_none_match: None,
            authorization: None,
            index: None,
        }
    }

    /// Creates a request for the zip of a module.
    fn of_blob(vars: &[(&str, &str)]) -> Self {
        let Release::Module(release) = module() else {
            panic!("not a module");
        };
        let digest = release.archive.sha256;
        let path = format!("/v2/modules/acme/network/aws/blobs/sha256:{digest}");
        Self::of(path.leak(), vars).found()
    }

    fn page(mut self, query: &'static str) -> Self {
        self.query = query;
        self
    }

    fn with_token(mut self) -> Self {
        self.authorization = Some(format!("Bearer {}", written(SCOPES)));
        self
    }

    /// Adds the stored index of this request, from 50 versions of each package.
    fn found(mut self) -> Self {
        let authorization = self
            .authorization
            .replace(format!("Bearer {}", ADMIN_TOKEN.1));
        let Decision::Read(lookup) = self.begin() else {
            panic!("{} is not a read", self.path);
        };
        self.authorization = authorization;
        let index = stored().remove(&lookup.key.to_string());
        assert!(index.is_some(), "{} is not stored", lookup.key);
        self.index = index;
        self
    }

    fn unchanged(mut self) -> Self {
        self.if_none_match = self.index.as_ref().map(|index| index.metadata.etag.clone());
        self
    }

    fn begin(&self) -> Decision<Stream> {
        let head = RequestHead {
            method: "GET",
            origin: ORIGIN,
            path: self.path,
            query: self.query,
            if_none_match: self.if_none_match.as_deref(),
            authorization: self.authorization.as_deref(),
            cookies: CookieHeader::Unread,
            user_agent: Some("Terraform/1.11.4"),
        };
        begin(&head, &self.config, || NOW).1
    }

    fn answer(&mut self) -> Reply<Stream> {
        match self.begin() {
            Decision::Read(lookup) => self.finish(&lookup),
            Decision::Answer(reply)
            | Decision::AnswerUnlessRevoked(_, reply)
            | Decision::InvalidCredentials(_, reply) => reply,
            Decision::Handle(route, _) => panic!("{} is not a read", route.endpoint().name),
            Decision::ReadCookies => panic!("{} depends on cookies", self.path),
        }
    }

    fn finish(&mut self, lookup: &Lookup) -> Reply<Stream> {
        let Some(IndexDocument { text, metadata }) = self.index.take() else {
            return lookup.not_found();
        };
        let body = match lookup.form {
            IndexForm::Stream => Body::Stream(Stream),
            IndexForm::Text => Body::Text(text),
        };
        let found = StoredIndex { metadata, body };
        match lookup.answer(found.into(), &self.config, ORIGIN, NOW) {
            ReadOutcome::Fresh(reply) | ReadOutcome::Stale(reply, _) => reply,
            unusable => panic!("{unusable:?}"),
        }
    }
}

fn stored() -> BTreeMap<String, IndexDocument> {
    let nothing = StatusDocument::default();
    let mut all: Vec<(IndexKey, IndexDocument)> = Vec::new();
    for release in [provider(), mirrored(), module()] {
        let package = release.package();
        all.extend(index::lists(&package, listed(&package, 50), &nothing));
        all.extend(index::of_version(&release, &[], &nothing));
    }
    let named = all.into_iter();
    named
        .map(|(key, document)| (key.to_string(), document))
        .collect()
}
