//! Install snippets, one tab for each way to install.

use maud::{Markup, html};
use terrace_core::documentation::ModulePart;
use terrace_core::model::package::Package;

use crate::parts::code;
use crate::parts::tabs::{Tab, tabs};
use crate::site::Site;
use crate::snippets::{self, Shown};

/// Returns the ways to install a version of a provider.
pub(super) fn provider(site: &Site, package: &Package, version: Shown<'_>) -> Markup {
    let requirement = snippets::provider(site, package, version);
    let mut ways = Vec::new();
    if matches!(package, Package::Provider(_)) {
        ways.push(Tab {
            label: "Registry",
            panel: html! {
                p.tools { "Terraform and OpenTofu" }
                (code::terraform("the provider requirement", &requirement))
                (init(site))
            },
        });
    }
    if site.has_mirror {
        ways.push(Tab {
            label: "Network mirror",
            panel: mirror(
                &snippets::network_mirror(site, package),
                &requirement,
                "Terraform and OpenTofu",
                "~/.terraformrc or ~/.tofurc",
                site,
            ),
        });
    }
    if site.has_oci {
        ways.push(Tab {
            label: "OCI mirror",
            panel: mirror(
                &snippets::oci_mirror(site, package),
                &requirement,
                "OpenTofu 1.10 or newer",
                "~/.tofurc",
                site,
            ),
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
            p.tools { "Terraform and OpenTofu" }
            (code::terraform("the module call", &call))
            (init(site))
        },
    }];
    // Repositories of OCI have lower-case names only.
    let has_repository = !package
        .address()
        .bytes()
        .any(|byte| byte.is_ascii_uppercase());
    if site.has_oci && has_repository {
        let call = snippets::oci_module(site, package, version, directory, part);
        ways.push(Tab {
            label: "OCI",
            panel: html! {
                p.tools { "OpenTofu 1.10 or newer" }
                (code::terraform("the module call", &call))
                p.after { "Then run " code { "tofu init" } "." }
            },
        });
    }
    section(&ways)
}

fn section(ways: &[Tab]) -> Markup {
    html! {
        @if !ways.is_empty() {
            section.install {
                h2 #page-install { "Use this version" }
                (tabs("page-way", "Way to install", ways))
            }
        }
    }
}

fn mirror(configuration: &str, requirement: &str, tools: &str, file: &str, site: &Site) -> Markup {
    html! {
        p.tools { (tools) }
        (code::file(file, configuration))
        (code::file("main.tf", requirement))
        (init(site))
    }
}

/// Returns the last steps: a token if reads need one, and `init`.
fn init(site: &Site) -> Markup {
    html! {
        p.after {
            @if site.is_private {
                @if site.has_login {
                    "Sign in once with " code { "terraform login " (site.hostname) } ", or set a token in "
                } @else {
                    "Set a token in "
                }
                code { (site.token_variable()) } ". "
            }
            "Then run " code { "terraform init" } " or " code { "tofu init" } "."
        }
    }
}
