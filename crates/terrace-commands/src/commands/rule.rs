//! `terrace trust` and `terrace role`: rules that are stored in the registry.

use serde_json::{Map, Value, json};
use terrace_core::api::admin::{RuleAnswer, RuleBody};
use terrace_core::auth::oidc::{RuleKind, StoredRule};
use terrace_core::model::rule_id::RuleId;

use crate::args::{
    RegistryArguments, RoleAddArguments, RoleCommand, RuleArguments, RuleListArguments,
    TrustAddArguments, TrustCommand,
};
use crate::commands::connection::connect;
use crate::commands::person::Belongings;
use crate::commands::token::all_tokens;
use crate::error::Failure;
use crate::output::{Column, Output, Screen, Table};

const GITHUB: &str = "https://token.actions.githubusercontent.com";
const GITLAB: &str = "https://gitlab.com";

/// Executes `terrace trust`.
pub(crate) fn trust(
    command: &TrustCommand,
    registry: &RegistryArguments,
    output: &Output,
) -> Result<(), Failure> {
    let kind = RuleKind::Trust;
    match command {
        TrustCommand::Add(arguments) => {
            let rule = trusted(arguments)?;
            add(kind, rule, arguments.rule.dry_run, registry, output)
        }
        TrustCommand::List(arguments) => list(kind, arguments, registry, output),
        TrustCommand::Remove(arguments) => remove(kind, &arguments.ids, registry, output),
    }
}

/// Executes `terrace role`.
pub(crate) fn role(
    command: &RoleCommand,
    registry: &RegistryArguments,
    output: &Output,
) -> Result<(), Failure> {
    let kind = RuleKind::Role;
    match command {
        RoleCommand::Add(arguments) => {
            let rule = granted(arguments)?;
            add(kind, rule, arguments.rule.dry_run, registry, output)
        }
        RoleCommand::List(arguments) => list(kind, arguments, registry, output),
        RoleCommand::Remove(arguments) => remove(kind, &arguments.ids, registry, output),
    }
}

/// Returns the rule for CI jobs that the arguments describe.
fn trusted(arguments: &TrustAddArguments) -> Result<Value, Failure> {
    let TrustAddArguments {
        rule,
        github,
        gitlab,
        issuer,
        reference,
        environment,
        audience,
        identifies,
    } = arguments;
    match issuer {
        None => {
            check_server("--github", github.as_deref(), "github.com")?;
            check_server("--gitlab", gitlab.as_deref(), "gitlab.com")?;
        }
        Some(issuer) if github.is_some() => check_issuer("--github", issuer)?,
        Some(issuer) if gitlab.is_some() => check_issuer("--gitlab", issuer)?,
        Some(_) => {}
    }
    let mut claims = Claims::default();
    let default = match (github, gitlab) {
        (Some(name), _) => {
            let claim = if name.contains('/') {
                "repository"
            } else {
                "repository_owner"
            };
            claims.add(claim, name)?;
            GITHUB
        }
        (None, Some(name)) => {
            let claim = if name.contains('/') {
                "project_path"
            } else {
                "namespace_path"
            };
            claims.add(claim, name)?;
            GITLAB
        }
        (None, None) => "",
    };
    if let Some(reference) = reference {
        // GitLab's `ref` is the name of the branch or tag alone.
        let is_path = gitlab.is_some() && reference.starts_with("refs/");
        claims.add(if is_path { "ref_path" } else { "ref" }, reference)?;
    }
    if let Some(environment) = environment {
        claims.add("environment", environment)?;
    }
    let mut members = members(rule, claims)?;
    let issuer = issuer.as_deref().unwrap_or(default);
    members.insert("issuer".to_owned(), json!(issuer));
    if let Some(audience) = audience {
        members.insert("audience".to_owned(), json!(audience));
    }
    if *identifies {
        members.insert("identifies".to_owned(), json!(true));
    }
    Ok(Value::Object(members))
}

/// Refuses the URL of a repository on a server of its own, because the name alone would trust another one on the public server.
fn check_server(option: &str, name: Option<&str>, public: &str) -> Result<(), Failure> {
    let Some((name, (host, path))) = name.and_then(|name| Some((name, server_and_path(name)?)))
    else {
        return Ok(());
    };
    let host = host.to_ascii_lowercase();
    if host == public || host.strip_prefix("www.") == Some(public) {
        return Ok(());
    }
    let issuer = issuer_of(option, &host);
    Err(Failure::Usage(format!(
        "{option} is {name:?}: {option} alone trusts jobs of {public}; for those of {host} name the issuer of their tokens, \
         too: {option} {path} --issuer {issuer}"
    )))
}

