//! `terrace trust` and `terrace role`: rules that are stored in the registry.

use clap::{ArgGroup, Args, Subcommand};
use serde_json::{Map, Value, json};
use terrace_core::api::admin::{RuleAnswer, RuleBody};
use terrace_core::auth::access::Scope;
use terrace_core::auth::oidc::{RuleKind, StoredRule};
use terrace_core::model::rule_id::RuleId;

use crate::commands::connection::Session;
use crate::commands::person::Belongings;
use crate::commands::report::object;
use crate::commands::serve::Variable;
use crate::commands::token::all_tokens;
use crate::error::Failure;
use crate::output::{Column, Screen, Table};

#[derive(Debug, Subcommand)]
pub(crate) enum TrustCommand {
    /// Let CI jobs publish with the token of their CI
    ///
    /// The rule takes effect within a minute, beside those in TERRACE_TRUSTED_PUBLISHERS. It stays when the token of its
    /// creator ends.
    #[command(
        after_help = "Example: terrace trust add --scope publish:acme --github acme/infra --ref 'refs/tags/*'\nToken scope: admin:<namespace> or admin"
    )]
    Add(TrustAddArguments),
    /// List the rules for CI jobs that are stored in the registry
    #[command(after_help = "Example: terrace trust list\nToken scope: admin:<namespace> or admin")]
    List(RuleListArguments),
    /// Remove rules for CI jobs; they grant nothing any more within a minute
    #[command(
        after_help = "Example: terrace trust remove 7f3a9c2e51b04d68\nToken scope: admin:<namespace> or admin"
    )]
    Remove(RuleRemoveArguments),
}

#[derive(Debug, Subcommand)]
pub(crate) enum RoleCommand {
    /// Grant scopes to people who sign in
    ///
    /// The rule takes effect within a minute, beside those in TERRACE_LOGIN_RULES. It stays when the token of its creator
    /// ends.
    #[command(
        after_help = "Example: terrace role add --scope read --claim groups=platform\nToken scope: admin:<namespace> or admin"
    )]
    Add(RoleAddArguments),
    /// List the rules for sign-in that are stored in the registry
    #[command(after_help = "Example: terrace role list\nToken scope: admin:<namespace> or admin")]
    List(RuleListArguments),
    /// Remove rules for sign-in; they grant nothing any more within a minute
    ///
    /// Tokens that people got before stay valid: terrace token revoke --of PERSON.
    #[command(
        after_help = "Example: terrace role remove 7f3a9c2e51b04d68\nToken scope: admin:<namespace> or admin"
    )]
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
    pub(crate) claims: Vec<Variable>,
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

const GITHUB: &str = "https://token.actions.githubusercontent.com";

const GITLAB: &str = "https://gitlab.com";

/// Executes `terrace trust`.
pub(crate) fn trust(command: &TrustCommand, session: Session<'_>) -> Result<(), Failure> {
    let kind = RuleKind::Trust;
    match command {
        TrustCommand::Add(arguments) => {
            let rule = trusted(arguments)?;
            add(kind, rule, arguments.rule.dry_run, session)
        }
        TrustCommand::List(arguments) => list(kind, arguments, session),
        TrustCommand::Remove(arguments) => remove(kind, &arguments.ids, session),
    }
}

/// Executes `terrace role`.
pub(crate) fn role(command: &RoleCommand, session: Session<'_>) -> Result<(), Failure> {
    let kind = RuleKind::Role;
    match command {
        RoleCommand::Add(arguments) => {
            let rule = granted(arguments)?;
            add(kind, rule, arguments.rule.dry_run, session)
        }
        RoleCommand::List(arguments) => list(kind, arguments, session),
        RoleCommand::Remove(arguments) => remove(kind, &arguments.ids, session),
    }
}

