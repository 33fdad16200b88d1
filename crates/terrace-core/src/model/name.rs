//! The names that addresses consist of, with one newtype each.
//!
//! Providers and modules follow different rules, as the clients do: every part of a
//! provider address is case-insensitive and kept in lower case, while a module's
//! namespace and name keep their case (OpenTofu's `registry-address`, functions
//! `ParseProviderPart` and `ParseModuleSource`).

use std::str::FromStr;

use crate::limits;

/// The error for a text that is not a name of the expected kind.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what} {value:?} {rule}")]
pub struct NameError {
    what: &'static str,
    value: String,
    rule: &'static str,
}

impl NameError {
    fn new(what: &'static str, value: &str, rule: &'static str) -> Self {
        Self {
            what,
            value: value.chars().take(limits::NAME_BYTES + 1).collect(),
            rule,
        }
    }
}

macro_rules! name {
    ($(#[$doc:meta])* $name:ident, $what:literal, $parse:path) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(String);

        impl $name {
            /// Returns the name as it appears in addresses, keys and URLs.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl FromStr for $name {
            type Err = NameError;

            fn from_str(text: &str) -> Result<Self, NameError> {
                $parse(text)
                    .map(Self)
                    .map_err(|rule| NameError::new($what, text, rule))
            }
        }

        crate::model::text_display!($name);
    };
}

name! {
    /// The namespace of a provider: one DNS label in lower case, without `--`, in which `_` may join words as in the names of
    /// organizations of HCP Terraform. OpenTofu, and Terraform before 1.16, reject `_` (clients.md 2.1.7).
    ///
    /// Clients convert the user's text to lower case before they send it, so upper case is folded here too.
    Namespace, "namespace", namespace
}

name! {
    /// The type of a provider, such as `aws`: one DNS label in lower case, without `--`, and without the
    /// prefix `terraform-`, which clients reject.
    ProviderType, "provider type", provider_type
}

name! {
    /// The hostname at the start of a provider's address, such as `registry.opentofu.org`: at least two DNS
    /// labels in lower case, internationalised ones in their ASCII form, without a port.
    ///
    /// A client cannot ask a mirror for a provider with a port in its hostname (clients.md 5.6).
    Hostname, "hostname", hostname
}

name! {
    /// The namespace of a module: letters, digits, `-` and `_`, case preserved.
    ModuleNamespace, "module namespace", module_part
}

name! {
    /// The name of a module: letters, digits, `-` and `_`, case preserved.
    ModuleName, "module name", module_part
}

name! {
    /// The target system of a module, such as `aws`: 1 to 64 lower-case letters and digits.
    System, "target system", system
}

/// The registries that source addresses without a hostname mean: in OpenTofu, and in Terraform. Modules of both are
/// mirrored as those of the first.
pub const PUBLIC_HOSTS: [&str; 2] = ["registry.opentofu.org", "registry.terraform.io"];

impl Hostname {
    /// Returns whether a source address without a hostname means this registry, in one of the clients.
    pub fn is_public(&self) -> bool {
        PUBLIC_HOSTS.contains(&self.as_str())
    }
}

/// A namespace into which nothing is published, because the path of the search has its place
/// (`/v1/modules/search`).
pub const SEARCH: &str = "search";

/// Checks that packages may be published into a namespace.
///
/// # Errors
/// If the registry needs the name for a path of its own.
pub fn check_not_reserved(namespace: &str) -> Result<(), NameError> {
    if namespace.eq_ignore_ascii_case(SEARCH) {
        let rule = "is reserved for the search of the registry: publish into another namespace";
        return Err(NameError::new("namespace", namespace, rule));
    }
    Ok(())
}

/// A name that nothing can have, used in the keys of hidden packages: a lookup takes the same path as for any
/// other name, and never finds anything.
const HIDDEN: &str = ".hidden";

impl Namespace {
    pub(crate) fn hidden() -> Self {
        Self(HIDDEN.to_owned())
    }
}

impl ModuleNamespace {
    pub(crate) fn hidden() -> Self {
        Self(HIDDEN.to_owned())
    }
}

impl Hostname {
    pub(crate) fn hidden() -> Self {
        Self(HIDDEN.to_owned())
    }
}

fn hostname(text: &str) -> Result<String, &'static str> {
    if text.contains(':') {
        return Err("has a port, and clients do not support mirrors for such providers");
    }
    if !text.contains('.') {
        return Err("must be a whole domain name, such as \"registry.example.com\"");
    }
    check_labels(text)?;
    Ok(text.to_ascii_lowercase())
}

/// Checks the labels of a domain name (RFC 1123, section 2.1). The error is the violated rule.
pub(crate) fn check_labels(text: &str) -> Result<(), &'static str> {
    if text.len() > limits::HOSTNAME_BYTES {
        return Err("is longer than 253 characters");
    }
    for label in text.split('.') {
        if label.is_empty() || label.len() > limits::PROVIDER_PART_BYTES {
            return Err("has a label that is not 1 to 63 characters long");
        }
        if !label
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b == b'-')
        {
            return Err("may contain only letters, digits, dashes and dots, in its ASCII form");
        }
        if label.starts_with('-') || label.ends_with('-') {
            return Err("has a label that starts or ends with a dash");
        }
    }
    Ok(())
}

