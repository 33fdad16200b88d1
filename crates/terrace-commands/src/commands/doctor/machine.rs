//! This machine, as far as it decides how clients reach a registry.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use crate::credentials::ClientConfiguration;
use crate::output::Output;

/// The most bytes that are read of a file.
const READ_BYTES: u64 = 256 * 1024;

/// The variables that name proxies, as Go programs read them: those in upper case first.
const PROXIES: [&str; 4] = ["HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy"];

/// This machine.
pub(super) struct Machine {
    pub(super) configuration: ClientConfiguration,
}

impl Machine {
    /// Reads the configuration of this machine.
    pub(super) fn find(output: &Output) -> Self {
        let configuration = ClientConfiguration::find();
        output.detail(&format!(
            "read {} files of terraform and tofu",
            configuration.files.len()
        ));
        Self { configuration }
    }

    /// Returns the proxies of the environment: the names of the variables, with their values.
    pub(super) fn proxies(&self) -> Vec<(&'static str, String)> {
        let set = PROXIES
            .into_iter()
            .filter_map(|name| Some((name, std::env::var(name).ok()?)));
        set.filter(|(_, value)| !value.trim().is_empty()).collect()
    }

    /// Returns the `.netrc` file of the user, and the hosts that it has entries for; `None` if there is none.
    pub(super) fn netrc(&self) -> Option<(PathBuf, Vec<String>)> {
        let named = std::env::var_os("NETRC").map(PathBuf::from);
        let name = if cfg!(windows) { "_netrc" } else { ".netrc" };
        let path = named.or_else(|| Some(std::env::home_dir()?.join(name)))?;
        let text = start_of(&path)?;
        let mut words = text.split_whitespace();
        let mut hosts = Vec::new();
        while let Some(word) = words.next() {
            match word {
                "machine" => hosts.extend(words.next().map(str::to_owned)),
                "default" => hosts.push("default".to_owned()),
                _ => {}
            }
        }
        Some((path, hosts))
    }
}

/// Returns the start of a text file; `None` if there is none.
fn start_of(path: &Path) -> Option<String> {
    let mut bytes = Vec::new();
    let file = File::open(path).ok()?;
    file.take(READ_BYTES).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}
