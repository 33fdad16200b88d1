//! The number of storage operations that follow each other in a publish: `docs/rounds.json`, which `TERRACE_PIN=1` renews.

use std::env;
use std::fs;
use std::path::Path;

use serde_json::{Map, Value, json};

use crate::support::fixtures::{Signer, zip_of};
use crate::support::memory::Memory;
use crate::support::registry::Sent;
use crate::support::{ModuleFixture, ProviderFixture, Registry};

/// The number of operations of one request that the platform performs at once
/// (<https://developers.cloudflare.com/workers/platform/limits/#simultaneous-open-connections>).
const AT_ONCE: usize = 6;

/// A package that is published, with its address.
struct Publish {
    admin_path: String,
    description: Value,
    upload: Box<dyn Fn(&Registry)>,
}

fn provider(platforms: usize) -> Publish {
    let mut fixture = ProviderFixture::of("acme", "widget", "1.0.0");
    fixture.packages.clear();
    for number in 0..platforms {
        let content = format!("#!/bin/sh\n# {number}\n");
        let zip = zip_of(&[("terraform-provider-widget_v1.0.0", content.as_bytes())]);
        fixture.add_package("linux", &format!("arch{number}"), zip);
    }
    fixture.sign(Signer::usual());
    Publish {
        admin_path: fixture.admin_path(),
        description: fixture.description(),
        upload: Box::new(move |registry| fixture.upload(registry)),
    }
}

fn module() -> Publish {
    let fixture = ModuleFixture::of("acme", "1.0.0");
    Publish {
        admin_path: fixture.admin_path(),
        description: fixture.description(),
        upload: Box::new(move |registry| fixture.upload(registry)),
    }
}

/// Returns the rounds of both requests of a publish: the one that asks which archives are missing, and the one that commits.
/// The isolate has already written something, the owner has a package, and storage keeps the checksums of uploads, as R2 does.
fn rounds(publish: &Publish, width: usize) -> usize {
    let memory = Memory::new();
    let registry = Registry::in_memory(&memory, &[]);
    let earlier = ProviderFixture::of("acme", "other", "1.0.0");
    earlier.publish(&registry);
    let bearer = format!("Bearer {}", registry.token());
    let request = Sent::new("PUT", &publish.admin_path)
        .header("authorization", &bearer)
        .body(publish.description.to_string());
    let (asked, first) = memory.in_rounds(width, registry.answer(&request));
    asked.expect(202);
    (publish.upload)(&registry);
    let (published, second) = memory.in_rounds(width, registry.answer(&request));
    published.expect(201);
    first + second
}

#[test]
fn the_operations_of_a_publish_that_follow_each_other_are_pinned() {
    let published = [
        ("provider_15_platforms", provider(15)),
        ("provider_1_platform", provider(1)),
        ("module", module()),
    ];
    let mut measured = Map::new();
    for (name, publish) in &published {
        let counts = json!({
            "six_at_once": rounds(publish, AT_ONCE),
            "any_number_at_once": rounds(publish, usize::MAX),
        });
        measured.insert((*name).to_owned(), counts);
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/rounds.json");
    let text = serde_json::to_string_pretty(&Value::Object(measured)).unwrap() + "\n";
    if env::var("TERRACE_PIN").is_ok() {
        fs::write(&path, &text).unwrap();
    }
    let pinned = fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(
        text, pinned,
        "a change of docs/rounds.json changes the latency of publishes: TERRACE_PIN=1 renews it"
    );
}
