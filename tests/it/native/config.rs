//! The effects of a deployment's settings.

use std::fs;
use std::path::Path;

use terrace_core::config::{Config, SETTINGS, Setting};

use crate::support::memory::Memory;
use crate::support::registry::Sent;
use crate::support::{ProviderFixture, Registry};

fn without_secrets(memory: &Memory) -> Registry {
    Registry::Memory {
        memory: memory.clone(),
        config: Box::new(Config::from_vars(&[]).unwrap()),
    }
}

#[test]
fn a_registry_without_a_secret_has_no_admin_routes() {
    let registry = without_secrets(&Memory::new());
    for authorization in ["Bearer ", "Bearer x", ""] {
        let sent = Sent::new("GET", "/admin/v1/namespaces/acme/keys")
            .header("authorization", authorization);
        registry.send(&sent).refuses(404, "TERRACE_ADMIN_TOKEN");
    }
}

#[test]
fn a_registry_without_any_secret_serves_lists_and_names_the_settings_for_downloads() {
    let memory = Memory::new();
    let fixture = ProviderFixture::new("1.0.0");
    fixture.publish(&Registry::in_memory(&memory, &[]));
    let registry = without_secrets(&memory);
    registry.get(&fixture.versions()).expect(200);
    registry
        .get(&fixture.download())
        .refuses(500, "TERRACE_URL_SECRET");
}

#[test]
fn worker_signed_urls_expire_after_their_lifetime() {
    let (memory, registry) = Registry::with_memory(&[("TERRACE_URL_LIFETIME", "60")]);
    let fixture = ProviderFixture::new("1.0.0");
    fixture.publish(&registry);
    let json = registry.get(&fixture.download()).json();
    let url = json["download_url"].as_str().unwrap();
    memory.advance(60);
    registry.get(url).expect(200);
    memory.advance(1);
    registry.get(url).refuses(403, "expired");
}

/// Returns the text of a file of the repository.
fn file(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn sorted<T: Ord>(values: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut values: Vec<T> = values.into_iter().collect();
    values.sort_unstable();
    values
}

/// Returns every name of the form `TERRACE_…` in a text.
fn names_in(text: &str) -> impl Iterator<Item = &str> {
    let is_of_name = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
    let words = text.split(move |c| !is_of_name(c));
    // `TERRACE_S3_…` stands for several names.
    words.filter(|word| word.starts_with("TERRACE_") && !word.ends_with('_'))
}

fn secrets() -> Vec<&'static str> {
    let secrets = SETTINGS.iter().filter(|setting| setting.is_secret);
    sorted(secrets.map(|setting| setting.name))
}

#[test]
fn the_configuration_page_lists_every_setting_and_no_other() {
    let page = file("docs/configuration.md");
    let rows = page.lines().filter_map(|line| {
        let (name, rest) = line.strip_prefix("| `")?.split_once("` | ")?;
        let is_secret = match rest.split_once(" |")?.0 {
            "secret" => true,
            "variable" => false,
            _ => return None,
        };
        Some((name, is_secret))
    });
    let settings = SETTINGS.iter().map(|it| (it.name, it.is_secret));
    assert_eq!(sorted(rows), sorted(settings));
}

#[test]
fn the_deployment_names_only_settings_and_its_variables_are_not_secrets() {
    let deployment = file("wrangler.toml");
    let (secret, vars) = deployment.split_once("[vars]").unwrap();
    assert!(names_in(vars).count() > 10, "the search finds names");
    for name in names_in(secret) {
        assert!(SETTINGS.iter().any(|it| it.name == name), "{name}");
    }
    for name in names_in(vars) {
        let is_variable = |it: &Setting| it.name == name && !it.is_secret;
        assert!(SETTINGS.iter().any(is_variable), "{name}");
    }
}

#[test]
fn the_local_registry_keeps_every_secret_out_of_its_configuration() {
    let script = file("scripts/server.mjs");
    let (_, list) = script.split_once("const SECRETS = [").unwrap();
    let (list, _) = list.split_once("];").unwrap();
    assert_eq!(sorted(names_in(list)), secrets());
}
