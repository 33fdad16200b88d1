//! Modules of other registries.

use serde_json::{Value, json};

use crate::support::documentation::{Documentation, member, path_of};
use crate::support::fixtures::sha256;
use crate::support::registry::{Sent, unique};
use crate::support::statuses::{set_status_because, status_of};
use crate::support::{ModuleFixture, Registry};

const HOST: &str = "registry.example.com";

fn mirrored(version: &str) -> ModuleFixture {
    ModuleFixture::of(&format!("{HOST}/{}", unique("m")), version)
}

fn published(version: &str) -> (Registry, ModuleFixture) {
    let (registry, fixture) = (Registry::start(), mirrored(version));
    fixture.publish(&registry);
    (registry, fixture)
}

/// Returns the path of the module's download.
fn download(fixture: &ModuleFixture) -> String {
    format!("{}/{}/download", fixture.path(), fixture.version)
}

#[test]
fn a_mirrored_module_is_served_below_its_origin_by_the_paths_of_the_module_registry() {
    let (registry, fixture) = published("1.9.0");
    let later = ModuleFixture {
        version: "1.10.0".to_owned(),
        ..fixture.clone()
    };
    later.publish(&registry);
    let services = registry.read(&format!("/origins/{HOST}/.well-known/terraform.json"));
    let service = services["modules.v1"].as_str().unwrap();
    let (_, address) = fixture.address.split_once('/').unwrap();
    let list = registry.read(&format!("{service}{address}/versions"));
    let module = &list["modules"][0];
    let versions = json!([{ "version": "1.9.0" }, { "version": "1.10.0" }]);
    assert_eq!(module["versions"], versions);
    // Renovate looks for release notes there.
    assert_eq!(module["source"], fixture.description()["source"]);
    let newest = registry.get(&format!("{}/download", fixture.path()));
    let newest = newest.expect(302);
    assert_eq!(newest.header("location"), Some(&*download(&later)));
    let found = registry.get(&download(&fixture)).expect(200);
    let location = found.header("x-terraform-get").unwrap().to_owned();
    assert_eq!(found.json()["location"], *location);
    let url = location.split("checksum=").next().unwrap();
    let archive = registry.get(url.trim_end_matches(['?', '&'])).expect(200);
    assert_eq!(sha256(&archive.body), sha256(&fixture.archive));
}

#[test]
fn a_module_of_another_registry_is_none_of_this_one() {
    let (registry, fixture) = published("1.0.0");
    let (_, address) = fixture.address.split_once('/').unwrap();
    for path in [
        format!("/v1/modules/{address}/versions"),
        format!("/v1/modules/{}/versions", fixture.address),
        format!("/origins/other.example.com/v1/modules/{address}/versions"),
        format!("/origins/{HOST}/v1/modules/{address}"),
        format!("/v2/modules/{}/tags/list", fixture.address),
        format!("/v2/modules/{}/manifests/1.0.0", fixture.address),
    ] {
        registry.get(&path).expect(404);
    }
    // Clients show the text of a failed download.
    let missing = ModuleFixture {
        version: "2.0.0".to_owned(),
        ..fixture
    };
    let text = registry.get(&download(&missing)).expect(404).text();
    assert!(text.starts_with("this registry has no version"), "{text}");
}

#[test]
fn the_registrys_own_hostname_leads_to_its_own_modules() {
    let registry = Registry::start();
    let own = ModuleFixture::new("1.0.0");
    own.publish(&registry);
    let host = registry.hostname().to_owned();
    let address = &own.address;
    registry.read(&format!("/origins/{host}/v1/modules/{address}/versions"));
    let details = registry.read(&format!("/api/v1/modules/{host}/{address}"));
    assert_eq!(details["address"], **address);
    let mut under_own_name = mirrored("1.0.0");
    under_own_name.address = format!("{host}/{address}");
    under_own_name
        .put(&registry)
        .refuses(400, "is this registry itself");
}

