//! Tests of comparisons.

use serde_json::{Value, json};
use terrace_core::api::details::{ModuleView, Navigation, VersionDetails};

use super::*;

fn module(root: Value) -> ModuleView {
    serde_json::from_value(json!({ "root": root, "submodules": [], "examples": [] })).unwrap()
}

/// Returns the differences, one line each: `Inputs ~name! type,default`.
fn lines(comparison: &Comparison) -> Vec<String> {
    let sections = comparison.sections.iter();
    let lines = sections.flat_map(|section| {
        section.changes.iter().map(|change| {
            let sign = match change.kind {
                ChangeKind::Added => '+',
                ChangeKind::Removed => '-',
                ChangeKind::Changed => '~',
                ChangeKind::Raised => '^',
            };
            let mark = if change.is_breaking { "!" } else { "" };
            let fields: Vec<_> = change.fields.iter().map(|it| it.field).collect();
            format!(
                "{} {sign}{}{mark} {}",
                section.title,
                change.name,
                fields.join(",")
            )
        })
    });
    lines.map(|line| line.trim_end().to_owned()).collect()
}

#[test]
fn equal_modules_have_no_differences() {
    let root =
        json!({ "inputs": [{ "name": "a", "type": "string" }], "required_versions": [">= 1.5"] });
    let compared = modules(&module(root.clone()), &module(root));
    assert_eq!(compared, Comparison::default());
}

#[test]
fn inputs_that_callers_must_change_are_breaking() {
    let old = json!({ "inputs": [
        { "name": "gone", "default": "1" },
        { "name": "layout", "type": "object({a=string})", "default": "null" },
        { "name": "now_optional", "type": "string" },
        { "name": "now_required", "default": "1" },
        { "name": "retyped", "type": "set(string)", "default": "[]" },
        { "name": "same", "type": "map(object({\n  a = string\n}))", "default": "{}" },
    ] });
    let new = json!({ "inputs": [
        { "name": "layout", "type": "object({a=string})", "default": "{}" },
        { "name": "new_optional", "default": "1" },
        { "name": "new_required" },
        { "name": "now_optional", "type": "string", "default": "\"x\"" },
        { "name": "now_required" },
        { "name": "retyped", "type": "list(string)", "default": "[]" },
        { "name": "same", "type": "map(object({ a = string }))", "default": "{}" },
    ] });
    assert_eq!(
        lines(&modules(&module(old), &module(new))),
        [
            "Inputs -gone!",
            "Inputs ~now_required! required,default",
            "Inputs ~retyped! type",
            "Inputs ~layout default",
            "Inputs ~now_optional required,default",
            "Inputs +new_required! required",
            "Inputs +new_optional default",
        ]
    );
}

#[test]
fn all_parts_of_a_module_are_compared() {
    let old = json!({
        "outputs": [{ "name": "a" }, { "name": "b" }],
        "resources": [{ "mode": "managed", "type": "x_a", "name": "this", "provider": "x" }],
        "providers": [{ "name": "x", "versions": [">= 1"] }, { "name": "y", "versions": [">= 6.0"] }],
        "calls": [{ "name": "labels", "source": "a/b/c", "version": "1.0" }],
    });
    let new = json!({
        "outputs": [{ "name": "b", "is_sensitive": true }],
        "resources": [{ "mode": "data", "type": "x_a", "name": "this", "provider": "x" }],
        "providers": [{ "name": "x", "versions": [">= 2"] }, { "name": "y", "versions": [">= 6.28"] }],
        "calls": [{ "name": "labels", "source": "a/b/c", "version": "2.0" }],
        "required_versions": [">= 1.9"],
    });
    let compared = modules(&module(old), &module(new));
    assert_eq!(
        lines(&compared),
        [
            "Outputs -a!",
            "Outputs ~b! sensitive",
            "Resources -x_a.this!",
            "Resources +data.x_a.this provider",
            "Providers ^x! version",
            "Providers ^y version",
            "Modules ~labels version",
            "Terraform or OpenTofu ~required version! constraint",
        ]
    );
    assert_eq!(compared.breaking(), 5);
}

#[test]
fn differences_that_only_opentofu_reads_are_listed_once() {
    let of = |root: &str, tofu: &str, both: &str| {
        let view = |name: &str| json!([{ "name": both, "default": "1" }, { "name": name }]);
        let opentofu = json!({ "inputs": view(tofu), "required_versions": [tofu] });
        module(json!({ "inputs": view(root), "required_versions": [root], "opentofu": opentofu }))
    };
    assert_eq!(
        lines(&modules(&of("a", "c", "x"), &of("a", "d", "y"))),
        [
            "Inputs -x!",
            "Inputs +y default",
            "Inputs (OpenTofu) -c!",
            "Inputs (OpenTofu) +d! required",
            "OpenTofu ~required version! constraint",
        ]
    );
}

#[test]
fn an_input_that_accepts_fewer_values_is_breaking() {
    let inputs = |fields: Value| {
        let mut input = json!({ "name": "a", "type": "string", "default": "\"x\"" });
        for (name, value) in fields.as_object().unwrap() {
            input[name] = value.clone();
        }
        module(json!({ "inputs": [input] }))
    };
    let compared = |old: Value, new: Value| lines(&modules(&inputs(old), &inputs(new)));
    let (plain, ephemeral) = (json!({}), json!({ "is_ephemeral": true }));
    let (null, no_null) = (
        json!({ "is_nullable": true }),
        json!({ "is_nullable": false }),
    );
    for nullable in [&plain, &null] {
        let breaking = compared(nullable.clone(), no_null.clone());
        assert_eq!(breaking, ["Inputs ~a! not null"]);
        let harmless = compared(no_null.clone(), nullable.clone());
        assert_eq!(harmless, ["Inputs ~a not null"]);
    }
    let breaking = compared(ephemeral.clone(), plain.clone());
    assert_eq!(breaking, ["Inputs ~a! ephemeral"]);
    assert_eq!(compared(plain, ephemeral), ["Inputs ~a ephemeral"]);
}

