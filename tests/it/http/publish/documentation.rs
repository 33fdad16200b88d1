use serde_json::json;

use crate::support::documentation::{Documentation, member, path_of};
use crate::support::fixtures::{send_upload, sha256};
use crate::support::registry::unique;
use crate::support::{ModuleFixture, Registry};

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
    let unchanged = documentation.put(&registry, &path).found();
    assert_eq!(
        (&unchanged["status"], &unchanged["sequence"]),
        (&json!("unchanged"), &json!(1))
    );
    let state = registry.read_as_admin(&path);
    let digest = sha256(&documentation.archive);
    assert_eq!(state["sha256"], digest);
    assert_eq!(state["head_length"], documentation.head_length);
    assert_eq!(state["history"][0]["archive"], digest);
    assert_eq!(state["history"][0]["by"], "root");
}

#[test]
fn documentation_of_a_published_version_is_added_replaced_and_removed() {
    let (registry, module) = (Registry::start(), ModuleFixture::new("1.0.0"));
    module.publish(&registry);
    let path = path_of("modules", &module.address, "1.0.0");
    let [first, second] =
        ["one", "two"].map(|text| Documentation::of_module(&format!("{text} {}", module.address)));
    let created = first.add(&registry, &path).expect(201).json();
    assert_eq!(created["is_published"], true);
    let changed = second.add(&registry, &path).found();
    // The archive is still stored, and the change is one of its own.
    let again = first.put(&registry, &path).found();
    for (answer, sequence) in [(changed, 2), (again, 3)] {
        let seen = (&answer["status"], &answer["sequence"]);
        assert_eq!(seen, (&json!("changed"), &json!(sequence)));
    }
    let state = registry.read_as_admin(&path);
    let history = state["history"].as_array().unwrap().iter();
    let history: Vec<&str> = history.map(|it| it["archive"].as_str().unwrap()).collect();
    let [one, two] = [&first, &second].map(|it| sha256(&it.archive));
    assert_eq!(history, [&one, &two, &one]);
    let before = format!("{path}?unpublished=true");
    registry
        .admin("DELETE", &before, None)
        .refuses(409, "is published already");
    let malformed = format!("{path}?unpublished=x");
    registry.admin("DELETE", &malformed, None).expect(400);
    let removed = registry.admin("DELETE", &path, None).found();
    let expected = json!({ "address": module.address, "version": "1.0.0" });
    assert_eq!(removed, expected);
    registry.admin("GET", &path, None).expect(404);
    registry.admin("DELETE", &path, None).expect(404);
    let versions = module.versions();
    registry.get(&versions).expect(200);
    let created = first.put(&registry, &path).expect(201).json();
    assert_eq!(created["sequence"], 1);
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
    second
        .put(&registry, &before)
        .refuses(409, "is published already");
    let state = registry.read_as_admin(&path);
    assert_eq!(state["sha256"], sha256(&first.archive));
    second
        .add(&registry, &format!("{path}?unpublished=false"))
        .expect(200);
    for (malformed, shown) in [("x", "x"), ("", "\"\"")] {
        let refused = second.put(&registry, &format!("{path}?unpublished={malformed}"));
        refused.refuses(400, &format!("is {shown}: it must be true or false"));
    }
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
    delete(&other).refuses(409, "it was kept");
    let own = sha256(&documentation.archive);
    for malformed in [
        "",
        "x",
        "%ff",
        &format!("{own}0"),
        &format!("{own}&sha256={own}"),
    ] {
        delete(malformed).refuses(400, "sha256");
    }
    registry.admin("GET", &path, None).expect(200);
    delete(&own).expect(200);
    delete(&own).expect(404);
}

/// Uploads an archive and asserts that it is refused, with a reason.
#[track_caller]
fn assert_refused(documentation: &Documentation, reason: &str) {
    let (registry, (_, path)) = (Registry::start(), module());
    documentation.add(&registry, &path).refuses(422, reason);
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
    for documentation in [
        not_gzip,
        damaged,
        twice,
        with_head_length(-1),
        // Without its trailer.
        with_head_length(-8),
        // With a byte of the next member.
        with_head_length(1),
    ] {
        assert_refused(&documentation, "not exactly one intact gzip member");
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
    assert_refused(&head(limit + 1), "too long");
    // A hundred megabytes in a hundred kilobytes.
    assert_refused(&head(50 * limit), "too long");
    let (registry, (_, path)) = (Registry::start(), module());
    head(limit).add(&registry, &path).expect(201);
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
    registry
        .put(&path, &longer)
        .refuses(422, "has another length");
    documentation.put(&registry, &path).expect(201);
}

#[test]
fn documentation_of_another_registry_is_refused_unless_it_is_enabled() {
    let registry = Registry::start();
    let address = format!("registry.example.com/{}/widget", unique("d"));
    let path = path_of("mirror", &address, "1.0.0");
    let refused = Documentation::of_provider(&[]).put(&registry, &path);
    refused.refuses(422, "TERRACE_MIRRORED_DOCS");
}
