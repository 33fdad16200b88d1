//! Install snippets, one tab for each way to install.

use maud::{Markup, html};
use terrace_core::documentation::ModulePart;
use terrace_core::model::package::Package;

use crate::parts::code;
use crate::parts::tabs::{Tab, tabs};
use crate::site::Site;
use crate::snippets::{self, Shown};

/// The clients of the registry protocols and of the network mirror.
const BOTH: &str = "Terraform and OpenTofu";

/// The client of OCI.
const ONLY_OPENTOFU: &str = "OpenTofu 1.10 or newer";

/// The file with OpenTofu's settings.
const TOFU_FILE: &str = "~/.tofurc";

/// Returns the ways to install a version of a provider.
pub(super) fn provider(site: &Site, package: &Package, version: Shown<'_>) -> Markup {
    let requirement = snippets::provider(site, package, version);
    let mut ways = Vec::new();
    if matches!(package, Package::Provider(_)) {
        ways.push(Tab {
            label: "Registry",
            panel: html! {
                p.tools { (BOTH) }
                (code::terraform("the provider requirement", &requirement))
                (init(site, BOTH))
            },
        });
    }
    if matches!(package, Package::Mirrored(_)) || !site.has_port() {
        ways.push(Tab {
            label: "Network mirror",
            panel: mirror(
                &snippets::network_mirror(site, package),
                &requirement,
                BOTH,
                "~/.terraformrc or ~/.tofurc",
                site,
            ),
        });
        let mut configuration = snippets::oci_mirror(site, package);
        if site.is_private {
            configuration.push_str(&snippets::oci_credentials(site));
        }
        ways.push(Tab {
            label: "OCI mirror",
            panel: mirror(&configuration, &requirement, ONLY_OPENTOFU, TOFU_FILE, site),
        });
    }
    section(&ways)
}

/// Returns the ways to install a version of a module, or its directory `directory`.
pub(super) fn module(
    site: &Site,
    package: &Package,
    version: Shown<'_>,
    directory: Option<&str>,
    part: Option<&ModulePart>,
) -> Markup {
    let call = snippets::module(site, package, version, directory, part);
    let mut ways = vec![Tab {
        label: "Registry",
        panel: html! {
            p.tools { (BOTH) }
            (code::terraform("the module call", &call))
            (init(site, BOTH))
        },
    }];
    // Repositories of OCI have lower-case names only.
    let has_repository = !package
        .address()
        .bytes()
        .any(|byte| byte.is_ascii_uppercase());
    if has_repository {
        let call = snippets::oci_module(site, package, version, directory, part);
        ways.push(Tab {
            label: "OCI",
            panel: html! {
                p.tools { (ONLY_OPENTOFU) ", for a module that was published as a zip" }
                @if site.is_private { (code::file(TOFU_FILE, &snippets::oci_credentials(site))) }
                (code::terraform("the module call", &call))
                (init(site, ONLY_OPENTOFU))
            },
        });
    }
    section(&ways)
}

fn section(ways: &[Tab]) -> Markup {
    html! {
        section.install {
            h2 #page-install { "Use this version" }
            (tabs("page-way", "Way to install", ways))
        }
    }
}

fn mirror(configuration: &str, requirement: &str, tools: &str, file: &str, site: &Site) -> Markup {
    html! {
        p.tools { (tools) }
        (code::file(file, configuration))
        (code::file("main.tf", requirement))
        (init(site, tools))
    }
}

/// Returns the last steps: a token if reads need one, and `init`. The configuration for OCI has its token.
fn init(site: &Site, tools: &str) -> Markup {
    let has_terraform = tools == BOTH;
    html! {
        p.after {
            @if site.is_private && has_terraform { (token(site)) " " }
            "Then run " @if has_terraform { code { "terraform init" } " or " } code { "tofu init" } "."
        }
    }
}

/// Returns the ways in which a client gets a token, in a sentence.
pub(super) fn token(site: &Site) -> Markup {
    html! {
        @if site.has_login {
            "Sign in once with " code { "terraform login " (site.hostname) } ", or set a token in "
        } @else {
            "Set a token in "
        }
        @match site.token_variable() {
            Some(variable) => code { (variable) },
            None => { "a block " code { "credentials \"" (site.hostname) "\"" } " of the CLI configuration" },
        }
        "."
    }
}
