//! Install snippets, one tab for each way to install.

use maud::{Markup, html};
use terrace_core::documentation::ModulePart;
use terrace_core::index::about::ModuleArchive;
use terrace_core::model::package::Package;
use terrace_core::model::subdir::Subdir;

use crate::parts::code;
use crate::parts::package_head::Release;
use crate::parts::tabs::{Tab, tabs};
use crate::site::Site;
use crate::snippets::{self, Shown};

/// The clients of the registry protocols and of the network mirror.
const BOTH: &str = "Terraform and OpenTofu";

/// The client of a call of which OpenTofu needs another form.
const TERRAFORM: &str = "Terraform";

/// The client of a module, or of the form of a call, that Terraform cannot read.
const OPENTOFU: &str = "OpenTofu";

/// The client of OCI.
const ONLY_OPENTOFU: &str = "OpenTofu 1.10 or newer";

/// The file with the settings of either client.
const CONFIGURATION: &str = "~/.terraformrc or ~/.tofurc";

/// The registry that is also the address of HCP Terraform.
const WITH_OTHER_SERVICES: &str = "app.terraform.io";

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
                CONFIGURATION,
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
    release: &Release<'_>,
    directory: Option<&str>,
    part: Option<&ModulePart>,
) -> Markup {
    let (package, version) = (release.package, release.shown());
    let hosts = package
        .origin()
        .filter(|origin| origin.as_str() != WITH_OTHER_SERVICES)
        .map(|origin| snippets::module_hosts(site, origin));
    let way = |label, tools, call: &str| Tab {
        label,
        panel: html! {
            p.tools { (tools) }
            @match &hosts {
                Some(hosts) => {
                    (code::file(CONFIGURATION, hosts))
                    (code::file("main.tf", call))
                    p.after { (run(tools)) }
                }
                None if package.origin().is_some() => { (no_host_block()) }
                None => {
                    (code::terraform("the module call", call))
                    (init(site, tools))
                }
            }
        },
    };
    let tofu = part.map(ModulePart::for_opentofu);
    let [call, tofu_call] =
        [part, tofu].map(|part| snippets::module(site, package, version, directory, part));
    let mut ways = if part.is_some_and(|it| it.is_opentofu_only) {
        vec![way("Registry", OPENTOFU, &call)]
    } else if call == tofu_call {
        vec![way("Registry", BOTH, &call)]
    } else {
        vec![
            way(TERRAFORM, TERRAFORM, &call),
            way(OPENTOFU, OPENTOFU, &tofu_call),
        ]
    };
    // Repositories of OCI have lower-case names only.
    let has_repository = package.has_repository()
        && !package
            .address()
            .bytes()
            .any(|byte| byte.is_ascii_uppercase());
    let archive = release.details.archive.as_ref();
    if has_repository && archive.is_none_or(ModuleArchive::is_artifact) {
        let top = archive
            .and_then(|it| it.subdir.as_ref())
            .map(Subdir::as_str);
        let call = snippets::oci_module(site, package, version, [top, directory], tofu);
        ways.push(Tab {
            label: "OCI",
            panel: html! {
                p.tools { (ONLY_OPENTOFU) }
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
    html! {
        p.after {
            @if site.is_private && tools != ONLY_OPENTOFU { (token(site, command(tools))) " " }
            (run(tools))
        }
    }
}

fn run(tools: &str) -> Markup {
    html! { "Then run " code { (command(tools)) " init" } @if tools == BOTH { " or " code { "tofu init" } } "." }
}

fn command(tools: &str) -> &'static str {
    match tools {
        BOTH | TERRAFORM => "terraform",
        _ => "tofu",
    }
}

/// Returns the reason why there is no snippet for a mirrored module of HCP Terraform.
fn no_host_block() -> Markup {
    html! {
        p {
            "A " code { "host" } " block that leads to this mirror would replace all services of " (WITH_OTHER_SERVICES)
            ": " code { "cloud" } " blocks, remote state and " code { "terraform login" }
            " would fail, and clients would send their tokens of HCP Terraform here. To use the module from this registry, publish it here under an address of its own."
        }
    }
}

/// Returns the ways in which the client with this command gets a token, in a sentence.
pub(super) fn token(site: &Site, command: &str) -> Markup {
    html! {
        @if site.has_login {
            "Sign in once with " code { (command) " login " (site.hostname) } ", or set a token in "
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
