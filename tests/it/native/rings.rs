//! The dependency rules between crates, groups and layers.

use std::collections::{BTreeMap, BTreeSet};
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

/// Returns whether a line of code (not of comment) has `word` as a path's first segment or dependency.
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
        "the search finds the expected files: {namers:?}"
    );
}

/// The crates without IO, clock or async.
const PURE: [&str; 9] = [
    "terrace-archive",
    "terrace-base",
    "terrace-core",
    "terrace-jose",
    "terrace-metadata",
    "terrace-openpgp",
    "terrace-presign",
    "terrace-signature",
    "terrace-web",
];

/// serde_json compiles a type once for each of its readers: with `from_str` beside `from_slice`, many types would be in the
/// Worker twice.
#[test]
fn the_worker_parses_json_by_one_reader() {
    let mut parsers = 0;
    let crates = PURE.iter().filter(|name| **name != "terrace-metadata");
    let crates = crates.chain(&["terrace-app"]);
    let folders = crates.map(|name| format!("crates/{name}/src"));
    for folder in folders.chain(["src".to_owned()]) {
        for file in rust_files(&root().join(folder)) {
            let text = fs::read_to_string(&file).unwrap();
            let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap();
            let is_test = file.ends_with("tests.rs");
            parsers += code.matches("serde_json::from_slice").count();
            for other in ["serde_json::from_str", "serde_json::from_reader"] {
                assert!(
                    is_test || !code.contains(other),
                    "{} calls {other} instead of serde_json::from_slice",
                    file.display()
                );
            }
        }
    }
    assert!(
        parsers > 20,
        "the search finds the expected calls: {parsers}"
    );
}

#[test]
fn the_pure_crates_depend_on_no_platform_no_io_and_no_runtime() {
    for name in PURE {
        depends_on_no_platform(name);
    }
}

#[test]
fn the_worker_parses_no_terraform_code() {
    let manifests = ["Cargo.toml", "crates/terrace-app/Cargo.toml"].map(str::to_owned);
    let pure = PURE.iter().filter(|name| **name != "terrace-metadata");
    let pure = pure.map(|name| format!("crates/{name}/Cargo.toml"));
    for manifest in manifests.into_iter().chain(pure) {
        let text = fs::read_to_string(root().join(&manifest)).unwrap();
        let mut dependencies = text.split("\n[").filter(|section| {
            section.starts_with("dependencies]") || section.starts_with("target.")
        });
        let is_parser =
            |line: &str| line.starts_with("terrace-metadata") || line.starts_with("hcl");
        assert!(
            !dependencies.any(|section| section.lines().any(is_parser)),
            "{manifest}"
        );
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
    assert!(looked_at > 40, "only {looked_at} files were checked");
}

/// The groups of the core, lowest first: each may import from itself and from the groups before it.
const GROUPS: [&str; 16] = [
    "limits",
    "http",
    "model",
    "storage",
    "documentation",
    "auth",
    "oci",
    "index",
    "search",
    "upstream",
    "api",
    "config",
    "publish",
    "read",
    "mcp",
    "maintenance",
];

/// The modules of the commands, lowest first.
const COMMANDS: [&str; 14] = [
    "error",
    "random",
    "clock",
    "parallel",
    "output",
    "http",
    "credentials",
    "archive",
    "source",
    "profile",
    "upstream",
    "registry",
    "args",
    "commands",
];

#[test]
fn the_groups_of_the_core_and_of_the_commands_import_from_lower_ones_only() {
    groups_import_from_lower_ones_only("terrace-core", &GROUPS);
    groups_import_from_lower_ones_only("terrace-commands", &COMMANDS);
}

fn groups_import_from_lower_ones_only(name: &str, groups: &[&str]) {
    let source = root().join("crates").join(name).join("src");
    let floor = |group: &str| groups.iter().position(|known| *known == group);
    let mut imports = 0;
    for file in rust_files(&source) {
        let path = file.strip_prefix(&source).unwrap();
        let group = path.iter().next().unwrap().to_str().unwrap();
        let group = group.trim_end_matches(".rs");
        if ["lib", "pinned"].contains(&group) || is_test(path) {
            continue;
        }
        let own = floor(group).unwrap_or_else(|| panic!("{group} is not among the groups"));
        for (other, line) in imported(&fs::read_to_string(&file).unwrap()) {
            let Some(other) = floor(&other) else { continue };
            assert!(other <= own, "{}: {line}", path.display());
            imports += 1;
        }
    }
    assert!(imports > 300, "only {imports} imports were found in {name}");
}

/// Tests may import from everywhere.
fn is_test(path: &Path) -> bool {
    path.iter().any(|part| part == "tests")
        || ["tests.rs", "testing.rs"]
            .iter()
            .any(|name| path.ends_with(name))
}

/// Returns the modules that the product code of a file names as `crate::{module}`, each with its line.
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

/// The layers of the application, lowest first: a folder or file may import from itself and from the layers before its own.
const LAYERS: [&[&str]; 18] = [
    &["absences", "usage"],
    &["cache"],
    &["host"],
    &["driver", "failure"],
    &["body", "concurrent", "context", "json", "outcome"],
    &["documents", "listing"],
    &["access", "removal", "webhooks"],
    &["archives", "index"],
    &["backup", "publish", "tokens"],
    &["copies", "pull", "sign_in"],
    &["oci"],
    &["read", "status"],
    &["documentation", "listings"],
    &["check", "erasure", "pages", "repair"],
    &["jobs", "mcp", "operate"],
    &["dispatch", "tasks"],
    &["pipeline"],
    &["lib"],
];

/// Returns the code of a file before its tests.
fn product(code: &str) -> &str {
    code.split("#[cfg(test)]").next().unwrap()
}

/// Returns the full paths that a file imports.
fn imports(code: &str) -> Vec<String> {
    let code = format!("\n{}", product(code));
    let statements = code.split("\nuse ").skip(1);
    let public = code.split("\npub use ").skip(1);
    let statements = statements.chain(public);
    let statements = statements.map(|rest| rest.split(';').next().unwrap());
    statements.flat_map(|it| spelled_out("", it)).collect()
}

/// Expands `a::{b, c::{d, e}}` into its paths.
fn spelled_out(before: &str, path: &str) -> Vec<String> {
    let Some((prefix, list)) = path.split_once('{') else {
        let path = path.split(" as ").next().unwrap();
        return vec![format!("{before}{}", path.trim())];
    };
    let before = format!("{before}{}", prefix.trim());
    let list = list.rsplit_once('}').unwrap().0;
    let (mut depth, mut start, mut paths) = (0, 0, Vec::new());
    for (at, c) in list.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                paths.push(list.get(start..at).unwrap());
                start = at + 1;
            }
            _ => {}
        }
    }
    paths.push(list.get(start..).unwrap());
    let paths = paths.into_iter().filter(|path| !path.trim().is_empty());
    paths.flat_map(|it| spelled_out(&before, it)).collect()
}

