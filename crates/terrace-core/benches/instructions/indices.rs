//! Building indices from releases.

use std::hint::black_box;

use gungraun::{library_benchmark, library_benchmark_group};
use terrace_core::index::{self, ListedRelease};
use terrace_core::model::package::Package;
use terrace_core::model::status::StatusDocument;
use terrace_core::storage::index_document::IndexDocument;
use terrace_core::storage::key::IndexKey;
use terrace_core::storage::release::Release;

use crate::releases::{NOW, listed, mirrored, module, provider};

type Indices = Vec<(IndexKey, IndexDocument)>;

fn listing(package: Package, count: usize) -> (Package, Vec<ListedRelease>) {
    let releases = listed(&package, count);
    (package, releases)
}

fn of_provider(count: usize) -> (Package, Vec<ListedRelease>) {
    listing(provider().package(), count)
}

fn of_mirrored(count: usize) -> (Package, Vec<ListedRelease>) {
    listing(mirrored().package(), count)
}

fn of_module(count: usize) -> (Package, Vec<ListedRelease>) {
    listing(module().package(), count)
}

#[library_benchmark]
#[bench::provider_1(of_provider(1))]
#[bench::provider_50(of_provider(50))]
#[bench::provider_500(of_provider(500))]
#[bench::provider_5000(of_provider(5_000))]
#[bench::mirrored_1(of_mirrored(1))]
#[bench::mirrored_50(of_mirrored(50))]
#[bench::mirrored_500(of_mirrored(500))]
#[bench::mirrored_5000(of_mirrored(5_000))]
#[bench::module_1(of_module(1))]
#[bench::module_50(of_module(50))]
#[bench::module_500(of_module(500))]
#[bench::module_5000(of_module(5_000))]
fn versions((package, releases): (Package, Vec<ListedRelease>)) -> (Indices, Package) {
    let indices = index::lists(&package, black_box(releases), &StatusDocument::default());
    (black_box(indices), package)
}

#[library_benchmark]
#[bench::provider_of_15_platforms(provider())]
#[bench::mirrored_of_15_platforms(mirrored())]
#[bench::module(module())]
fn of_version(release: Release) -> (Indices, Release) {
    let indices = index::of_version(black_box(&release), &[], &StatusDocument::default());
    (black_box(indices), release)
}

/// The metadata of a release object in a listing.
type Metadata = (Package, Vec<(&'static str, String)>);

fn metadata() -> Metadata {
    let release = provider();
    let package = release.package();
    let metadata = ListedRelease::of(&release).to_metadata(&package);
    (package, metadata)
}

#[library_benchmark]
#[bench::provider_of_15_platforms(metadata())]
fn listed_release((package, metadata): Metadata) -> (Option<ListedRelease>, Metadata) {
    let value = |name: &str| {
        let found = metadata.iter().find(|(known, _)| *known == name);
        found.map(|(_, value)| value.as_str())
    };
    let version = crate::releases::version("1.2.3");
    let listed = black_box(ListedRelease::from_metadata(&package, version, NOW, value));
    (listed, (package, metadata))
}

library_benchmark_group!(
    name = index_functions,
    benchmarks = [versions, of_version, listed_release]
);
