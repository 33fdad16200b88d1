//! `terrace serve`: a registry as a process of this machine.

mod admin_token;
#[cfg_attr(not(feature = "object-store"), path = "serve/no_object_store.rs")]
mod object_store;

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::num::NonZeroUsize;
use std::path::{self, Path};
use std::time::Duration;

use serde_json::{Map, json};
use terrace_base::secret::Secret;
use terrace_commands::{Failure, Output, ServeArguments, in_shell, settings};
use terrace_core::config::Config;
use terrace_core::model::name::Hostname;
use terrace_core::storage::archive_url::{ArchiveUrls, Downloads};
use terrace_presign::Presigner;
use terrace_server::disk::Directory;
use terrace_server::memory::Memory;
#[cfg(feature = "object-store")]
use terrace_server::objects::ObjectStorage;
use terrace_server::process::keep_files_private;
use terrace_server::server::{Server, ServerSettings};
use terrace_server::stores::OpenError;
use terrace_server::tls::TlsFiles;

use admin_token::AdminToken;

/// The variables that name a proxy for requests with TLS.
const PROXY_VARIABLES: [&str; 4] = ["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"];

/// Serves a registry until the process is told to stop.
pub(crate) fn run(arguments: &ServeArguments, output: &Output) -> Result<(), Failure> {
    keep_files_private();
    let (storage, presigner) = open(arguments)?;
    let mut settings = settings(arguments)?;
    let token = AdminToken::of(&mut settings, arguments.data.as_deref())?;
    let config = configuration(&settings, presigner)?;
    let files = arguments.tls_cert.as_ref().zip(arguments.tls_key.as_ref());
    let tls = files.map(|(certificate, key)| TlsFiles::read(certificate, key));
    let tls = tls.transpose().map_err(Failure::Usage)?;
    let (is_encrypted, hostnames) = (tls.is_some(), config.hostnames.clone());
    let is_cached = config.downloads == Some(Downloads::Edge);
    let listen = arguments.listen;
    let server = Server::bind(
        ServerSettings {
            listen,
            threads: arguments
                .threads
                .map(usize::from)
                .and_then(NonZeroUsize::new),
            tls,
            trusted_proxies: arguments.trusted_proxies.clone(),
            look_interval: (arguments.poll > 0).then(|| Duration::from_secs(arguments.poll.into())),
        },
        config,
    );
    let server = server.map_err(|error| {
        Failure::Local(format!(
            "{listen}: {error}; select another address or port with --listen"
        ))
    })?;
    token.keep()?;
    let address = server.address();
    greet(&url_of(address, is_encrypted, &hostnames), &token, output);
    if address.ip().is_unspecified() && hostnames.is_empty() {
        output.warning(
            "other machines need a hostname of it: name those that it accepts with --var TERRACE_HOSTNAMES=registry.example.com",
        );
    }
    if is_cached {
        output.warning(
            "TERRACE_DOWNLOADS is edge: this server has no cache at the edge, and serves archives as with worker",
        );
    }
    let is_set = |name: &&&str| std::env::var_os(name).is_some_and(|it| !it.is_empty());
    if let Some(variable) = PROXY_VARIABLES.iter().find(is_set) {
        output.warning(&format!(
            "{variable} is set: requests to an object store use this proxy, those to other registries, sign-in providers and \
             webhooks do not"
        ));
    }
    storage.serve(server)
}

/// The storage of a registry.
enum Storage {
    Memory(Memory),
    Directory(Directory),
    #[cfg(feature = "object-store")]
    Objects(ObjectStorage),
}

/// Opens the storage, and returns the signer of the URLs that it serves itself, if it does.
fn open(arguments: &ServeArguments) -> Result<(Storage, Option<Presigner>), Failure> {
    let storage = match (&arguments.store, arguments.data.as_deref()) {
        (Some(url), data) => return object_store::open(url, data, arguments.stream_archives),
        (None, Some(data)) => Storage::Directory(directory(data)?),
        (None, None) => Storage::Memory(Memory::new()),
    };
    Ok((storage, None))
}

fn directory(data: &Path) -> Result<Directory, Failure> {
    Directory::open(data).map_err(unopened)
}

fn unopened(error: OpenError) -> Failure {
    match error {
        OpenError::Unsuitable(reason) => Failure::Usage(reason),
        OpenError::Failed(reason) => Failure::Local(reason),
    }
}

impl Storage {
    /// Serves the registry until the process is told to stop.
    fn serve(self, server: Server) -> Result<(), Failure> {
        let ended = match self {
            Self::Memory(memory) => server.run(memory.clone(), memory),
            Self::Directory(directory) => {
                let ended = server.run(directory.clone(), directory.indices());
                // Indices of a directory that was not closed are rebuilt after the next start.
                ended.and(directory.close())
            }
            #[cfg(feature = "object-store")]
            Self::Objects(objects) => {
                let ended = server.run(objects.clone(), objects.indices());
                ended.and(objects.close())
            }
        };
        ended.map_err(|error| Failure::Unexpected(format!("the server has failed: {error}")))
    }
}