/// Returns the issuer of the tokens of a server.
fn issuer_of(option: &str, host: &str) -> String {
    match (option, host) {
        ("--github", "github.com" | "www.github.com" | "token.actions.githubusercontent.com") => {
            GITHUB.to_owned()
        }
        ("--github", _) if host.ends_with(".ghe.com") => {
            let host = host.strip_prefix("token.actions.").unwrap_or(host);
            format!("https://token.actions.{host}")
        }
        ("--github", _) => format!("https://{host}/_services/token"),
        _ => format!("https://{host}"),
    }
}

/// Refuses an issuer that no token of the system has. An enterprise of GitHub may have one of its own, below that of the server; a
/// GitLab may have any path.
fn check_issuer(option: &str, issuer: &str) -> Result<(), Failure> {
    let Some((_, rest)) = issuer.split_once("://") else {
        return Ok(());
    };
    let host = rest.split('/').next().unwrap_or_default();
    let right = match option {
        "--github" => issuer_of(option, &host.to_ascii_lowercase()),
        _ => issuer.trim_end_matches('/').to_owned(),
    };
    let is_right = match issuer.strip_prefix(&right) {
        Some("") => true,
        Some(rest) => rest.len() > 1 && rest.starts_with('/') && !rest.ends_with('/'),
        None => false,
    };
    if is_right {
        return Ok(());
    }
    Err(Failure::Usage(format!(
        "--issuer is {issuer:?}, which no token of {option} has: write --issuer {right}"
    )))
}

/// Returns the host, with its port, and the path of a repository that is given as a URL or as an address of Git.
fn server_and_path(name: &str) -> Option<(&str, &str)> {
    let (host, path) = match name.split_once("://") {
        Some((_, rest)) => rest.split_once('/')?,
        // `git@gitlab.acme.example:infra/vpc.git`
        None => name
            .split_once(':')
            .filter(|(host, _)| host.contains('@'))?,
    };
    let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
    let path = path.split(['?', '#']).next().unwrap_or_default();
    // GitLab's pages of a project are below `/-/`.
    let path = path.split("/-/").next().unwrap_or_default();
    let path = path.trim_matches('/');
    Some((host, path.strip_suffix(".git").unwrap_or(path)))
}

/// Returns the rule for people that the arguments describe.
fn granted(arguments: &RoleAddArguments) -> Result<Value, Failure> {
    let mut claims = Claims::default();
    if let Some(email) = &arguments.email {
        claims.add("email", email)?;
    }
    if let Some(domain) = &arguments.domain {
        let given = domain;
        let domain = domain.strip_prefix('@').unwrap_or(domain);
        if domain.trim().is_empty() {
            return Err(Failure::Usage(format!(
                "--domain is {given:?}: name the domain of the addresses, such as acme.example"
            )));
        }
        if domain.contains('@') {
            return Err(Failure::Usage(format!(
                "--domain is {given:?}: a domain contains no @; for one person write --email {domain}"
            )));
        }
        claims.add("email", &format!("*@{domain}"))?;
    }
    members(&arguments.rule, claims).map(Value::Object)
}

/// The claims of a rule, each with one pattern.
#[derive(Default)]
struct Claims(Map<String, Value>);

impl Claims {
    fn add(&mut self, name: &str, pattern: &str) -> Result<(), Failure> {
        match self.0.insert(name.to_owned(), json!(pattern)) {
            None => Ok(()),
            Some(_) => Err(Failure::Usage(format!(
                "the claim {name} is given twice: a rule requires one pattern for each claim; for a second one, add a second rule"
            ))),
        }
    }
}

fn members(rule: &RuleArguments, mut claims: Claims) -> Result<Map<String, Value>, Failure> {
    for claim in &rule.claims {
        claims.add(&claim.name, &claim.pattern)?;
    }
    let scopes: Vec<String> = rule.scopes.iter().map(ToString::to_string).collect();
    let mut members = Map::new();
    members.insert("scopes".to_owned(), json!(scopes));
    members.insert("claims".to_owned(), Value::Object(claims.0));
    Ok(members)
}

