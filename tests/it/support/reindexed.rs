//! Whole reindexes, which take several requests.

use serde_json::{Value, json};

use super::registry::Registry;
use super::tokens::post;

/// The result of a whole reindex.
#[derive(Debug, Default)]
pub struct Reindexed {
    pub rewritten: Vec<String>,
    pub removed: Vec<String>,
    pub failed: Vec<String>,
    pub lost: Vec<String>,
    /// The number of requests that the reindex took.
    pub steps: u32,
}

/// Reindexes everything.
pub fn reindex(registry: &Registry) -> Reindexed {
    reindex_with(registry, json!({}))
}

/// Reindexes according to the fields of `body`.
///
/// # Panics
/// If a step fails, makes no progress, or the steps do not end.
pub fn reindex_with(registry: &Registry, mut body: Value) -> Reindexed {
    let mut all = Reindexed::default();
    while all.steps < 1_000 {
        all.steps += 1;
        let step = post(registry, "/admin/v1/reindex", &body);
        let step = step.expect(200).json();
        let names = |kind: &str| -> Vec<String> {
            let names = step[kind].as_array().unwrap().iter();
            names
                .map(|name| name.as_str().unwrap().to_owned())
                .collect()
        };
        all.rewritten.extend(names("rewritten"));
        all.removed.extend(names("removed"));
        all.failed.extend(names("failed"));
        if step.get("lost").is_some() {
            all.lost.extend(names("lost"));
        }
        let Some(next) = step.get("next") else {
            return all;
        };
        assert_ne!(
            body.get("after"),
            Some(next),
            "a step that makes no progress"
        );
        body["after"] = next.clone();
    }
    panic!("the reindex does not end");
}
