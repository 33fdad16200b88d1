//! The module calls and the syntax errors of configuration files, wherever they are.

use std::borrow::Cow;

use crate::source::{SourceFile, Syntax, syntax_of};
use crate::{configuration, limits, text};

/// A call of a module, with the place where it is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModuleSource {
    /// The path of the file.
    pub file: String,
    /// The line, if it is known.
    pub line: Option<usize>,
    /// The source as written.
    pub source: String,
    /// The version constraint, if there is a literal one.
    pub version: Option<String>,
    /// Whether the source or the version is an expression, which only the caller can evaluate. The source is then its text.
    pub is_computed: bool,
}

/// Returns the calls with a literal as their source, of every file that `terraform` or `tofu` would read in its
/// directory.
///
/// A file that cannot be read, or is too large to be parsed, has no calls.
pub fn module_sources(files: &[SourceFile<'_>]) -> Vec<ModuleSource> {
    let calls = files.iter().flat_map(calls_of_file);
    let literal = calls.filter(|(_, is_literal)| *is_literal);
    literal.map(|(call, _)| call).collect()
}

/// Returns all calls with a source, also those with an expression as their source.
pub fn module_calls(files: &[SourceFile<'_>]) -> Vec<ModuleSource> {
    let calls = files.iter().flat_map(calls_of_file);
    calls.map(|(call, _)| call).collect()
}

/// Returns the first error for which clients cannot parse a configuration file, with its line if it is known.
///
/// A file that is too large to be parsed here has none.
pub fn syntax_error(file: &SourceFile<'_>) -> Option<(Option<usize>, String)> {
    let (text, syntax) = readable(file)?;
    let mut faults = configuration::parse(&text, syntax).faults.into_iter();
    let fault = faults.find(|fault| !fault.is_limit)?;
    Some((fault.line, fault.message))
}

fn readable<'a>(file: &SourceFile<'a>) -> Option<(Cow<'a, str>, Syntax)> {
    let name = file.path.rsplit('/').next().unwrap_or(file.path);
    let syntax = syntax_of(name)?;
    let fits = file.bytes.len() <= limits::CONFIGURATION_FILE_BYTES;
    fits.then(|| (text::decode(file.bytes).0, syntax))
}

/// Returns the calls of a file, and whether the source of each is a literal.
fn calls_of_file(file: &SourceFile<'_>) -> Vec<(ModuleSource, bool)> {
    let Some((text, syntax)) = readable(file) else {
        return Vec::new();
    };
    let blocks = configuration::parse(&text, syntax).blocks.into_iter();
    let calls = blocks.filter(|block| block.kind == "module");
    calls
        .filter_map(|mut block| {
            let attribute = block.attributes.remove("source")?;
            let literal = attribute.value.literal();
            let is_literal = literal.is_some();
            let source = literal.unwrap_or_else(|| attribute.value.source());
            let line = attribute.line.or_else(|| line_with(&text, &source));
            let version = block.attributes.get("version");
            let version = version.filter(|it| !it.value.is_null());
            let literal = version.and_then(|it| it.value.literal());
            let call = ModuleSource {
                file: file.path.to_owned(),
                line,
                source,
                is_computed: !is_literal || version.is_some() && literal.is_none(),
                version: literal,
            };
            Some((call, is_literal))
        })
        .collect()
}

/// Returns the first line with a text in quotes, for JSON, because its parser knows no lines.
fn line_with(text: &str, source: &str) -> Option<usize> {
    let quoted = format!("\"{source}\"");
    let found = text.lines().position(|line| line.contains(&quoted));
    found.map(|index| index + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_of_all_directories_and_syntaxes_have_their_lines() {
        let files = [
            ("main.tf", "\nmodule \"a\" {\n  source = \"../a\"\n}\n"),
            ("modules/x/x.tofu", "module \"b\" { source = \"./b\" }\n"),
            (
                "deep/y/y.tf.json",
                "{\"module\": {\"c\": {\n\"source\": \"../c\"}}}",
            ),
            ("README.md", "module \"d\" { source = \"../d\" }"),
            (".hidden.tf", "module \"e\" { source = \"../e\" }"),
            ("broken.tf", "module \"f\" {"),
        ];
        let files = files.map(|(path, text)| SourceFile {
            path,
            bytes: text.as_bytes(),
        });
        let found = module_sources(&files).into_iter();
        let found = found.map(|it| format!("{}:{:?}: {}", it.file, it.line, it.source));
        assert_eq!(
            found.collect::<Vec<_>>(),
            [
                "main.tf:Some(3): ../a",
                "modules/x/x.tofu:Some(1): ./b",
                "deep/y/y.tf.json:Some(2): ../c",
            ]
        );
    }

    #[test]
    fn the_first_error_that_clients_have_too_is_found() {
        let long = format!(
            "locals {{\n a = \"{}\"\n}}\n",
            "x".repeat(limits::BLOCK_BYTES)
        );
        for (path, text, line) in [
            ("versions.tf", "../../versions.tf", Some(Some(1))),
            (
                "a.tf",
                "locals {}\n<<<<<<< HEAD\nlocals {}\n",
                Some(Some(2)),
            ),
            ("a.tf", "\nregion = 1\n", Some(Some(2))),
            ("a.tofu", "locals {\n", Some(Some(1))),
            ("a.tf.json", "{\"locals\": {}", Some(Some(1))),
            ("a.tf.json", "[1]", Some(None)),
            ("a.tf", "\u{feff}locals {}\r\n", None),
            ("a.tf", &long, None),
            ("a.tf", "locals {\n a = { b = 1, b = 2 }\n}\n", None),
            ("a.md", "{", None),
        ] {
            let bytes = text.as_bytes();
            let found = syntax_error(&SourceFile { path, bytes });
            assert_eq!(found.map(|(line, _)| line), line, "{path}: {text:.40}");
        }
    }

    #[test]
    fn a_source_that_is_an_expression_is_no_call_of_a_known_place() {
        let file = SourceFile {
            path: "main.tofu",
            bytes: b"module \"a\" {\n source = \"${var.base}/a\"\n}\nmodule \"b\" {}\nmodule \"c\" {\n source = \"a/b/c\"\n version = var.v\n}\n",
        };
        let files = [file];
        let sources = |calls: Vec<ModuleSource>| -> Vec<(String, bool)> {
            let calls = calls.into_iter();
            calls.map(|it| (it.source, it.is_computed)).collect()
        };
        let versioned = ("a/b/c".to_owned(), true);
        assert_eq!(
            sources(module_sources(&files)),
            std::slice::from_ref(&versioned)
        );
        let computed = ("\"${var.base}/a\"".to_owned(), true);
        assert_eq!(sources(module_calls(&files)), [computed, versioned]);
    }
}
