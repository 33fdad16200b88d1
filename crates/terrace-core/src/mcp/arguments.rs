//! The arguments of the tools.

use super::members::Members;
use super::tools::Tool;
use crate::documentation::{DocumentPath, DocumentationKind};
use crate::model::address::ModuleAddress;
use crate::model::own_hosts::OwnHosts;
use crate::model::owner::Owner;
use crate::model::package::Package;
use crate::model::relative_path::RelativePath;
use crate::model::version::Version;
use crate::search::{Cursor, Query, SearchKind};
use terrace_base::untrusted::quoted;

/// The call of a tool. A version that is `None` is the newest one that can be installed, and an offset is the number of
/// entries or characters before the requested page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolCall {
    /// `search`
    Search {
        /// The words to find.
        query: Query,
        /// The kind of results; all if it is `None`.
        kind: Option<SearchKind>,
        /// The owner of the results; all if it is `None`.
        owner: Option<Owner>,
        /// The result after which the page begins.
        after: Option<Cursor>,
    },
    /// `get_module`
    Module {
        /// The module.
        address: ModuleAddress,
        /// Its version.
        version: Option<Version>,
        /// The submodule to describe in place of the root.
        submodule: Option<RelativePath>,
        /// The offset.
        offset: usize,
    },
    /// `get_provider`
    Provider {
        /// The provider, hosted or mirrored.
        package: Package,
        /// Its version.
        version: Option<Version>,
        /// The kind of documents to list; all if it is `None`.
        kind: Option<DocumentationKind>,
        /// The offset.
        offset: usize,
    },
    /// `get_docs`
    Document {
        /// The package.
        package: Package,
        /// Its version.
        version: Option<Version>,
        /// The document.
        document: DocumentPath,
        /// The offset.
        offset: usize,
    },
    /// `find_type`
    FindType {
        /// The name of the type as a search.
        query: Query,
        /// The name.
        name: String,
        /// The kind of type; all if it is `None`.
        kind: Option<SearchKind>,
        /// The result after which the page begins.
        after: Option<Cursor>,
    },
    /// `list_versions`
    Versions {
        /// The package.
        package: Package,
        /// The offset.
        offset: usize,
    },
    /// `compare_versions`
    Comparison {
        /// The package.
        package: Package,
        /// The older version.
        from: Version,
        /// The newer version.
        to: Version,
        /// The offset.
        offset: usize,
    },
    /// `how_to_authenticate`
    Authentication,
}

