//! The arguments of the tools.

use super::members::Members;
use super::tools::Tool;
use crate::api::check::UsedPackage;
use crate::api::route::API_PREFIX;
use crate::documentation::{DocumentPath, DocumentationKind};
use crate::limits;
use crate::model::own_hosts::OwnHosts;
use crate::model::owner::Owner;
use crate::model::package::Package;
use crate::model::relative_path::RelativePath;
use crate::model::version::Version;
use crate::search::{Query, Search, SearchKind};
use terrace_base::untrusted::quoted;

/// The call of a tool.
#[derive(Debug, Clone)]
pub enum ToolCall {
    /// `search` and `find_type`: a search for packages and symbols of this owner, or of all.
    Search(Search, Option<Owner>),
    /// A question about a package.
    Package {
        /// The package.
        package: Package,
        /// The version; without one, the newest that can be installed.
        version: Option<Version>,
        /// The question.
        question: Question,
        /// The number of entries or characters before the requested page.
        offset: usize,
    },
    /// `check_versions`
    Check(Vec<UsedPackage>),
    /// `list_callers`: the callers of a package after a cursor.
    Callers(Package, String),
    /// `how_to_authenticate`
    Authentication,
}

/// A question about a package, or about a version of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Question {
    /// `get_module`: the root of a module, or its submodule of this name.
    Module(Option<RelativePath>),
    /// `get_provider`: a provider with its documents of this kind, or of all.
    Provider(Option<DocumentationKind>),
    /// `get_docs`: a document of a version.
    Document(DocumentPath),
    /// `list_versions`: all versions.
    Versions,
    /// `compare_versions`: the differences between the version and this one.
    Change(Version),
}

const ADDRESS: &str = "the address of a package, such as acme/vpc/aws (module), acme/widget (provider), or with the hostname of another registry before it, if it is mirrored, such as registry.example.com/acme/widget";

const MODULE_ADDRESS: &str =
    "the address of a module, such as acme/vpc/aws or registry.example.com/acme/vpc/aws";

const PROVIDER_ADDRESS: &str =
    "the address of a provider, such as acme/widget or registry.example.com/acme/widget";

const VERSION: &str =
    "a version, such as 1.2.0, or latest; constraints are not resolved, list_versions lists all";

const DOCUMENT: &str = "the path of a document as get_module or get_provider lists it, such as readme, submodules/endpoints, examples/simple/main.tf, overview or resources/widget";

const OFFSET: &str = "a number, 0 or more: take it from next_offset of the previous page";

const CURSOR: &str = "the value of next of the previous page";

const USED: &str =
    "addresses with versions, separated by spaces, such as acme/vpc/aws@1.2.0 acme/widget@2.0.1";

const NAME: &str = "the name of a resource type, data source or function, such as acme_widget";

impl ToolCall {
    /// Parses the arguments of a tool, in JSON. Packages under the registry's own hostnames are its own.
    ///
    /// # Errors
    /// The first rule that is violated. The assistant reads it, and calls the tool again.
    pub fn parse(tool: Tool, arguments: Option<&str>, own: &OwnHosts<'_>) -> Result<Self, String> {
        let mut given = Arguments::parse(arguments)?;
        let call = match tool {
            Tool::Search => {
                let query = given.required("query", "one to ten words", parsed)?;
                let kind = given.optional("kind", parsed)?;
                let owner = given.optional("namespace", |text| {
                    Owner::parse_key(&text.to_ascii_lowercase())
                        .ok_or_else(|| "a namespace, or a hostname and a namespace".to_owned())
                })?;
                Self::Search(given.search(query, kind)?, owner)
            }
            Tool::FindType => {
                let query = given.required("name", NAME, |text| {
                    text.parse::<Query>().map_err(|_| NAME.to_owned())
                })?;
                let kind = given.optional("kind", symbol_kind)?;
                let kind = kind.unwrap_or(SearchKind::AnySymbol);
                Self::Search(given.search(query, Some(kind))?, None)
            }
            Tool::CheckVersions => Self::Check(given.required("packages", USED, used)?),
            Tool::ListCallers => Self::Callers(
                given.required("address", ADDRESS, |text| {
                    package(text, own).ok_or_else(|| ADDRESS.to_owned())
                })?,
                given.text("cursor")?.unwrap_or_default(),
            ),
            Tool::HowToAuthenticate => Self::Authentication,
            Tool::GetModule
            | Tool::GetProvider
            | Tool::GetDocs
            | Tool::ListVersions
            | Tool::CompareVersions => given.about_package(tool, own)?,
        };
        given.check_all_taken()?;
        Ok(call)
    }
}

