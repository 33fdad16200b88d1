//! Links of the public registry, and to it.

use serde_json::json;

use crate::support::documentation::{Documentation, member, path_of};
use crate::support::{ModuleFixture, Registry};

#[test]
fn a_tab_of_the_public_registry_is_a_section_here() {
    let registry = Registry::start();
    let module = ModuleFixture::new("1.0.0");
    module.publish(&registry);
    let page = format!("/modules/{}", module.address);
    for (path, status, location) in [
        ("?tab=inputs", 302, Some("/1.0.0#page-inputs")),
        ("/latest?tab=outputs", 302, Some("/1.0.0#page-outputs")),
        ("/1.0.0?tab=resources", 303, Some("/1.0.0#page-resources")),
        ("/1.0.0?tab=readme", 200, None),
        ("/1.0.0?tab=%0a", 200, None),
    ] {
        let response = registry.get(&format!("{page}{path}")).expect(status);
        let expected = location.map(|it| format!("{page}{it}"));
        assert_eq!(response.header("location"), expected.as_deref(), "{path}");
    }
}

#[test]
fn a_moved_path_leads_to_this_registry_whatever_it_contains() {
    let registry = Registry::start();
    for (path, location) in [
        ("/module/acme/vpc/aws", "/modules/acme/vpc/aws"),
        ("/provider//evil.example", "/providers//evil.example"),
        (
            "/module/%0d%0alocation:%20https://evil.example",
            "/modules/%0d%0alocation:%20https://evil.example",
        ),
    ] {
        let response = registry.get(path).expect(301);
        assert_eq!(response.header("location"), Some(location));
    }
}

#[test]
fn a_package_that_is_not_here_is_found_in_the_public_registry_if_the_link_says_so() {
    let registry = Registry::start();
    let module = ModuleFixture::new("1.0.0");
    module.publish(&registry);
    let here = format!("/modules/{}", module.address);
    let response = registry.get(&format!("{here}?or=public")).expect(302);
    assert_eq!(response.header("location"), Some(&*format!("{here}/1.0.0")));
    const PUBLIC: &str = "https://registry.terraform.io";
    for (path, public) in [
        ("/modules/acme/absent/aws", "/modules/acme/absent/aws"),
        (
            "/modules/registry.opentofu.org/acme/absent/aws",
            "/modules/acme/absent/aws",
        ),
        (
            "/mirrored/registry.terraform.io/acme/absent/latest/docs/resources/a",
            "/providers/acme/absent/latest/docs/resources/a",
        ),
    ] {
        let response = registry.get(&format!("{path}?or=public")).expect(303);
        let expected = format!("{PUBLIC}{public}");
        assert_eq!(response.header("location"), Some(&*expected));
        registry.get(path).expect(404);
    }
    registry
        .get("/mirrored/other.example/acme/absent?or=public")
        .expect(404);
}

#[test]
fn an_image_of_a_readme_is_served_behind_the_fence_of_stored_bytes() {
    let registry = Registry::start();
    let module = ModuleFixture::new("1.0.0");
    module.publish(&registry);
    let image = b"<svg/>";
    let details = json!({
        "root": { "readme": "![a](a%20b.svg)" },
        "attachments": [{ "name": "a b.svg", "member": { "offset": 0, "length": 6, "size": 6 } }],
    });
    let head = json!({ "schema": 1, "contents": { "module": details } });
    let head = member(head.to_string().as_bytes());
    let documentation = Documentation::of_members(head, &[image.to_vec()]);
    let path = path_of("modules", &module.address, "1.0.0");
    documentation.add(&registry, &path).expect(201);
    let page = format!("/modules/{}/1.0.0", module.address);
    let file = format!("{page}/files/a%20b.svg");
    registry
        .get(&page)
        .shows(200, &format!("<img src=\"{file}\""));
    let response = registry.get(&file).expect(200);
    assert_eq!(response.text().as_bytes(), image);
    for (name, value) in [
        ("content-type", "image/svg+xml"),
        ("content-security-policy", "sandbox; default-src 'none'"),
        ("content-disposition", "attachment"),
        ("x-content-type-options", "nosniff"),
    ] {
        assert_eq!(response.header(name), Some(value), "{name}");
    }
    registry.get(&format!("{page}/files/b.svg")).expect(404);
}
