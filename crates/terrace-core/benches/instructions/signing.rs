//! Signing archive URLs in both modes, and verifying them.

use std::hint::black_box;

use gungraun::{library_benchmark, library_benchmark_group};
use terrace_archive::ArchiveFormat;
use terrace_base::digest::Sha256;
use terrace_base::secret::Secret;
use terrace_core::api::route::{BytesRoute, Route};
use terrace_core::storage::archive_url::{ArchiveSigner, ArchiveUrls, Upload};
use terrace_core::storage::key::{ArchiveKey, ArchiveKind};
use terrace_core::storage::signed_path::{PathSigner, SignedPath, SignedPathError};
use terrace_presign::{Endpoint, Presigner, SignedMethod};

use crate::releases::{NOW, ORIGIN};

fn object() -> ArchiveKey {
    ArchiveKey {
        digest: Sha256::of(b"a zip"),
        kind: ArchiveKind::Archive(ArchiveFormat::Zip),
    }
}

fn paths() -> PathSigner {
    PathSigner::new(&Secret::new("0123456789abcdef"))
}

fn presigned() -> ArchiveUrls {
    let endpoint = Endpoint::parse("https://account.r2.cloudflarestorage.com").unwrap();
    let secret = Secret::new("fedcba9876543210fedcba9876543210");
    let presigner = Presigner::new(endpoint, "auto", "terrace", "0123456789abcdef", secret);
    ArchiveUrls::new(ArchiveSigner::Bucket(presigner), None, 900)
}

fn by_worker() -> ArchiveUrls {
    ArchiveUrls::new(ArchiveSigner::Worker(paths()), None, 900)
}

#[library_benchmark]
#[bench::presigned(presigned())]
#[bench::by_worker(by_worker())]
fn download(urls: ArchiveUrls) -> (String, ArchiveUrls) {
    let url = black_box(urls.download(ORIGIN, black_box(object()), NOW));
    (url, urls)
}

#[library_benchmark]
#[bench::presigned(presigned())]
#[bench::by_worker(by_worker())]
fn upload(urls: ArchiveUrls) -> (Upload, ArchiveUrls) {
    let url = black_box(urls.upload(ORIGIN, object().into(), 1_000_000, NOW));
    (url, urls)
}

fn signed() -> (PathSigner, SignedPath) {
    let path = paths().download(object(), NOW.plus(900));
    let Ok(Route::Bytes(BytesRoute::Archive(path))) = Route::parse(&path) else {
        panic!("{path}");
    };
    (paths(), path)
}

#[library_benchmark]
#[bench::download(signed())]
fn check((signer, path): (PathSigner, SignedPath)) -> (Result<(), SignedPathError>, PathSigner) {
    let checked = black_box(signer.check(black_box(&path), SignedMethod::Get, 0, NOW));
    (checked, signer)
}

library_benchmark_group!(name = urls, benchmarks = [download, upload, check]);
