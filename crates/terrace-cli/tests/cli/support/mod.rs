//! Functions to run the program, and to create its input.

pub(crate) mod actions;
pub(crate) mod http;
pub(crate) mod mirror;
pub(crate) mod origin;
pub(crate) mod registry;

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::Arc;

use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use serde_json::Value;
use tempfile::TempDir;

use registry::Registry;

/// The admin token. The program must never print it.
pub(crate) const TOKEN: &str = "an-admin-token-that-is-secret";

/// A part of signed URLs, which must not be printed either.
pub(crate) const URL_SECRET: &str = "5ecre751gna7ure";

/// A part of every token of a job, and of the tokens that are issued for it, which must not be printed either.
pub(crate) const JOB_SECRET: &str = "j0b5ecre7";

/// The name and the bindings of a complete configuration for wrangler.
pub(crate) const BINDINGS: &str = r#"
name = "terrace"
[[r2_buckets]]
binding = "FACTS"
[[kv_namespaces]]
binding = "INDICES"
[[ratelimits]]
name = "FAILURES"
namespace_id = "1001"
simple = { limit = 100, period = 60 }
[[ratelimits]]
name = "SEARCHES"
namespace_id = "1002"
simple = { limit = 100, period = 60 }
[triggers]
crons = ["* * * * *"]
"#;

/// The result of a run of the program.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// Checks that a text contains all of these.
macro_rules! assert_has {
    ($text:expr, $($part:expr),+ $(,)?) => {{
        let text: &str = &$text;
        $({
            let part: &str = &$part;
            assert!(text.contains(part), "{part:?} is not in {text}");
        })+
    }};
}
pub(crate) use assert_has;

/// Checks that a text contains none of these.
macro_rules! assert_lacks {
    ($text:expr, $($part:expr),+ $(,)?) => {{
        let text: &str = &$text;
        $({
            let part: &str = &$part;
            assert!(!text.contains(part), "{part:?} is in {text}");
        })+
    }};
}
pub(crate) use assert_lacks;

/// Returns the arguments of a command line in which no argument has a space.
pub(crate) fn words(line: &str) -> Vec<&str> {
    line.split(' ').collect()
}

impl Ended {
    /// Returns the JSON document on standard output.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|error| panic!("{error} in {:?}; {}", self.stdout, self.stderr))
    }

    #[track_caller]
    pub(crate) fn expect(self, code: i32) -> Self {
        assert_eq!(self.code, code, "{self:#?}");
        self
    }

    /// Returns the warnings in the JSON document, as JSON.
    #[track_caller]
    pub(crate) fn warnings(&self) -> String {
        self.json()["warnings"].to_string()
    }

    /// Checks that the command fails with this exit code for a reason that contains this text. Returns the reasons.
    #[track_caller]
    pub(crate) fn fails(self, code: i32, part: &str) -> String {
        let errors = self.expect(code).errors();
        assert_has!(errors, part);
        errors
    }

    /// Returns the reasons of a failure, joined.
    #[track_caller]
    pub(crate) fn errors(&self) -> String {
        let document = self.json();
        let errors = document["errors"].as_array().expect("errors").iter();
        let lines: Vec<&str> = errors.map(|error| error.as_str().unwrap()).collect();
        lines.join("\n")
    }
}

/// Returns these members of each version in a report, joined.
pub(crate) fn rows(report: &Value, members: &[&str]) -> Vec<String> {
    let versions = report["versions"].as_array().expect("versions").iter();
    let text = |version: &Value, name: &str| version[name].as_str().unwrap_or_default().to_owned();
    let row = |version: &Value| Vec::from_iter(members.iter().map(|it| text(version, it)));
    versions.map(|version| row(version).join(" ")).collect()
}

/// Returns an object with further members.
pub(crate) fn with(mut object: Value, more: &Value) -> Value {
    let members = more.as_object().unwrap().clone();
    object.as_object_mut().unwrap().extend(members);
    object
}

/// Returns a command line of the program, in an environment without settings.
pub(crate) fn terrace(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_terrace"));
    command.args(arguments).stdin(Stdio::null());
    // The user who runs the tests may have tokens.
    let home = Path::new(env!("CARGO_TARGET_TMPDIR")).join("home");
    command.env("HOME", &home).env("APPDATA", &home);
    for name in ["XDG_CONFIG_HOME", "TF_CLI_CONFIG_FILE", "TERRAFORM_CONFIG"] {
        command.env_remove(name);
    }
    for (name, _) in std::env::vars_os() {
        let name = name.to_string_lossy().to_ascii_uppercase();
        if name.starts_with("TERRACE_")
            || name.starts_with("ACTIONS_")
            || name.starts_with("GITHUB_")
            || name.starts_with("CI_")
            || name.starts_with("SSL_CERT_")
            || name.starts_with("TF_TOKEN_")
            || name.contains("PROXY")
        {
            command.env_remove(&*name);
            command.env_remove(name.to_ascii_lowercase());
        }
    }
    command
}

/// Returns a command line against the registry at a URL.
pub(crate) fn terrace_at(url: &str, arguments: &[&str]) -> Command {
    let mut command = terrace(arguments);
    command.env("TERRACE_URL", url).env("TERRACE_TOKEN", TOKEN);
    command
}

/// Runs a command line against a registry, with JSON output.
#[track_caller]
pub(crate) fn run(registry: &Registry, arguments: &[&str]) -> Ended {
    run_at(registry.url(), arguments)
}

/// Runs a command line against the registry at a URL, with JSON output.
#[track_caller]
pub(crate) fn run_at(url: &str, arguments: &[&str]) -> Ended {
    ended(terrace_at(url, arguments).arg("--json"))
}

