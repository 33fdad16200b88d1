//! The arguments of lists.

use clap::Args;
use terrace_core::model::owner::Owner;

#[derive(Debug, Args)]
pub(crate) struct PageArguments {
    /// The maximum number of results, at most 100
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..=100))]
    pub(crate) limit: Option<u32>,
    /// Continue after the results of an earlier run, at the cursor that its last line or `next` gives
    #[arg(long, value_name = "CURSOR")]
    pub(crate) after: Option<String>,
}

pub(crate) fn owner(text: &str) -> Result<Owner, String> {
    let shape = || {
        "it must be a namespace, such as acme, or the hostname and namespace of mirrored packages, such as \
         registry.opentofu.org/hashicorp"
            .to_owned()
    };
    Owner::parse_key(&text.to_ascii_lowercase()).ok_or_else(shape)
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
