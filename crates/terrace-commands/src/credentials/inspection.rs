//! The configuration of `terraform` and `tofu` on this machine, as far as it decides how they reach a registry. Tokens
//! are not part of it.

use std::collections::BTreeSet;
use std::path::PathBuf;

use serde_json::Value;

use super::configuration::{members, parse, read, read_file};
use super::locations::{self, Environment};
use super::{CredentialsFile, TokenHost, host_of_variable, shown};
use crate::output::secrets::CLIENT_TOKENS;

/// The names of the blocks.
const HELPER: &str = "credentials_helper";
const INSTALLATION: &str = "provider_installation";

/// The prefix of the programs of credentials helpers.
const HELPER_PROGRAM: &str = "terraform-credentials-";

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
    /// The credentials helpers, each with whether its program was found.
    pub(crate) helpers: Vec<(String, bool)>,
    /// The URLs of network mirrors.
    pub(crate) mirrors: Vec<String>,
    /// The patterns of providers that clients look for in a mirror and, if they find none, at the origin.
    pub(crate) bypassed: Vec<String>,
    /// The directory for tokens that does not exist, which Terraform does not create.
    pub(crate) absent_directory: Option<String>,
}

impl ClientConfiguration {
    /// Reads the configuration of this process's user.
    pub(crate) fn find() -> Self {
        let environment = Environment::of_process();
        let paths = locations::files(&environment);
        let directory = locations::directory(&environment);
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
            absent_directory: directory.filter(|it| !it.is_dir()).map(|it| shown(&it)),
            ..Self::default()
        };
        for root in paths
            .iter()
            .filter_map(|path| parse(&read_file(path).ok()?).ok())
        {
            found.add(&root, &environment);
        }
        found
    }

    fn add(&mut self, root: &Value, environment: &Environment) {
        for (_, helpers) in members(root).filter(|(name, _)| *name == HELPER) {
            for (name, _) in members(helpers) {
                let is_found = is_installed(name, environment);
                self.helpers.push((name.to_owned(), is_found));
            }
        }
        for (_, installation) in members(root).filter(|(name, _)| *name == INSTALLATION) {
            let blocks = |kind: &'static str| {
                let of_kind = members(installation).filter(move |(name, _)| *name == kind);
                of_kind.flat_map(|(_, block)| match block {
                    Value::Array(blocks) => blocks.iter().collect(),
                    block => vec![block],
                })
            };
            let mirrors: Vec<&Value> = blocks("network_mirror").collect();
            let urls = mirrors.iter().filter_map(|it| it.get("url")?.as_str());
            self.mirrors.extend(urls.map(str::to_owned));
            let included = mirrors.iter().flat_map(|it| patterns(it, "include"));
            let included: Vec<String> = included.collect();
            for direct in blocks("direct").filter(|_| !mirrors.is_empty()) {
                let excluded: Vec<String> = patterns(direct, "exclude").collect();
                let is_limited = direct.get("include").is_some();
                let bypassed = match included.is_empty() {
                    true => vec!["*/*/*".to_owned()],
                    false => included.clone(),
                };
                let bypassed = bypassed.into_iter().filter(|it| !excluded.contains(it));
                self.bypassed.extend(bypassed.filter(|_| !is_limited));
            }
        }
    }
}

fn patterns<'v>(block: &'v Value, name: &str) -> impl Iterator<Item = String> + 'v {
    let values = block
        .get(name)
        .and_then(Value::as_array)
        .into_iter()
        .flatten();
    values.filter_map(|value| value.as_str().map(str::to_owned))
}

/// Returns why the file with the tokens of `login` is not read, if it exists.
fn unread_tokens() -> Option<String> {
    let file = CredentialsFile::find().ok()?;
    file.unread_reason().filter(|_| file.exists())
}

/// Returns whether the program of a credentials helper is in a directory in which the clients look for it.
fn is_installed(name: &str, environment: &Environment) -> bool {
    let end = if environment.is_windows { ".exe" } else { "" };
    let program = format!("{HELPER_PROGRAM}{name}{end}");
    let plugins = locations::directory(environment).map(|it| it.join("plugins"));
    let beside = |program: PathBuf| {
        let directory = std::env::split_paths(&std::env::var_os("PATH")?)
            .find(|directory| directory.join(&program).is_file())?;
        Some(directory)
    };
    let mut directories: Vec<PathBuf> = plugins.clone().into_iter().collect();
    // The directory of plugins has one for each platform, and the clients also look beside themselves.
    let platforms = plugins.and_then(|plugins| std::fs::read_dir(plugins).ok());
    directories.extend(
        platforms
            .into_iter()
            .flatten()
            .flatten()
            .map(|it| it.path()),
    );
    let clients = ["terraform", "tofu"].map(|client| format!("{client}{end}"));
    directories.extend(clients.into_iter().filter_map(|it| beside(it.into())));
    directories
        .iter()
        .any(|directory| directory.join(&program).is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> ClientConfiguration {
        let environment = Environment {
            only: None,
            home: None,
            xdg: None,
            is_windows: false,
        };
        let mut found = ClientConfiguration::default();
        found.add(&parse(text).unwrap(), &environment);
        found
    }

    #[test]
    fn the_mirrors_and_what_bypasses_them_are_found() {
        let found = of(r#"
          provider_installation {
            network_mirror {
              url     = "https://a.example/mirror/"
              include = ["registry.terraform.io/*/*", "a.example/*/*"]
            }
            direct {
              exclude = ["registry.terraform.io/*/*"]
            }
          }
        "#);
        assert_eq!(found.mirrors, ["https://a.example/mirror/"]);
        assert_eq!(found.bypassed, ["a.example/*/*"]);
    }

    #[test]
    fn direct_beside_a_mirror_of_everything_bypasses_it() {
        let found = of(r#"
          provider_installation {
            network_mirror { url = "https://a.example/mirror" }
            direct {}
          }
        "#);
        assert_eq!(found.bypassed, ["*/*/*"]);
        let found = of(r#"
          provider_installation {
            network_mirror { url = "https://a.example/mirror/" }
          }
          credentials_helper "absent-helper" {}
        "#);
        assert!(found.bypassed.is_empty());
        assert_eq!(found.helpers, [("absent-helper".to_owned(), false)]);
    }
}
