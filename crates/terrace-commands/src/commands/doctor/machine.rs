//! This machine, as far as it decides how clients reach a registry.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::thread;
use std::time::Duration;

use serde_json::Value;
use terrace_core::model::version::Version;

use crate::clock::Stopwatch;
use crate::credentials::ClientConfiguration;
use crate::output::Output;

/// The time for a client to print its version.
const CLIENT_TIMEOUT: Duration = Duration::from_secs(10);

/// The pause between two looks at a client that runs.
const CLIENT_PAUSE: Duration = Duration::from_millis(20);

/// The most bytes that are read of a client's output, or of a file.
const READ_BYTES: u64 = 256 * 1024;

/// The variables that name proxies, as Go programs read them: those in upper case first.
const PROXIES: [&str; 4] = ["HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy"];

/// A client that is installed.
#[derive(Debug, Clone)]
pub(super) struct Client {
    pub(super) name: &'static str,
    /// The version, unless it could not be read.
    pub(super) version: Option<Version>,
}

/// This machine.
pub(super) struct Machine {
    pub(super) configuration: ClientConfiguration,
    clients: OnceLock<Vec<Client>>,
}

impl Machine {
    /// Reads the configuration of this machine.
    pub(super) fn find(output: &Output) -> Self {
        let configuration = ClientConfiguration::find();
        output.detail(&format!(
            "read {} files of terraform and tofu",
            configuration.files.len()
        ));
        Self {
            configuration,
            clients: OnceLock::new(),
        }
    }

    /// Returns the clients on the PATH. They run once, to print their versions.
    pub(super) fn clients(&self) -> &[Client] {
        self.clients.get_or_init(|| {
            let clients = ["terraform", "tofu"].into_iter();
            clients.filter_map(client).collect()
        })
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

fn client(name: &'static str) -> Option<Client> {
    let mut command = Command::new(name);
    command
        .args(["version", "-json"])
        .current_dir(std::env::temp_dir())
        // No request for newer versions.
        .env("CHECKPOINT_DISABLE", "1")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let mut child = command.spawn().ok()?;
    let watch = Stopwatch::start();
    let is_done = loop {
        match child.try_wait() {
            Ok(Some(_)) => break true,
            Ok(None) if watch.rest_of(CLIENT_TIMEOUT).is_some() => thread::sleep(CLIENT_PAUSE),
            Ok(None) | Err(_) => break false,
        }
    };
    let mut text = Vec::new();
    if is_done {
        let stdout = child.stdout.take()?;
        stdout.take(READ_BYTES).read_to_end(&mut text).ok()?;
    } else {
        // A client that hangs has no version.
        let _ = child.kill();
        let _ = child.wait();
    }
    let document: Option<Value> = serde_json::from_slice(&text).ok();
    let version = document
        .as_ref()
        .and_then(|it| it.get("terraform_version")?.as_str());
    let version = version.and_then(|text| text.parse().ok());
    Some(Client { name, version })
}
