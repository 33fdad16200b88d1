//! The file in which `terraform login` and `tofu login` store tokens.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::{fmt, fs};

use serde_json::{Map, Value, json};
use terrace_base::secret::Secret;

use super::locations::{self, Environment};
use super::{Token, TokenHost, TokenPlace, configuration, shown};
use crate::error::Failure;

/// The name of the file in the directory of the clients.
const NAME: &str = "credentials.tfrc.json";

/// The file with the tokens of the clients. Everything else in it stays.
#[derive(Debug)]
pub(crate) struct CredentialsFile {
    path: PathBuf,
    /// A configuration file that names a credentials helper, which the clients run instead of writing the file.
    helper: Option<PathBuf>,
    /// The configuration file that a variable names, which the clients read instead of all others.
    only: Option<PathBuf>,
}

impl CredentialsFile {
    /// Finds the file, which need not exist.
    ///
    /// # Errors
    /// The user has no home directory.
    pub(crate) fn find() -> Result<Self, Failure> {
        let environment = Environment::of_process();
        let directory = locations::directory(&environment).ok_or_else(|| {
            Failure::Usage(
                "there is no home directory, in which terraform and tofu store tokens: set HOME (APPDATA on Windows)"
                    .to_owned(),
            )
        })?;
        let files = locations::files(&environment);
        let helper = files
            .into_iter()
            .find(|path| configuration::has_helper(path));
        Ok(Self {
            path: directory.join(NAME),
            helper,
            only: environment.only,
        })
    }

    /// Returns whether the file exists.
    pub(crate) fn exists(&self) -> bool {
        self.path.exists()
    }

    /// Returns the configuration file that names a credentials helper, if one does.
    pub(crate) fn helper(&self) -> Option<String> {
        self.helper.as_deref().map(shown)
    }

    /// Returns why the clients do not read the file, if they do not.
    pub(crate) fn unread_reason(&self) -> Option<String> {
        let only = self.only.as_ref()?;
        Some(format!(
            "terraform, tofu and terrace do not read {self} while TF_CLI_CONFIG_FILE (or TERRAFORM_CONFIG) names {}, which \
             replaces it: unset the variable, or write the token into that file",
            shown(only)
        ))
    }

    /// Checks that a token can be stored.
    ///
    /// # Errors
    /// The clients would run a credentials helper, or the file is not one of theirs.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        if let Some(helper) = &self.helper {
            return Err(Failure::refused(format!(
                "{} names a credentials_helper, in which terraform and tofu store tokens, and this command does not run it: \
                 use `terraform login` or `tofu login`, and give the token to this command in TERRACE_TOKEN",
                shown(helper)
            )));
        }
        self.read().map(drop)
    }

    /// Returns the stored token for a host.
    ///
    /// # Errors
    /// The file cannot be read, or the token is none.
    pub(crate) fn token(&self, host: &TokenHost) -> Result<Option<Token>, Failure> {
        self.read()?;
        let (mut configured, _) = configuration::read(vec![self.path.clone()]);
        let found = configured.remove(host);
        let token = found.map(|(text, path)| Token::parse(&text, TokenPlace::Client(path)));
        token.transpose()
    }

    /// Stores the token for a host in place of an earlier one.
    pub(crate) fn store(&self, host: &TokenHost, token: &Secret) -> Result<(), Failure> {
        self.change(host, Some(json!({ "token": token.expose() })))
    }

    /// Removes the token for a host.
    pub(crate) fn remove(&self, host: &TokenHost) -> Result<(), Failure> {
        self.change(host, None)
    }

    fn change(&self, host: &TokenHost, entry: Option<Value>) -> Result<(), Failure> {
        let mut document = self.read()?;
        let hosts = document
            .entry("credentials")
            .or_insert_with(|| Value::Object(Map::new()));
        let Some(hosts) = hosts.as_object_mut() else {
            return Err(self.malformed("\"credentials\" is not an object"));
        };
        hosts.retain(|name, _| TokenHost::parse(name).as_ref() != Some(host));
        if let Some(entry) = entry {
            hosts.insert(host.to_string(), entry);
        }
        self.write(&document)
    }

    fn read(&self) -> Result<Map<String, Value>, Failure> {
        let bytes = match fs::read(&self.path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Map::new()),
            Err(error) => return Err(self.unusable(&error)),
        };
        // The text is not repeated: it contains tokens.
        match serde_json::from_slice(&bytes) {
            Ok(Value::Object(document)) => Ok(document),
            Ok(_) => Err(self.malformed("it is not a JSON object")),
            Err(error) => Err(self.malformed(&format!(
                "line {}, column {} is not valid JSON",
                error.line(),
                error.column()
            ))),
        }
    }

    /// Replaces the file at once, so that no reader sees a part of it, and only its owner can read it.
    fn write(&self, document: &Map<String, Value>) -> Result<(), Failure> {
        let write = || -> std::io::Result<()> {
            // A link to a file elsewhere stays one.
            let path = fs::canonicalize(&self.path).unwrap_or_else(|_| self.path.clone());
            let directory = path.parent().unwrap_or(Path::new("."));
            fs::create_dir_all(directory)?;
            let mut file = tempfile::NamedTempFile::new_in(directory)?;
            serde_json::to_writer_pretty(&mut file, document)?;
            file.write_all(b"\n")?;
            file.as_file().sync_all()?;
            file.persist(&path).map_err(|error| error.error)?;
            Ok(())
        };
        write().map_err(|error| self.unusable(&error))
    }

    fn unusable(&self, error: &std::io::Error) -> Failure {
        Failure::Local(format!("{self}: {error}"))
    }

    fn malformed(&self, reason: &str) -> Failure {
        Failure::refused(format!(
            "{self}: {reason}. Correct the file, which stays unchanged"
        ))
    }
}

impl fmt::Display for CredentialsFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&shown(&self.path))
    }
}
