//! The code that readers copy, and that assistants start from.

use std::fmt::Write as _;

use terrace_core::documentation::{Input, ModulePart};
use terrace_core::model::name::{Hostname, PUBLIC_HOSTS};
use terrace_core::model::oci::tag;
use terrace_core::model::owner::Owner;
use terrace_core::model::package::Package;
use terrace_core::model::version::Version;

use crate::limits::{INPUT_NAME_BYTES, SNIPPET_INPUTS};
use crate::site::Site;
use crate::text::counted;

/// A version, and the newest one.
#[derive(Debug, Clone, Copy)]
pub struct Shown<'a> {
    /// The version of the page.
    pub version: &'a Version,
    /// The newest version that can be installed.
    pub latest: Option<&'a Version>,
}

/// Returns the `required_providers` block that installs a version of a provider.
pub fn provider(site: &Site, package: &Package, version: Shown<'_>) -> String {
    let (name, source) = match package {
        Package::Mirrored(address) => (
            address.provider.provider_type.to_string(),
            address.to_string(),
        ),
        Package::Provider(address) => (
            address.provider_type.to_string(),
            format!("{}/{address}", site.hostname),
        ),
        Package::Module(_) => return String::new(),
    };
    let name = local_name("provider", &name);
    format!(
        "terraform {{\n  required_providers {{\n    {name} = {{\n      source  = \"{source}\"\n      \
         version = \"{}\"\n    }}\n  }}\n}}\n",
        constraint(version)
    )
}

/// Returns the call of a version of a module, or of one of its submodules, with its required inputs.
pub fn module(
    site: &Site,
    package: &Package,
    version: Shown<'_>,
    directory: Option<&str>,
    part: Option<&ModulePart>,
) -> String {
    let source = module_source(site, package, directory);
    let source = format!("source  = \"{source}\"");
    let version = format!("version = \"{}\"", constraint(version));
    call(&call_name(package, directory), &[&source, &version], part)
}

/// Returns the source address of a module, or of its directory `directory`. That of a mirrored module is unchanged.
pub fn module_source(site: &Site, package: &Package, directory: Option<&str>) -> String {
    let address = package.address();
    let source = match package.origin() {
        None => format!("{}/{address}", site.hostname),
        Some(hostname) if hostname.is_public() => {
            let own = address.split_once('/').map(|(_, own)| own.to_owned());
            own.unwrap_or(address)
        }
        Some(_) => address,
    };
    format!("{source}{}", below(directory))
}

/// Returns the call of a module through OCI. Other than the registry, OCI does not say where in the package the module
/// begins: in `top`.
pub(crate) fn oci_module(
    site: &Site,
    package: &Package,
    version: Shown<'_>,
    [top, directory]: [Option<&str>; 2],
    part: Option<&ModulePart>,
) -> String {
    let path: Vec<&str> = top.into_iter().chain(directory).collect();
    let path = (!path.is_empty()).then(|| path.join("/"));
    let address = format!("oci://{}/modules/{}", site.hostname, package.address());
    let tag = tag::of(version.version);
    let source = format!("source = \"{address}{}?tag={tag}\"", below(path.as_deref()));
    call(&call_name(package, directory), &[&source], part)
}

/// Returns the part of a source address that names a directory of the module.
fn below(directory: Option<&str>) -> String {
    // In a quoted template, these begin or end something.
    let quoted = |it: &str| {
        it.replace('"', "\\\"")
            .replace("${", "$${")
            .replace("%{", "%%{")
    };
    directory.map_or_else(String::new, |it| format!("//{}", quoted(it)))
}

fn call(name: &str, arguments: &[&str], part: Option<&ModulePart>) -> String {
    let mut code = format!("module \"{name}\" {{\n");
    for argument in arguments {
        code.push_str("  ");
        code.push_str(argument);
        code.push('\n');
    }
    push_inputs(&mut code, part);
    code.push_str("}\n");
    code
}

