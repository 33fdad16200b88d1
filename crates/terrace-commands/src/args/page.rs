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
#[test]
fn a_namespace_is_in_lower_case_and_may_have_a_hostname() {
    for (text, parsed) in [
        ("Acme_1", "acme_1"),
        ("r.example.com/hashicorp", "r.example.com/hashicorp"),
    ] {
        assert_eq!(owner(text).unwrap().to_string(), parsed);
    }
    for text in ["registry.opentofu.org", "acme/vpc/aws", ""] {
        assert!(owner(text).is_err(), "{text}");
    }
}
