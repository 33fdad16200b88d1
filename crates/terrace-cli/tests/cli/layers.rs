//! The directories of the program's source, and the direction of the imports between them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// The top modules. Each imports only modules that come after it here.
const ORDER: [&str; 15] = [
    "lib",
    "commands",
    "args",
    "registry",
    "upstream",
    "profile",
    "source",
    "archive",
    "credentials",
    "http",
    "output",
    "parallel",
    "clock",
    "random",
    "error",
];

/// A module's path, such as `["commands", "mirror", "pull"]`.
type ModulePath = Vec<String>;

/// A path in a module that leads to another module.
struct Import {
    from: ModulePath,
    to: ModulePath,
    path: String,
}

fn source() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../terrace-commands/src")
}

/// Returns every module with its code.
fn modules() -> BTreeMap<ModulePath, String> {
    let mut modules = BTreeMap::new();
    let mut folders = vec![source()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let name = path.strip_prefix(source()).unwrap().with_extension("");
                let name = name.iter().map(|part| part.to_str().unwrap().to_owned());
                modules.insert(name.collect(), fs::read_to_string(&path).unwrap());
            }
        }
    }
    modules
}

/// Returns the paths in a piece of code that begin with `crate` or `super`, one for each item of a group.
fn paths(code: &str) -> Vec<Vec<&str>> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let is_of_path = |c: char| is_word(c) || c == ':';
    let mut paths = Vec::new();
    for (at, _) in ["crate::", "super::"]
        .iter()
        .flat_map(|root| code.match_indices(root))
    {
        let (before, rest) = code.split_at_checked(at).unwrap();
        if before.ends_with(is_of_path) {
            continue;
        }
        let end = rest.find(|c| !is_of_path(c)).unwrap_or(rest.len());
        let (path, rest) = rest.split_at_checked(end).unwrap();
        let path = path.trim_end_matches(':');
        let group = rest.strip_prefix('{').and_then(|rest| rest.split_once('}'));
        let items = group.map_or("", |(items, _)| items);
        assert!(!items.contains('{'), "{path}: a group in a group");
        for item in items.split(',') {
            let item = item.trim().split("::").filter(|part| !part.is_empty());
            paths.push(path.split("::").chain(item).collect());
        }
    }
    paths
}

/// Returns the module that a path in another one leads to, if it leads to one.
fn resolve(path: &[&str], from: &ModulePath, modules: &BTreeSet<ModulePath>) -> Option<ModulePath> {
    let mut found = Vec::new();
    let mut rest = path;
    if path[0] == "super" {
        found.clone_from(from);
        while let Some(("super", more)) = rest.split_first().map(|(first, more)| (*first, more)) {
            found.pop();
            rest = more;
        }
    } else {
        rest = &rest[1..];
    }
    for part in rest {
        let mut inner = found.clone();
        inner.push((*part).to_owned());
        if !modules.contains(&inner) {
            break;
        }
        found = inner;
    }
    (!found.is_empty()).then_some(found)
}

fn imports() -> Vec<Import> {
    let modules = modules();
    let names: BTreeSet<ModulePath> = modules.keys().cloned().collect();
    let mut imports = Vec::new();
    for (from, code) in &modules {
        let is_code = |line: &&str| !line.trim_start().starts_with("//");
        let code: Vec<&str> = code.lines().filter(is_code).collect();
        let code = code.join("\n");
        // The tests of a module are a module inside it.
        let (code, tests) = code.split_once("\nmod tests {").unwrap_or((&code, ""));
        let of_tests = [from.as_slice(), &["tests".to_owned()]].concat();
        let code = paths(code).into_iter().map(|path| (path, from));
        let tests = paths(tests).into_iter().map(|path| (path, &of_tests));
        for (path, place) in code.chain(tests) {
            if let Some(to) = resolve(&path, place, &names) {
                imports.push(Import {
                    from: from.clone(),
                    to,
                    path: path.join("::"),
                });
            }
        }
    }
    imports
}

#[test]
fn the_order_names_every_top_module() {
    let top: BTreeSet<String> = modules().keys().map(|path| path[0].clone()).collect();
    let ordered: BTreeSet<String> = ORDER.map(str::to_owned).into();
    assert_eq!(top, ordered);
}

#[test]
fn a_top_module_imports_only_those_below_it() {
    let rank = |path: &ModulePath| ORDER.iter().position(|name| *name == path[0]).unwrap();
    let imports = imports();
    assert!(imports.len() > 200, "only {} were found", imports.len());
    for Import { from, to, path } in imports {
        let is_below = from[0] == to[0] || rank(&from) < rank(&to);
        assert!(is_below, "{} imports from above: {path}", from.join("::"));
    }
}

#[test]
fn modules_of_a_directory_do_not_import_each_other_in_a_circle() {
    // For each directory, its modules with the imported modules of the same directory.
    let mut folders: BTreeMap<ModulePath, BTreeMap<String, BTreeSet<String>>> = BTreeMap::new();
    for Import { from, to, .. } in imports() {
        let shared = from.iter().zip(&to).take_while(|(one, other)| one == other);
        let shared = shared.count();
        if let (Some(one), Some(other)) = (from.get(shared), to.get(shared)) {
            let folder = folders.entry(from[..shared].to_vec()).or_default();
            folder.entry(one.clone()).or_default().insert(other.clone());
        }
    }
    assert!(folders.len() > 5, "{folders:?}");
    for (folder, mut edges) in folders {
        // A module that imports no other one, or that no other one imports, is not part of a circle.
        loop {
            let before = edges.len();
            let importing: BTreeSet<String> = edges.keys().cloned().collect();
            edges
                .values_mut()
                .for_each(|to| to.retain(|it| importing.contains(it)));
            let imported: BTreeSet<String> = edges.values().flatten().cloned().collect();
            edges.retain(|from, to| !to.is_empty() && imported.contains(from));
            if edges.len() == before {
                break;
            }
        }
        assert!(edges.is_empty(), "a circle in {folder:?}: {edges:?}");
    }
}