/// Runs a command line against a registry, with the output for people.
#[track_caller]
pub(crate) fn run_for_people(registry: &Registry, arguments: &[&str]) -> Ended {
    ended(&mut terrace_at(registry.url(), arguments))
}

/// Runs a command. Checks that it prints no secret, and ends with an exit code that `terrace --help` lists.
#[track_caller]
pub(crate) fn ended(command: &mut Command) -> Ended {
    let ended = run_to_end(command);
    assert!((0..=6).contains(&ended.code), "{ended:?}");
    ended
}

/// Runs a command. Checks that it prints no secret. It may end with any exit code, as it may with a server that is not
/// a Terrace registry.
#[track_caller]
pub(crate) fn run_to_end(command: &mut Command) -> Ended {
    let Output {
        status,
        stdout,
        stderr,
    } = command.output().expect("the program runs");
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    let ended = Ended {
        code: status.code().expect("an exit code"),
        stdout: text(stdout),
        stderr: text(stderr),
    };
    let printed = format!("{}{}", ended.stdout, ended.stderr);
    for secret in [TOKEN, URL_SECRET, JOB_SECRET] {
        assert!(!printed.contains(secret), "a secret was printed: {printed}");
    }
    assert!(!has_signed_path(&printed), "{printed}");
    ended
}

/// Returns whether a text contains a signed path of an archive, which begins with the time of its end.
fn has_signed_path(text: &str) -> bool {
    text.split("/archives/").skip(1).any(|rest| {
        let first = rest.split('/').next().unwrap_or_default();
        !first.is_empty() && first.bytes().all(|byte| byte.is_ascii_digit())
    })
}

pub(crate) const NAME: &str = "terraform-provider-hello_1.2.3";

/// Returns the TLS configuration of a server with the certificate in `fixtures/tls`.
pub(crate) fn tls() -> Arc<ServerConfig> {
    let certificate = CertificateDer::from_pem_file(fixture("tls/cert.pem")).unwrap();
    let key = fs::read(fixture("tls/key.der")).unwrap();
    let key = PrivateKeyDer::try_from(key).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)
        .unwrap();
    Arc::new(config)
}

/// A copy of the signed release, to be modified by a test.
pub(crate) struct Dist(TempDir);

impl Dist {
    /// Creates `dist` in an otherwise empty directory.
    pub(crate) fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let dist = directory.path().join("dist");
        fs::create_dir(&dist).unwrap();
        for entry in fs::read_dir(fixture("release")).unwrap() {
            let entry = entry.unwrap();
            fs::copy(entry.path(), dist.join(entry.file_name())).unwrap();
        }
        Self(directory)
    }

    pub(crate) fn path(&self) -> String {
        self.0.path().join("dist").to_str().unwrap().to_owned()
    }

    /// Returns the path of a file of the release, by the end of its name: `.zip` files as `linux_amd64.zip`.
    pub(crate) fn file(&self, end: &str) -> PathBuf {
        self.0.path().join("dist").join(format!("{NAME}_{end}"))
    }

    /// Returns the directory that contains `dist`.
    pub(crate) fn outside(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn edit_shasums(&self, edit: impl Fn(&str) -> String) {
        let path = self.file("SHA256SUMS");
        let text = fs::read_to_string(&path).unwrap();
        fs::write(path, edit(&text)).unwrap();
    }
}

pub(crate) fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fixtures")
        .join(name)
}

/// Creates a directory with these files.
pub(crate) fn directory(files: &[(&str, &str)]) -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    write(directory.path(), files);
    directory
}

/// Writes these files below a directory.
pub(crate) fn write(place: &Path, files: &[(&str, &str)]) {
    for (name, content) in files {
        let path = place.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
}

/// Runs git in a directory, and returns its answer.
#[track_caller]
pub(crate) fn git(place: &Path, arguments: &[&str]) -> String {
    let mut git = Command::new("git");
    git.arg("-C").arg(place);
    let settings =
        "user.name=Test user.email=test@example.com commit.gpgsign=false tag.gpgsign=false";
    git.args(words(settings).into_iter().flat_map(|it| ["-c", it]));
    let done = git.args(arguments).output().expect("git is on PATH");
    assert!(done.status.success(), "{arguments:?}: {done:?}");
    String::from_utf8(done.stdout).unwrap().trim().to_owned()
}

/// Returns a zip with these files.
pub(crate) fn zip(files: &[(&str, &str)]) -> Vec<u8> {
    let mut zip = ::zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, content) in files {
        let options = ::zip::write::SimpleFileOptions::default().unix_permissions(0o755);
        zip.start_file(*name, options).unwrap();
        zip.write_all(content.as_bytes()).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

/// Returns a tar.gz with these files.
pub(crate) fn tar_gz(files: &[(&str, &str)]) -> Vec<u8> {
    let entries = files
        .iter()
        .map(|(name, content)| (tar::EntryType::Regular, *name, *content));
    tar_gz_of(&entries.collect::<Vec<_>>())
}

/// Returns a tar.gz with these entries: the type, the name, and the content or the target of a link.
pub(crate) fn tar_gz_of(entries: &[(tar::EntryType, &str, &str)]) -> Vec<u8> {
    let gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    let mut tar = tar::Builder::new(gzip);
    for (kind, name, content) in entries {
        let mut header = tar::Header::new_gnu();
        header.set_entry_type(*kind);
        header.set_mode(0o644);
        if *kind == tar::EntryType::Symlink {
            header.set_size(0);
            tar.append_link(&mut header, name, content).unwrap();
        } else {
            header.set_size(content.len() as u64);
            let content = content.as_bytes();
            tar.append_data(&mut header, name, content).unwrap();
        }
    }
    tar.into_inner().unwrap().finish().unwrap()
}
