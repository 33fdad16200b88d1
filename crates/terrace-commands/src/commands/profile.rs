//! `terrace profile`, and the choice of a profile for a command.

use clap::Subcommand;
use serde_json::{Value, json};

use crate::args::RegistryArguments;
use crate::commands::Command;
use crate::error::Failure;
use crate::output::{Column, Output, Screen, Table};
use crate::profile::{self, Profiles};

#[derive(Debug, Subcommand)]
pub(crate) enum ProfileCommand {
    /// List the profiles in the configuration file
    #[command(after_help = "Example: terrace profile list")]
    List,
}

/// Executes the command.
pub(crate) fn run(
    command: &ProfileCommand,
    registry: &RegistryArguments,
    output: &Output,
) -> Result<(), Failure> {
    match command {
        ProfileCommand::List => list(registry, output),
    }
}

fn list(registry: &RegistryArguments, output: &Output) -> Result<(), Failure> {
    let path = profile::path();
    let profiles = match &path {
        Some(path) => Profiles::read(path)?,
        None => Profiles::default(),
    };
    let chosen = registry.profile.as_deref().or(profiles.default.as_deref());
    let mut table = Table::new([
        Column::whole("PROFILE"),
        Column::whole("URL"),
        Column::whole("TOKEN"),
        Column::whole("DEFAULT"),
    ]);
    let mut documents: Vec<Value> = Vec::new();
    for (name, profile) in &profiles.profiles {
        let is_default = chosen == Some(name.as_str());
        let token = match &profile.token_env {
            Some(variable) => format!("variable {variable}"),
            None => "terrace login".to_owned(),
        };
        let mark = if is_default { "yes" } else { "" };
        table.row([name.clone(), profile.url.clone(), token, mark.to_owned()]);
        documents.push(json!({
            "name": name, "url": profile.url, "token_env": profile.token_env, "is_default": is_default,
        }));
    }
    let file = path.map(|path| path.display().to_string());
    let mut screen = Screen::new();
    match (table.is_empty(), &file) {
        (false, _) => screen.table(&table),
        (true, Some(file)) => screen.text(&format!("there are no profiles in {file}")),
        (true, None) => screen.text("there is no home directory, and so no file with profiles"),
    }
    let document = json!({ "status": "ok", "file": file, "profiles": documents });
    output.report(screen, &document);
    Ok(())
}

/// Returns the arguments with the URL and the token variable of the chosen profile.
///
/// --url takes precedence over every profile, and --profile over the environment: TERRACE_TOKEN belongs to TERRACE_URL, and
/// is sent to no registry of a profile. TERRACE_URL takes precedence over TERRACE_PROFILE and the default.
pub(super) fn apply(
    command: &Command,
    registry: &RegistryArguments,
    output: &Output,
) -> Result<RegistryArguments, Failure> {
    let mut registry = registry.clone();
    let is_named = registry.profile.is_some() && !registry.is_profile_in_environment;
    let has_url = registry
        .url
        .as_deref()
        .is_some_and(|url| !url.trim().is_empty());
    let is_url_first = has_url && (!is_named || !registry.is_url_in_environment);
    if !command.uses_profile() || is_url_first {
        return Ok(registry);
    }
    let Some(path) = profile::path() else {
        return Ok(registry);
    };
    let profiles = Profiles::read(&path)?;
    let given = registry.profile.take();
    let given = given.as_deref().map(str::trim);
    let given = given.filter(|name| !name.is_empty());
    let Some(name) = given.or(profiles.default.as_deref()) else {
        return Ok(registry);
    };
    let profile = profiles.named(name, &path)?;
    output.detail(&format!("profile {name}: {}", profile.url));
    registry.url = Some(profile.url.clone());
    registry.profile = Some(name.to_owned());
    registry.is_url_of_profile = true;
    if registry.is_token_in_environment {
        output.detail("TERRACE_TOKEN is not used: it belongs to TERRACE_URL, and not to a profile");
        registry.token = None;
        registry.is_token_in_environment = false;
    }
    if let Some(variable) = &profile.token_env
        && registry.token.is_none()
        && registry.token_file.is_none()
    {
        let value = std::env::var(variable).unwrap_or_default();
        if value.trim().is_empty() {
            return Err(Failure::Usage(format!(
                "profile {name} takes the token from the variable {variable}, which is not set"
            )));
        }
        registry.token = Some(value);
        registry.is_token_in_environment = true;
        registry.token_variable = Some(variable.clone());
    }
    Ok(registry)
}