/// Returns the CLI configuration that installs the providers of `package`'s owner from the network mirror, and all others
/// as before.
pub(crate) fn network_mirror(site: &Site, package: &Package) -> String {
    provider_installation(site, &format!("\"{}\"", pattern(site, package)))
}

fn provider_installation(site: &Site, patterns: &str) -> String {
    format!(
        "provider_installation {{\n  network_mirror {{\n    url     = \"{}/mirror/\"\n    include = [{patterns}]\n  \
         }}\n  direct {{\n    exclude = [{patterns}]\n  }}\n}}\n",
        site.origin
    )
}

/// Returns the CLI configuration with which the modules of another registry are installed from here. A block `host` replaces
/// all services of its hostname, so that its providers come from the network mirror; its token is sent here. One public
/// registry stands for the other as well: which one a source without a hostname means depends on the client.
pub(crate) fn module_hosts(site: &Site, hostname: &Hostname) -> String {
    let own = [hostname.as_str()];
    let names = match hostname.is_public() {
        true => &PUBLIC_HOSTS[..],
        false => &own[..],
    };
    let mut code = String::new();
    for name in names {
        let url = format!("{}/origins/{hostname}/v1/modules/", site.origin);
        let _ = writeln!(
            code,
            "host \"{name}\" {{\n  services = {{\n    \"modules.v1\" = \"{url}\"\n  }}\n}}"
        );
    }
    if site.is_private {
        for name in names.iter().chain([&site.hostname.as_str()]) {
            let _ = writeln!(
                code,
                "credentials \"{name}\" {{\n  token = \"…\" # a token for {}\n}}",
                site.hostname
            );
        }
    }
    let patterns: Vec<String> = names.iter().map(|it| format!("\"{it}/*/*\"")).collect();
    code + &provider_installation(site, &patterns.join(", "))
}

/// Returns the CLI configuration that installs the providers of `package`'s owner from the OCI mirror, and all others as
/// before.
pub(crate) fn oci_mirror(site: &Site, package: &Package) -> String {
    let pattern = pattern(site, package);
    format!(
        "provider_installation {{\n  oci_mirror {{\n    repository_template = \
         \"{}/providers/${{hostname}}/${{namespace}}/${{type}}\"\n    include             = [\"{pattern}\"]\n  }}\n  \
         direct {{\n    exclude = [\"{pattern}\"]\n  }}\n}}\n",
        site.hostname
    )
}

/// Returns the CLI configuration with which OpenTofu reads from OCI at a registry that requires a token. OpenTofu uses
/// neither `terraform login` nor variables for OCI (clients.md 6.12).
pub(crate) fn oci_credentials(site: &Site) -> String {
    format!(
        "oci_credentials \"{}\" {{\n  username = \"anybody\"\n  password = \"…\" # a token\n}}\n",
        site.hostname
    )
}

/// Returns the pattern of all providers with the hostname and namespace of `package`.
fn pattern(site: &Site, package: &Package) -> String {
    let owner = Owner::of(package);
    match package {
        Package::Mirrored(_) => format!("{owner}/*"),
        _ => format!("{}/{owner}/*", site.hostname),
    }
}

/// Returns the constraint for a version. That of the newest version admits compatible successors; prereleases and versions
/// with build metadata are installed by an exact constraint only.
pub fn constraint(shown: Shown<'_>) -> String {
    let version = shown.version;
    let is_exact = version.is_prerelease() || version.has_build();
    if is_exact || shown.latest.is_some_and(|latest| latest != version) {
        return version.to_string();
    }
    let parts = version.as_semver();
    match parts.major {
        0 => format!("~> {version}"),
        major => format!("~> {major}.{}", parts.minor),
    }
}

