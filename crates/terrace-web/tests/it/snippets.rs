//! The code that readers copy.

use crate::html::Html;
use crate::pages;

/// Returns the blocks of code of a page.
fn blocks(page: &str) -> Vec<String> {
    let (_, html) = pages::all()
        .into_iter()
        .find(|(name, _)| *name == page)
        .unwrap();
    let page = Html::parse(&html);
    page.named("pre").map(|it| it.text.clone()).collect()
}

#[test]
fn the_snippet_of_a_module_has_its_required_inputs_with_values_of_their_types() {
    let expected = "module \"vpc\" {\n  source  = \"registry.example.com/acme/vpc/aws\"\n  version = \"~> 5.2\"\n\n  \
                    cidr  = \"\" # string\n  name  = \"\" # string\n  zones = [] # list(string)\n}\n";
    assert_eq!(blocks("module")[0], expected);
}

#[test]
fn the_snippet_of_a_submodule_names_its_directory() {
    let block = &blocks("module-submodule")[0];
    assert!(
        block.contains("source  = \"registry.example.com/acme/vpc/aws//modules/endpoints\"\n"),
        "{block}"
    );
}

#[test]
fn the_snippet_of_the_newest_version_admits_its_successors_and_that_of_an_older_one_is_exact() {
    let version = |page: &str| {
        let block = blocks(page).remove(0);
        let line = block
            .lines()
            .find(|line| line.trim().starts_with("version"))
            .unwrap();
        line.split('"').nth(1).unwrap().to_owned()
    };
    assert_eq!(version("provider"), "~> 2.4");
    assert_eq!(version("provider-older"), "2.3.0");
    assert_eq!(version("provider-prerelease"), "2.5.0-rc.1");
}

#[test]
fn a_mirrored_provider_keeps_its_own_address_and_has_no_registry_snippet() {
    let blocks = blocks("provider-mirrored");
    assert!(
        blocks[0].contains("url     = \"https://registry.example.com/mirror/\""),
        "{}",
        blocks[0]
    );
    assert!(
        blocks[0].contains("include = [\"registry.opentofu.org/hashicorp/*\"]"),
        "{}",
        blocks[0]
    );
    assert!(
        blocks[1].contains("source  = \"registry.opentofu.org/hashicorp/random\""),
        "{}",
        blocks[1]
    );
}

#[test]
fn a_revoked_version_has_no_snippet() {
    let blocks = blocks("provider-revoked");
    assert!(!blocks.iter().any(|it| it.contains("required_providers")));
}

#[test]
fn a_name_that_is_no_identifier_is_not_part_of_a_snippet() {
    let page = Html::parse(&pages::hostile("x\" = local_exec()\n}\n"));
    let call = &page.named("pre").next().unwrap().text;
    assert!(!call.contains("local_exec"), "{call}");
}

#[test]
fn the_steps_for_oci_name_opentofu_only() {
    let pages = pages::all();
    let (_, html) = pages.iter().find(|(name, _)| *name == "provider").unwrap();
    let page = Html::parse(html);
    let mut panels = page
        .named("div")
        .filter(|it| it.attribute("class") == "panel");
    let oci = panels
        .find(|it| it.text.starts_with("OpenTofu 1.10"))
        .unwrap();
    assert!(oci.text.ends_with("Then run tofu init."), "{}", oci.text);
}