/// Returns the files of the application, as modules, with the modules that each imports from.
fn application() -> BTreeMap<String, BTreeSet<String>> {
    let source = root().join("crates/terrace-app/src");
    let files = rust_files(&source).into_iter().map(|file| {
        let code = fs::read_to_string(&file).unwrap();
        let file = file.strip_prefix(&source).unwrap().with_extension("");
        let names: Vec<_> = file.iter().map(|it| it.to_str().unwrap()).collect();
        (names.join("::"), code)
    });
    let files: BTreeMap<String, String> = files.collect();
    assert!(
        files.len() > 60,
        "the search finds the files: {}",
        files.len()
    );
    let of = |path: &str| {
        let mut path = path;
        loop {
            if files.contains_key(path) {
                return path.to_owned();
            }
            path = path
                .rsplit_once("::")
                .unwrap_or_else(|| panic!("no file has {path}"))
                .0;
        }
    };
    let imported = |(file, code): (&String, &String)| {
        for line in product(code).lines().map(str::trim_start) {
            let is_inline = !line.starts_with("//")
                && !line.contains("use crate::")
                && (line.contains("crate::") || line.contains("super::"));
            assert!(
                !is_inline,
                "{file} names another file without an import: {line}"
            );
        }
        let mut own = imports(code).into_iter();
        let mut paths = BTreeSet::new();
        own.by_ref().for_each(|path| {
            let path = match file.as_str() {
                // The crate root names its modules without `crate::`.
                "lib" => Some(path.as_str()),
                _ => path.strip_prefix("crate::"),
            };
            paths.extend(path.map(of));
        });
        (file.clone(), paths)
    };
    files.iter().map(imported).collect()
}

/// Returns the folder of a module, or the module itself if it is in none.
fn folder(module: &str) -> &str {
    module.split("::").next().unwrap()
}

fn layer(folder: &str) -> usize {
    let layer = LAYERS.iter().position(|layer| layer.contains(&folder));
    layer.unwrap_or_else(|| panic!("{folder} is not in any layer"))
}

#[test]
fn the_application_imports_from_lower_layers_only() {
    for (file, imported) in application() {
        for other in imported {
            let (own, its) = (folder(&file), folder(&other));
            assert!(
                own == its || layer(its) < layer(own),
                "{file} imports from {other}, which is not below it"
            );
        }
    }
}

#[test]
fn no_files_of_the_application_import_each_other_in_a_circle() {
    let mut left = application();
    // A file that imports no remaining file is not part of a cycle.
    while let Some(free) = left
        .iter()
        .find(|(_, imported)| imported.iter().all(|it| !left.contains_key(it)))
        .map(|(file, _)| file.clone())
    {
        left.remove(&free);
    }
    let Some(mut file) = left.keys().next() else {
        return;
    };
    // Every remaining file imports another one, so this path reaches one of them twice.
    let mut path = Vec::new();
    while !path.contains(&file) {
        path.push(file);
        file = left[file].iter().find(|it| left.contains_key(*it)).unwrap();
    }
    path.push(file);
    let circle = path.iter().skip_while(|it| **it != file);
    let circle: Vec<&str> = circle.map(|it| it.as_str()).collect();
    panic!("import cycle: {}", circle.join(" -> "));
}

#[test]
fn the_application_does_not_name_a_platform() {
    let app = root().join("crates/terrace-app");
    let manifest = fs::read_to_string(app.join("Cargo.toml")).unwrap();
    for forbidden in ["worker", "wasm-bindgen", "js-sys", "web-sys", "tokio"] {
        let has = manifest.lines().any(|line| line.starts_with(forbidden));
        assert!(!has, "{forbidden}");
    }
    for file in rust_files(&app.join("src")) {
        let code = fs::read_to_string(&file).unwrap();
        let lines = code
            .lines()
            .filter(|line| !line.trim_start().starts_with("//"));
        // Cloudflare Access may stand in front of any host: there it is an identity provider.
        let is_access = file.ends_with("sign_in/cloudflare.rs");
        for line in lines {
            let is_header = line.contains("\"cf-") && !is_access;
            let is_bound = line.contains(": Send") || line.contains("+ Send");
            assert!(!is_header && !is_bound, "{}: {line}", file.display());
        }
    }
}
