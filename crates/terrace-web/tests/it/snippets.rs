//! The code that readers copy.

use serde_json::json;
use terrace_web::Site;

use crate::fixtures;
use crate::html::Html;
use crate::pages::{self, RANDOM, VPC, module_page, named, provider_at};

/// Returns the blocks of code of a page.
fn blocks(page: &str) -> Vec<String> {
    let page = Html::parse(page);
    page.named("pre").map(|it| it.text.clone()).collect()
}

/// Returns the registry at a port of its own.
fn with_port(site: Site) -> Site {
    Site {
        origin: format!("{}:8443", site.origin),
        hostname: format!("{}:8443", site.hostname),
        ..site
    }
}

/// Returns the value of the first argument of this name.
fn argument<'c>(code: &'c str, name: &str) -> Option<&'c str> {
    let mut values = code.lines().filter_map(|line| {
        let (found, value) = line.split_once('=')?;
        (found.trim() == name).then(|| value.trim().trim_matches('"'))
    });
    values.next()
}

#[test]
fn the_snippet_of_a_module_has_its_required_inputs_with_values_of_their_types() {
    let expected = "module \"vpc\" {\n  source  = \"registry.example.com/acme/vpc/aws\"\n  version = \"~> 5.2\"\n\n  \
                    cidr  = \"\" # string\n  name  = \"\" # string\n  zones = [] # list(string)\n}\n";
    assert_eq!(blocks(named("module"))[0], expected);
}

#[test]
fn each_client_has_its_own_call_where_the_inputs_differ() {
    let calls = blocks(named("module-two-clients"));
    // The call through OCI, below the credentials for it, is OpenTofu's as well.
    for (at, own, other) in [
        (0, "cidr  = ", "passphrase"),
        (1, "passphrase = ", "cidr"),
        (3, "passphrase = ", "cidr"),
    ] {
        let call = &calls[at];
        assert!(call.contains(own) && !call.contains(other), "{call}");
    }
}

#[test]
fn a_page_names_the_client_where_the_files_differ() {
    let shown = |page: &str, name: &str| {
        let page = Html::parse(named(page));
        let texts = page.named(name).map(|it| format!("\n{}\n", it.text));
        texts.collect::<String>()
    };
    for (page, element, expected) in [
        (
            "module-two-clients",
            "p",
            &[
                "\nTerraform >= 1.5.7\n",
                "\nOpenTofu >= 1.8\n",
                "\nTerraform\n",
                "\nOpenTofu\n",
                "terraform login",
                "Then run terraform init.\n",
                "tofu login",
                "Then run tofu init.\n",
            ][..],
        ),
        (
            "module-two-clients",
            "div",
            &[
                "cidr Terraformstring",
                "passphrase OpenTofustring",
                "name Terraform",
                "name OpenTofu",
                "zoneslist",
            ],
        ),
        (
            "module-two-clients",
            "th",
            &[
                "\nrandom Terraform\n",
                "\nrandom OpenTofu\n",
                "\naws\n",
                "\nlabels Terraform\n",
            ],
        ),
        (
            "module-opentofu",
            "p",
            &["\nOpenTofu >= 1.5.7\n", "\nOpenTofu\n"],
        ),
    ] {
        let texts = shown(page, element);
        for text in expected {
            assert!(texts.contains(text), "{text:?}: {texts}");
        }
    }
    assert!(!shown("module-opentofu", "p").contains("terraform "));
}

#[test]
fn the_snippets_of_a_version_admit_its_successors_if_it_is_the_newest_one() {
    let revoked = blocks(named("provider-revoked")).concat();
    assert!(!revoked.contains("required_providers"), "{revoked}");
    for (page, source, version) in [
        (
            "module-submodule",
            "acme/vpc/aws//modules/endpoints",
            "~> 5.2",
        ),
        ("provider", "acme/widget", "~> 2.4"),
        ("provider-older", "acme/widget", "2.3.0"),
        ("provider-prerelease", "acme/widget", "2.5.0-rc.1"),
    ] {
        let block = &blocks(named(page))[0];
        let source = format!("registry.example.com/{source}");
        assert_eq!(argument(block, "source"), Some(&*source), "{page}");
        assert_eq!(argument(block, "version"), Some(version), "{page}");
    }
}

#[test]
fn a_mirrored_module_keeps_its_source_and_both_public_registries_lead_to_it() {
    let shown = blocks(named("module-mirrored"));
    let url = "https://registry.example.com/origins/registry.opentofu.org/v1/modules/";
    for name in ["registry.opentofu.org", "registry.terraform.io"] {
        let host = format!(
            "host \"{name}\" {{\n  services = {{\n    \"modules.v1\" = \"{url}\"\n  }}\n}}\n"
        );
        // The token of a private registry is stored under each name.
        let credentials = format!("credentials \"{name}\" {{\n  token = ");
        for expected in [host, credentials] {
            assert!(shown[0].contains(&expected), "{}", shown[0]);
        }
    }
    let both = Some("[\"registry.opentofu.org/*/*\", \"registry.terraform.io/*/*\"]");
    assert_eq!(argument(&shown[0], "include"), both);
    assert_eq!(argument(&shown[0], "exclude"), both);
    assert_eq!(argument(&shown[1], "source"), Some(VPC));
    let other = "modules.example.org/acme/vpc/aws";
    let shown = blocks(&module_page(&fixtures::site(), other, "5.2.0", |_| ()));
    assert!(!shown[0].contains("registry.opentofu.org"), "{}", shown[0]);
    assert_eq!(argument(&shown[1], "source"), Some(other));
    // No `host` block is offered for a host with other services.
    let other = "app.terraform.io/acme/vpc/aws";
    let page = module_page(&fixtures::site(), other, "5.2.0", |_| ());
    assert!(!blocks(&page).concat().contains("host \""), "{page}");
    assert!(page.contains("remote state"), "{page}");
}