/// The reason why the arguments of a tool are invalid. The assistant reads it, and calls the tool again.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ArgumentError {
    /// The arguments are not an object.
    #[error("the arguments must be an object")]
    NotObject,
    /// A required argument is missing. Contains its name and its rule.
    #[error("the argument {0} is missing: it must be {1}")]
    Missing(&'static str, &'static str),
    /// The tool has no such argument. Contains the arguments that it has.
    #[error("the argument {name} is unknown: this tool takes {1}", name = quoted(.0))]
    Unknown(String, &'static str),
    /// A value is invalid. Contains the name of the argument, the value and the rule.
    #[error("the argument {0} is {value}: it must be {2}", value = quoted(.1))]
    Invalid(&'static str, String, String),
}

const ADDRESS: &str = "the address of a package, such as acme/vpc/aws (module), acme/widget (provider) or registry.example.com/acme/widget (mirrored provider)";

const MODULE_ADDRESS: &str = "the address of a module, such as acme/vpc/aws";

const PROVIDER_ADDRESS: &str =
    "the address of a provider, such as acme/widget or registry.example.com/acme/widget";

const VERSION: &str =
    "a version, such as 1.2.0, or latest; constraints are not resolved, list_versions lists all";

const DOCUMENT: &str = "the path of a document as get_module or get_provider lists it, such as readme, submodules/endpoints, examples/simple/main.tf, overview or resources/widget";

const OFFSET: &str = "a number, 0 or more: take it from next_offset of the previous page";

const CURSOR: &str = "the value of next_cursor of the previous page";

const NAME: &str = "the name of a resource type, data source or function, such as acme_widget";

impl ToolCall {
    /// Parses the arguments of a tool, in JSON. Packages under the registry's own hostnames are its own.
    ///
    /// # Errors
    /// The first rule that is violated.
    pub fn parse(
        tool: Tool,
        arguments: Option<&str>,
        own: &OwnHosts<'_>,
    ) -> Result<Self, ArgumentError> {
        let mut given = Arguments::parse(arguments)?;
        let call = match tool {
            Tool::Search => Self::Search {
                query: given.required("query", "one to ten words", parsed)?,
                kind: given.optional("kind", parsed)?,
                owner: given.optional("namespace", |text| {
                    Owner::parse_key(&text.to_ascii_lowercase())
                        .ok_or_else(|| "a namespace, or a hostname and a namespace".to_owned())
                })?,
                after: given.cursor()?,
            },
            Tool::GetModule => Self::Module {
                address: given.required("address", MODULE_ADDRESS, |text| {
                    match package(text, own) {
                        Some(Package::Module(address)) => Ok(address),
                        _ => Err(MODULE_ADDRESS.to_owned()),
                    }
                })?,
                version: given.version("version")?,
                submodule: given.optional("submodule", parsed)?,
                offset: given.offset()?,
            },
            Tool::GetProvider => Self::Provider {
                package: given.required("address", PROVIDER_ADDRESS, |text| {
                    match package(text, own) {
                        Some(Package::Module(_)) | None => Err(PROVIDER_ADDRESS.to_owned()),
                        Some(provider) => Ok(provider),
                    }
                })?,
                version: given.version("version")?,
                kind: given.optional("kind", documentation_kind)?,
                offset: given.offset()?,
            },
            Tool::GetDocs => {
                let package = given.package(own)?;
                let document = given.optional("document", |text| {
                    let segments: Vec<&str> = text.split('/').collect();
                    DocumentPath::parse(&package, &segments).ok_or_else(|| DOCUMENT.to_owned())
                })?;
                let first = match package {
                    Package::Module(_) => DocumentPath::Readme,
                    Package::Provider(_) | Package::Mirrored(_) => DocumentPath::Overview,
                };
                Self::Document {
                    document: document.unwrap_or(first),
                    package,
                    version: given.version("version")?,
                    offset: given.offset()?,
                }
            }
            Tool::FindType => {
                let name = given.required("name", NAME, |text| Ok(text.to_owned()))?;
                let query = name.parse();
                Self::FindType {
                    query: query.map_err(|_| invalid("name", &name, NAME))?,
                    name,
                    kind: given.optional("kind", symbol_kind)?,
                    after: given.cursor()?,
                }
            }
            Tool::ListVersions => Self::Versions {
                package: given.package(own)?,
                offset: given.offset()?,
            },
            Tool::CompareVersions => Self::Comparison {
                package: given.package(own)?,
                from: given.exact("from")?,
                to: given.exact("to")?,
                offset: given.offset()?,
            },
            Tool::HowToAuthenticate => Self::Authentication,
        };
        given.check_all_taken(tool)?;
        Ok(call)
    }
}

/// The arguments that have not been taken yet.
struct Arguments<'j>(Option<Members<'j>>);

impl<'j> Arguments<'j> {
    fn parse(json: Option<&'j str>) -> Result<Self, ArgumentError> {
        match json {
            None | Some("null") => Ok(Self(None)),
            Some(json) => match Members::parse(json.as_bytes()) {
                Some(members) => Ok(Self(Some(members))),
                None => Err(ArgumentError::NotObject),
            },
        }
    }

    /// Takes a text. Assistants send null or an empty text for no value.
    fn text(&mut self, name: &'static str) -> Result<Option<String>, ArgumentError> {
        let Some(members) = &mut self.0 else {
            return Ok(None);
        };
        match members.text(name) {
            Ok(text) => Ok(text
                .map(|text| text.trim().to_owned())
                .filter(|text| !text.is_empty())),
            Err(json) => Err(invalid(name, json, "a text")),
        }
    }

