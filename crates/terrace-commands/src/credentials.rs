//! Tokens of registries: those that the user gives, and those that `terraform` and `tofu` find in the environment and in
//! their configuration (clients.md 8.1).

mod configuration;
mod host;
mod inspection;
mod locations;
mod store;
mod token;

use std::collections::BTreeMap;
use std::sync::OnceLock;

use terrace_base::untrusted;

pub(crate) use host::TokenHost;
pub(crate) use inspection::ClientConfiguration;
pub(crate) use store::CredentialsFile;
pub(crate) use token::{Token, TokenPlace};

use crate::error::Failure;
use crate::output::Output;
use crate::output::secrets::CLIENT_TOKENS;
use configuration::Configured;
use locations::Environment;

/// The tokens that `terraform` and `tofu` have for registries.
#[derive(Default)]
pub(crate) struct Credentials {
    /// The names and values of the variables `TF_TOKEN_<host>`.
    variables: BTreeMap<TokenHost, (String, String)>,
    /// The tokens in the configuration files, which are read when the first of them is needed.
    configured: OnceLock<Configured>,
}

impl Credentials {
    /// Finds the variables of this process that contain tokens. A name that is not that of a host is ignored, as
    /// clients ignore it.
    pub(crate) fn find() -> Self {
        let mut variables = BTreeMap::new();
        for (name, value) in std::env::vars_os() {
            let name = name.to_string_lossy();
            if let Some(host) = name.strip_prefix(CLIENT_TOKENS).and_then(host_of_variable) {
                let value = value.to_string_lossy().trim().to_owned();
                variables.insert(host, (name.into_owned(), value));
            }
        }
        Self {
            variables,
            configured: OnceLock::new(),
        }
    }

    /// Returns the token for a host, which must be sent to no other one. Warns about configuration files that cannot be
    /// read. A token is never printed from then on.
    ///
    /// # Errors
    /// The variable or the file with a text that cannot be a token.
    pub(crate) fn token(
        &self,
        host: &TokenHost,
        output: &Output,
    ) -> Result<Option<Token>, Failure> {
        let variable = self.variables.get(host);
        let token = match variable.filter(|(_, value)| !value.is_empty()) {
            Some((name, value)) => Token::parse(value, TokenPlace::Variable(name.clone()))?,
            None => match self.configured(output).get(host) {
                Some((value, path)) => Token::parse(value, TokenPlace::Client(path.clone()))?,
                None => return Ok(None),
            },
        };
        output.hide(token.secret());
        Ok(Some(token))
    }

    /// Returns the tokens in the configuration files, by the hosts that they are for.
    fn configured(&self, output: &Output) -> &Configured {
        self.configured.get_or_init(|| {
            let files = locations::files(&Environment::of_process());
            let names: Vec<String> = files.iter().map(|path| shown(path)).collect();
            output.detail(&format!(
                "tokens of terraform and tofu are read from: {}",
                if names.is_empty() {
                    "no file".to_owned()
                } else {
                    names.join(", ")
                }
            ));
            let (configured, problems) = configuration::read(files);
            for problem in problems {
                output.warning(&problem);
            }
            configured
        })
    }
}

/// Returns the host that a variable is for, by its name after the prefix: `__` is a dash, and `_` a dot
/// (clients.md 8.2).
fn host_of_variable(name: &str) -> Option<TokenHost> {
    TokenHost::parse(&name.replace("__", "-").replace('_', "."))
}

/// Returns a path as messages show it.
fn shown(path: &std::path::Path) -> String {
    untrusted::line(&path.to_string_lossy()).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_tokens_variable_is_read_as_terraform_reads_it_8_2() {
        for (name, host) in [
            ("app_terraform_io", "app.terraform.io"),
            ("my__registry_example_com", "my-registry.example.com"),
            ("xn____caf__dma_fr", "xn--caf-dma.fr"),
            ("xn--caf-dma.fr", "xn--caf-dma.fr"),
            ("caf\u{e9}_fr", "xn--caf-dma.fr"),
            ("Registry.Example.com", "registry.example.com"),
            ("127_0_0_1:8443", "127.0.0.1:8443"),
            ("registry_example_com:443", "registry.example.com"),
        ] {
            let found = host_of_variable(name).unwrap_or_else(|| panic!("{name}"));
            assert_eq!(found.to_string(), host, "{name}");
        }
        for name in [
            "",
            ":443",
            "a:",
            "a b",
            "a:b",
            "a:99999",
            "a/b",
            "a%2eb",
            "https://a",
            "[::1",
        ] {
            assert!(host_of_variable(name).is_none(), "{name}");
        }
    }
}
