//! The settings of a registry that this machine serves.

use std::path::Path;

use terrace_core::config::{SETTINGS, is_meant_for_terrace, is_of_command};

use crate::args::ServeArguments;
use crate::error::Failure;
use crate::source::wrangler::Deployment;

/// Returns the settings of the command line, of the environment and of the file of wrangler. Of several with one name, the
/// first counts.
pub(super) fn of(arguments: &ServeArguments) -> Result<Vec<(String, String)>, Failure> {
    let mut settings = Vec::new();
    for variable in &arguments.vars {
        let setting = SETTINGS.iter().find(|it| it.name == variable.name);
        if setting.is_some_and(|setting| setting.is_secret) {
            return Err(Failure::Usage(format!(
                "--var {}: it is a secret, which other users of this machine would see in the list of processes: set it in \
                 the environment",
                variable.name
            )));
        }
        settings.push((variable.name.clone(), variable.value.clone()));
    }
    settings.extend(of_environment(std::env::vars_os().filter_map(
        |(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)),
    )));
    if let Some(file) = &arguments.config {
        settings.extend(of_file(file, arguments.env.as_deref())?);
    }
    Ok(settings)
}

/// Returns the variables of an environment that are meant for the registry, and not for this command.
fn of_environment(
    variables: impl Iterator<Item = (String, String)>,
) -> impl Iterator<Item = (String, String)> {
    variables.filter(|(name, _)| is_meant_for_terrace(name) && !is_of_command(name))
}

fn of_file(file: &Path, env: Option<&str>) -> Result<Vec<(String, String)>, Failure> {
    let place = file.display();
    let text = std::fs::read_to_string(file)
        .map_err(|error| Failure::Usage(format!("{place}: {error}")))?;
    let deployment = Deployment::read(&text, env)
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
        let names: Vec<String> = of_environment(all.into_iter())
            .map(|(name, _)| name)
            .collect();
        // A misspelt one is rejected later.
        assert_eq!(names, ["TERRACE_ACCESS", "TERRACE_ACESS"]);
    }
}
