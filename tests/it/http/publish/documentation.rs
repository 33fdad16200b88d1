use serde_json::{Value, json};

use crate::support::documentation::{Documentation, member, path_of};
use crate::support::fixtures::{send_upload, sha256};
use crate::support::registry::unique;
use crate::support::{ModuleFixture, ProviderFixture, Registry};

/// Returns the address and the path of a module's version that is not published.
fn module() -> (String, String) {
    let address = format!("{}/vpc/aws", unique("d"));
    let path = path_of("modules", &address, "1.0.0");
    (address, path)
}

#[test]
fn documentation_is_added_with_the_same_two_requests_as_a_release() {
    let (registry, (address, path)) = (Registry::start(), module());
    let documentation = Documentation::of_module(&format!("# {address}"));
    registry.admin("GET", &path, None).expect(404);
    documentation.upload(&registry, &path);
    let created = documentation.put(&registry, &path).expect(201).json();
    assert_eq!(
        created,
        json!({
            "status": "created",
            "address": address,
            "version": "1.0.0",
            "sequence": 1,
            "is_published": false,
        })
    );
    let unchanged = documentation.put(&registry, &path).expect(200).json();
    assert_eq!(
        (&unchanged["status"], &unchanged["sequence"]),
        (&json!("unchanged"), &json!(1))
    );
    let state = registry.admin("GET", &path, None).expect(200).json();
    let digest = sha256(&documentation.archive);
    assert_eq!(state["sha256"], digest);
    assert_eq!(state["head_length"], documentation.head_length);
    assert_eq!(state["history"][0]["archive"], digest);
    assert_eq!(state["history"][0]["by"], "root");
}

#[test]
fn documentation_of_a_published_version_is_added_and_replaced() {
    let (registry, module) = (Registry::start(), ModuleFixture::new("1.0.0"));
    module.publish(&registry);
    let path = path_of("modules", &module.address, "1.0.0");
    let [first, second] =
        ["one", "two"].map(|text| Documentation::of_module(&format!("{text} {}", module.address)));
    let created = first.add(&registry, &path).expect(201).json();
    assert_eq!(created["is_published"], true);
    let changed = second.add(&registry, &path).expect(200).json();
    assert_eq!(
        (&changed["status"], &changed["sequence"]),
        (&json!("changed"), &json!(2))
    );
    let state = registry.admin("GET", &path, None).expect(200).json();
    let history = state["history"].as_array().unwrap().iter();
    let history: Vec<&str> = history.map(|it| it["archive"].as_str().unwrap()).collect();
    assert_eq!(history, [sha256(&second.archive), sha256(&first.archive)]);
    // The archive is still stored, and the change is one of its own.
    let again = first.put(&registry, &path).expect(200).json();
    assert_eq!(
        (&again["status"], &again["sequence"]),
        (&json!("changed"), &json!(3))
    );
}

#[test]
fn documentation_for_an_unpublished_version_is_refused_once_it_is_published() {
    let (registry, module) = (Registry::start(), ModuleFixture::new("1.0.0"));
    let path = path_of("modules", &module.address, "1.0.0");
    let [first, second] =
        ["one", "two"].map(|text| Documentation::of_module(&format!("{text} {}", module.address)));
    let before = format!("{path}?unpublished=true");
    first.add(&registry, &before).expect(201);
    first.put(&registry, &before).expect(200);
    module.publish(&registry);
    let refused = second.put(&registry, &before).expect(409).errors();
    assert!(refused.contains("is published already"), "{refused}");
    let state = registry.admin("GET", &path, None).expect(200).json();
    assert_eq!(state["sha256"], sha256(&first.archive));
    second
        .add(&registry, &format!("{path}?unpublished=false"))
        .expect(200);
    let refused = second.put(&registry, &format!("{path}?unpublished=x"));
    assert!(
        refused
            .expect(400)
            .errors()
            .contains("must be true or false")
    );
}

#[test]
fn documentation_is_removed_on_condition_until_the_version_is_published() {
    let (registry, module) = (Registry::start(), ModuleFixture::new("1.0.0"));
    let path = path_of("modules", &module.address, "1.0.0");
    let before = format!("{path}?unpublished=true");
    let documentation = Documentation::of_module(&format!("# {}", module.address));
    documentation.add(&registry, &path).expect(201);
    registry.admin("DELETE", &before, None).expect(200);
    registry.admin("DELETE", &before, None).expect(404);
    documentation.add(&registry, &path).expect(201);
    module.publish(&registry);
    let refused = registry.admin("DELETE", &before, None).expect(409).errors();
    assert!(refused.contains("is published already"), "{refused}");
    registry.admin("GET", &path, None).expect(200);
    let malformed = format!("{path}?unpublished=x");
    registry.admin("DELETE", &malformed, None).expect(400);
    registry.admin("DELETE", &path, None).expect(200);
}

