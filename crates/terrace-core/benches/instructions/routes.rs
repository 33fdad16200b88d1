//! Parsing paths.

use std::hint::black_box;

use gungraun::{library_benchmark, library_benchmark_group};
use terrace_core::api::route::Route;
use terrace_core::http::problem::Problem;

#[library_benchmark]
#[bench::discovery("/.well-known/terraform.json")]
#[bench::provider_versions("/v1/providers/acme/widget/versions")]
#[bench::provider_download("/v1/providers/acme/widget/1.2.3/download/linux/amd64")]
#[bench::module_download("/v1/modules/acme/network/aws/1.2.3/download")]
#[bench::mirror_packages("/mirror/registry.opentofu.org/hashicorp/random/3.6.0.json")]
#[bench::oci_manifest("/v2/providers/acme/widget/manifests/1.2.3")]
#[bench::pushed_blob(
    "/v2/acme/things/blobs/sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
)]
#[bench::archive(
    "/archives/1800000000/e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855/e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855.zip"
)]
#[bench::publish("/admin/v1/providers/acme/widget/1.2.3")]
#[bench::none("/v1/plugins/index.php")]
fn parse(path: &str) -> Result<Route, Problem> {
    black_box(Route::parse(black_box(path)))
}

library_benchmark_group!(name = paths, benchmarks = [parse]);
