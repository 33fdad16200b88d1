//! Long lists of referrers.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::NAME;
use crate::support::Registry;
use crate::support::pushed::{MANIFEST, Pushed, code, digest, referrer_of};

/// A manifest, and the manifests that refer to it.
struct Referred<'a> {
    pushed: Pushed<'a>,
    subject: Value,
    config: Value,
}

impl<'a> Referred<'a> {
    fn new(registry: &'a Registry) -> Self {
        let pushed = Pushed::of(registry, NAME);
        let subject = pushed.artifact("subject", b"layer", json!({}));
        let subject = referrer_of(&subject)["subject"].take();
        let config = json!({ "mediaType": "a/b", "digest": digest(b"{}"), "size": 2 });
        Self {
            pushed,
            subject,
            config,
        }
    }

    /// Pushes a referrer. Returns its digest.
    fn refer(&self, artifact_type: &str, annotation: &str) -> String {
        let text = self.text(artifact_type, annotation);
        let own = digest(text.as_bytes());
        self.pushed.put_manifest(&own, MANIFEST, &text).expect(201);
        own
    }

    fn text(&self, artifact_type: &str, annotation: &str) -> String {
        json!({
            "schemaVersion": 2,
            "mediaType": MANIFEST,
            "artifactType": artifact_type,
            "config": self.config,
            "layers": [],
            "subject": self.subject,
            "annotations": { "a": annotation },
        })
        .to_string()
    }

    /// Returns the digests on each page of the list.
    fn parts(&self, query: &str) -> Vec<BTreeSet<String>> {
        let subject = self.subject["digest"].as_str().unwrap();
        let mut next = Some(self.pushed.path(&format!("referrers/{subject}{query}")));
        let mut parts = Vec::new();
        while let Some(path) = next {
            let part = self.pushed.registry.get(&path).expect(200);
            assert!(part.body.len() <= 4 * 1024 * 1024, "{}", part.body.len());
            let filtered = part.header("oci-filters-applied").is_some();
            assert_eq!(filtered, !query.is_empty(), "{path}");
            let link = part.header("link");
            next = link.map(|link| link.split(['<', '>']).nth(1).unwrap().to_owned());
            let json = part.json();
            let listed = json["manifests"].as_array().unwrap().iter();
            let digests = listed.map(|it| it["digest"].as_str().unwrap().to_owned());
            parts.push(digests.collect());
        }
        parts
    }
}

#[test]
fn many_referrers_are_listed_in_pages_that_keep_the_filter_11_7() {
    let (memory, registry) = Registry::with_memory(&[]);
    let referred = Referred::new(&registry);
    let (mut all, mut wanted) = (BTreeSet::new(), BTreeSet::new());
    for number in 0..150 {
        let is_wanted = number % 3 == 0;
        let artifact_type = if is_wanted { "a/b+c" } else { "x/y" };
        let own = referred.refer(artifact_type, &number.to_string());
        if is_wanted {
            wanted.insert(own.clone());
        }
        all.insert(own);
    }
    let parts = referred.parts("");
    assert_eq!(
        parts.iter().map(BTreeSet::len).collect::<Vec<_>>(),
        [100, 50]
    );
    assert_eq!(together(&parts), all);
    memory.forget_operations();
    let parts = referred.parts("?artifactType=a/b%2Bc");
    assert_eq!((parts.len(), together(&parts)), (2, wanted.clone()));
    let operations = memory.operations().into_iter();
    let reads = operations.filter(|it| it.starts_with("R2 get oci/referrers"));
    assert_eq!(reads.count(), 50, "filtered referrers are not read");
    memory.lose_metadata();
    let parts = referred.parts("?artifactType=a/b%2Bc");
    assert_eq!(together(&parts), wanted);
}

/// Clients read at most 4 MiB (6.8).
#[test]
fn long_referrers_are_listed_in_shorter_pages() {
    let (_, registry) = Registry::with_memory(&[]);
    let referred = Referred::new(&registry);
    let long = "x".repeat(65_000);
    let refer = |number: usize| referred.refer("a/b", &format!("{number:03}{long}"));
    let all: BTreeSet<String> = (0..80).map(refer).collect();
    let parts = referred.parts("");
    assert_eq!(together(&parts), all);
    assert_eq!(parts.len(), 2);
    let longer = referred.text("a/b", &"x".repeat(65_536));
    let refused = referred.pushed.put_manifest("longer", MANIFEST, &longer);
    assert_eq!(code(&refused.expect(400)), "MANIFEST_INVALID");
}

/// A concurrent push and delete can leave such a referrer.
#[test]
fn a_missing_manifest_is_not_listed_as_a_referrer() {
    let (memory, registry) = Registry::with_memory(&[]);
    let referred = Referred::new(&registry);
    let (gone, there) = (
        referred.refer("a/b", "gone"),
        referred.refer("a/b", "there"),
    );
    memory.remove_object(&format!("oci/manifests/{NAME}:{gone}"));
    assert_eq!(referred.parts(""), [BTreeSet::from([there])]);
}

fn together(parts: &[BTreeSet<String>]) -> BTreeSet<String> {
    parts.iter().flatten().cloned().collect()
}
