//! The answer of `how_to_authenticate`: the ways in which each client gets access. It contains no token.

use serde::Serialize;

/// Whether reads need a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ReadsNeedToken {
    /// All packages are public.
    None,
    /// Some packages are private.
    Some,
    /// All packages are private.
    All,
}

/// The answer of `how_to_authenticate`.
#[derive(Debug, Serialize)]
pub struct AuthenticationAnswer {
    registry: String,
    reads_need_token: ReadsNeedToken,
    steps: Vec<Step>,
}

#[derive(Debug, Serialize)]
struct Step {
    purpose: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<&'static str>,
    code: String,
}

impl AuthenticationAnswer {
    /// Creates the answer of the registry with this origin. `has_login` states whether `terraform login` works; `client_hosts` are
    /// those of the applications that sign their users in; `variable` is the environment variable with the token of a client, if
    /// one can be set.
    pub fn new(
        origin: &str,
        reads_need_token: ReadsNeedToken,
        has_login: bool,
        client_hosts: &[String],
        variable: Option<&str>,
    ) -> Self {
        let host = terrace_base::url::authority(origin);
        let step = |purpose, file, code| Step {
            purpose,
            file,
            code,
        };
        let mut steps = Vec::new();
        if has_login {
            let code = format!("terraform login {host}");
            steps.push(step(
                "Sign in once from a terminal (OpenTofu: tofu login)",
                None,
                code,
            ));
        }
        if let Some(variable) = variable {
            let code = format!("export {variable}=\"$TOKEN\"");
            let purpose = "Give a token to Terraform and OpenTofu in the environment, as in CI";
            steps.push(step(purpose, None, code));
        }
        steps.push(step(
            "Give a token to Terraform and OpenTofu in the CLI configuration",
            Some("~/.terraformrc or ~/.tofurc"),
            format!("credentials \"{host}\" {{\n  token = \"…\"\n}}\n"),
        ));
        steps.push(step(
            "Install providers of other registries through this registry's network mirror",
            Some("~/.terraformrc or ~/.tofurc"),
            format!(
                "provider_installation {{\n  network_mirror {{\n    url = \"{origin}/mirror/\"\n  }}\n}}\n"
            ),
        ));
        steps.push(step(
            "Give a token to this assistant: the header of its requests to the MCP endpoint; a token with the scope read suffices (terrace token create)",
            None,
            format!("POST {origin}/mcp/private\nAuthorization: Bearer $TOKEN"),
        ));
        if !client_hosts.is_empty() {
            steps.push(step(
                "Connect an application of one of these hosts without a token: it opens a browser, where its user signs in",
                None,
                format!("{origin}/mcp/private\n# {}", client_hosts.join(" ")),
            ));
        }
        Self {
            registry: host.to_owned(),
            reads_need_token,
            steps,
        }
    }
}
