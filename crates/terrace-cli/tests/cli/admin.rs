//! `terrace admin`, where a registry says what it usually does not.

use serde_json::{Value, json};

use crate::support::http::Response;
use crate::support::registry::{Fault, Registry};
use crate::support::run;

fn answers(registry: &Registry, path: &str, answer: &Value) {
    let answer = Response::new(200, answer.to_string());
    registry.fail("GET", path, Fault::Answer(answer));
}

/// A release that only a newer registry knows may refer to any archive.
#[test]
fn nothing_is_removed_as_long_as_a_release_is_not_understood() {
    let key = format!("archives/{}.zip", "0".repeat(64));
    let old = json!([{ "key": key, "size": 1, "stored_at": 1 }]);
    for (facts, unknown) in [
        (json!([]), json!(["releases/things/acme/widget/1.0.0"])),
        (
            json!([{ "key": "releases/modules/acme/vpc/aws/1.0.0", "document": "{}" }]),
            json!([]),
        ),
    ] {
        let registry = Registry::start();
        let listed = json!({ "now": 1_800_000_000, "archives": old });
        answers(&registry, "/admin/v1/archives", &listed);
        answers(&registry, "prefix=garbage", &json!({ "facts": [] }));
        let releases = json!({ "facts": facts, "unknown": unknown });
        answers(&registry, "prefix=releases", &releases);
        let refused = run(&registry, &["admin", "gc", "--older-than", "0s", "--yes"]).expect(3);
        assert!(
            refused.errors().contains("releases/"),
            "{}",
            refused.errors()
        );
        let requests = registry.requests();
        assert!(
            !requests.iter().any(|it| it.contains("POST")),
            "{requests:?}"
        );
    }
}
