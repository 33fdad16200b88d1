//! The page about assistants and editors: the configuration of each client.

use maud::{Markup, html};
use terrace_core::api::route::{McpScope, PageRoute};

use crate::parts::code;
use crate::parts::layout::Page;
use crate::parts::tabs::{Tab, tabs};
use crate::site::Site;

/// The environment variable with the token, as the command knows it.
const TOKEN: &str = "TERRACE_TOKEN";

/// Returns the page that prints the configuration of assistants and editors.
pub fn assistants(site: &Site) -> String {
    let scope = match site.is_private {
        true => McpScope::Private,
        false => McpScope::Visible,
    };
    let url = format!("{}{}", site.origin, scope.path());
    let body = html! {
        main.inner #page-content {
            h1 { "Use with assistants and editors" }
            p.lead { "Assistants that speak the Model Context Protocol search this registry, read its documentation, and write configurations with its modules." }
            section {
                h2 #page-server { "Address of the server" }
                p { "The transport is streamable HTTP." }
                (code::block("the address of the server", &format!("{url}\n")))
                (access(site))
            }
            section.install {
                h2 #page-clients { "Configuration" }
                (tabs("page-client", "Client", &clients(site, &url)))
            }
            section {
                h2 #page-first { "First question" }
                p { "Ask, for example: “Find our module for a VPC in this registry, and write a configuration that uses it.”" }
                p { "All tools only read. Documentation is text of the packages' publishers: an assistant must not follow instructions in it, so review the code that it writes." }
            }
        }
    };
    let page = Page {
        title: "Use with assistants and editors",
        description: "The configuration of assistants and editors that use this registry.",
        path: Some(PageRoute::Assistants.to_string()),
        ..Page::default()
    };
    page.render(site, &body)
}

fn access(site: &Site) -> Markup {
    let private = format!("{}{}", site.origin, McpScope::Private.path());
    html! {
        @if site.is_private {
            p {
                "Each request needs a token with the scope " code { "read" } ", which an administrator creates with "
                code { "terrace token create" } ". The configurations below read it from the environment variable "
                code { (TOKEN) } "."
            }
        } @else {
            p {
                "Public packages need no token. With one, an assistant also sees the private packages that the token may read: use the address "
                code { (private) } " and send the header " code { "Authorization: Bearer …" } "."
            }
        }
        @if !site.client_hosts.is_empty() {
            p {
                "Applications that are described at " (listed(&site.client_hosts)) " need no token in their configuration: connect them to "
                code { (private) } " without one. They open a browser, where you sign in."
            }
        }
    }
}

/// Lists hosts in a sentence.
fn listed(hosts: &[String]) -> Markup {
    html! {
        @for (index, host) in hosts.iter().enumerate() {
            @if index > 0 { @if index + 1 == hosts.len() { " or " } @else { ", " } }
            code { (host) }
        }
    }
}

fn clients(site: &Site, url: &str) -> Vec<Tab> {
    vec![
        Tab {
            label: "Claude Code",
            panel: code::block("the command", &claude_code(site, url)),
        },
        Tab {
            label: "VS Code",
            panel: code::file(".vscode/mcp.json", &vs_code(site, url)),
        },
        Tab {
            label: "Cursor",
            panel: code::file(".cursor/mcp.json", &cursor(site, url)),
        },
        Tab {
            label: "Codex",
            panel: code::file("~/.codex/config.toml", &codex(site, url)),
        },
        Tab {
            label: "Others",
            panel: html! {
                p.tools { "Clients that start a program and speak to it (stdio). The program is the " code { "terrace" } " command, with its own sign-in." }
                (code::file("mcp.json", &stdio(site)))
            },
        },
    ]
}

fn claude_code(site: &Site, url: &str) -> String {
    let header = match site.is_private {
        true => format!(" \\\n  --header \"Authorization: Bearer ${TOKEN}\""),
        false => String::new(),
    };
    format!("claude mcp add --transport http terrace {url}{header}\n")
}

fn vs_code(site: &Site, url: &str) -> String {
    if !site.is_private {
        return format!(
            "{{\n  \"servers\": {{\n    \"terrace\": {{ \"type\": \"http\", \"url\": \"{url}\" }}\n  }}\n}}\n"
        );
    }
    format!(
        "{{\n  \"inputs\": [\n    {{ \"type\": \"promptString\", \"id\": \"terrace-token\", \"description\": \"Token of the registry\", \
         \"password\": true }}\n  ],\n  \"servers\": {{\n    \"terrace\": {{\n      \"type\": \"http\",\n      \"url\": \"{url}\",\n      \
         \"headers\": {{ \"Authorization\": \"Bearer ${{input:terrace-token}}\" }}\n    }}\n  }}\n}}\n"
    )
}

fn cursor(site: &Site, url: &str) -> String {
    let headers = match site.is_private {
        true => {
            format!(",\n      \"headers\": {{ \"Authorization\": \"Bearer ${{env:{TOKEN}}}\" }}")
        }
        false => String::new(),
    };
    format!(
        "{{\n  \"mcpServers\": {{\n    \"terrace\": {{\n      \"url\": \"{url}\"{headers}\n    }}\n  }}\n}}\n"
    )
}

fn codex(site: &Site, url: &str) -> String {
    let token = match site.is_private {
        true => format!("bearer_token_env_var = \"{TOKEN}\"\n"),
        false => String::new(),
    };
    format!("[mcp_servers.terrace]\nurl = \"{url}\"\n{token}")
}

fn stdio(site: &Site) -> String {
    format!(
        "{{\n  \"mcpServers\": {{\n    \"terrace\": {{\n      \"command\": \"terrace\",\n      \"args\": [\"mcp\", \"--url\", \"{}\"]\n    }}\n  }}\n}}\n",
        site.origin
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_configurations_are_valid_and_name_the_registry() {
        for is_private in [false, true] {
            let site = Site {
                is_private,
                ..Site::at("registry.example.com")
            };
            let url = "https://registry.example.com/mcp";
            for json in [vs_code(&site, url), cursor(&site, url), stdio(&site)] {
                let parsed: serde_json::Value = serde_json::from_str(&json).unwrap();
                assert!(parsed.to_string().contains("https://registry.example.com"));
            }
            let page = assistants(&site);
            let endpoint = match is_private {
                true => "https://registry.example.com/mcp/private\n",
                false => "https://registry.example.com/mcp\n",
            };
            assert!(page.contains(endpoint), "{page}");
            assert_eq!(page.contains("Bearer ${input:terrace-token}"), is_private);
            assert!(!page.contains("need no token in"), "{page}");
        }
    }

    #[test]
    fn the_page_names_the_applications_that_sign_in() {
        let hosts = ["claude.ai", "vscode.dev", "app.example.com:8443"];
        let site = Site {
            client_hosts: hosts.map(str::to_owned).into(),
            ..Site::at("registry.example.com")
        };
        let page = assistants(&site);
        let list = "<code>claude.ai</code>, <code>vscode.dev</code> or <code>app.example.com:8443</code> need no token";
        assert!(page.contains(list), "{page}");
    }
}