/// Returns the rule for CI jobs that the arguments describe.
fn trusted(arguments: &TrustAddArguments) -> Result<Value, Failure> {
    let issuer = &arguments.issuer;
    let of_github = ("--github", ["repository_owner", "repository"], GITHUB);
    let of_gitlab = ("--gitlab", ["namespace_path", "project_path"], GITLAB);
    let github = arguments.github.as_ref().map(|name| (name, of_github));
    let gitlab = arguments.gitlab.as_ref().map(|name| (name, of_gitlab));
    let system = github.or(gitlab);
    let mut claims = Vec::new();
    if let Some((name, (option, [of_owner, of_repository], _))) = system {
        // The name alone, of a repository on a server of its own, would trust another one on the public server.
        if name.contains([':', '@']) {
            return Err(Failure::Usage(format!(
                "{option} is {name:?}: write the path alone, such as acme/infra; for another server than the public one, --issuer \
                 names the issuer of its tokens"
            )));
        }
        if let Some(issuer) = issuer {
            check_issuer(option, issuer)?;
        }
        let is_repository = name.contains('/');
        let claim = if is_repository {
            of_repository
        } else {
            of_owner
        };
        claims.push((claim, name.clone()));
    }
    if let Some(reference) = &arguments.reference {
        let is_ref =
            reference.starts_with("refs/") || reference.starts_with('*') && reference.contains('/');
        if github.is_some() && !reference.is_empty() && !is_ref {
            return Err(Failure::Usage(format!(
                "--ref is {reference:?}, but every ref of GitHub begins with refs/: write refs/heads/NAME for a branch, or \
                 refs/tags/NAME for a tag"
            )));
        }
        // GitLab's `ref` is the name of the branch or tag alone.
        let is_path = gitlab.is_some() && reference.starts_with("refs/");
        let claim = if is_path { "ref_path" } else { "ref" };
        claims.push((claim, reference.clone()));
    }
    let environment = arguments.environment.iter();
    claims.extend(environment.map(|it| ("environment", it.clone())));
    let issuer = issuer.as_deref().or(system.map(|(_, (.., issuer))| issuer));
    let mut members = members(&arguments.rule, claims)?;
    members.insert("issuer".to_owned(), json!(issuer));
    let audience = arguments.audience.iter();
    members.extend(audience.map(|it| ("audience".to_owned(), json!(it))));
    let identifies = arguments.identifies;
    members.extend(identifies.then(|| ("identifies".to_owned(), json!(true))));
    Ok(Value::Object(members))
}

/// Refuses an issuer that no token of the system has. Those of GitHub are not the URL of the server, but below it or beside it; an
/// enterprise may have one of its own.
fn check_issuer(option: &str, issuer: &str) -> Result<(), Failure> {
    let is_of_github =
        issuer.starts_with("https://token.actions.") || issuer.contains("/_services/token");
    match !issuer.ends_with('/') && (is_of_github || option != "--github") {
        true => Ok(()),
        false => Err(Failure::Usage(format!(
            "--issuer is {issuer:?}, which no token of {option} has: an issuer has no / at its end, and that of GitHub is {GITHUB}, \
             https://token.actions.SUBDOMAIN.ghe.com, or https://HOST/_services/token of an Enterprise Server"
        ))),
    }
}

/// Returns the rule for people that the arguments describe.
fn granted(arguments: &RoleAddArguments) -> Result<Value, Failure> {
    let email = arguments.email.clone();
    let of_domain = match &arguments.domain {
        Some(given) => {
            let domain = given.strip_prefix('@').unwrap_or(given);
            if domain.trim().is_empty() || domain.contains('@') {
                return Err(Failure::Usage(format!(
                    "--domain is {given:?}: name the domain of the addresses, such as acme.example; for one person use --email"
                )));
            }
            Some(format!("*@{domain}"))
        }
        None => None,
    };
    let claims = email.or(of_domain).map(|pattern| ("email", pattern));
    members(&arguments.rule, claims.into_iter().collect()).map(Value::Object)
}

/// Returns the members of a rule with these claims and those of the arguments, each with one pattern.
fn members(
    rule: &RuleArguments,
    claims: Vec<(&str, String)>,
) -> Result<Map<String, Value>, Failure> {
    let given = rule.claims.iter();
    let given = given.map(|claim| (&*claim.name, claim.value.clone()));
    let mut patterns = Map::new();
    for (name, pattern) in claims.into_iter().chain(given) {
        if patterns.insert(name.to_owned(), json!(pattern)).is_some() {
            return Err(Failure::Usage(format!(
                "the claim {name} is given twice: a rule requires one pattern for each claim; for a second one, add a second rule"
            )));
        }
    }
    let scopes: Vec<String> = rule.scopes.iter().map(ToString::to_string).collect();
    Ok(object(json!({ "scopes": scopes, "claims": patterns })))
}

/// Checks a rule, and adds it or prints it.
fn add(kind: RuleKind, rule: Value, is_dry: bool, session: Session<'_>) -> Result<(), Failure> {
    let output = session.output;
    let parsed = StoredRule::parse(kind, &rule.to_string());
    let parsed = parsed.map_err(|error| Failure::refused(error.to_string()))?;
    if is_dry {
        for warning in parsed.warnings() {
            output.warning(&warning);
        }
        let lines: Vec<String> = format!("{rule:#}").lines().map(str::to_owned).collect();
        let document = json!({ "status": "dry_run", "kind": kind, "rule": rule });
        output.result(&lines, &document);
        return Ok(());
    }
    let body = RuleBody { kind, rule };
    let added = session.connect()?.add_rule(&body)?;
    for warning in &added.warnings {
        output.warning(warning);
    }
    let line = format!(
        "rule {} grants {}, everywhere within a minute; to undo this: terrace {kind} remove {}",
        added.id,
        scopes(&added),
        added.id
    );
    output.result(&[line], &json!({ "status": "ok", "rule": added }));
    Ok(())
}

