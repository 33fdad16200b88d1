//! The admin token of a registry that this machine serves.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use terrace_base::secret::Secret;
use terrace_commands::{Failure, random_text};
use terrace_core::config::ADMIN_TOKEN;

/// The file in the directory of the registry, beside other files of this machine that no copy of the registry contains.
const FILE: &str = ".terrace/admin-token";

/// The admin token of a registry, unless the operator has set it.
#[derive(Debug, Default)]
pub(super) struct AdminToken {
    /// The token, if it was made just now.
    pub(super) made: Option<Secret>,
    /// The file of the token: that of an earlier start, or the one that [`AdminToken::keep`] writes. A registry that is lost at the
    /// end has none.
    pub(super) file: Option<PathBuf>,
}

impl AdminToken {
    /// Adds the admin token to the settings, if they have none: that in the directory, or else a new one, which is not kept yet.
    pub(super) fn of(
        settings: &mut Vec<(String, String)>,
        data: Option<&Path>,
    ) -> Result<Self, Failure> {
        let is_set = |(name, value): &(String, String)| name == ADMIN_TOKEN && !value.is_empty();
        if settings.iter().any(is_set) {
            return Ok(Self::default());
        }
        let file = data.map(|data| data.join(FILE));
        let stored = file.as_deref().map(stored).transpose()?.flatten();
        let made = match stored {
            Some(_) => None,
            None => Some(Secret::new(random_text()?)),
        };
        // An empty variable of the environment would count first.
        settings.retain(|(name, _)| name != ADMIN_TOKEN);
        let secret = stored.as_ref().or(made.as_ref()).map(Secret::expose);
        settings.extend(secret.map(|secret| (ADMIN_TOKEN.to_owned(), secret.to_owned())));
        Ok(Self { made, file })
    }

    /// Writes a new token into its file. A start that fails before shows no token, so it must not keep one either: the next
    /// start would not show it.
    pub(super) fn keep(&self) -> Result<(), Failure> {
        match (&self.made, &self.file) {
            (Some(secret), Some(file)) => write(file, secret).map_err(|error| failed(file, &error)),
            _ => Ok(()),
        }
    }
}

fn failed(file: &Path, error: &io::Error) -> Failure {
    Failure::Local(format!("{}: {error}", file.display()))
}

/// Returns the token that an earlier start has stored in a file.
fn stored(file: &Path) -> Result<Option<Secret>, Failure> {
    match fs::read_to_string(file) {
        Ok(text) => Ok(Some(Secret::new(text.trim()))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(failed(file, &error)),
    }
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

    /// Without the umask of `terrace serve`.
    #[cfg(unix)]
    #[test]
    fn the_file_of_a_token_is_private() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let file = create(&folder.path().join("admin-token")).unwrap();
        let mode = file.metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn a_token_of_the_operator_is_used_and_not_stored() {
        let folder = tempfile::tempdir().unwrap();
        let set = (ADMIN_TOKEN.to_owned(), "a-token-of-the-operator".to_owned());
        let mut settings = vec![set.clone()];
        let token = AdminToken::of(&mut settings, Some(folder.path())).unwrap();
        assert!(token.made.is_none() && token.file.is_none());
        assert_eq!(settings, [set]);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
