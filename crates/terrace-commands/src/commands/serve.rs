//! The settings of a registry that this machine serves.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::{fs, io};

use clap::Args;
use terrace_base::network::Network;
use terrace_core::config::{SETTINGS, is_meant_for_terrace, is_of_command};

use crate::commands::config::deployment;
use crate::error::Failure;

/// Time between two looks for the changes of other processes, in seconds. With the time for the list and the next read, a
/// change is seen within the minute in which the edge shows it.
const LOOK_SECONDS: u32 = 20;

/// Maximum number of threads that answer requests: one for each core of the largest machines. More threads than cores only take
/// memory and files.
const THREADS: i64 = 256;

/// Serve a registry from this machine
///
/// Answers the same requests as the Worker, with the same settings. The log is on standard error.
#[derive(Debug, Args)]
#[command(after_help = "Example: terrace serve --data ./registry")]
pub struct ServeArguments {
    /// The address and the port to listen at; port 0 selects a free one
    ///
    /// Requests are answered under this address, under the names of this machine for itself, and under the hostnames in
    /// TERRACE_HOSTNAMES.
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:8080")]
    pub listen: SocketAddr,
    /// The directory with the registry, which is created if it does not exist; with --store, that of this process's indices
    #[arg(long, value_name = "DIR", required_unless_present_any = ["memory", "store"])]
    pub data: Option<PathBuf>,
    /// The object store with the registry: s3://BUCKET, gs://BUCKET or az://CONTAINER, with or without a /PREFIX
    ///
    /// Credentials and the endpoint of a compatible store come from the environment: AWS_…, GOOGLE_… or AZURE_…. Other
    /// processes may serve the same store. Without --data, the indices are in a temporary directory.
    #[arg(long, value_name = "URL")]
    pub store: Option<String>,
    /// How often to look for the changes of other processes in the store, in seconds; 0 if there are none
    #[arg(
        long,
        value_name = "SECONDS",
        requires = "store",
        default_value_t = LOOK_SECONDS,
        value_parser = clap::value_parser!(u32).range(0..=3_600)
    )]
    pub poll: u32,
    /// Send archives through this server and not by URLs of the store, which clients may be unable to reach
    #[arg(long, requires = "store")]
    pub stream_archives: bool,
    /// A setting of the registry, such as TERRACE_ACCESS=private; repeatable. Others come from the environment, under the
    /// same names, and so do all secrets
    #[arg(long = "var", value_name = "NAME=VALUE")]
    pub vars: Vec<Variable>,
    /// A directory with a file for each secret, whose name is that of the variable, as of systemd ("%d") and of containers
    #[arg(long, value_name = "DIR")]
    pub secrets: Option<PathBuf>,
    /// A configuration file of wrangler (wrangler.jsonc or wrangler.toml), whose variables apply unless they are set elsewhere
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// The environment in that file, as of "wrangler deploy --env"
    #[arg(long, value_name = "NAME", requires = "config")]
    pub env: Option<String>,
    /// The certificate for TLS, in PEM, with those that lead from it to an authority; without it, the server speaks plain
    /// HTTP
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub tls_cert: Option<PathBuf>,
    /// The private key of the certificate, in PEM
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub tls_key: Option<PathBuf>,
    /// The address of a proxy, or a range such as 10.0.0.0/8, whose headers X-Forwarded-For and X-Forwarded-Proto are
    /// trusted; repeatable
    #[arg(long = "trust-proxy", value_name = "ADDRESS")]
    pub trusted_proxies: Vec<Network>,
    /// The number of threads; by default one for each core
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u16).range(1..=THREADS))]
    pub threads: Option<u16>,
    /// Keep the registry in memory, and lose it at the end
    #[arg(long, hide = true, conflicts_with_all = ["data", "store"])]
    pub memory: bool,
}

/// A setting, or a claim with a pattern for its value, on the command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Variable {
    /// The name.
    pub name: String,
    /// Its value.
    pub value: String,
}

impl FromStr for Variable {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.split_once('=') {
            Some((name, value)) if !name.is_empty() => Ok(Self {
                name: name.to_owned(),
                value: value.to_owned(),
            }),
            _ => Err("it must be of the form NAME=VALUE"),
        }
    }
}

/// Returns the settings of the command line, of the files of secrets, of the environment and of the file of wrangler. Of several
/// with one name, the first counts.
///
/// # Errors
/// A setting or file of the arguments that cannot be used.
pub fn settings(arguments: &ServeArguments) -> Result<Vec<(String, String)>, Failure> {
    let mut settings = Vec::new();
    for variable in &arguments.vars {
        let setting = SETTINGS.iter().find(|it| it.name == variable.name);
        if setting.is_some_and(|setting| setting.is_secret) {
            return Err(Failure::Usage(format!(
                "--var {}: it is a secret, which other users of this machine would see in the list of processes: set it in \
                 the environment, or in a file with --secrets",
                variable.name
            )));
        }
        settings.push((variable.name.clone(), variable.value.clone()));
    }
    if let Some(directory) = &arguments.secrets {
        let failed = |error| Failure::Usage(format!("--secrets {}: {error}", directory.display()));
        settings.extend(of_variables(files(directory).map_err(failed)?.into_iter()));
    }
    settings.extend(of_variables(std::env::vars_os().filter_map(
        |(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)),
    )));
    if let Some(file) = &arguments.config {
        settings.extend(of_file(file, arguments.env.as_deref())?);
    }
    Ok(settings)
}

/// Returns the names and the contents of the files in a directory, without the newline at their ends.
fn files(directory: &Path) -> io::Result<Vec<(String, String)>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        // Other files, such as a private key, are meant for other options.
        let Some(name) = entry.file_name().to_str().map(str::to_owned) else {
            continue;
        };
        if is_meant_for_terrace(&name) {
            let text = fs::read_to_string(entry.path())?;
            files.push((name, text.trim_end().to_owned()));
        }
    }
    Ok(files)
}

/// Returns the variables that are meant for the registry, and not for this command.
fn of_variables(
    variables: impl Iterator<Item = (String, String)>,
) -> impl Iterator<Item = (String, String)> {
    variables.filter(|(name, _)| is_meant_for_terrace(name) && !is_of_command(name))
}

fn of_file(file: &Path, env: Option<&str>) -> Result<Vec<(String, String)>, Failure> {
    let deployment = deployment(file, env)?;
    Ok(deployment.vars.into_iter().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_variables_of_the_command_are_no_settings_of_the_registry() {
        // A misspelt one is rejected later.
        let settings = ["TERRACE_ACCESS", "TERRACE_ACESS"];
        let others = ["TERRACE_TOKEN", "TERRACE_URL", "TERRACE_PROFILE", "PATH"];
        let all = settings.into_iter().chain(others);
        let all = all.map(|name| (name.to_owned(), "x".to_owned()));
        let names: Vec<String> = of_variables(all).map(|(name, _)| name).collect();
        assert_eq!(names, settings);
    }

    #[test]
    fn a_file_of_a_secret_is_read_without_its_last_newline_and_others_are_not_read() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("TERRACE_ADMIN_TOKEN"), "a token \n").unwrap();
        fs::write(folder.path().join("tls.key"), [0xff]).unwrap();
        let found = files(folder.path()).unwrap();
        let expected = ("TERRACE_ADMIN_TOKEN".to_owned(), "a token".to_owned());
        assert_eq!(found, [expected]);
    }
}