#[test]
fn documentation_is_removed_on_condition_of_its_archive() {
    let (registry, (address, path)) = (Registry::start(), module());
    let documentation = Documentation::of_module(&format!("# {address}"));
    documentation.add(&registry, &path).expect(201);
    let delete = |archive: &str| {
        let path = format!("{path}?sha256={archive}");
        registry.admin("DELETE", &path, None)
    };
    let other = sha256(b"other documentation");
    let refused = delete(&other).expect(409).errors();
    assert!(refused.contains("it was kept"), "{refused}");
    let own = sha256(&documentation.archive);
    for malformed in [
        "",
        "x",
        "%ff",
        &format!("{own}0"),
        &format!("{own}&sha256={own}"),
    ] {
        let refused = delete(malformed).expect(400).errors();
        assert!(refused.contains("sha256"), "{refused}");
    }
    registry.admin("GET", &path, None).expect(200);
    delete(&own).expect(200);
    delete(&own).expect(404);
}

#[test]
fn a_provider_is_documented_too() {
    let (registry, provider) = (Registry::start(), ProviderFixture::new("1.0.0"));
    let address = format!("{}/{}", provider.namespace, provider.provider_type);
    let path = path_of("providers", &address, "1.0.0");
    let text = format!("# {address}\n{}", "text ".repeat(20_000));
    let documentation = Documentation::of_provider(&[("widget", &text), ("gadget", "short")]);
    documentation.add(&registry, &path).expect(201);
    provider.publish(&registry);
    let unchanged = documentation.put(&registry, &path).expect(200).json();
    assert_eq!(unchanged["is_published"], true);
}

#[test]
fn documentation_is_removed_without_its_version() {
    let (registry, module) = (Registry::start(), ModuleFixture::new("1.0.0"));
    module.publish(&registry);
    let path = path_of("modules", &module.address, "1.0.0");
    let documentation = Documentation::of_module(&module.address);
    registry.admin("DELETE", &path, None).expect(404);
    documentation.add(&registry, &path).expect(201);
    let removed = registry.admin("DELETE", &path, None).expect(200).json();
    assert_eq!(
        removed,
        json!({ "address": module.address, "version": "1.0.0" })
    );
    registry.admin("GET", &path, None).expect(404);
    registry.admin("DELETE", &path, None).expect(404);
    registry
        .get(&format!("{}/versions", module.path()))
        .expect(200);
    let created = documentation.put(&registry, &path).expect(201).json();
    assert_eq!(created["sequence"], 1);
}

/// Uploads an archive and asserts that it is refused, with a reason.
#[track_caller]
fn assert_refused(what: &str, documentation: &Documentation, reason: &str) {
    let (registry, (_, path)) = (Registry::start(), module());
    let errors = documentation.add(&registry, &path).expect(422).errors();
    assert!(errors.contains(reason), "{what}: {errors}");
    registry.admin("GET", &path, None).expect(404);
}

/// Returns documentation with a head of another length than that of its first member.
fn with_head_length(change: isize) -> Documentation {
    let mut documentation = Documentation::of_provider(&[("widget", &unique("text"))]);
    documentation.head_length = documentation
        .head_length
        .checked_add_signed(change)
        .unwrap();
    documentation
}

#[test]
fn an_archive_whose_head_is_no_intact_gzip_member_is_refused() {
    let not_gzip = Documentation::of_members(unique("this is no gzip").into_bytes(), &[]);
    let mut damaged = Documentation::of_module(&unique("damaged"));
    let last = damaged.archive.len() - 5;
    damaged.archive[last] ^= 1;
    let twice = Documentation::of_members(
        [member(b"{}"), member(unique("x").as_bytes())].concat(),
        &[],
    );
    for (what, documentation) in [
        ("not gzip", not_gzip),
        ("another checksum", damaged),
        ("two members", twice),
        ("cut", with_head_length(-1)),
        ("cut before the trailer", with_head_length(-8)),
        ("a byte of the next member", with_head_length(1)),
    ] {
        assert_refused(what, &documentation, "not exactly one intact gzip member");
    }
}

#[test]
fn an_archive_with_another_head_is_refused_with_the_reason() {
    let of = |head: Value| Documentation::of_head(&head);
    let page = json!({
        "kind": "resources", "name": "widget", "title": "widget",
        "member": { "offset": 0, "length": 10, "size": 5 },
    });
    let deep = format!("{}{}", "[".repeat(100_000), unique(""));
    for (what, documentation, reason) in [
        (
            "no JSON",
            Documentation::of_members(member(unique("x").as_bytes()), &[]),
            "is not valid",
        ),
        (
            "deep JSON",
            Documentation::of_members(member(deep.as_bytes()), &[]),
            "is not valid",
        ),
        (
            "nothing",
            Documentation::of_members(member(b""), &[unique("").into_bytes()]),
            "is not valid",
        ),
        (
            "another kind",
            Documentation::of_provider(&[(&unique("a"), "")]),
            "is that of a provider",
        ),
        (
            "a newer schema",
            of(
                json!({ "schema": 2, "contents": { "module": { "root": { "readme": unique("") } } } }),
            ),
            "schema 2",
        ),
        (
            "a page outside the archive",
            of(json!({
                "schema": 1,
                "contents": { "module": {
                    "root": { "readme": unique("") },
                    "examples": [{ "name": "simple", "files": [page] }],
                } },
            })),
            "outside the archive",
        ),
    ] {
        assert_refused(what, &documentation, reason);
    }
}