#[test]
fn submodules_of_both_versions_are_compared_by_their_names() {
    let with = |submodules: Value| -> ModuleView {
        serde_json::from_value(json!({ "root": {}, "submodules": submodules, "examples": [] }))
            .unwrap()
    };
    let old = with(json!([{ "name": "a" }, { "name": "b", "inputs": [{ "name": "x" }] }]));
    let new = with(json!([{ "name": "b", "inputs": [] }, { "name": "c" }]));
    assert_eq!(
        lines(&modules(&old, &new)),
        ["Submodules -a!", "Submodules +c", "Inputs of b -x!"]
    );
}

fn provider(platforms: &[&str], symbols: Value, documents: Value) -> (VersionDetails, Navigation) {
    let platforms: Vec<Value> = platforms
        .iter()
        .map(|os| json!({ "os": os, "arch": "amd64", "filename": "x", "sha256": "0".repeat(64) }))
        .collect();
    let package = json!({ "kind": "provider", "address": "acme/widget", "path": "" });
    let mut details = package.clone();
    details["version"] = json!("1.0.0");
    details["is_documented"] = json!(true);
    details["latest"] = json!("1.0.0");
    details["platforms"] = json!(platforms);
    details["protocols"] = json!(["5.0"]);
    let mut navigation = package;
    navigation["version"] = json!("1.0.0");
    navigation["documents"] = documents;
    navigation["symbols"] = symbols;
    (
        serde_json::from_value(details).unwrap(),
        serde_json::from_value(navigation).unwrap(),
    )
}

fn compare(old: &(VersionDetails, Navigation), new: &(VersionDetails, Navigation)) -> Vec<String> {
    lines(&providers(
        ComparedVersion {
            details: &old.0,
            navigation: &old.1,
        },
        ComparedVersion {
            details: &new.0,
            navigation: &new.1,
        },
    ))
}

#[test]
fn a_symbol_or_a_platform_that_disappears_is_breaking() {
    let symbols = |names: &[&str]| {
        let symbols = names
            .iter()
            .map(|name| json!({ "kind": "resources", "name": name }));
        symbols.collect::<Value>()
    };
    let old = provider(&["linux", "windows"], symbols(&["w_a", "w_b"]), json!([]));
    let new = provider(&["linux", "darwin"], symbols(&["w_b", "w_c"]), json!([]));
    assert_eq!(
        compare(&old, &new),
        [
            "Resources -w_a!",
            "Resources +w_c",
            "Platforms -windows_amd64!",
            "Platforms +darwin_amd64",
        ]
    );
}

#[test]
fn arguments_are_compared_where_both_versions_have_a_schema() {
    let with = |arguments: &str| {
        let path = "/api/v1/providers/acme/widget/1.0.0/docs/resources/a";
        let symbol =
            json!({ "kind": "resources", "name": "w_a", "path": path, "arguments": arguments });
        provider(&["linux"], json!([symbol]), json!([]))
    };
    let old = with(
        "freer: Required, String\ngone: Optional, Set of String\nkept: Optional, String\nnarrower: Optional, Number\nretyped: Optional, Set of String",
    );
    let new = with(
        "freer: Optional, String\nkept: Optional, String, Deprecated\nnarrower: Required, Number\nneeded: Required, String\nnested: Optional, Block List\nretyped: Optional, List of String\nnested.inner: Required, String",
    );
    assert_eq!(
        compare(&old, &new),
        [
            "Resources -w_a.gone!",
            "Resources ~w_a.narrower! schema",
            "Resources ~w_a.retyped! schema",
            "Resources ~w_a.freer schema",
            "Resources ~w_a.kept schema",
            "Resources +w_a.needed! schema",
            "Resources +w_a.nested schema",
        ]
    );
    let of = |it: &(VersionDetails, Navigation)| {
        let it = ComparedVersion {
            details: &it.0,
            navigation: &it.1,
        };
        providers(it, it)
    };
    assert!(!of(&new).compares_names);
    let nameless = provider(
        &["linux"],
        json!([{ "kind": "resources", "name": "w_a" }]),
        json!([]),
    );
    assert!(of(&nameless).compares_names);
}

#[test]
fn a_version_without_documentation_or_platforms_shows_no_removals() {
    let symbols = json!([{ "kind": "resources", "name": "w_a" }]);
    let document = json!([{ "kind": "guides", "name": "x", "path": "", "size": 1 }]);
    let old = provider(&["linux"], symbols, document);
    let revoked = provider(&[], json!([]), json!([]));
    assert_eq!(compare(&old, &revoked), [] as [String; 0]);
}

#[test]
fn documents_are_compared_where_there_are_no_symbols() {
    let documents = |names: &[&str]| {
        let documents = names
            .iter()
            .map(|name| json!({ "kind": "guides", "name": name, "path": "", "size": 1 }));
        documents.collect::<Value>()
    };
    let old = provider(&["linux"], json!([]), documents(&["a", "b"]));
    let new = provider(&["linux"], json!([]), documents(&["b"]));
    assert_eq!(compare(&old, &new), ["Guides -a"]);
}