    fn optional<T>(
        &mut self,
        name: &'static str,
        parse: impl FnOnce(&str) -> Result<T, String>,
    ) -> Result<Option<T>, ArgumentError> {
        let Some(text) = self.text(name)? else {
            return Ok(None);
        };
        let value = parse(&text);
        value.map(Some).map_err(|rule| invalid(name, &text, &rule))
    }

    fn required<T>(
        &mut self,
        name: &'static str,
        rule: &'static str,
        parse: impl FnOnce(&str) -> Result<T, String>,
    ) -> Result<T, ArgumentError> {
        let value = self.optional(name, parse)?;
        value.ok_or(ArgumentError::Missing(name, rule))
    }

    fn package(&mut self, own: &OwnHosts<'_>) -> Result<Package, ArgumentError> {
        let parse = |text: &str| package(text, own).ok_or_else(|| ADDRESS.to_owned());
        self.required("address", ADDRESS, parse)
    }

    /// Takes a version; `None` is the newest one.
    fn version(&mut self, name: &'static str) -> Result<Option<Version>, ArgumentError> {
        let version = self.optional(name, |text| match text {
            "latest" => Ok(None),
            text => version(text).map(Some),
        });
        version.map(Option::flatten)
    }

    fn exact(&mut self, name: &'static str) -> Result<Version, ArgumentError> {
        self.required(name, "a version, such as 1.2.0", version)
    }

    fn cursor(&mut self) -> Result<Option<Cursor>, ArgumentError> {
        self.optional("cursor", |text| text.parse().map_err(|_| CURSOR.to_owned()))
    }

    /// Takes a number. Assistants send it as a text as well.
    fn offset(&mut self) -> Result<usize, ArgumentError> {
        let Some(json) = self.0.as_mut().and_then(|it| it.take("offset")) else {
            return Ok(0);
        };
        if json == "null" {
            return Ok(0);
        }
        let number = json.trim_matches('"').parse::<u32>().ok();
        let number = number.and_then(|number| usize::try_from(number).ok());
        number.ok_or_else(|| invalid("offset", json, OFFSET))
    }

    fn check_all_taken(self, tool: Tool) -> Result<(), ArgumentError> {
        match self.0.and_then(Members::into_left) {
            None => Ok(()),
            Some(name) => Err(ArgumentError::Unknown(name, tool.takes())),
        }
    }
}

fn parsed<T: std::str::FromStr<Err: std::fmt::Display>>(text: &str) -> Result<T, String> {
    text.parse()
        .map_err(|error: T::Err| format!("valid: {error}"))
}

/// Parses an address as users write it in configurations: with one of the registry's own hostnames, or without.
fn package(text: &str, own: &OwnHosts<'_>) -> Option<Package> {
    if let Some((hostname, rest)) = text.split_once('/')
        && own.include_authority(hostname)
    {
        return Package::parse_address(rest);
    }
    match Package::parse_address(text)? {
        Package::Mirrored(address) => Some(own.package(address)),
        package => Some(package),
    }
}

fn version(text: &str) -> Result<Version, String> {
    Version::parse_request(text).map_err(|_| VERSION.to_owned())
}

fn documentation_kind(text: &str) -> Result<DocumentationKind, String> {
    let mut kinds = DocumentationKind::ALL.into_iter();
    let is_named = |kind: &DocumentationKind| {
        let name = kind.as_str();
        name == text || name.strip_suffix('s') == Some(text)
    };
    kinds.find(is_named).ok_or_else(|| {
        let names = DocumentationKind::ALL.map(DocumentationKind::as_str);
        format!("one of {}", names.join(", "))
    })
}

fn symbol_kind(text: &str) -> Result<SearchKind, String> {
    match text.parse() {
        Ok(kind @ SearchKind::Symbol(_)) => Ok(kind),
        _ => Err("resource, data-source, function, ephemeral-resource, list-resource, action or state-store".to_owned()),
    }
}