#[test]
fn a_head_that_inflates_beyond_the_limit_is_refused() {
    let limit = terrace_core::limits::DOCUMENTATION_HEAD_BYTES;
    let head = |length: usize| {
        let json =
            json!({ "schema": 1, "contents": { "module": { "root": { "readme": unique("") } } } });
        let json = json.to_string();
        let spaces = " ".repeat(length - json.len());
        Documentation::of_members(member(format!("{json}{spaces}").as_bytes()), &[])
    };
    assert_refused("one byte too long", &head(limit + 1), "too long");
    // A hundred megabytes in a hundred kilobytes.
    assert_refused("a bomb", &head(50 * limit), "too long");
    let (registry, (_, path)) = (Registry::start(), module());
    head(limit).add(&registry, &path).expect(201);
}

#[test]
fn documentation_with_too_many_symbols_or_a_long_one_is_refused() {
    let head = |symbols: Vec<Value>| {
        let provider = json!({ "pages": [], "symbols": symbols });
        json!({ "schema": 1, "contents": { "provider": provider } })
    };
    let symbol = |name: &str| json!({ "kind": "resources", "name": name });
    let (registry, owner) = (Registry::start(), unique("d"));
    let path = path_of("providers", &format!("{owner}/widget"), "1.0.0");
    let refused = |symbols| {
        let documentation = Documentation::of_head(&head(symbols));
        documentation.add(&registry, &path).expect(422).errors()
    };
    let errors = refused(vec![symbol(&owner); 5_001]);
    assert!(
        errors.contains("has 5001 symbols, at most 5000 are allowed"),
        "{errors}"
    );
    let errors = refused(vec![symbol(&owner.repeat(100))]);
    assert!(errors.contains("at most 192 are allowed"), "{errors}");
}

#[test]
fn an_archive_is_stored_only_with_its_digest_and_length() {
    let (registry, (address, path)) = (Registry::start(), module());
    let documentation = Documentation::of_module(&address);
    let answer = documentation.put(&registry, &path).expect(202).json();
    let mut other = documentation.archive.clone();
    other[20] ^= 1;
    let status = send_upload(&registry, &answer["missing"][0], &other).status;
    // A bucket may store the wrong bytes; the registry then discards them.
    assert!(registry.has_bucket() || status == 422, "{status}");
    documentation.upload(&registry, &path);
    let mut longer = documentation.description();
    longer["size"] = (documentation.archive.len() + 1).into();
    let longer = longer.to_string();
    let refused = registry.admin("PUT", &path, Some(longer.as_bytes()));
    let errors = refused.expect(422).errors();
    assert!(errors.contains("has another length"), "{errors}");
    documentation.put(&registry, &path).expect(201);
}

#[test]
fn a_description_with_impossible_values_is_refused_with_all_reasons() {
    let (registry, (_, path)) = (Registry::start(), module());
    let refused = |body: &Value, status| {
        let answer = registry.admin("PUT", &path, Some(body.to_string().as_bytes()));
        answer.expect(status).errors()
    };
    let whole = Documentation::of_module("x").description();
    let mut odd = whole.clone();
    odd["sha256"] = "x".into();
    odd["size"] = 0.into();
    odd["license"] = "<b>".into();
    let reasons = refused(&odd, 422);
    for reason in ["sha256", "size is 0", "SPDX"] {
        assert!(reasons.contains(reason), "{reasons}");
    }
    for (field, value, status) in [
        ("size", json!(u64::MAX), 422),
        ("size", json!(64 * 1024 * 1024 + 1), 422),
        ("head_length", json!(0), 422),
        ("head_length", json!(u64::MAX), 422),
        ("origin", json!("https://example.com"), 422),
        ("size", json!(-1), 400),
        ("size", json!("1"), 400),
        ("sha256", Value::Null, 400),
        ("more", json!(1), 400),
    ] {
        let mut odd = whole.clone();
        odd[field] = value.clone();
        assert!(!refused(&odd, status).is_empty(), "{field} {value}");
    }
}

#[test]
fn documentation_of_another_registry_is_refused_unless_it_is_enabled() {
    let registry = Registry::start();
    let address = format!("registry.example.com/{}/widget", unique("d"));
    let path = path_of("mirror", &address, "1.0.0");
    let errors = Documentation::of_provider(&[]).put(&registry, &path);
    let errors = errors.expect(422).errors();
    assert!(errors.contains("TERRACE_MIRRORED_DOCS"), "{errors}");
}
