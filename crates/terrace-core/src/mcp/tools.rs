//! The tools: their names, and their definitions for assistants.

/// A tool. All of them only read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tool {
    /// Finds packages and types.
    Search,
    /// Describes a version of a module.
    GetModule,
    /// Describes a version of a provider.
    GetProvider,
    /// Returns a document.
    GetDocs,
    /// Finds the provider of a resource type, a data source or a function.
    FindType,
    /// Lists the versions of a package.
    ListVersions,
    /// Compares two versions of a package.
    CompareVersions,
    /// Judges whether versions in use may still be used.
    CheckVersions,
    /// Lists the packages that call a package.
    ListCallers,
    /// Explains how clients get access.
    HowToAuthenticate,
}

/// Returns the definitions of all tools, as a JSON list. A description says whose text an answer quotes; since a client only
/// reads, no other hint applies.
pub(super) fn definitions() -> String {
    // A message over standard input and output has no line breaks.
    let lines = include_str!("tools.json").lines();
    lines.map(str::trim_start).collect()
}

impl Tool {
    /// Returns the tool of this name.
    pub fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "search" => Self::Search,
            "get_module" => Self::GetModule,
            "get_provider" => Self::GetProvider,
            "get_docs" => Self::GetDocs,
            "find_type" => Self::FindType,
            "list_versions" => Self::ListVersions,
            "compare_versions" => Self::CompareVersions,
            "check_versions" => Self::CheckVersions,
            "list_callers" => Self::ListCallers,
            "how_to_authenticate" => Self::HowToAuthenticate,
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mcp::ToolCall;
    use crate::model::own_hosts::OwnHosts;
    use serde_json::{Map, Value};

    #[test]
    fn a_definition_is_read_only_and_names_the_arguments_that_the_tool_takes() {
        let definitions = definitions();
        assert!(!definitions.contains(['\n', '\r']));
        let tools: Vec<Value> = serde_json::from_str(&definitions).unwrap();
        for tool in &tools {
            let name = tool["name"].as_str().unwrap();
            assert_eq!(tool["annotations"]["readOnlyHint"], true);
            assert_eq!(tool["annotations"]["openWorldHint"], false);
            let description = tool["description"].as_str().unwrap();
            let warns = description.contains("text of the package's publisher");
            assert_eq!(warns, name != "how_to_authenticate", "{name}");
            let schema = &tool["inputSchema"];
            assert_eq!(schema["type"], "object", "{name}");
            assert_eq!(schema["additionalProperties"], false);
            let properties = schema["properties"].as_object().unwrap();
            for property in properties.values() {
                assert!(property["type"].is_string() && property["description"].is_string());
            }
            // The error about another argument lists those that the parser has asked for.
            let required = schema["required"].as_array().unwrap().iter();
            let mut arguments: Map<String, Value> = required
                .map(|argument| {
                    let argument = argument.as_str().unwrap();
                    let value = match (argument, name) {
                        ("address", "get_module") => "acme/vpc/aws",
                        ("address", _) => "acme/widget",
                        ("from" | "to", _) => "1.0.0",
                        ("packages", _) => "acme/widget@1.0.0",
                        _ => "acme_widget",
                    };
                    (argument.to_owned(), value.into())
                })
                .collect();
            arguments.insert("other".to_owned(), Value::Null);
            let own = OwnHosts::new("https://registry.test", &[]);
            let arguments = Value::Object(arguments).to_string();
            let error = ToolCall::parse(Tool::parse(name).unwrap(), Some(&arguments), &own);
            let error = error.unwrap_err();
            let taken = error.split_once("this tool takes ").unwrap().1;
            let mut taken: Vec<&str> = taken.split(", ").collect();
            taken.sort_unstable();
            let mut stated: Vec<&str> = properties.keys().map(String::as_str).collect();
            stated.sort_unstable();
            if stated.is_empty() {
                stated.push("no arguments");
            }
            assert_eq!(taken, stated, "{name}");
        }
        assert_eq!(tools.len(), 10);
        assert_eq!(Tool::parse("Search"), None);
    }
}