fn used(text: &str) -> Result<Vec<UsedPackage>, String> {
    let package = |text: &str| {
        let (address, version) = text.split_once('@')?;
        let address = Package::parse_address(address)?.address();
        let version = Some(version.parse().ok()?);
        Some(UsedPackage {
            address,
            version,
            constraint: None,
        })
    };
    let packages: Option<Vec<_>> = text.split_whitespace().map(package).collect();
    packages.ok_or_else(|| USED.to_owned())
}

/// The arguments that have not been taken yet, and the names of those that the tool takes.
struct Arguments<'j> {
    left: Members<'j>,
    known: Vec<&'static str>,
}

impl<'j> Arguments<'j> {
    fn parse(json: Option<&'j str>) -> Result<Self, String> {
        let left = match json {
            None | Some("null") => Members::default(),
            Some(json) => Members::parse(json.as_bytes())
                .ok_or_else(|| "the arguments must be an object".to_owned())?,
        };
        let known = Vec::new();
        Ok(Self { left, known })
    }

    /// Takes a text. Assistants send null or an empty text for no value.
    fn text(&mut self, name: &'static str) -> Result<Option<String>, String> {
        self.known.push(name);
        match self.left.text(name) {
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
    ) -> Result<Option<T>, String> {
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
    ) -> Result<T, String> {
        let value = self.optional(name, parse)?;
        value.ok_or_else(|| format!("the argument {name} is missing: it must be {rule}"))
    }

    /// Takes the arguments of a tool that describes a package.
    fn about_package(&mut self, tool: Tool, own: &OwnHosts<'_>) -> Result<ToolCall, String> {
        let rule = match tool {
            Tool::GetModule => MODULE_ADDRESS,
            Tool::GetProvider => PROVIDER_ADDRESS,
            _ => ADDRESS,
        };
        let package = self.required("address", rule, |text| {
            let found = package(text, own).filter(|package| match tool {
                Tool::GetModule => matches!(package, Package::Module(_)),
                Tool::GetProvider => !matches!(package, Package::Module(_)),
                _ => true,
            });
            found.ok_or_else(|| rule.to_owned())
        })?;
        let (version, question) = match tool {
            Tool::GetModule => (
                self.version()?,
                Question::Module(self.optional("submodule", parsed)?),
            ),
            Tool::GetProvider => (
                self.version()?,
                Question::Provider(self.optional("kind", parsed)?),
            ),
            Tool::GetDocs => (
                self.version()?,
                Question::Document(self.document(&package)?),
            ),
            Tool::CompareVersions => (
                Some(self.exact("from")?),
                Question::Change(self.exact("to")?),
            ),
            _ => (None, Question::Versions),
        };
        Ok(ToolCall::Package {
            package,
            version,
            question,
            offset: self.offset()?,
        })
    }

    /// Takes a document: the first one by default, or its path as the API names it, or the end of that path.
    fn document(&mut self, package: &Package) -> Result<DocumentPath, String> {
        let document = self.optional("document", |text| {
            let end = match text.starts_with(API_PREFIX) {
                true => text.split_once("/docs/").map_or("", |(_, end)| end),
                false => text,
            };
            let segments: Vec<&str> = end.split('/').collect();
            let document = DocumentPath::parse(package, &segments);
            // A file need not be text.
            let document = document.filter(|it| !matches!(it, DocumentPath::File(_)));
            document.ok_or_else(|| DOCUMENT.to_owned())
        })?;
        let first = match package {
            Package::Module(_) => DocumentPath::Readme,
            Package::Provider(_) | Package::Mirrored(_) => DocumentPath::Overview,
        };
        Ok(document.unwrap_or(first))
    }

    /// Takes the place of a page of results.
    fn search(&mut self, query: Query, kind: Option<SearchKind>) -> Result<Search, String> {
        let after = self.optional("cursor", |text| text.parse().map_err(|_| CURSOR.to_owned()))?;
        Ok(Search {
            query,
            kind,
            system: None,
            after,
            offset: 0,
            limit: limits::LISTED_AT_ONCE,
        })
    }

    /// Takes a version; `None` is the newest one.
    fn version(&mut self) -> Result<Option<Version>, String> {
        let version = self.optional("version", |text| match text {
            "latest" => Ok(None),
            text => version(text).map(Some),
        });
        version.map(Option::flatten)
    }

    fn exact(&mut self, name: &'static str) -> Result<Version, String> {
        self.required(name, "a version, such as 1.2.0", version)
    }

    /// Takes a number. Assistants send it as a text as well.
    fn offset(&mut self) -> Result<usize, String> {
        self.known.push("offset");
        let json = match self.left.take("offset") {
            None | Some("null") => return Ok(0),
            Some(json) => json,
        };
        let number = json.trim_matches('"').parse::<u32>().ok();
        let number = number.and_then(|number| usize::try_from(number).ok());
        number.ok_or_else(|| invalid("offset", json, OFFSET))
    }

    fn check_all_taken(self) -> Result<(), String> {
        let Some(name) = self.left.into_left() else {
            return Ok(());
        };
        let known = match self.known.is_empty() {
            true => "no arguments".to_owned(),
            false => self.known.join(", "),
        };
        let name = quoted(&name);
        Err(format!(
            "the argument {name} is unknown: this tool takes {known}"
        ))
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
    Package::parse_address(text).map(|package| own.hosted(package))
}

fn version(text: &str) -> Result<Version, String> {
    Version::parse_request(text).map_err(|_| VERSION.to_owned())
}

fn symbol_kind(text: &str) -> Result<SearchKind, String> {
    match text.parse() {
        Ok(kind @ SearchKind::Symbol(_)) => Ok(kind),
        _ => Err("resource, data-source, function, ephemeral-resource, list-resource, action or state-store".to_owned()),
    }
}

#[inline(never)]
fn invalid(name: &str, value: &str, rule: &str) -> String {
    let value = quoted(value);
    format!("the argument {name} is {value}: it must be {rule}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(tool: Tool, arguments: &str) -> Result<ToolCall, String> {
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
                Ok(ToolCall::Package {
                    package, offset: 0, ..
                }) => {
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
            let Ok(ToolCall::Package {
                version: None,
                question: Question::Module(None),
                offset: 0,
                ..
            }) = call
            else {
                panic!("{arguments}: {call:?}");
            };
        }
    }

    #[test]
    fn an_invalid_argument_is_named() {
        for (tool, arguments, named) in [
            (Tool::Search, "[]", "object"),
            (Tool::Search, "{}", "query"),
            (Tool::Search, r#"{"query":"-"}"#, "words"),
            (Tool::Search, r#"{"query":"a","kind":"x"}"#, "kind"),
            (Tool::Search, r#"{"query":"a","cursor":"x"}"#, "cursor"),
            (Tool::Search, r#"{"query":"a","q":"b"}"#, "\"q\""),
            (Tool::GetModule, r#"{"address":"acme/widget"}"#, "module"),
            (Tool::GetModule, r#"{"address":5}"#, "address"),
            (Tool::GetProvider, r#"{"address":"a/b/c"}"#, "provider"),
            (Tool::HowToAuthenticate, r#"{"token":"x"}"#, "token"),
            (
                Tool::GetModule,
                r#"{"address":"acme/vpc/aws","version":"~> 1.0"}"#,
                "~> 1.0",
            ),
            (
                Tool::GetProvider,
                r#"{"address":"acme/widget","kind":"x"}"#,
                "kind",
            ),
            (
                Tool::GetDocs,
                r#"{"address":"acme/widget","document":"readme"}"#,
                "document",
            ),
            (
                Tool::GetDocs,
                r#"{"address":"acme/vpc/aws","document":"files/LICENSE"}"#,
                "document",
            ),
            (
                Tool::FindType,
                r#"{"name":"acme_widget","kind":"module"}"#,
                "kind",
            ),
            (
                Tool::ListVersions,
                r#"{"address":"acme/widget","offset":-1}"#,
                "offset",
            ),
            (
                Tool::CompareVersions,
                r#"{"address":"acme/widget","from":"1.0.0"}"#,
                "to",
            ),
        ] {
            let error = parse(tool, arguments).unwrap_err();
            assert!(error.contains(named), "{arguments}: {error}");
        }
    }
}
