//! OCI repositories, with a view of their storage: faults, repairs, and leftover objects.

pub(super) mod artifacts;
mod erasure;
mod faults;
mod garbage;
mod indices;
mod mounts;
mod providers;
mod races;
mod referrers;
mod revoked;
mod uploads;

use serde_json::Value;

use crate::support::Registry;
use crate::support::faults::{Failure, Operations, at_each_write};
use crate::support::pushed::digest;

const NAME: &str = "team/app";

/// Returns the paths of all reads of an artifact.
fn paths(text: &str, tag: &str) -> Vec<String> {
    let json: Value = serde_json::from_str(text).unwrap();
    let layer = json["layers"][0]["digest"].as_str().unwrap();
    vec![
        "tags/list".to_owned(),
        format!("manifests/{tag}"),
        format!("manifests/{}", digest(text.as_bytes())),
        format!("blobs/{layer}"),
    ]
}

/// Breaks `act` at each of its writes, before the write takes effect and after it. After each fault the tags
/// can be read, a retry succeeds, and `holds` is satisfied in the end.
#[track_caller]
fn break_everywhere<T>(
    at_least: usize,
    prepare: impl Fn(&Registry) -> T,
    act: impl Fn(&Registry, &T) -> u16,
    holds: impl Fn(&Registry, &T),
) {
    at_each_write(at_least, |at, when| {
        let (memory, registry) = Registry::with_memory(&[]);
        let prepared = prepare(&registry);
        let fault = memory.fail(Operations::Writes, at, when, Failure::Error);
        let status = act(&registry, &prepared);
        if !fault.lift() {
            return false;
        }
        // A failure after the response may go unreported.
        assert!(
            status == 503 || status < 300,
            "{status} (write {at}, {when:?})"
        );
        let tags = registry.get(&format!("/v2/{NAME}/tags/list"));
        assert!(matches!(tags.status, 200 | 404));
        let again = act(&registry, &prepared);
        assert!(
            again < 300 || again == 404,
            "{again} (write {at}, {when:?})"
        );
        holds(&registry, &prepared);
        memory.lose_indices();
        holds(&registry, &prepared);
        true
    });
}
