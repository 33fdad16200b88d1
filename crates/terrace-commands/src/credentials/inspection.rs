//! The configuration of `terraform` and `tofu` on this machine, as far as it decides how they reach a registry. Tokens
//! are not part of it.

use std::collections::BTreeSet;

use serde_json::Value;

use super::configuration::{members, parse, read, read_file};
use super::locations::{self, Environment};
use super::{CredentialsFile, TokenHost, host_of_variable, shown};
use crate::output::secrets::CLIENT_TOKENS;

/// The name of the block.
const INSTALLATION: &str = "provider_installation";

/// The configuration of the clients.
#[derive(Debug, Default)]
pub(crate) struct ClientConfiguration {
    /// The files that the clients read, as messages name them.
    pub(crate) files: Vec<String>,
    /// The file that a variable names although it does not exist.
    pub(crate) missing: Option<String>,
    /// The files that are not valid, each with the reason.
    pub(crate) problems: Vec<String>,
    /// The hosts that files have a token for.
    pub(crate) hosts: BTreeSet<TokenHost>,
    /// The variables with tokens, each with the host that clients read in its name.
    pub(crate) variables: Vec<(String, Option<TokenHost>)>,
    /// Why clients do not read the tokens that `login` stored, if they do not.
    pub(crate) unread_tokens: Option<String>,
    /// The URLs of network mirrors.
    pub(crate) mirrors: Vec<String>,
}

impl ClientConfiguration {
    /// Reads the configuration of this process's user.
    pub(crate) fn find() -> Self {
        let environment = Environment::of_process();
        let paths = locations::files(&environment);
        let (configured, problems) = read(paths.clone());
        let variables = std::env::vars_os().filter_map(|(name, _)| {
            let name = name.to_string_lossy().into_owned();
            let host = host_of_variable(name.strip_prefix(CLIENT_TOKENS)?);
            Some((name, host))
        });
        let only = environment.only.as_ref();
        let mut found = Self {
            files: paths.iter().map(|path| shown(path)).collect(),
            missing: only.filter(|path| !path.exists()).map(|path| shown(path)),
            problems,
            hosts: configured.into_keys().collect(),
            variables: variables.collect(),
            unread_tokens: unread_tokens(),
            ..Self::default()
        };
        for root in paths
            .iter()
            .filter_map(|path| parse(&read_file(path).ok()?).ok())
        {
            found.add(&root);
        }
        found
    }

    fn add(&mut self, root: &Value) {
        for (_, installation) in members(root).filter(|(name, _)| *name == INSTALLATION) {
            let mirrors = members(installation).filter(|(name, _)| *name == "network_mirror");
            let mirrors = mirrors.flat_map(|(_, block)| match block {
                Value::Array(blocks) => blocks.iter().collect(),
                block => vec![block],
            });
            let urls = mirrors.filter_map(|it| it.get("url")?.as_str());
            self.mirrors.extend(urls.map(str::to_owned));
        }
    }
}

/// Returns why the file with the tokens of `login` is not read, if it exists.
fn unread_tokens() -> Option<String> {
    let file = CredentialsFile::find().ok()?;
    file.unread_reason().filter(|_| file.exists())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mirrors_are_found() {
        let block = |url: &str| format!("network_mirror {{\n url = \"{url}\"\n}}\n");
        let (one, other) = ("https://a.example/mirror/", "https://b.example/mirror/");
        for urls in [&[one][..], &[one, other]] {
            let blocks: String = urls.iter().map(|url| block(url)).collect();
            let text = format!("provider_installation {{\n{blocks}direct {{}}\n}}\n");
            let mut found = ClientConfiguration::default();
            found.add(&parse(&text).unwrap());
            assert_eq!(found.mirrors, urls);
        }
    }
}
