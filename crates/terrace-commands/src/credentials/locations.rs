//! The configuration files of `terraform` and `tofu`, as documented at
//! <https://developer.hashicorp.com/terraform/cli/config/config-file> and
//! <https://opentofu.org/docs/cli/config/config-file/>.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

/// The variables that name the only file to read. The second is the old name of the first.
const ONLY_FILE: [&str; 2] = ["TF_CLI_CONFIG_FILE", "TERRAFORM_CONFIG"];

/// The part of the environment that decides where the files are.
pub(super) struct Environment {
    /// The only file to read, if a variable names one.
    pub(super) only: Option<PathBuf>,
    /// The home directory; on Windows, that of applications' data.
    pub(super) home: Option<PathBuf>,
    /// The directory for configuration, where `tofu` uses one.
    pub(super) xdg: Option<PathBuf>,
    pub(super) is_windows: bool,
}

impl Environment {
    /// Returns the environment of this process.
    pub(super) fn of_process() -> Self {
        let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        let is_windows = cfg!(windows);
        Self {
            only: ONLY_FILE.into_iter().find_map(variable).map(PathBuf::from),
            home: match is_windows {
                true => variable("APPDATA").map(PathBuf::from),
                false => std::env::home_dir(),
            },
            xdg: variable("XDG_CONFIG_HOME").map(PathBuf::from),
            is_windows,
        }
    }
}

/// Returns the existing files of both clients, those that take precedence last.
///
/// As in the clients, the files in the directory take precedence over the one in the home directory, `.tofurc` over
/// `.terraformrc`, and a variable replaces all of them, including the file that `login` writes. The directories of
/// `XDG_CONFIG_HOME` are those of a user who has none in the home directory.
pub(super) fn files(environment: &Environment) -> Vec<PathBuf> {
    if let Some(only) = &environment.only {
        return Vec::from_iter(Some(only.clone()).filter(|path| path.exists()));
    }
    let Some(home) = &environment.home else {
        return Vec::new();
    };
    let (names, directory) = match environment.is_windows {
        true => (["terraform.rc", "tofu.rc"], "terraform.d"),
        false => ([".terraformrc", ".tofurc"], ".terraform.d"),
    };
    let xdg = environment.xdg.as_ref().filter(|_| !environment.is_windows);
    let xdg = xdg.map(|xdg| xdg.join("opentofu"));
    let mut files: Vec<PathBuf> = names
        .map(|name| home.join(name))
        .into_iter()
        .filter(|path| path.exists())
        .collect();
    if files.is_empty() {
        let path = xdg.as_ref().map(|xdg| xdg.join("tofurc"));
        files.extend(path.filter(|path| path.exists()));
    }
    let own = home.join(directory);
    files.extend(match xdg {
        Some(xdg) if !own.exists() => files_in(&xdg),
        _ => files_in(&own),
    });
    files
}

/// Returns the directory in which the clients store tokens. An existing directory of `tofu` stays the one that it reads.
pub(super) fn directory(environment: &Environment) -> Option<PathBuf> {
    let home = environment.home.as_ref()?;
    if environment.is_windows {
        return Some(home.join("terraform.d"));
    }
    let own = home.join(".terraform.d");
    let xdg = environment.xdg.as_ref().map(|xdg| xdg.join("opentofu"));
    let xdg = xdg.filter(|xdg| !own.exists() && xdg.is_dir());
    Some(xdg.unwrap_or(own))
}

/// Returns the configuration files in a directory, by name.
fn files_in(directory: &Path) -> Vec<PathBuf> {
    let is_configuration = |name: &OsString| {
        let name = name.to_string_lossy();
        name.ends_with(".tfrc") || name.ends_with(".tfrc.json")
    };
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let names = entries.map(|entry| entry.file_name());
    let mut names: Vec<OsString> = names.filter(is_configuration).collect();
    names.sort();
    names.iter().map(|name| directory.join(name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the files that are read if these exist, by their paths below the home directory. `xdg` is below it too.
    fn found(existing: &[&str], is_windows: bool) -> Vec<String> {
        let home = tempfile::tempdir().unwrap();
        for name in existing {
            let path = home.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        let environment = Environment {
            only: None,
            home: Some(home.path().to_owned()),
            xdg: Some(home.path().join("xdg")),
            is_windows,
        };
        let files = files(&environment).into_iter();
        let below = |path: PathBuf| {
            let path = path.strip_prefix(home.path()).unwrap().to_owned();
            path.to_str().unwrap().replace('\\', "/")
        };
        files.map(below).collect()
    }

    #[test]
    fn files_of_the_directory_follow_those_of_the_home_directory() {
        let first = [".terraformrc", ".tofurc"];
        let own = [
            ".terraform.d/a.tfrc.json",
            ".terraform.d/credentials.tfrc.json",
        ];
        let xdg = ["xdg/opentofu/tofurc", "xdg/opentofu/credentials.tfrc.json"];
        let other = ".terraform.d/checkpoint_cache";
        let all = [&first[..], &own, &xdg, &[other]].concat();
        assert_eq!(found(&all, false), [first, own].concat());
        // The configuration directory is that of a user who has no older one.
        assert_eq!(found(&xdg, false), xdg);
        assert!(found(&[xdg[1], other], false).is_empty());
        let of_windows = [
            "terraform.rc",
            "tofu.rc",
            "terraform.d/credentials.tfrc.json",
        ];
        assert_eq!(found(&of_windows, true), of_windows);
    }
}
