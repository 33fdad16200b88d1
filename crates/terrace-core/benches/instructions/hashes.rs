//! The hashes in lock files.

use std::hint::black_box;

use gungraun::{library_benchmark, library_benchmark_group};
use terrace_base::digest::Sha256;
use terrace_core::model::package_hash::{H1Error, PackageHash};

fn bytes(length: usize) -> Vec<u8> {
    (0..=u8::MAX).cycle().take(length).collect()
}

#[library_benchmark]
#[bench::of_64_kib(bytes(65_536))]
fn zh(bytes: Vec<u8>) -> (String, Vec<u8>) {
    let hash = PackageHash::zh(Sha256::of(black_box(&bytes)));
    (black_box(hash.to_string()), bytes)
}

/// Returns the entries of a package, with the digests of their contents.
fn entries(count: usize) -> Vec<(String, Sha256)> {
    let name = |number| format!("terraform-provider-widget_v1.2.3/file-{number}");
    let names = (0..count).map(name);
    names
        .map(|name| (name.clone(), Sha256::of(name.as_bytes())))
        .collect()
}

#[library_benchmark]
#[bench::of_3_files(entries(3))]
#[bench::of_100_files(entries(100))]
fn h1(entries: Vec<(String, Sha256)>) -> Result<String, H1Error> {
    let hash = PackageHash::h1_of(black_box(entries))?;
    Ok(black_box(hash.to_string()))
}

library_benchmark_group!(name = package_hashes, benchmarks = [zh, h1]);