#[test]
fn a_mirrored_module_says_where_it_is_from() {
    let (registry, fixture) = (Registry::start(), mirrored("1.0.0"));
    let put = |change: &dyn Fn(&mut Value)| {
        let mut description = fixture.description();
        change(&mut description);
        registry.put(&fixture.admin_path(), &description)
    };
    let no_origin = "where it is from";
    put(&|it| it["source"] = Value::Null).refuses(422, no_origin);
    put(&|it| it["commit"] = Value::Null).refuses(422, no_origin);
    put(&|it| it["tree"] = "abc".into()).refuses(422, "tree");
    let tree = "ab".repeat(32);
    let of_archive = |it: &mut Value| {
        it["commit"] = Value::Null;
        it["tree"] = tree.clone().into();
        it["directory"] = "modules/vpc".into();
    };
    let missing = put(&of_archive).expect(202);
    crate::support::fixtures::upload(&registry, &missing, &[&fixture.archive]);
    put(&of_archive).expect(201);
    let expected = json!({
        "url": fixture.description()["source"], "claimed": true, "directory": "modules/vpc", "tree": tree,
    });
    let api = format!("/api/v1/modules/{}", fixture.address);
    assert_eq!(registry.read(&api)["versions"][0]["source"], expected);
    assert_eq!(registry.read(&format!("{api}/1.0.0"))["source"], expected);
    let other = fixture.with_zip(ModuleFixture::of("other", "1.0.0").archive);
    other.put(&registry).refuses(409, "its archive is a zip");
}

#[test]
fn the_page_of_a_mirrored_module_has_its_origin_and_the_configuration_for_staff() {
    let (registry, fixture) = (Registry::start(), mirrored("1.0.0"));
    let public = ModuleFixture {
        address: fixture.address.replace(HOST, "registry.opentofu.org"),
        ..fixture
    };
    public.publish(&registry);
    let (_, address) = public.address.split_once('/').unwrap();
    let readme = format!("# VPC\n\n```hcl\nmodule \"x\" {{\n  source = \"{address}\"\n}}\n```\n");
    let call = json!({ "name": "dns", "source": "acme/dns/aws", "version": "1.0.0" });
    let details = json!({ "root": { "readme": readme, "calls": [call] } });
    let head = json!({ "schema": 1, "contents": { "module": details } });
    let documentation = Documentation::of_members(member(head.to_string().as_bytes()), &[]);
    let path = path_of("modules", &public.address, "1.0.0");
    documentation.add(&registry, &path).expect(201);
    let guessed = Sent::new("GET", &format!("/{}", public.address)).header("accept", "text/html");
    let guessed = registry.send(&guessed);
    let page = format!("/modules/{}", public.address);
    assert_eq!(guessed.header("location"), Some(&*page));
    let html = registry.get(&format!("{page}/1.0.0")).expect(200).text();
    let service = format!(
        "{}/origins/registry.opentofu.org/v1/modules/",
        registry.origin()
    );
    for text in [
        "Mirrored from",
        "registry.opentofu.org",
        "0123456789abcdef0123456789abcdef01234567",
        service.as_str(),
        "/modules/registry.opentofu.org/acme/dns/aws?or=public",
    ] {
        assert!(html.contains(text), "{text}: {html}");
    }
    // Neither the snippet nor the README has another address than that of the origin.
    assert!(!html.contains(&format!("{}/{address}", registry.hostname())));
    assert!(!html.contains("oci://"), "{html}");
}

#[test]
fn a_block_of_a_mirrored_module_or_of_its_version_is_effective_with_its_reason() {
    let (registry, fixture) = published("1.0.0");
    let bad = ModuleFixture {
        version: "1.1.0".to_owned(),
        ..fixture.clone()
    };
    bad.publish(&registry);
    let set = |what: &str, state: &str| {
        let path = status_of(&format!("modules/{what}"));
        set_status_because(&registry, &path, state, "it steals tokens").expect(200);
    };
    let version = format!("{}/1.1.0", fixture.address);
    let versions = format!("{}/versions", fixture.path());
    set(&version, "blocked");
    let list = registry.read(&versions);
    assert_eq!(
        list["modules"][0]["versions"],
        json!([{ "version": "1.0.0" }])
    );
    let refused = registry.get(&download(&bad)).expect(404).text();
    assert!(refused.contains("it steals tokens"), "{refused}");
    registry.get(&download(&fixture)).expect(200);
    set(&version, "unblocked");
    registry.get(&download(&bad)).expect(200);
    set(&fixture.address, "blocked");
    registry.get(&versions).refuses(404, "it steals tokens");
    let used = json!({ "packages": [{ "address": fixture.address }] });
    let check = Sent::new("POST", "/api/v1/check").body(used.to_string());
    let checked = registry.send(&check).found();
    let checked = &checked["packages"][0];
    assert_eq!(checked["state"], "blocked");
    assert_eq!(checked["reason"], "it steals tokens");
    let again = bad.put(&registry).found();
    let warning = again["warnings"][0].as_str().unwrap();
    assert!(warning.contains("it steals tokens"), "{warning}");
}