#[test]
fn a_name_that_is_no_identifier_is_not_part_of_a_snippet() {
    let call = &blocks(&pages::hostile("x\" = local_exec()\n}\n"))[0];
    assert!(!call.contains("local_exec"), "{call}");
}

#[test]
fn the_steps_for_oci_name_opentofu_only() {
    let page = Html::parse(named("provider"));
    let mut panels = page.named("div").map(|it| it.text.as_str());
    let oci = panels.find(|it| it.starts_with("OpenTofu 1.10")).unwrap();
    assert!(oci.ends_with("Then run tofu init."), "{oci}");
}

/// OpenTofu takes `oci://host[:port]/repository//directory?tag=tag`, and no other parameters (clients.md 6.7). The
/// repository and the tag are those of OCI Distribution 1.1, section "Pulling manifests".
#[track_caller]
fn assert_oci_source(source: &str, host: &str, directory: Option<&str>, tag: &str) {
    let rest = source.strip_prefix("oci://").expect(source);
    let (path, query) = rest.split_once('?').expect(source);
    assert_eq!(query, format!("tag={tag}"));
    let (repository, found) = match path.split_once("//") {
        Some((repository, directory)) => (repository, Some(directory)),
        None => (path, None),
    };
    assert_eq!(found, directory, "{source}");
    let (found, name) = repository.split_once('/').expect(source);
    assert_eq!(found, host);
    let is_inner = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'.' | b'_' | b'-');
    for part in name.split('/') {
        let is_part = !part.is_empty() && part.bytes().all(is_inner);
        assert!(is_part && !part.starts_with(['.', '_', '-']), "{source}");
    }
    let is_tag = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-');
    assert!(tag.len() <= 128 && tag.bytes().all(is_tag), "{source}");
}

#[test]
fn the_oci_source_of_a_module_follows_the_rules_of_opentofu() {
    let site = fixtures::site();
    for site in [&site, &with_port(fixtures::site())] {
        for (version, tag) in [
            ("5.2.0", "5.2.0"),
            ("5.2.0-rc.1", "5.2.0-rc.1"),
            ("5.2.0+build.7", "5.2.0_build.7"),
            ("5.2.0-rc.1+build.7", "5.2.0-rc.1_build.7"),
        ] {
            let call = &blocks(&module_page(site, VPC, version, |_| ()))[1];
            let source = argument(call, "source").unwrap();
            assert_oci_source(source, &site.hostname, None, tag);
            assert_eq!(argument(call, "version"), None);
        }
    }
    let packed = |archive| {
        module_page(&site, VPC, "5.2.0", |it| {
            it.archive = fixtures::parsed(archive)
        })
    };
    let nested = packed(json!({ "format": "zip", "subdir": "net" }));
    for (page, directory) in [
        (named("module-submodule"), "modules/endpoints"),
        (&nested, "net"),
    ] {
        let call = &blocks(page)[1];
        let source = argument(call, "source").unwrap();
        assert_oci_source(source, &site.hostname, Some(directory), "5.2.0");
    }
    assert!(!packed(json!({ "format": "tar.gz" })).contains("oci://"));
}

#[test]
fn a_provider_of_a_hostname_with_a_port_has_only_the_registry_snippet() {
    let blocks = blocks(&provider_at(&with_port(fixtures::site()), "acme/widget"));
    let source = "registry.example.com:8443/acme/widget";
    assert_eq!(argument(&blocks[0], "source"), Some(source));
    assert!(!blocks.concat().contains("_mirror {"), "{blocks:?}");
}

#[test]
fn a_mirrored_provider_keeps_its_address_and_is_installed_from_a_mirror_with_a_port() {
    let blocks = blocks(&provider_at(&with_port(fixtures::site()), RANDOM));
    let template = "registry.example.com:8443/providers/${hostname}/${namespace}/${type}";
    // The patterns name the provider's own hostname, which has no port.
    let patterns = "[\"registry.opentofu.org/hashicorp/*\"]";
    for (at, name, expected) in [
        (0, "url", "https://registry.example.com:8443/mirror/"),
        (0, "include", patterns),
        (1, "source", RANDOM),
        (2, "repository_template", template),
        (2, "include", patterns),
    ] {
        assert_eq!(argument(&blocks[at], name), Some(expected));
    }
}

#[test]
fn the_snippets_for_oci_at_a_private_registry_have_their_own_credentials() {
    let private = fixtures::private_site;
    for (site, is_private) in [
        (private(), true),
        (with_port(private()), true),
        (fixtures::site(), false),
    ] {
        let block = format!("oci_credentials \"{}\" {{", site.hostname);
        let module = module_page(&site, VPC, "1.0.0", |_| ());
        for page in [provider_at(&site, RANDOM), module] {
            let code = blocks(&page).concat();
            assert_eq!(code.contains(&block), is_private, "{code}");
        }
    }
}