/// The default number of searches without a token, of which the ones over a Worker's default cost nothing here.
const SEARCHES_A_MINUTE: (&str, &str) = ("TERRACE_SEARCHES_A_MINUTE", "600");

fn configuration(
    settings: &[(String, String)],
    presigner: Option<Presigner>,
) -> Result<Config, Failure> {
    let set = settings.iter();
    let set = set.map(|(name, value)| (name.as_str(), value.as_str()));
    let settings: Vec<(&str, &str)> = set.chain([SEARCHES_A_MINUTE]).collect();
    let mut config =
        Config::from_vars(&settings).map_err(|error| Failure::Usage(error.to_string()))?;
    let urls = config.archive_urls.as_ref();
    if urls.is_some_and(ArchiveUrls::has_bucket) {
        return Err(Failure::Usage(
            "TERRACE_S3_ENDPOINT is set: archives would go to that bucket and not to this server; unset the variables \
             TERRACE_S3_*"
                .to_owned(),
        ));
    }
    if config.fallback.is_some() {
        return Err(Failure::Usage(
            "TERRACE_S3_FALLBACK_ENDPOINT is set: only the Worker serves downloads from a second bucket; unset the variables \
             TERRACE_S3_FALLBACK_*"
                .to_owned(),
        ));
    }
    // Of a setting for a Worker, `worker` and `edge` mean the same here: this server has no cache in front of it.
    if let (None, Some(presigner)) = (config.downloads, presigner) {
        let urls = config.archive_urls.take();
        config.archive_urls = urls.map(|urls| urls.served_by(presigner));
    }
    Ok(config)
}

/// Returns the URL of a server at this address, for people on this machine. Requests that name the address of all interfaces are
/// refused: a certificate is for a hostname, and without one the token does not leave this machine.
fn url_of(address: SocketAddr, is_encrypted: bool, hostnames: &[Hostname]) -> String {
    let scheme = if is_encrypted { "https" } else { "http" };
    let port = address.port();
    match (hostnames.first().filter(|_| is_encrypted), address) {
        _ if !address.ip().is_unspecified() => format!("{scheme}://{address}"),
        (Some(hostname), _) => format!("{scheme}://{hostname}:{port}"),
        (None, SocketAddr::V4(_)) => format!("{scheme}://{}:{port}", Ipv4Addr::LOCALHOST),
        (None, SocketAddr::V6(_)) => format!("{scheme}://[{}]:{port}", Ipv6Addr::LOCALHOST),
    }
}

/// Prints the address of the registry, an admin token that was just made, and the next commands.
fn greet(url: &str, token: &AdminToken, output: &Output) {
    let secret = token.made.as_ref().map(Secret::expose);
    let file = token.file.as_deref();
    let mut text = format!("the registry is at {url} until you press Ctrl-C\n");
    if let Some(secret) = secret {
        let place = file.map_or("no file".to_owned(), |file| file.display().to_string());
        text += &format!(
            "\nIts admin token was made just now, and is shown only once ({place} contains it):\n\n  {secret}\n"
        );
    }
    let (variable, place) = match (file, secret) {
        (Some(file), _) => (read_from(file), "another terminal"),
        (None, Some(secret)) => (format!("TERRACE_TOKEN={secret}"), "another terminal"),
        (None, None) => (
            String::new(),
            "another terminal that has the admin token in TERRACE_TOKEN",
        ),
    };
    let variables = format!("TERRACE_URL={url} {variable}");
    text += &format!(
        "\nTo publish a module, in {place}:\n\n  export {}\n  \
         terrace publish module . --address acme/vpc/aws --version 1.0.0\n",
        variables.trim_end()
    );
    let mut document = Map::from_iter([
        ("status".to_owned(), json!("ok")),
        ("url".to_owned(), json!(url)),
    ]);
    document.extend(secret.map(|secret| ("token".to_owned(), json!(secret))));
    document.extend(file.map(|file| ("token_file".to_owned(), json!(file.display().to_string()))));
    output.text(&text, &document);
}

/// Returns the assignment of the variable of the token, with its value from a file, for a terminal in any directory.
fn read_from(file: &Path) -> String {
    let file = path::absolute(file).unwrap_or_else(|_| file.to_owned());
    format!(
        "TERRACE_TOKEN=\"$(cat {})\"",
        in_shell(&file.display().to_string())
    )
}

#[cfg(test)]
#[test]
fn the_url_of_a_registry_is_one_that_it_accepts() {
    let names = ["registry.example.com", "other.example.com"].map(|it| it.parse().unwrap());
    for (address, is_encrypted, url) in [
        ("10.0.0.7:80", false, "http://10.0.0.7:80"),
        ("0.0.0.0:80", false, "http://127.0.0.1:80"),
        ("[::]:80", false, "http://[::1]:80"),
        ("0.0.0.0:443", true, "https://registry.example.com:443"),
    ] {
        let found = url_of(address.parse().unwrap(), is_encrypted, &names);
        assert_eq!(found, url);
    }
}
