//! README files.

use terrace_core::limits::PAGE_BYTES;

use crate::provider_docs::without_frontmatter;
use crate::source::SourceFile;
use crate::text::{Messages, cut, decode, shown};

/// The names of a README in lower case, in the order of preference. The public registry reads `README.md` and `README`.
const NAMES: [&str; 3] = ["readme.md", "readme.markdown", "readme"];

/// Returns the README of a directory.
pub(super) fn file<'a>(
    files: impl Iterator<Item = (&'a str, SourceFile<'a>)>,
) -> Option<SourceFile<'a>> {
    let ranked = files.filter_map(|(name, file)| {
        let rank = NAMES
            .iter()
            .position(|known| name.eq_ignore_ascii_case(known))?;
        Some((rank, file))
    });
    ranked.min_by_key(|(rank, _)| *rank).map(|(_, file)| file)
}

pub(super) fn is_readme(name: &str) -> bool {
    NAMES.iter().any(|known| name.eq_ignore_ascii_case(known))
}

/// Returns the text of the README of a directory.
pub(super) fn readme<'a>(
    files: impl Iterator<Item = (&'a str, SourceFile<'a>)>,
    notes: &mut Messages,
) -> Option<String> {
    let file = file(files)?;
    let (text, invalid) = decode(file.bytes);
    let path = shown(file.path);
    if invalid.is_some() {
        notes.add(format!(
            "{path} is not valid UTF-8; the invalid characters were replaced"
        ));
    }
    let text = without_frontmatter(&text);
    let max = usize::try_from(PAGE_BYTES).unwrap_or(usize::MAX);
    if text.len() > max {
        notes.add(format!(
            "{path} has {} bytes and was cut after {max}",
            text.len()
        ));
    }
    Some(cut(text, max).to_owned()).filter(|text| !text.trim().is_empty())
}
