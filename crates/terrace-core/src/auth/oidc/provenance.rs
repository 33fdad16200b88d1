//! The claims of a job's token that its releases record.

use serde_json::Value;

use super::ci_system::CiSystem;
use crate::model::provenance::{ClaimText, Provenance};
use terrace_jose::{Claims, IssuerUrl};

/// The claims of one CI system. Of several names, the first claim that the token has counts.
struct Names {
    repository: &'static str,
    commit: &'static str,
    reference: &'static [&'static str],
    workflow: &'static [&'static str],
    run: &'static str,
}

/// GitHub's claims, which Forgejo has under the same names
/// (<https://forgejo.org/docs/next/user/actions/security-openid-connect/>). `workflow` is only the display
/// name of a workflow; `workflow_ref` has its file.
const GITHUB: Names = Names {
    repository: "repository",
    commit: "sha",
    reference: &["ref"],
    workflow: &["workflow_ref", "workflow"],
    run: "run_id",
};

/// GitLab's claims. Some versions have no `ref_path`, which is the full form of `ref`. In a pipeline of a
/// merge request, these name the fork that the code is from.
const GITLAB: Names = Names {
    repository: "project_path",
    commit: "sha",
    reference: &["ref_path", "ref"],
    workflow: &["ci_config_ref_uri"],
    run: "pipeline_id",
};

/// Returns the claims that a release of this job records: those that its CI system is known to have. Of an
/// unknown system, that is the issuer alone. `None` if the issuer is too long.
pub fn provenance(claims: &Claims) -> Option<Provenance> {
    let issuer = claims.issuer();
    let mut found = Provenance {
        issuer: issuer.as_str().parse().ok()?,
        repository: None,
        url: None,
        commit: None,
        reference: None,
        workflow: None,
        run: None,
    };
    let Some((names, web)) = names(claims) else {
        return Some(found);
    };
    let first = |names: &[&str]| names.iter().find_map(|name| claim(claims, name));
    found.repository = claim(claims, names.repository);
    found.commit = claims.text(names.commit).and_then(|it| it.parse().ok());
    found.reference = first(names.reference);
    found.workflow = first(names.workflow);
    found.run = claim(claims, names.run);
    if let (Some(web), Some(repository)) = (web, &found.repository) {
        found.url = format!("{web}/{repository}").parse().ok();
    }
    Some(found)
}

/// Returns the names of a system's claims, and the URL below which it serves its repositories.
fn names(claims: &Claims) -> Option<(&'static Names, Option<String>)> {
    let issuer = claims.issuer();
    match CiSystem::of(issuer) {
        CiSystem::GitHub => Some((&GITHUB, github_web(issuer))),
        CiSystem::GitLab => Some((&GITLAB, Some(without_slash(issuer).to_owned()))),
        CiSystem::Other => {
            // Only Forgejo has this path, and only GitLab has both of these claims.
            let forgejo = without_slash(issuer).strip_suffix("/api/actions");
            let has = |name| claim(claims, name).is_some();
            match forgejo {
                Some(web) => Some((&GITHUB, Some(web.to_owned()))),
                None if has("project_path") && has("pipeline_id") => {
                    Some((&GITLAB, Some(without_slash(issuer).to_owned())))
                }
                None => None,
            }
        }
    }
}

/// Returns the URL of github.com, of an enterprise's ghe.com, or of an Enterprise Server.
fn github_web(issuer: &IssuerUrl) -> Option<String> {
    let url = issuer.as_url();
    if let Some(web) = without_slash(issuer).strip_suffix("/_services/token") {
        return Some(web.to_owned());
    }
    match url.host().to_ascii_lowercase().as_str() {
        "token.actions.githubusercontent.com" => Some("https://github.com".to_owned()),
        host => Some(format!("https://{}", host.strip_prefix("token.actions.")?)),
    }
}

fn without_slash(issuer: &IssuerUrl) -> &str {
    issuer.as_str().trim_end_matches('/')
}

/// Returns a claim that is a printable text or a number.
fn claim(claims: &Claims, name: &str) -> Option<ClaimText> {
    match claims.get(name)? {
        Value::String(text) => text.parse().ok(),
        Value::Number(number) => number.to_string().parse().ok(),
        _ => None,
    }
}
