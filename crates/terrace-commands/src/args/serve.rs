//! The command line of `terrace serve`.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr;

use clap::Args;
use terrace_base::network::Network;

/// Time between two looks for the changes of other processes, in seconds. With the time for the list and the next read, a
/// change is seen within the minute in which the edge shows it.
const LOOK_SECONDS: u32 = 20;

/// Maximum number of threads that answer requests: one for each core of the largest machines. More threads than cores only take
/// memory and files.
const THREADS: i64 = 256;

/// The arguments of `terrace serve`.
#[derive(Debug, Args)]
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

/// A setting on the command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Variable {
    /// The name of the setting.
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