fn namespace(text: &str) -> Result<String, &'static str> {
    let is_outside = text.starts_with('_') || text.ends_with('_');
    if is_outside || ["__", "_-", "-_"].iter().any(|pair| text.contains(pair)) {
        return Err("may have an underscore only between two letters or digits");
    }
    if !text
        .bytes()
        .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'))
    {
        return Err("may contain only letters, digits, dashes and underscores");
    }
    // Every other rule is that of a type.
    provider_part(&text.replace('_', "x"))?;
    Ok(text.to_ascii_lowercase())
}

fn provider_part(text: &str) -> Result<String, &'static str> {
    if text.is_empty() {
        return Err("is empty");
    }
    if text.len() > limits::PROVIDER_PART_BYTES {
        return Err("is longer than 63 characters");
    }
    if !text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-') {
        return Err("may contain only letters, digits and dashes");
    }
    if text.starts_with('-') || text.ends_with('-') {
        return Err("may not start or end with a dash");
    }
    if text.contains("--") {
        return Err("may not contain two dashes in a row");
    }
    Ok(text.to_ascii_lowercase())
}

fn provider_type(text: &str) -> Result<String, &'static str> {
    let name = provider_part(text)?;
    if name.starts_with("terraform-") {
        return Err(
            "may not start with \"terraform-\": the type is the part after \"terraform-provider-\"",
        );
    }
    Ok(name)
}

fn module_part(text: &str) -> Result<String, &'static str> {
    if text.is_empty() {
        return Err("is empty");
    }
    if text.len() > limits::NAME_BYTES {
        return Err("is longer than 64 characters");
    }
    if !text
        .bytes()
        .all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
    {
        return Err("may contain only letters, digits, dashes and underscores");
    }
    let ends_well = |b: Option<u8>| b.is_some_and(|b| b.is_ascii_alphanumeric());
    if !ends_well(text.bytes().next()) || !ends_well(text.bytes().next_back()) {
        return Err("must start and end with a letter or a digit");
    }
    Ok(text.to_owned())
}

fn system(text: &str) -> Result<String, &'static str> {
    if text.is_empty() {
        return Err("is empty");
    }
    if text.len() > limits::NAME_BYTES {
        return Err("is longer than 64 characters");
    }
    if !text
        .bytes()
        .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
    {
        return Err("may contain only lower-case letters and digits");
    }
    Ok(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn provider_names_are_folded_to_lower_case_as_clients_fold_them_2_1_7() {
        assert_eq!("AcMe".parse::<Namespace>().unwrap().as_str(), "acme");
        assert_eq!("Widget".parse::<ProviderType>().unwrap().as_str(), "widget");
    }

    #[test]
    fn provider_names_that_clients_reject_are_rejected_with_the_rule() {
        for (text, rule) in [
            ("", "is empty"),
            ("_a", "underscore"),
            ("a_", "underscore"),
            ("a___b", "underscore"),
            ("a_-b", "underscore"),
            ("a-_b", "underscore"),
            ("-a", "start or end"),
            ("a-", "start or end"),
            ("a--b", "two dashes"),
            ("é", "letters, digits, dashes and underscores"),
            (&"a".repeat(64), "longer than 63"),
        ] {
            let error = text.parse::<Namespace>().unwrap_err().to_string();
            assert!(error.contains(rule), "{text:?}: {error}");
        }
        assert_eq!("My_Org".parse::<Namespace>().unwrap().as_str(), "my_org");
        let error = "a_b".parse::<ProviderType>().unwrap_err();
        assert!(error.to_string().contains("letters, digits and dashes"));
        let error = "terraform-x".parse::<ProviderType>().unwrap_err();
        assert!(error.to_string().contains("terraform-provider-"));
    }

    #[test]
    fn the_namespace_of_the_search_is_reserved_in_any_case() {
        for text in ["search", "Search"] {
            let error = check_not_reserved(text).unwrap_err().to_string();
            assert!(
                error.contains(text) && error.contains("reserved"),
                "{error}"
            );
        }
        assert_eq!(check_not_reserved("searches"), Ok(()));
    }

    #[test]
    fn a_hostname_is_a_domain_name_without_a_port_5_6() {
        let folded: Hostname = "Registry.OpenTofu.org".parse().unwrap();
        assert_eq!(folded.as_str(), "registry.opentofu.org");
        for (text, rule) in [
            ("", "whole domain name"),
            ("hosted", "whole domain name"),
            ("registry.test:8443", "port"),
            ("a..b", "1 to 63"),
            ("-a.b", "dash"),
            ("a_b.c", "letters, digits"),
            ("é.example", "ASCII form"),
            (&format!("{}.b", "a".repeat(64)), "1 to 63"),
            (&"a.".repeat(127), "longer than 253"),
        ] {
            let error = text.parse::<Hostname>().unwrap_err().to_string();
            assert!(error.contains(rule), "{text:?}: {error}");
        }
    }

    #[test]
    fn module_names_keep_their_case_3_10() {
        assert_eq!("MyVpc_x".parse::<ModuleName>().unwrap().as_str(), "MyVpc_x");
        for text in ["", "-a", "a-", "_a", "a.b", "a/b", &"a".repeat(65)] {
            assert!(text.parse::<ModuleName>().is_err(), "{text:?}");
        }
    }

    #[test]
    fn a_system_is_lower_case_letters_and_digits_3_10() {
        assert!("aws".parse::<System>().is_ok());
        for text in ["", "AWS", "a-b", "a_b", &"a".repeat(65)] {
            assert!(text.parse::<System>().is_err(), "{text:?}");
        }
    }
}