fn list(
    kind: RuleKind,
    arguments: &RuleListArguments,
    session: Session<'_>,
) -> Result<(), Failure> {
    let output = session.output;
    let client = session.connect()?;
    let mut rules = client.rules()?;
    rules.retain(|rule| rule.kind == kind);
    if let Some(person) = &arguments.of {
        let tokens = all_tokens(&client)?;
        let belongings = Belongings::of(person, &tokens);
        rules.retain(|rule| belongings.connection(rule).is_some());
    }
    let mut screen = Screen::new();
    match rules.is_empty() {
        true => screen.text(
            "no such rules that this token may manage are stored in the registry; those in its settings are not listed",
        ),
        false => screen.table(&table(&rules)),
    }
    for rule in &rules {
        let id = rule.id;
        if let Some(fault) = &rule.fault {
            output.warning(&format!("{id} grants nothing: {fault}"));
        }
        for warning in &rule.warnings {
            output.warning(&format!("{id}: {warning}"));
        }
    }
    output.report(screen, &json!({ "status": "ok", "rules": rules }));
    Ok(())
}

fn remove(kind: RuleKind, ids: &[RuleId], session: Session<'_>) -> Result<(), Failure> {
    let output = session.output;
    let client = session.connect()?;
    let stored = client.rules()?;
    let others = stored
        .iter()
        .filter(|it| it.kind != kind && ids.contains(&it.id));
    let reasons: Vec<String> = others.map(of_another_kind).collect();
    if !reasons.is_empty() {
        return Err(Failure::Refused(reasons));
    }
    for id in ids {
        client.remove_rule(*id)?;
        output.progress(&format!("rule {id} is removed"));
    }
    let line = "removed: they grant nothing after a minute; tokens that were issued earlier stay valid until they expire";
    output.result(&[line], &json!({ "status": "ok", "removed": ids }));
    Ok(())
}

fn of_another_kind(rule: &RuleAnswer) -> String {
    let command = match rule.kind {
        RuleKind::Trust => "trust remove",
        RuleKind::Role => "role remove",
        RuleKind::Block => "mirror unblock",
    };
    format!(
        "{} is another kind of rule: see `terrace {command}`",
        rule.id
    )
}

fn table(rules: &[RuleAnswer]) -> Table {
    let mut table = Table::new([
        Column::whole("ID"),
        Column::cut("SCOPES"),
        Column::cut("ISSUER"),
        Column::left_out(2, "CREATED"),
        Column::left_out(1, "CREATED BY"),
        Column::wrapped("CLAIMS"),
    ]);
    for answer in rules {
        let claims = answer.rule.get("claims").and_then(Value::as_object);
        let claims = claims.into_iter().flatten();
        let claims = claims.map(|(name, pattern)| {
            let pattern = pattern.as_str().unwrap_or_default();
            format!("{name}={pattern}")
        });
        let claims: Vec<String> = claims.collect();
        let issuer = answer.rule.get("issuer").and_then(Value::as_str);
        table.row([
            answer.id.to_string(),
            scopes(answer),
            issuer.unwrap_or_default().to_owned(),
            answer.created.clone(),
            answer.created_by.clone(),
            claims.join(" "),
        ]);
    }
    table
}

fn scopes(answer: &RuleAnswer) -> String {
    let scopes = answer.rule.get("scopes").and_then(Value::as_array);
    let scopes = scopes.into_iter().flatten();
    let scopes: Vec<&str> = scopes.filter_map(Value::as_str).collect();
    scopes.join(" ")
}

#[cfg(test)]
#[test]
fn an_issuer_is_one_that_tokens_of_the_system_have() {
    let (github, gitlab) = ("--github", "--gitlab");
    for (option, issuer, is_right) in [
        (github, "token.actions.githubusercontent.com/acme", true),
        (github, "token.actions.acme.ghe.com", true),
        (github, "github.corp.example/_services/token", true),
        (github, "token.actions.githubusercontent.com/", false),
        (github, "github.corp.example", false),
        (gitlab, "git.corp.example/gitlab", true),
        (gitlab, "gitlab.com/", false),
    ] {
        let checked = check_issuer(option, &format!("https://{issuer}"));
        assert_eq!(checked.is_ok(), is_right, "{issuer}");
    }
}
