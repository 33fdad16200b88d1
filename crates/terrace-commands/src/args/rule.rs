//! The command lines of `terrace trust` and `terrace role`.

use std::str::FromStr;

use clap::{ArgGroup, Args, Subcommand};
use terrace_core::auth::access::Scope;
use terrace_core::model::rule_id::RuleId;

#[derive(Debug, Subcommand)]
pub(crate) enum TrustCommand {
    /// Let CI jobs publish with the token of their CI
    ///
    /// The rule takes effect within a minute, beside those in TERRACE_TRUSTED_PUBLISHERS. It stays when the token of its
    /// creator ends.
    Add(TrustAddArguments),
    /// List the rules for CI jobs that are stored in the registry
    List(RuleListArguments),
    /// Remove rules for CI jobs; they grant nothing any more within a minute
    Remove(RuleRemoveArguments),
}

#[derive(Debug, Subcommand)]
pub(crate) enum RoleCommand {
    /// Grant scopes to people who sign in
    ///
    /// The rule takes effect within a minute, beside those in TERRACE_LOGIN_RULES. It stays when the token of its creator
    /// ends.
    Add(RoleAddArguments),
    /// List the rules for sign-in that are stored in the registry
    List(RuleListArguments),
    /// Remove rules for sign-in; they grant nothing any more within a minute
    ///
    /// Tokens that people got before stay valid: terrace token revoke --of PERSON.
    Remove(RuleRemoveArguments),
}

/// Arguments that all rules have.
#[derive(Debug, Args)]
pub(crate) struct RuleArguments {
    /// A permission that the rule grants: read, read:<namespace>, publish:<namespace>, admin:<namespace>, backup, or for people admin;
    /// may be given several times
    #[arg(long = "scope", value_name = "SCOPE", required = true)]
    pub(crate) scopes: Vec<Scope>,
    /// A claim that the token must have, with a pattern for its value, in which * stands for anything but a slash; may be
    /// given several times
    #[arg(long = "claim", value_name = "NAME=VALUE")]
    pub(crate) claims: Vec<RequiredClaim>,
    /// Print the rule, and send nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}

#[derive(Debug, Args)]
#[command(
    group(ArgGroup::new("jobs").args(["github", "gitlab", "issuer"]).multiple(true).required(true)),
    // That of clap shows --issuer as an alternative to the other two.
    override_usage = "terrace trust add [OPTIONS] --scope <SCOPE> [--github <OWNER[/REPOSITORY]> | --gitlab <GROUP[/PROJECT]>] \
                      [--issuer <URL>]"
)]
pub(crate) struct TrustAddArguments {
    #[command(flatten)]
    pub(crate) rule: RuleArguments,
    /// The repository on GitHub whose jobs are trusted, or its owner for all of the owner's repositories
    #[arg(long, value_name = "OWNER[/REPOSITORY]", conflicts_with = "gitlab")]
    pub(crate) github: Option<String>,
    /// The project on GitLab whose jobs are trusted, or its group for the projects directly in it
    #[arg(long, value_name = "GROUP[/PROJECT]")]
    pub(crate) gitlab: Option<String>,
    /// The issuer of the tokens, if it is neither github.com nor gitlab.com; with --github or --gitlab that of another
    /// server, such as https://gitlab.acme.example
    #[arg(long, value_name = "URL")]
    pub(crate) issuer: Option<String>,
    /// The Git reference that the job must run for, such as 'refs/tags/*' or refs/heads/main
    #[arg(long = "ref", value_name = "PATTERN")]
    pub(crate) reference: Option<String>,
    /// The deployment environment that the job must run in
    #[arg(long, value_name = "NAME")]
    pub(crate) environment: Option<String>,
    /// The audience of the tokens, if it is not the URL of the registry
    #[arg(long, value_name = "AUDIENCE")]
    pub(crate) audience: Option<String>,
    /// State that the claims of another issuer than GitHub and GitLab identify the trusted jobs, though `sub` is not among
    /// them
    #[arg(long)]
    pub(crate) identifies: bool,
}

#[derive(Debug, Args)]
#[command(group(ArgGroup::new("people").args(["claims", "email", "domain"]).multiple(true).required(true)))]
pub(crate) struct RoleAddArguments {
    #[command(flatten)]
    pub(crate) rule: RuleArguments,
    /// The verified e-mail address of the person
    #[arg(long, value_name = "ADDRESS", conflicts_with = "domain")]
    pub(crate) email: Option<String>,
    /// The domain of the verified e-mail addresses of the people
    #[arg(long, value_name = "DOMAIN")]
    pub(crate) domain: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct RuleListArguments {
    /// List only the rules that a person, or a token that the person created, has added, and those that grant the person
    /// something by name
    #[arg(long, value_name = "PERSON")]
    pub(crate) of: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct RuleRemoveArguments {
    /// The IDs of the rules, as in the list
    #[arg(required = true)]
    pub(crate) ids: Vec<RuleId>,
}

/// A claim with a pattern for its value. The registry's own rules decide whether they are valid.
#[derive(Debug, Clone)]
pub(crate) struct RequiredClaim {
    pub(crate) name: String,
    pub(crate) pattern: String,
}

impl FromStr for RequiredClaim {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once('=') {
            Some((name, pattern)) if !name.is_empty() => Ok(Self {
                name: name.to_owned(),
                pattern: pattern.to_owned(),
            }),
            _ => Err("it must be NAME=VALUE, such as groups=platform".to_owned()),
        }
    }
}
