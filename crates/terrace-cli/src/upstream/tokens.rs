//! The tokens of other registries.

use std::collections::BTreeMap;

use terrace_base::secret::Secret;

use crate::error::Failure;

/// The prefix of the variables that contain the tokens.
pub(super) const TOKEN_PREFIX: &str = "TF_TOKEN_";

/// Returns the tokens in the environment by hostname, as terraform reads them: `__` in a variable's name
/// is a dash, and `_` a dot (clients.md 8.2).
pub(super) fn tokens() -> Result<BTreeMap<String, Secret>, Failure> {
    let mut tokens = BTreeMap::new();
    for (name, value) in std::env::vars_os() {
        let Some(name) = name
            .to_str()
            .and_then(|name| name.strip_prefix(TOKEN_PREFIX))
        else {
            continue;
        };
        let hostname = hostname_of(name);
        match value.to_str().map(str::trim) {
            Some("") => {}
            Some(token) if token.bytes().all(|byte| byte.is_ascii_graphic()) => {
                tokens.insert(hostname, Secret::new(token));
            }
            _ => {
                return Err(Failure::Usage(format!(
                    "{TOKEN_PREFIX}{name} contains a space, a line break or a character that is not ASCII"
                )));
            }
        }
    }
    Ok(tokens)
}

fn hostname_of(name: &str) -> String {
    let dashed = name.replace("__", "-");
    dashed.replace('_', ".").to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_tokens_variable_is_read_as_terraform_reads_it_8_2() {
        for (name, hostname) in [
            ("app_terraform_io", "app.terraform.io"),
            ("my__registry_example_com", "my-registry.example.com"),
            ("xn____caf__dma_fr", "xn--caf-dma.fr"),
            ("Registry.Example.com", "registry.example.com"),
        ] {
            assert_eq!(hostname_of(name), hostname);
        }
    }
}
