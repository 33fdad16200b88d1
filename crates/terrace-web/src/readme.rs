//! READMEs of modules as their pages show them.

use std::ops::Range;

use terrace_core::model::package::Package;

use crate::links::{has_part, joined};
use crate::parts::package_head::Release;
use crate::site::Site;
use crate::snippets::{constraint, module_source};

/// The headings of the sections that terraform-docs generates, in lower case.
const GENERATED: [&str; 9] = [
    "requirements",
    "providers",
    "modules",
    "resources",
    "data sources",
    "inputs",
    "required inputs",
    "optional inputs",
    "outputs",
];

/// The anchors of the entries in these sections. Only old versions write none.
const ANCHORS: [&str; 5] = ["requirement", "provider", "module", "input", "output"];

/// The comments around these sections.
const BEGIN_MARKS: [&str; 2] = ["BEGIN_TF_DOCS", "BEGINNING OF PRE-COMMIT-TERRAFORM"];
const END_MARKS: [&str; 2] = ["END_TF_DOCS", "END OF PRE-COMMIT-TERRAFORM"];

/// Consecutive sections with generated headings.
struct Run {
    start: usize,
    level: usize,
    is_generated: bool,
}

/// Returns a README without the sections that terraform-docs generated; `None` if it has none. The page has the same
/// contents in its own sections. Between the marks of terraform-docs, other sections are those of the author.
pub(crate) fn abridged(readme: &str) -> Option<String> {
    let mut kept = String::new();
    let mut copied = 0;
    let mut run: Option<Run> = None;
    let mut leave_out = |run: Run, end: usize| {
        if run.is_generated {
            kept.push_str(readme.get(copied..run.start).unwrap_or_default());
            copied = end;
        }
    };
    let (mut is_marked, mut fence) = (false, None);
    let mut at = 0;
    for line in readme.split_inclusive('\n') {
        let start = at;
        at += line.len();
        let text = line.trim();
        let mark = ["```", "~~~"].into_iter().find(|it| text.starts_with(it));
        match (fence, mark) {
            (None, Some(_)) => fence = mark,
            (Some(_), _) if fence == mark => fence = None,
            _ => {}
        }
        if fence.is_some() || mark.is_some() {
            continue;
        }
        let is_mark = |marks: [&str; 2]| text.starts_with("<!--") && has_any(text, &marks);
        let heading = heading(text);
        let is_end = is_mark(END_MARKS);
        let ends = |run: &mut Run| match heading {
            Some((level, is_generated)) => level <= run.level && !is_generated,
            None => is_end,
        };
        if let Some(run) = run.take_if(ends) {
            leave_out(run, start);
        }
        is_marked = (is_marked || is_mark(BEGIN_MARKS)) && !is_end;
        match (&mut run, heading) {
            (Some(run), _) => run.is_generated = run.is_generated || is_entry(text),
            (None, Some((level, true))) => {
                run = Some(Run {
                    start,
                    level,
                    is_generated: is_marked,
                });
            }
            _ => {}
        }
    }
    if let Some(run) = run {
        leave_out(run, readme.len());
    }
    if copied == 0 {
        return None;
    }
    kept.push_str(readme.get(copied..).unwrap_or_default());
    Some(kept)
}

/// Returns the level of a heading, and whether it is one of terraform-docs.
fn heading(line: &str) -> Option<(usize, bool)> {
    let title = line.trim_start_matches('#');
    let level = line.len() - title.len();
    let is_heading = (1..=6).contains(&level) && title.starts_with(' ');
    let title = title.trim_matches([' ', '#']);
    let is_generated = || GENERATED.iter().any(|it| title.eq_ignore_ascii_case(it));
    is_heading.then(|| (level, is_generated()))
}

fn is_entry(line: &str) -> bool {
    let mut names = line.split("<a name=\"").skip(1);
    names.any(|name| ANCHORS.iter().any(|known| name.starts_with(known)))
}

fn has_any(text: &str, parts: &[&str]) -> bool {
    parts.iter().any(|part| text.contains(part))
}

/// A `module` block whose end has not been read.
#[derive(Default)]
struct Call {
    /// The number of open blocks and maps within it.
    depth: usize,
    /// The place of the argument `version` in the written text.
    version: Option<Range<usize>>,
    is_own: bool,
}

