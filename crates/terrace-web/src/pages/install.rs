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
    ways.push(Tab {
        label: "OCI mirror",
        panel: mirror(
            &snippets::oci_mirror(site, package),
            &requirement,
            ONLY_OPENTOFU,
            "~/.tofurc",
            site,
        ),
    });
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
                p.tools { (ONLY_OPENTOFU) }
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

/// Returns the last steps: a token if reads need one, and `init`.
fn init(site: &Site, tools: &str) -> Markup {
    let has_terraform = tools == BOTH;
    let program = if has_terraform { "terraform" } else { "tofu" };
    html! {
        p.after {
            @if site.is_private {
                @if site.has_login {
                    "Sign in once with " code { (program) " login " (site.hostname) } ", or set a token in "
                } @else {
                    "Set a token in "
                }
                code { (site.token_variable()) } ". "
            }
            "Then run " @if has_terraform { code { "terraform init" } " or " } code { "tofu init" } "."
        }
    }
}
