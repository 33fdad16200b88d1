//! Names of resources, functions and pages.

use terrace_core::limits::PAGE_NAME_BYTES;

/// Returns a name without the type of the provider.
pub(crate) fn short_name<'n>(name: &'n str, provider_type: &str) -> &'n str {
    let rest = name.strip_prefix(provider_type);
    let rest = rest.and_then(|rest| rest.strip_prefix('_'));
    rest.filter(|rest| !rest.is_empty()).unwrap_or(name)
}

/// Returns the reason why a name is not that of a page, as the end of a sentence that begins with the name.
pub(crate) fn page_name_fault(name: &str) -> String {
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
    if !name.chars().all(is_allowed) {
        "has characters other than ASCII letters, digits, dots, dashes and underscores".to_owned()
    } else if name.len() > PAGE_NAME_BYTES {
        let length = name.len();
        format!("has {length} characters, and at most {PAGE_NAME_BYTES} are allowed")
    } else {
        "begins with a dot".to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use terrace_core::documentation::PageName;

    #[test]
    fn the_fault_of_a_page_name_is_the_rule_that_it_breaks() {
        for (name, expected) in [
            (
                "i".repeat(200),
                "has 200 characters, and at most 128 are allowed",
            ),
            ("ü".repeat(100), "has characters other than ASCII letters"),
            ("a b".to_owned(), "has characters other than ASCII letters"),
            (".a".to_owned(), "begins with a dot"),
        ] {
            assert!(name.parse::<PageName>().is_err(), "{name}");
            let fault = page_name_fault(&name);
            assert!(fault.starts_with(expected), "{name}: {fault}");
        }
    }
}
