//! An origin or a registry with transient and permanent failures.

use super::{ADDRESS, MIRRORED, PATH, add, command, downloads, list, statuses, sync};
use crate::support::http::Response;
use crate::support::origin::{Origin, description_of, zip_of};
use crate::support::registry::{Fault, Registry, errors};
use crate::support::{assert_has, assert_lacks, ended};

#[test]
fn a_transient_failure_is_retried() {
    let (origin, registry) = (Origin::start(), Registry::start());
    origin.set(
        "/files/SHA256SUMS",
        Response::new(503, "").with("retry-after", "0"),
    );
    let ended = add(&origin, &registry, &["--platform", "linux_amd64"]).expect(6);
    assert_has!(ended.stderr, "retrying");
    assert_has!(ended.errors(), "503");
}

#[test]
fn a_full_disk_is_a_local_failure_without_retries() {
    let (origin, registry) = (Origin::start(), Registry::start());
    let arguments = ["add", ADDRESS, "--platform", "linux_amd64"];
    let mut command = command(&origin, &registry, &arguments);
    command.env("TMPDIR", "/nowhere/at/all");
    let ended = ended(&mut command).expect(1);
    assert_eq!(statuses(&ended.json()), ["1.2.3 local"]);
    assert_has!(ended.errors(), "/nowhere/at/all");
    assert_lacks!(ended.stderr, "retrying");
    assert_eq!(downloads(&origin), [zip_of("linux_amd64")]);
}

fn unavailable() -> Fault {
    Fault::Answer(errors(503, &["storage did not answer"]).with("retry-after", "0"))
}

#[test]
fn a_registry_that_fails_to_respond_twice_in_a_row_ends_the_run() {
    let (origin, registry) = (Origin::start(), Registry::start());
    // Each version is tried twice.
    for _ in 0..4 {
        registry.fail("GET", PATH, unavailable());
    }
    let ended = sync(&origin, &registry, "providers.toml", &list(4)).expect(6);
    let (tried, left) = ("1.2.3 unavailable", " not_tried");
    assert_eq!(statuses(&ended.json()), [tried, tried, left, left]);
    assert_has!(ended.errors(), "2 more were not tried");
    assert_eq!(registry.requests(), [MIRRORED; 4]);
}

#[test]
fn an_origin_that_does_not_respond_does_not_open_the_circuit_breaker() {
    let (origin, registry) = (Origin::start(), Registry::start());
    let answer = Response::new(503, "").with("retry-after", "0");
    origin.set(&description_of("linux_amd64"), answer);
    let ended = sync(&origin, &registry, "providers.toml", &list(3)).expect(6);
    assert_eq!(statuses(&ended.json()), ["1.2.3 unavailable"; 3]);
}
