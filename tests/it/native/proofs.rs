//! Checks that the tests that `docs/clients.md` cites exist in the cited files.

use std::fs;
use std::path::Path;

/// The prefixes of tests in other places.
const ELSEWHERE: [&str; 2] = ["cli", "clients"];

/// The pure crates. Their unit tests are named by crate and module.
const CRATES: [&str; 5] = ["archive", "core", "jose", "openpgp", "presign"];

#[test]
fn every_native_test_that_the_client_requirements_name_exists() {
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
        let file = match modules.split_once("::") {
            Some((first, modules)) if CRATES.contains(&first) => {
                format!(
                    "crates/terrace-{first}/src/{}.rs",
                    modules.replace("::", "/")
                )
            }
            None if CRATES.contains(&first) => format!("crates/terrace-{first}/src/lib.rs"),
            _ if first == "native" => format!("tests/it/{}.rs", modules.replace("::", "/")),
            _ => format!("tests/it/http/{}.rs", modules.replace("::", "/")),
        };
        let code = fs::read_to_string(root.join(&file));
        let code = code.unwrap_or_else(|error| panic!("{name}: {file}: {error}"));
        // The tests of a long module have a file of their own.
        let tests = file.replace(".rs", "/tests.rs");
        let code = code + &fs::read_to_string(root.join(tests)).unwrap_or_default();
        let has_test = code
            .lines()
            .any(|line| line.trim_start().starts_with(&format!("fn {test}(")));
        assert!(has_test, "{name} is not in {file}");
        checked += 1;
    }
    assert!(checked > 100, "only {checked} names were found");
}
