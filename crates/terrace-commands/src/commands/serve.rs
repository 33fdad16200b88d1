//! The settings of a registry that this machine serves.

use std::fs;
use std::io;
use std::path::Path;

use terrace_core::config::{SETTINGS, is_meant_for_terrace, is_of_command};

use crate::args::ServeArguments;
use crate::error::Failure;
use crate::source::wrangler::{Deployment, Notation};

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
    let place = file.display();
    let text =
        fs::read_to_string(file).map_err(|error| Failure::Usage(format!("{place}: {error}")))?;
    let deployment = Deployment::read(&text, Notation::of(file), env)
        .map_err(|reason| Failure::refused(format!("{place}: {reason}")))?;
    Ok(deployment.vars.into_iter().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_variables_of_the_command_are_no_settings_of_the_registry() {
        let variables = [
            "TERRACE_ACCESS",
            "TERRACE_ACESS",
            "TERRACE_TOKEN",
            "TERRACE_URL",
            "TERRACE_PROFILE",
            "PATH",
        ];
        let all = variables.map(|name| (name.to_owned(), "x".to_owned()));
        let names: Vec<String> = of_variables(all.into_iter())
            .map(|(name, _)| name)
            .collect();
        // A misspelt one is rejected later.
        assert_eq!(names, ["TERRACE_ACCESS", "TERRACE_ACESS"]);
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
