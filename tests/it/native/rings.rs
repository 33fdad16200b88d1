//! The rings: who may name whom.

use std::fs;
use std::path::{Path, PathBuf};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(rust_files(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    files
}

/// Whether a line of code, not of comment, has `word` as a path's first segment or a dependency.
fn names(code: &str, word: &str) -> bool {
    let code_lines = code
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"));
    let path = format!("{word}::");
    code_lines.into_iter().any(|line| {
        line.match_indices(&path).any(|(at, _)| {
            let before = line.get(..at).unwrap().chars().next_back();
            before.is_none_or(|c| !c.is_alphanumeric() && c != '_' && c != ':')
        })
    })
}

#[test]
fn only_lib_and_platform_name_the_worker_crate() {
    let source = root().join("src");
    let mut namers = Vec::new();
    for file in rust_files(&source) {
        let code = fs::read_to_string(&file).unwrap();
        let file = file.strip_prefix(&source).unwrap();
        if ["worker", "web_sys", "js_sys", "wasm_bindgen"]
            .iter()
            .any(|word| names(&code, word))
        {
            let allowed = file == Path::new("lib.rs")
                || file == Path::new("platform.rs")
                || file.starts_with("platform");
            assert!(allowed, "{} names the platform", file.display());
            namers.push(file.to_owned());
        }
    }
    assert!(
        namers.len() > 3,
        "the search finds what it looks for: {namers:?}"
    );
}

/// The crates without IO, clock or async.
const PURE: [&str; 6] = [
    "terrace-archive",
    "terrace-base",
    "terrace-core",
    "terrace-openpgp",
    "terrace-presign",
    "terrace-signature",
];

#[test]
fn the_pure_crates_depend_on_no_platform_no_io_and_no_runtime() {
    for name in PURE {
        depends_on_no_platform(name);
    }
}

fn depends_on_no_platform(name: &str) {
    let manifest = root().join("crates").join(name).join("Cargo.toml");
    let manifest = fs::read_to_string(manifest).unwrap();
    let dependencies = manifest.split("[dev-dependencies]").next().unwrap();
    for forbidden in [
        "worker",
        "wasm-bindgen",
        "js-sys",
        "web-sys",
        "tokio",
        "futures",
        "ureq",
        "reqwest",
        "async",
    ] {
        assert!(
            !dependencies.lines().any(|line| line.starts_with(forbidden)),
            "{name}: {forbidden}"
        );
    }
}

#[test]
fn the_pure_crates_have_no_io_no_clock_and_no_async() {
    let mut looked_at = 0;
    let sources = PURE.map(|name| root().join("crates").join(name).join("src"));
    let files = sources.iter().flat_map(|source| rust_files(source));
    for file in files {
        let code = fs::read_to_string(&file).unwrap();
        let file = file.strip_prefix(root()).unwrap();
        let product = code.split("mod tests {").next().unwrap();
        if file.to_string_lossy().contains("test") {
            continue;
        }
        looked_at += 1;
        for forbidden in [
            "std::fs",
            "std::net",
            "std::process",
            "std::env",
            "SystemTime",
            "Instant::",
            "async fn",
            ".await",
        ] {
            let found = product
                .lines()
                .find(|line| !line.trim_start().starts_with("//") && line.contains(forbidden));
            assert_eq!(found, None, "{}: {forbidden}", file.display());
        }
    }
    assert!(looked_at > 40, "only {looked_at} files were looked at");
}

/// The groups of the core, lowest first: each may import from itself and those before it.
const GROUPS: [&str; 13] = [
    "limits",
    "http",
    "model",
    "storage",
    "auth",
    "oci",
    "index",
    "upstream",
    "api",
    "config",
    "publish",
    "read",
    "maintenance",
];

#[test]
fn the_groups_of_the_core_import_from_lower_ones_only() {
    let source = root().join("crates/terrace-core/src");
    let mut imports = 0;
    for file in rust_files(&source) {
        let path = file.strip_prefix(&source).unwrap();
        let group = path.iter().next().unwrap().to_str().unwrap();
        let group = group.trim_end_matches(".rs");
        if ["lib", "pinned"].contains(&group) || is_test(path) {
            continue;
        }
        let own = floor(group).unwrap_or_else(|| panic!("{group} is not among the groups"));
        for (name, line) in imported(&fs::read_to_string(&file).unwrap()) {
            let Some(other) = floor(&name) else { continue };
            assert!(other <= own, "{}: {line}", path.display());
            imports += 1;
        }
    }
    assert!(imports > 300, "only {imports} imports were found");
}

fn floor(group: &str) -> Option<usize> {
    GROUPS.iter().position(|known| *known == group)
}

/// Tests may import from everywhere.
fn is_test(path: &Path) -> bool {
    path.iter().any(|part| part == "tests")
        || ["tests.rs", "testing.rs"]
            .iter()
            .any(|name| path.ends_with(name))
}

/// The modules that the product's code in a file names as `crate::{module}`, each with its line.
fn imported(code: &str) -> Vec<(String, &str)> {
    let product = code.split("#[cfg(test)]\nmod tests").next().unwrap();
    let lines = product
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"));
    let mut found = Vec::new();
    for line in lines {
        for (at, prefix) in line.match_indices("crate::") {
            let rest = line.get(at + prefix.len()..).unwrap();
            let name: String = rest
                .chars()
                .take_while(|c| c.is_alphanumeric() || *c == '_')
                .collect();
            found.push((name, line));
        }
    }
    found
}
