//! The command lines of `terrace list`, `terrace show` and `terrace search`.

use std::str::FromStr;

use clap::Args;
use terrace_core::model::owner::Owner;
use terrace_core::model::version::{Version, VersionError};
use terrace_core::search::SearchKind;

use super::release::PackageSpec;

#[derive(Debug, Args)]
pub(crate) struct ListArguments {
    /// The namespace, or <hostname>/<namespace> for mirrored providers. Without it, the namespaces are listed
    #[arg(value_parser = owner)]
    pub(crate) namespace: Option<Owner>,
    /// Only packages of this kind: module or provider
    #[arg(long, requires = "namespace", value_parser = package_kind)]
    pub(crate) kind: Option<String>,
    #[command(flatten)]
    pub(crate) page: PageArguments,
}

#[derive(Debug, Args)]
pub(crate) struct ShowArguments {
    /// The package: <namespace>/<type> for a provider, <namespace>/<name>/<system> for a module,
    /// <hostname>/<namespace>/<type> for a mirrored provider; @<version> may follow
    pub(crate) address: PackageSpec,
    /// The version, or `latest`. Without it, the versions are listed
    pub(crate) version: Option<VersionChoice>,
}

#[derive(Debug, Args)]
pub(crate) struct SearchArguments {
    /// The words to search for, all of which must match
    #[arg(required = true)]
    pub(crate) words: Vec<String>,
    /// Only results of this kind, such as module, provider, resource, data-source or function, or the plural of one
    #[arg(long, value_parser = kind)]
    pub(crate) kind: Option<String>,
    /// Only results of this namespace
    #[arg(long, value_parser = owner)]
    pub(crate) namespace: Option<Owner>,
    #[command(flatten)]
    pub(crate) page: PageArguments,
}

#[derive(Debug, Args)]
pub(crate) struct PageArguments {
    /// The maximum number of results, at most 100
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..=100))]
    pub(crate) limit: Option<u32>,
    /// Continue after the results of an earlier run, at the cursor that its last line or `next` gives
    #[arg(long, value_name = "CURSOR")]
    pub(crate) after: Option<String>,
}

/// A version, or the newest one that can be installed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum VersionChoice {
    Latest,
    Exact(Version),
}

impl FromStr for VersionChoice {
    type Err = VersionError;

    fn from_str(text: &str) -> Result<Self, VersionError> {
        match text {
            "latest" => Ok(Self::Latest),
            text => text.parse().map(Self::Exact),
        }
    }
}

fn owner(text: &str) -> Result<Owner, String> {
    let shape = || {
        "it must be a namespace, such as acme, or the hostname and namespace of mirrored providers, such as \
         registry.opentofu.org/hashicorp"
            .to_owned()
    };
    Owner::parse_key(&text.to_ascii_lowercase()).ok_or_else(shape)
}

fn package_kind(text: &str) -> Result<String, String> {
    match text.parse() {
        Ok(SearchKind::Module | SearchKind::Provider) => Ok(text.to_owned()),
        _ => Err("it is neither module nor provider".to_owned()),
    }
}

fn kind(text: &str) -> Result<String, String> {
    let kind = text.parse::<SearchKind>();
    kind.map(|_| text.to_owned())
        .map_err(|error| format!("it {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_namespace_is_in_lower_case_and_may_have_a_hostname() {
        for (text, parsed) in [
            ("acme", Some("acme")),
            ("Acme_1", Some("acme_1")),
            (
                "registry.opentofu.org/hashicorp",
                Some("registry.opentofu.org/hashicorp"),
            ),
            ("registry.opentofu.org", None),
            ("acme/vpc/aws", None),
            ("", None),
        ] {
            let found = owner(text).ok().map(|owner| owner.to_string());
            assert_eq!(found.as_deref(), parsed, "{text}");
        }
    }
}
