//! The admin token of a registry that this machine serves.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use terrace_base::secret::Secret;
use terrace_commands::Failure;
use terrace_core::config::ADMIN_TOKEN;

/// The file in the directory of the registry, beside other files of this machine that no copy of the registry contains.
const FILE: &str = ".terrace/admin-token";

/// The number of random bytes of a token.
const RANDOM_BYTES: usize = 24;

/// The origin of an admin token.
#[derive(Debug)]
pub(super) enum AdminToken {
    /// The operator has set it.
    OfOperator,
    /// An earlier start has stored it in this file.
    Stored(PathBuf),
    /// It was made just now.
    Made {
        /// The token.
        secret: Secret,
        /// The file that [`AdminToken::keep`] writes, unless the registry is lost at the end.
        file: Option<PathBuf>,
    },
}

impl AdminToken {
    /// Adds the admin token to the settings, if they have none: that in the directory, or else a new one, which is not kept yet.
    pub(super) fn of(
        settings: &mut Vec<(String, String)>,
        data: Option<&Path>,
    ) -> Result<Self, Failure> {
        let is_set = |(name, value): &(String, String)| name == ADMIN_TOKEN && !value.is_empty();
        if settings.iter().any(is_set) {
            return Ok(Self::OfOperator);
        }
        let (token, secret) = match data {
            None => {
                let secret = random()?;
                let token = Self::Made {
                    secret: secret.clone(),
                    file: None,
                };
                (token, secret)
            }
            Some(data) => Self::in_directory(data)?,
        };
        // An empty variable of the environment would count first.
        settings.retain(|(name, _)| name != ADMIN_TOKEN);
        settings.push((ADMIN_TOKEN.to_owned(), secret.expose().to_owned()));
        Ok(token)
    }

    fn in_directory(data: &Path) -> Result<(Self, Secret), Failure> {
        let file = data.join(FILE);
        let failed = |error: io::Error| Failure::Local(format!("{}: {error}", file.display()));
        match fs::read_to_string(&file) {
            Ok(text) => Ok((Self::Stored(file.clone()), Secret::new(text.trim()))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let secret = random()?;
                let made = Self::Made {
                    secret: secret.clone(),
                    file: Some(file),
                };
                Ok((made, secret))
            }
            Err(error) => Err(failed(error)),
        }
    }

    /// Writes a new token into its file. A start that fails before shows no token, so it must not keep one either: the next
    /// start would not show it.
    pub(super) fn keep(&self) -> Result<(), Failure> {
        let Self::Made {
            secret,
            file: Some(file),
        } = self
        else {
            return Ok(());
        };
        write(file, secret).map_err(|error| Failure::Local(format!("{}: {error}", file.display())))
    }

    /// Returns the file that contains the token, if there is one.
    pub(super) fn file(&self) -> Option<&Path> {
        match self {
            Self::OfOperator => None,
            Self::Stored(file) => Some(file),
            Self::Made { file, .. } => file.as_deref(),
        }
    }
}

fn random() -> Result<Secret, Failure> {
    let mut bytes = [0; RANDOM_BYTES];
    getrandom::fill(&mut bytes).map_err(|error| {
        Failure::Local(format!("this machine provides no random numbers: {error}"))
    })?;
    Ok(Secret::new(URL_SAFE_NO_PAD.encode(bytes)))
}

/// Writes a token into a new file that its owner alone may read.
fn write(path: &Path, secret: &Secret) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let mut file = create(path)?;
    writeln!(file, "{}", secret.expose())?;
    file.sync_all()
}

#[cfg(unix)]
fn create(path: &Path) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt as _;
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(0o600).open(path)
}

/// Elsewhere, a file is as private as its directory.
#[cfg(not(unix))]
fn create(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create_new(true).open(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token_of(settings: &[(String, String)]) -> Vec<&str> {
        let tokens = settings.iter().filter(|(name, _)| name == ADMIN_TOKEN);
        tokens.map(|(_, value)| value.as_str()).collect()
    }

    #[test]
    fn a_token_is_kept_once_for_a_directory_and_is_private() {
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path().join("registry");
        let mut first = vec![(ADMIN_TOKEN.to_owned(), String::new())];
        let made = AdminToken::of(&mut first, Some(&data)).unwrap();
        let AdminToken::Made { secret, file } = made else {
            panic!("{made:?}");
        };
        assert_eq!(token_of(&first), [secret.expose()]);
        assert!(!data.exists());
        let mut another = Vec::new();
        AdminToken::of(&mut another, Some(&data)).unwrap();
        assert_ne!(token_of(&another), [secret.expose()]);
        let made = AdminToken::Made { secret, file };
        made.keep().unwrap();
        let AdminToken::Made { secret, file } = made else {
            panic!("it is the same");
        };
        let mut second = Vec::new();
        let stored = AdminToken::of(&mut second, Some(&data)).unwrap();
        assert_eq!(stored.file(), file.as_deref());
        assert!(matches!(stored, AdminToken::Stored(_)));
        assert_eq!(token_of(&second), [secret.expose()]);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let mode = fs::metadata(file.unwrap()).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
        }
    }

    #[test]
    fn a_token_of_the_operator_is_used_and_not_stored() {
        let folder = tempfile::tempdir().unwrap();
        let set = (ADMIN_TOKEN.to_owned(), "a-token-of-the-operator".to_owned());
        let mut settings = vec![set.clone()];
        let token = AdminToken::of(&mut settings, Some(folder.path())).unwrap();
        assert!(matches!(token, AdminToken::OfOperator));
        assert_eq!(settings, [set]);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
