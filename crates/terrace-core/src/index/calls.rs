//! The calls of a module: the addresses of the modules and providers that it uses, without versions.
//!
//! A card has the distinct addresses of its module: `/registry.example.com/acme/vpc/aws /hashicorp/aws`. The table of
//! [words](super::words) of a catalogue has them, too; no word begins with a slash. An address has the hostname that the
//! configuration names, in lower case, unless it is one of the public registry: its two names, and none, mean the same.

use crate::documentation::ModuleDetails;
use crate::model::address::{ModuleAddress, ProviderAddress};
use crate::model::name::PUBLIC_HOSTS;
use crate::model::own_hosts::OwnHosts;
use crate::model::package::Package;

/// Maximum number of calls of a card. Of 18 public modules none has more.
const CALLS: usize = 30;

/// Maximum length of the calls of a card, in bytes: what the line and the words leave of the metadata of an object, and a
/// margin.
const CALLS_BYTES: usize = 2_048;

/// Returns the distinct calls of a module and its submodules, modules first; those that have no room are left out.
pub(super) fn of_module(module: &ModuleDetails) -> String {
    let submodules = module.submodules.iter().map(|it| &it.part);
    let parts = std::iter::once(&module.root).chain(submodules);
    let views = parts.flat_map(|part| std::iter::once(part).chain(part.opentofu.as_deref()));
    let modules = views.clone().flat_map(|part| &part.calls);
    let modules = modules.filter_map(|call| called_module(&call.source));
    let providers = views.flat_map(|part| &part.providers).filter_map(|it| {
        let implied = || format!("hashicorp/{}", it.name);
        called_provider(&it.source.clone().unwrap_or_else(implied))
    });
    let mut calls: Vec<String> = Vec::new();
    let mut length = 0;
    for call in modules.chain(providers) {
        let fits = calls.len() < CALLS && length + call.len() < CALLS_BYTES;
        if fits && !calls.contains(&call) {
            length += call.len() + 1;
            calls.push(call);
        }
    }
    calls.join(" ")
}

/// Returns the addresses by which modules call a package.
pub fn of_package(package: &Package, own: &OwnHosts<'_>) -> Vec<String> {
    let address = package.address();
    match address.split_once('/') {
        Some((host, rest)) if host.contains('.') => vec![on(host, rest)],
        _ => own.names().map(|host| on(host, &address)).collect(),
    }
}

/// Returns the normal form of an address on a host.
fn on(host: &str, address: &str) -> String {
    let host = host.to_ascii_lowercase();
    match PUBLIC_HOSTS.contains(&host.as_str()) {
        true => format!("/{address}"),
        false => format!("/{host}/{address}"),
    }
}

/// Returns the module that a source address names; `None` if it is not one of a registry.
fn called_module(source: &str) -> Option<String> {
    let address = source.split("//").next()?;
    let slashes = address.matches('/').count();
    let (host, address) = split_host(address, slashes > 2)?;
    let address = address.parse::<ModuleAddress>().ok()?.to_string();
    Some(on(host, &address))
}

/// Returns the provider that a source address names; `None` for a text of another form.
fn called_provider(source: &str) -> Option<String> {
    let (host, address) = split_host(source, source.matches('/').count() > 1)?;
    let address = address.parse::<ProviderAddress>().ok()?.to_string();
    Some(on(host, &address))
}

/// Splits off the hostname, with a port if it has one, or returns the one that is implied; `None` for other characters in it.
fn split_host(address: &str, has_host: bool) -> Option<(&str, &str)> {
    if !has_host {
        let [implied, _] = PUBLIC_HOSTS;
        return Some((implied, address));
    }
    let (host, rest) = address.split_once('/')?;
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || ".-:".contains(c);
    (!host.is_empty() && host.chars().all(is_allowed)).then_some((host, rest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::documentation::{ModuleCall, ModulePart, NamedPart, ProviderRequirement};

    fn call(source: &str) -> ModuleCall {
        ModuleCall {
            name: "x".to_owned(),
            source: source.to_owned(),
            version: None,
        }
    }

    fn provider(name: &str, source: Option<&str>) -> ProviderRequirement {
        ProviderRequirement {
            name: name.to_owned(),
            source: source.map(str::to_owned),
            versions: Vec::new(),
            aliases: Vec::new(),
        }
    }

    #[test]
    fn calls_are_those_of_registries_in_one_form() {
        let mut module = ModuleDetails::default();
        module.root.calls = [
            "Registry.example.com:8443/acme/vpc/aws//modules/a",
            "registry.opentofu.org/acme/net/aws",
            "acme/net/aws",
            "./local",
            "git::https://example.com/acme/vpc/aws",
            "github.com/acme/vpc",
            "a b.example/acme/vpc/aws",
            "${var.source}",
        ]
        .map(call)
        .to_vec();
        module.root.providers = vec![provider("aws", None), provider("x", Some("b.example/a/X"))];
        module.submodules = vec![NamedPart {
            name: "logs".parse().unwrap(),
            part: ModulePart {
                calls: vec![call("registry.example.com/acme/logs/aws")],
                ..ModulePart::default()
            },
            files: Vec::new(),
        }];
        let expected = "/registry.example.com:8443/acme/vpc/aws /acme/net/aws /registry.example.com/acme/logs/aws \
                        /hashicorp/aws /b.example/a/x";
        assert_eq!(of_module(&module), expected);
        let many = |n| {
            call(&format!(
                "registry.example.com/acme/{}{n}/aws",
                "x".repeat(60)
            ))
        };
        module.root.calls = (0..40).map(many).collect();
        let calls = of_module(&module);
        assert!((CALLS_BYTES - 100..=CALLS_BYTES).contains(&calls.len()));
    }

    #[test]
    fn a_package_is_called_by_every_hostname_of_its_registry() {
        let hostnames = ["registry.example.com".parse().unwrap()];
        let own = OwnHosts::new("https://localhost:8443", &hostnames);
        for (key, expected) in [
            (
                "modules/acme/vpc/aws",
                &[
                    "/localhost:8443/acme/vpc/aws",
                    "/registry.example.com/acme/vpc/aws",
                ][..],
            ),
            (
                "providers/registry.terraform.io/hashicorp/aws",
                &["/hashicorp/aws"],
            ),
            ("providers/b.example/a/x", &["/b.example/a/x"]),
        ] {
            let package = Package::parse_key(key).unwrap();
            assert_eq!(of_package(&package, &own), expected);
        }
    }
}
