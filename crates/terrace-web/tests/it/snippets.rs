//! The code that readers copy.

use serde_json::json;
use terrace_web::Site;

use crate::html::Html;
use crate::{fixtures, pages};

/// Returns the blocks of code of a page.
fn blocks(page: &str) -> Vec<String> {
    let (_, html) = pages::all()
        .into_iter()
        .find(|(name, _)| *name == page)
        .unwrap();
    blocks_of(&html)
}

fn blocks_of(html: &str) -> Vec<String> {
    let page = Html::parse(html);
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
fn argument(code: &str, name: &str) -> Option<String> {
    let lines = code.lines().map(str::trim);
    let mut values = lines.filter_map(|line| {
        let (found, value) = line.split_once('=')?;
        (found.trim() == name).then(|| value.trim().trim_matches('"').to_owned())
    });
    values.next()
}

#[test]
fn the_snippet_of_a_module_has_its_required_inputs_with_values_of_their_types() {
    let expected = "module \"vpc\" {\n  source  = \"registry.example.com/acme/vpc/aws\"\n  version = \"~> 5.2\"\n\n  \
                    cidr  = \"\" # string\n  name  = \"\" # string\n  zones = [] # list(string)\n}\n";
    assert_eq!(blocks("module")[0], expected);
}

#[test]
fn each_client_has_its_own_call_where_the_inputs_differ() {
    let calls = blocks("module-two-clients");
    assert!(calls[0].contains("  cidr  = ") && !calls[0].contains("passphrase"));
    // The call through OCI, below the credentials for it, is OpenTofu's as well.
    for call in [&calls[1], &calls[3]] {
        assert!(call.contains("  passphrase = ") && !call.contains("cidr"));
    }
}

#[test]
fn a_page_names_the_client_where_the_files_differ() {
    let shown = |page: &str, name: &str| -> Vec<String> {
        let (_, html) = pages::all().into_iter().find(|it| it.0 == page).unwrap();
        let page = Html::parse(&html);
        page.named(name).map(|it| it.text.clone()).collect()
    };
    let texts = shown("module-two-clients", "p");
    for text in [
        "Terraform >= 1.5.7",
        "OpenTofu >= 1.8",
        "Terraform",
        "OpenTofu",
    ] {
        assert!(texts.iter().any(|it| it == text), "{text}");
    }
    let terraform = texts
        .iter()
        .find(|it| it.ends_with("Then run terraform init."));
    assert!(terraform.unwrap().contains("terraform login"));
    let tofu = texts.iter().find(|it| it.ends_with("Then run tofu init."));
    assert!(tofu.unwrap().contains("tofu login"));
    let items = shown("module-two-clients", "div").join("\n");
    for label in [
        "cidr Terraformstring",
        "passphrase OpenTofustring",
        "name Terraform",
        "name OpenTofu",
        "zoneslist",
    ] {
        assert!(items.contains(label), "{label}: {items}");
    }
    let rows = shown("module-two-clients", "th");
    for row in [
        "random Terraform",
        "random OpenTofu",
        "aws",
        "labels Terraform",
    ] {
        assert!(rows.iter().any(|it| it == row), "{row}: {rows:?}");
    }

    let texts = shown("module-opentofu", "p");
    for text in ["OpenTofu >= 1.5.7", "OpenTofu"] {
        assert!(texts.iter().any(|it| it == text), "{text}");
    }
    assert!(
        !texts.iter().any(|it| it.contains("terraform ")),
        "{texts:?}"
    );
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
fn a_mirrored_module_keeps_its_source_and_both_public_registries_lead_to_it() {
    let blocks = blocks("module-mirrored");
    let url = "https://registry.example.com/origins/registry.opentofu.org/v1/modules/";
    for name in ["registry.opentofu.org", "registry.terraform.io"] {
        let host = format!(
            "host \"{name}\" {{\n  services = {{\n    \"modules.v1\" = \"{url}\"\n  }}\n}}\n"
        );
        assert!(blocks[0].contains(&host), "{}", blocks[0]);
        // The token of a private registry is stored under each name.
        let credentials = format!("credentials \"{name}\" {{\n  token = ");
        assert!(blocks[0].contains(&credentials), "{}", blocks[0]);
    }
    let both = "[\"registry.opentofu.org/*/*\", \"registry.terraform.io/*/*\"]";
    assert_eq!(argument(&blocks[0], "include").unwrap(), both);
    assert_eq!(argument(&blocks[0], "exclude").unwrap(), both);
    assert_eq!(argument(&blocks[1], "source").unwrap(), "acme/vpc/aws");
    let other = pages::module_of(&fixtures::site(), "modules.example.org/acme/vpc/aws");
    let other = blocks_of(&other);
    assert!(!other[0].contains("registry.opentofu.org"), "{}", other[0]);
    let source = argument(&other[1], "source").unwrap();
    assert_eq!(source, "modules.example.org/acme/vpc/aws");
}

#[test]
fn no_host_block_is_offered_for_a_host_with_other_services() {
    let page = pages::module_of(&fixtures::site(), "app.terraform.io/acme/vpc/aws");
    let blocks = blocks_of(&page);
    assert!(
        !blocks.iter().any(|it| it.contains("host \"")),
        "{blocks:?}"
    );
    assert!(page.contains("remote state"), "{page}");
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
    let ported = with_port(fixtures::site());
    for site in [&site, &ported] {
        for (version, tag) in [
            ("5.2.0", "5.2.0"),
            ("5.2.0-rc.1", "5.2.0-rc.1"),
            ("5.2.0+build.7", "5.2.0_build.7"),
            ("5.2.0-rc.1+build.7", "5.2.0-rc.1_build.7"),
        ] {
            let call = blocks_of(&pages::module_at(site, version)).remove(1);
            let source = argument(&call, "source").unwrap();
            assert_oci_source(&source, &site.hostname, None, tag);
            assert_eq!(argument(&call, "version"), None);
        }
    }
    let source = argument(&blocks("module-submodule")[1], "source").unwrap();
    assert_oci_source(&source, &site.hostname, Some("modules/endpoints"), "5.2.0");
    let nested = pages::packed(json!({ "format": "zip", "subdir": "net" }));
    let source = argument(&blocks_of(&nested)[1], "source").unwrap();
    assert_oci_source(&source, &site.hostname, Some("net"), "5.2.0");
    let no_artifact = pages::packed(json!({ "format": "tar.gz" }));
    assert!(!no_artifact.contains("oci://"));
}

#[test]
fn a_provider_of_a_hostname_with_a_port_has_only_the_registry_snippet() {
    let blocks = blocks_of(&pages::provider_at(
        &with_port(fixtures::site()),
        "acme/widget",
    ));
    assert_eq!(
        argument(&blocks[0], "source").unwrap(),
        "registry.example.com:8443/acme/widget"
    );
    assert!(
        !blocks.iter().any(|it| it.contains("_mirror {")),
        "{blocks:?}"
    );
}

#[test]
fn a_mirrored_provider_is_installed_from_a_mirror_with_a_port() {
    let address = "registry.opentofu.org/hashicorp/random";
    let blocks = blocks_of(&pages::provider_at(&with_port(fixtures::site()), address));
    assert_eq!(
        argument(&blocks[0], "url").unwrap(),
        "https://registry.example.com:8443/mirror/"
    );
    assert_eq!(argument(&blocks[1], "source").unwrap(), address);
    assert_eq!(
        argument(&blocks[2], "repository_template").unwrap(),
        "registry.example.com:8443/providers/${hostname}/${namespace}/${type}"
    );
    // The patterns name the provider's own hostname, which has no port.
    for at in [0, 2] {
        let patterns = argument(&blocks[at], "include").unwrap();
        assert_eq!(patterns, "[\"registry.opentofu.org/hashicorp/*\"]");
    }
}

#[test]
fn the_snippets_for_oci_at_a_private_registry_have_their_own_credentials() {
    for site in [
        fixtures::private_site(),
        with_port(fixtures::private_site()),
    ] {
        let block = format!("oci_credentials \"{}\" {{", site.hostname);
        let mirrored = pages::provider_at(&site, "registry.opentofu.org/hashicorp/random");
        for page in [&mirrored, &pages::module_at(&site, "1.0.0")] {
            let blocks = blocks_of(page);
            assert!(blocks.iter().any(|it| it.contains(&block)), "{blocks:?}");
        }
    }
    let public = blocks_of(&pages::module_at(&fixtures::site(), "1.0.0"));
    assert!(!public.iter().any(|it| it.contains("oci_credentials")));
}
