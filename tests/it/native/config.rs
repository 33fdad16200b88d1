//! What a deployment's settings change.

use crate::support::memory::Memory;
use crate::support::registry::Sent;
use crate::support::{ProviderFixture, Registry};
use terrace_core::config::Config;

fn without_secrets(memory: &Memory) -> Registry {
    Registry::Memory {
        memory: memory.clone(),
        config: Box::new(Config::from_vars(|_| None).unwrap()),
    }
}

#[test]
fn without_a_secret_there_are_no_admin_routes() {
    let registry = without_secrets(&Memory::new());
    for authorization in ["Bearer ", "Bearer x", ""] {
        let sent = Sent::new("GET", "/admin/v1/namespaces/acme/keys")
            .header("authorization", authorization);
        let response = registry.send(&sent).expect(404);
        assert!(response.errors().contains("TERRACE_ADMIN_TOKEN"));
    }
}

#[test]
fn without_any_secret_lists_are_served_and_a_download_names_what_to_set() {
    let memory = Memory::new();
    let fixture = ProviderFixture::new("1.0.0");
    fixture.publish(&Registry::in_memory(&memory, &[]));
    let registry = without_secrets(&memory);
    registry
        .get(&format!("{}/versions", fixture.path()))
        .expect(200);
    let response = registry
        .get(&format!("{}/1.0.0/download/linux/amd64", fixture.path()))
        .expect(500);
    assert!(response.errors().contains("TERRACE_URL_SECRET"));
}

#[test]
fn worker_signed_urls_end_when_their_lifetime_does() {
    let memory = Memory::new();
    let registry = Registry::in_memory(&memory, &[("TERRACE_URL_LIFETIME", "60")]);
    let fixture = ProviderFixture::new("1.0.0");
    fixture.publish(&registry);
    let json = registry
        .get(&format!("{}/1.0.0/download/linux/amd64", fixture.path()))
        .json();
    let url = json["download_url"].as_str().unwrap();
    memory.advance(60);
    registry.get(url).expect(200);
    memory.advance(1);
    let response = registry.get(url).expect(403);
    assert!(response.errors().contains("expired"));
}