/// Returns a text with code in which calls of the module itself, by its address or by a relative path, have its address in
/// this registry and the version; `None` if there are none. `directory` is that of the text in the package.
pub(crate) fn with_own_sources(
    site: &Site,
    release: &Release<'_>,
    directory: &str,
    text: &str,
) -> Option<String> {
    let mut written = String::new();
    let mut open: Option<Call> = None;
    let mut has_own = false;
    for line in text.split_inclusive('\n') {
        let code = line.trim();
        if code.starts_with("```") || code.starts_with("~~~") {
            open = None;
        }
        if code.starts_with("module \"") && code.contains('{') {
            open = Some(Call::default());
        } else if let Some(call) = open.as_mut().filter(|call| call.depth == 1) {
            if is_version(line) {
                if call.is_own {
                    continue;
                }
                call.version = Some(written.len()..written.len() + line.len());
            }
            let source = argument(line, "source");
            let own = source.and_then(|it| own_directory(release, directory, it.value));
            if let (Some(source), Some(own)) = (source, own) {
                if let Some(version) = call.version.take() {
                    written.replace_range(version, "");
                }
                let below = Some(own.as_str()).filter(|it| !it.is_empty());
                written.push_str(&pinned(site, release, source, below));
                call.is_own = true;
                has_own = true;
                continue;
            }
        }
        written.push_str(line);
        open = open.and_then(|call| {
            let depth = call.depth + line.matches('{').count();
            let depth = depth.saturating_sub(line.matches('}').count());
            (depth > 0).then_some(Call { depth, ..call })
        });
    }
    has_own.then_some(written)
}

/// Returns the arguments `source` and `version` of a call of this module, or of the one in a directory below it.
fn pinned(site: &Site, release: &Release<'_>, source: Argument<'_>, below: Option<&str>) -> String {
    let own = module_source(site, release.package, below);
    let key = source.key.trim_end();
    let indent = key.len() - key.trim_start().len();
    let indent = key.get(..indent).unwrap_or_default();
    let width = (source.key.len() - indent.len()).max("version ".len());
    let rest = source.rest.trim_end();
    let version = constraint(release.shown());
    format!(
        "{key:w$}= \"{own}\"{rest}\n{indent}{:width$}= \"{version}\"\n",
        "version",
        w = indent.len() + width
    )
}

/// An argument with a literal, on a line of its own.
#[derive(Clone, Copy)]
struct Argument<'l> {
    /// The text before the equals sign.
    key: &'l str,
    value: &'l str,
    /// The text after the literal.
    rest: &'l str,
}

fn argument<'l>(line: &'l str, name: &str) -> Option<Argument<'l>> {
    let (key, value) = line.split_once('=')?;
    let (value, rest) = value.trim_start().strip_prefix('"')?.split_once('"')?;
    (key.trim() == name).then_some(Argument { key, value, rest })
}

fn is_version(line: &str) -> bool {
    line.split_once('=')
        .is_some_and(|(key, _)| key.trim() == "version")
}

/// Returns the directory that a source names, if it is the root of this module or a part.
fn own_directory(release: &Release<'_>, directory: &str, source: &str) -> Option<String> {
    let Package::Module(address) = release.package else {
        return None;
    };
    // A mirrored module keeps its address.
    if address.hostname.is_some() {
        return None;
    }
    if let Some(rest) = source.strip_prefix(&address.to_string()) {
        return match rest.strip_prefix("//") {
            Some(directory) => Some(directory.to_owned()),
            None => rest.is_empty().then(String::new),
        };
    }
    let is_relative = matches!(source.split('/').next(), Some("." | ".."));
    let own = joined(directory, source).filter(|_| is_relative)?.join("/");
    let module = release.details.module.as_ref()?;
    (own.is_empty() || has_part(module, &own)).then_some(own)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sections_of_terraform_docs_are_left_out() {
        const TABLE: &str = "| Name |\n|---|\n| <a name=\"input_a\"></a> a |\n";
        for (readme, expected) in [
            (
                format!("# A\n<!-- BEGIN_TF_DOCS -->\n## Inputs\n\n{TABLE}<!-- END_TF_DOCS -->\n## License\n"),
                Some("# A\n<!-- BEGIN_TF_DOCS -->\n<!-- END_TF_DOCS -->\n## License\n"),
            ),
            // All of the text is between the marks.
            (
                "<!-- BEGIN_TF_DOCS -->\n# A\n## Required Inputs\n### x\n## Usage\nyes\n## Outputs\nNo outputs.\n".to_owned(),
                Some("<!-- BEGIN_TF_DOCS -->\n# A\n## Usage\nyes\n"),
            ),
            (
                "<!-- BEGINNING OF PRE-COMMIT-TERRAFORM DOCS HOOK -->\n## Outputs\n| x |\n".to_owned(),
                Some("<!-- BEGINNING OF PRE-COMMIT-TERRAFORM DOCS HOOK -->\n"),
            ),
            // Without marks, only generated entries tell.
            (format!("## Providers\nNone.\n## Inputs\n{TABLE}## Help\n"), Some("## Help\n")),
            ("## Inputs\nThe author's own words.\n## Help\n".to_owned(), None),
            ("```\n## Inputs\n<a name=\"input_a\">\n```\n".to_owned(), None),
        ] {
            assert_eq!(abridged(&readme).as_deref(), expected, "{readme}");
        }
    }
}