#[inline(never)]
fn invalid(name: &'static str, value: &str, rule: &str) -> ArgumentError {
    ArgumentError::Invalid(name, value.to_owned(), rule.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(tool: Tool, arguments: &str) -> Result<ToolCall, ArgumentError> {
        let hostnames = ["terrace.example.com".parse().unwrap()];
        let own = OwnHosts::new("https://registry.test:8443", &hostnames);
        ToolCall::parse(tool, Some(arguments), &own)
    }

    #[test]
    fn an_address_may_begin_with_an_own_hostname() {
        for (address, is) in [
            ("acme/vpc/aws", "modules/acme/vpc/aws"),
            ("registry.test:8443/acme/vpc/aws", "modules/acme/vpc/aws"),
            ("terrace.example.com/acme/vpc/aws", "modules/acme/vpc/aws"),
            ("registry.test/acme/widget", "providers/hosted/acme/widget"),
            ("acme/widget", "providers/hosted/acme/widget"),
            ("b.example/acme/widget", "providers/b.example/acme/widget"),
        ] {
            let call = parse(Tool::ListVersions, &format!(r#"{{"address":"{address}"}}"#));
            match call {
                Ok(ToolCall::Versions { package, offset: 0 }) => {
                    assert_eq!(package.to_string(), is);
                }
                other => panic!("{address}: {other:?}"),
            }
        }
    }

    #[test]
    fn no_value_is_null_or_empty_or_absent() {
        for arguments in [
            r#"{"address":"acme/vpc/aws"}"#,
            r#"{"address":"acme/vpc/aws","version":null,"offset":null,"submodule":""}"#,
            r#"{"address":" acme/vpc/aws ","version":"latest","offset":"0"}"#,
        ] {
            let call = parse(Tool::GetModule, arguments);
            let Ok(ToolCall::Module {
                version: None,
                submodule: None,
                offset: 0,
                ..
            }) = call
            else {
                panic!("{arguments}: {call:?}");
            };
        }
    }

    #[test]
    fn an_invalid_argument_is_named_with_its_rule() {
        for (tool, arguments, message) in [
            (Tool::Search, "[]", "must be an object"),
            (Tool::Search, "{}", "the argument query is missing"),
            (Tool::Search, r#"{"query":"-"}"#, "no words"),
            (
                Tool::Search,
                r#"{"query":"a","kind":"x"}"#,
                "the argument kind is \"x\"",
            ),
            (Tool::Search, r#"{"query":"a","cursor":"x"}"#, "next_cursor"),
            (
                Tool::Search,
                r#"{"query":"a","q":"b"}"#,
                "the argument \"q\" is unknown: this tool takes query",
            ),
            (
                Tool::GetModule,
                r#"{"address":"acme/widget"}"#,
                "the address of a module",
            ),
            (
                Tool::GetModule,
                r#"{"address":"acme/vpc/aws","version":"~> 1.0"}"#,
                "constraints are not resolved",
            ),
            (
                Tool::GetModule,
                r#"{"address":5}"#,
                "the argument address is \"5\": it must be a text",
            ),
            (
                Tool::GetProvider,
                r#"{"address":"acme/vpc/aws"}"#,
                "the address of a provider",
            ),
            (
                Tool::GetProvider,
                r#"{"address":"acme/widget","kind":"x"}"#,
                "one of overview, guides",
            ),
            (
                Tool::GetDocs,
                r#"{"address":"acme/widget","document":"readme"}"#,
                "the path of a document",
            ),
            (
                Tool::FindType,
                r#"{"name":"acme_widget","kind":"module"}"#,
                "data-source",
            ),
            (
                Tool::ListVersions,
                r#"{"address":"acme/widget","offset":-1}"#,
                "0 or more",
            ),
            (
                Tool::CompareVersions,
                r#"{"address":"acme/widget","from":"1.0.0"}"#,
                "the argument to is missing",
            ),
            (
                Tool::HowToAuthenticate,
                r#"{"token":"x"}"#,
                "takes no arguments",
            ),
        ] {
            let error = parse(tool, arguments).unwrap_err().to_string();
            assert!(error.contains(message), "{arguments}: {error}");
        }
    }
}