/// Checks a rule, and adds it or prints it.
fn add(
    kind: RuleKind,
    rule: Value,
    is_dry: bool,
    registry: &RegistryArguments,
    output: &Output,
) -> Result<(), Failure> {
    let parsed = StoredRule::parse(kind, &rule.to_string());
    let parsed = parsed.map_err(|error| Failure::refused(error.to_string()))?;
    let checked = parsed.check();
    checked.map_err(|error| Failure::Usage(error.to_string()))?;
    if is_dry {
        for warning in parsed.warnings() {
            output.warning(&warning);
        }
        let text = serde_json::to_string_pretty(&rule);
        let text = text.map_err(|error| Failure::Unexpected(error.to_string()))?;
        let document = json!({ "status": "ok", "kind": kind, "rule": rule });
        let lines: Vec<String> = text.lines().map(str::to_owned).collect();
        output.result(&lines, &document);
        return Ok(());
    }
    let body = RuleBody { kind, rule };
    let added = connect(registry, output)?.add_rule(&body)?;
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
    registry: &RegistryArguments,
    output: &Output,
) -> Result<(), Failure> {
    let client = connect(registry, output)?;
    let mut rules = client.rules()?;
    rules.retain(|rule| rule.kind == kind);
    if let Some(person) = &arguments.of {
        let tokens = all_tokens(&client)?;
        let belongings = Belongings::of(person, &tokens);
        rules.retain(|rule| belongings.connection(rule).is_some());
    }
    let mut screen = Screen::new();
    if let (Some(person), true) = (&arguments.of, rules.is_empty()) {
        screen.text(&format!(
            "no rules of {person} that this token may manage are stored in the registry"
        ));
    } else if rules.is_empty() {
        let variable = match kind {
            RuleKind::Trust => "TERRACE_TRUSTED_PUBLISHERS",
            RuleKind::Role => "TERRACE_LOGIN_RULES",
            RuleKind::Block => "TERRACE_PULL_BLOCK",
        };
        screen.text(&format!(
            "no rules that this token may manage are stored in the registry; those in {variable} are not listed"
        ));
    } else {
        screen.table(&table(&rules));
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

fn remove(
    kind: RuleKind,
    ids: &[RuleId],
    registry: &RegistryArguments,
    output: &Output,
) -> Result<(), Failure> {
    let client = connect(registry, output)?;
    check_kind(kind, ids, &client.rules()?)?;
    for id in ids {
        client.remove_rule(*id)?;
        output.progress(&format!("rule {id} is removed"));
    }
    let line = match kind {
        RuleKind::Trust => "removed: no job gets a token by them any more, after a minute",
        RuleKind::Role => {
            "removed: no sign-in is granted anything by them any more, after a minute; tokens of earlier sign-ins stay valid"
        }
        RuleKind::Block => "removed: they block nothing any more, after a minute",
    };
    output.result(&[line], &json!({ "status": "ok", "removed": ids }));
    Ok(())
}

/// Rejects IDs of rules of another kind, before anything is removed.
fn check_kind(kind: RuleKind, ids: &[RuleId], stored: &[RuleAnswer]) -> Result<(), Failure> {
    let others = stored.iter().filter(|it| it.kind != kind);
    let others = others.filter(|it| ids.contains(&it.id));
    let reasons: Vec<String> = others.map(of_another_kind).collect();
    match reasons.is_empty() {
        true => Ok(()),
        false => Err(Failure::Refused(reasons)),
    }
}

fn of_another_kind(rule: &RuleAnswer) -> String {
    let id = rule.id;
    let (what, command) = match rule.kind {
        RuleKind::Trust => ("a rule for CI jobs", format!("terrace trust remove {id}")),
        RuleKind::Role => ("a rule for sign-in", format!("terrace role remove {id}")),
        RuleKind::Block => {
            let providers = rule.rule.get("providers").and_then(Value::as_str);
            let providers = providers.unwrap_or("HOSTNAME/NAMESPACE");
            (
                "a block of mirrored providers",
                format!("terrace mirror unblock {providers}"),
            )
        }
    };
    format!("{id} is {what}: remove it with `{command}`")
}

fn table(rules: &[RuleAnswer]) -> Table {
    let mut table = Table::new([
        Column::whole("ID"),
        Column::cut("SCOPES"),
        Column::left_out(1, "ISSUER"),
        Column::cut("CLAIMS"),
        Column::left_out(3, "CREATED"),
        Column::left_out(2, "CREATED BY"),
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
            claims.join(" "),
            answer.created.clone(),
            answer.created_by.clone(),
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
    for (option, issuer, right) in [
        ("--github", GITHUB, None),
        (
            "--github",
            "https://token.actions.githubusercontent.com/acme",
            None,
        ),
        ("--github", "https://token.actions.acme.ghe.com", None),
        (
            "--github",
            "https://github.corp.example/_services/token",
            None,
        ),
        ("--gitlab", "https://git.corp.example/gitlab", None),
        (
            "--github",
            "https://token.actions.githubusercontent.com/",
            Some(GITHUB),
        ),
        ("--github", "https://github.com", Some(GITHUB)),
        (
            "--github",
            "https://acme.ghe.com",
            Some("https://token.actions.acme.ghe.com"),
        ),
        (
            "--github",
            "https://github.corp.example",
            Some("https://github.corp.example/_services/token"),
        ),
        (
            "--gitlab",
            "https://gitlab.com/",
            Some("https://gitlab.com"),
        ),
    ] {
        let message = check_issuer(option, issuer).err().map(|it| it.to_string());
        let advice = right.map(|right| format!(": write --issuer {right}"));
        assert_eq!(message.is_some(), advice.is_some(), "{issuer}");
        let ends = message
            .zip(advice)
            .is_none_or(|(message, advice)| message.ends_with(&advice));
        assert!(ends, "{issuer}");
    }
}