/// Returns the name of the call of a module, or of its directory `directory`.
fn call_name(package: &Package, directory: Option<&str>) -> String {
    let part = directory.and_then(|it| it.rsplit('/').next());
    match (part, package) {
        (Some(part), _) => {
            let is_inner = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
            local_name("module", &part.replace(|c| !is_inner(c), "-"))
        }
        (None, Package::Module(address)) => local_name("module", address.name.as_str()),
        _ => "example".to_owned(),
    }
}

/// Returns the name of a package as configurations may use it: one that begins with a digit follows `kind` and a dash.
/// Terraform takes no digit there, and no underscore in a provider's name.
fn local_name(kind: &str, name: &str) -> String {
    match name.starts_with(|c: char| c.is_ascii_digit()) {
        true => format!("{kind}-{name}"),
        false => name.to_owned(),
    }
}

/// Appends the required inputs, each with an empty value of its type, aligned as `terraform fmt` does.
fn push_inputs(code: &mut String, part: Option<&ModulePart>) {
    let inputs = part.map_or(&[][..], |part| &part.inputs);
    let required = || {
        let inputs = inputs.iter().filter(|it| it.is_required());
        inputs.filter(|it| is_identifier(&it.name) && it.name.len() <= INPUT_NAME_BYTES)
    };
    let shown = || required().take(SNIPPET_INPUTS);
    let width = shown().map(|input| input.name.chars().count()).max();
    let Some(width) = width else { return };
    code.push('\n');
    for input in shown() {
        let _ = writeln!(code, "  {:width$} = {}", input.name, placeholder(input));
    }
    let others = required().count().saturating_sub(SNIPPET_INPUTS);
    if others > 0 {
        let _ = writeln!(code, "  # and {}", counted(others, "other required input"));
    }
}

/// Returns an empty value of an input's type, with the type as a comment. It is valid code, so that a pasted snippet
/// parses and the client names the inputs that need another value.
fn placeholder(input: &Input) -> String {
    let constraint = input.constraint.as_deref().unwrap_or("any");
    let constraint = constraint.split_whitespace().collect::<Vec<_>>().join(" ");
    let value = match constraint.split(['(', ' ']).next().unwrap_or_default() {
        "string" => "\"\"",
        "number" => "0",
        "bool" => "false",
        "list" | "set" | "tuple" => "[]",
        "map" | "object" => "{}",
        _ => "null",
    };
    let shown: String = constraint.chars().take(60).collect();
    let rest = if shown.len() < constraint.len() {
        "…"
    } else {
        ""
    };
    format!("{value} # {shown}{rest}")
}

/// Returns whether a text may be the name of an argument. Others would be code of their own in a pasted snippet.
fn is_identifier(text: &str) -> bool {
    let is_inner = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
    text.starts_with(|c: char| c.is_alphabetic() || c == '_') && text.chars().all(is_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn site() -> Site {
        Site::at("registry.example.com")
    }

    #[test]
    fn a_local_name_begins_with_a_letter_if_the_name_of_the_package_does_not() {
        let package = |address| Package::parse_address(address).unwrap();
        let version = "1.0.0".parse().unwrap();
        let shown = Shown {
            version: &version,
            latest: None,
        };
        for address in ["acme/1and1", "registry.opentofu.org/acme/1and1"] {
            let code = provider(&site(), &package(address), shown);
            assert!(code.contains("    provider-1and1 = {\n"), "{code}");
            assert!(code.contains("acme/1and1\"\n"), "{code}");
        }
        let three_tier = package("acme/3tier/aws");
        let code = module(&site(), &three_tier, shown, None, None);
        let start =
            "module \"module-3tier\" {\n  source  = \"registry.example.com/acme/3tier/aws\"\n";
        assert!(code.starts_with(start), "{code}");
        let code = oci_module(&site(), &three_tier, shown, [None, None], None);
        assert!(code.starts_with("module \"module-3tier\" {"), "{code}");
        let code = module(&site(), &package("acme/tier3/aws"), shown, None, None);
        assert!(code.starts_with("module \"tier3\" {"), "{code}");
    }
}
