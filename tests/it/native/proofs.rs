//! `docs/clients.md` names the tests that prove its items: they exist, where it says.

use std::fs;
use std::path::Path;

/// The prefixes of tests elsewhere.
const ELSEWHERE: [&str; 3] = ["cli", "clients", "core"];

#[test]
fn every_registry_test_that_the_client_requirements_name_exists() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let text = fs::read_to_string(root.join("docs/clients.md")).unwrap();
    let mut checked = 0;
    for name in text.split('`').skip(1).step_by(2) {
        let is_path = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_' | b':');
        let Some((modules, test)) = name.rsplit_once("::") else {
            continue;
        };
        let first = modules.split("::").next().unwrap();
        if !name.bytes().all(is_path) || ELSEWHERE.contains(&first) {
            continue;
        }
        let layer = if first == "native" { "" } else { "http/" };
        let file = format!("tests/it/{layer}{}.rs", modules.replace("::", "/"));
        let code = fs::read_to_string(root.join(&file));
        let code = code.unwrap_or_else(|error| panic!("{name}: {file}: {error}"));
        assert!(
            code.contains(&format!("#[test]\nfn {test}() {{\n")),
            "{name} is not in {file}"
        );
        checked += 1;
    }
    assert!(checked > 100, "only {checked} names were found");
}
