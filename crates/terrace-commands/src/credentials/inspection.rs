//! The configuration of `terraform` and `tofu` on this machine, as far as it decides how they reach a registry. Tokens
//! are not part of it.

use std::collections::{BTreeMap, BTreeSet};

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
    /// The variables with tokens, each with the host that clients read in its name.
    pub(crate) variables: Vec<(String, Option<TokenHost>)>,
    /// Why clients do not read the tokens that `login` stored, if they do not.
    pub(crate) unread_tokens: Option<String>,
    /// The hosts that a token is stored for.
    pub(crate) token_hosts: BTreeSet<TokenHost>,
    /// The URLs of network mirrors.
    pub(crate) mirrors: Vec<String>,
    /// The patterns of the providers that each mirror has; none for all.
    mirrored: Vec<Vec<String>>,
    /// The services that `host` blocks give to hosts, in place of those that the hosts name.
    pub(crate) services: BTreeMap<TokenHost, BTreeSet<String>>,
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
        let variables: Vec<(String, Option<TokenHost>)> = variables.collect();
        let of_variables = variables.iter().filter_map(|(_, host)| host.clone());
        let only = environment.only.as_ref();
        let mut found = Self {
            token_hosts: configured.into_keys().chain(of_variables).collect(),
            files: paths.iter().map(|path| shown(path)).collect(),
            missing: only.filter(|path| !path.exists()).map(|path| shown(path)),
            problems,
            variables,
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
            let mirrors = members(installation).filter(|(name, _)| name.ends_with("_mirror"));
            let mirrors = mirrors.flat_map(|(_, block)| match block {
                Value::Array(blocks) => blocks.iter().collect(),
                block => vec![block],
            });
            for mirror in mirrors {
                let url = mirror.get("url").and_then(Value::as_str);
                self.mirrors.extend(url.map(str::to_owned));
                let include = mirror.get("include").and_then(Value::as_array);
                let patterns = include.into_iter().flatten().filter_map(Value::as_str);
                self.mirrored.push(patterns.map(str::to_owned).collect());
            }
        }
        for (_, hosts) in members(root).filter(|(name, _)| *name == "host") {
            for (name, body) in members(hosts) {
                let services = members(body).filter(|(name, _)| *name == "services");
                let services = services.flat_map(|(_, services)| members(services));
                let services = services.map(|(service, _)| service.to_owned()).collect();
                self.services
                    .extend(TokenHost::parse(name).map(|host| (host, services)));
            }
        }
    }

    /// Returns whether a mirror has providers of a host.
    pub(crate) fn mirrors_providers_of(&self, host: &TokenHost) -> bool {
        let host = host.to_string();
        let is_of_host = |pattern: &String| {
            let parts: Vec<&str> = pattern.split('/').collect();
            match parts.as_slice() {
                [of, _, _] => *of == "*" || of.eq_ignore_ascii_case(&host),
                _ => matches!(
                    host.as_str(),
                    "registry.terraform.io" | "registry.opentofu.org"
                ),
            }
        };
        let mut mirrors = self.mirrored.iter();
        mirrors.any(|patterns| patterns.is_empty() || patterns.iter().any(is_of_host))
    }
}

/// Returns why the file with the tokens of `login` is not read, if it exists.
fn unread_tokens() -> Option<String> {
    let file = CredentialsFile::find().ok()?;
    file.unread_reason().filter(|_| file.exists())
}
