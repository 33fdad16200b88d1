//! The files of examples.

use terrace_core::documentation::Page;
use terrace_core::limits::PAGE_BYTES;

use crate::draft::UNPACKED;
use crate::module::readme;
use crate::source::SourceFile;
use crate::text::{Messages, cut, shown};

/// Returns a file that readers can open, with its contents: neither the README, which is shown as such, nor hidden.
pub(super) fn page(
    name: &str,
    file: SourceFile<'_>,
    notes: &mut Messages,
) -> Option<(Page, Vec<u8>)> {
    if readme::is_readme(name) || name.starts_with('.') {
        return None;
    }
    let path = shown(file.path);
    let name = match name.parse() {
        Ok(name) => name,
        Err(error) => {
            notes.add(format!("{path} was skipped: {error}"));
            return None;
        }
    };
    let text = str::from_utf8(file.bytes)
        .ok()
        .filter(|text| !text.contains('\0'));
    let Some(text) = text else {
        notes.add(format!(
            "{path} was skipped, because it is not text in UTF-8"
        ));
        return None;
    };
    let max = usize::try_from(PAGE_BYTES).unwrap_or(usize::MAX);
    let contents = cut(text, max);
    let is_truncated = contents.len() < text.len();
    if is_truncated {
        notes.add(format!(
            "{path} has {} bytes and was cut after {max}",
            text.len()
        ));
    }
    let page = Page {
        name,
        member: UNPACKED,
        is_truncated,
    };
    Some((page, contents.as_bytes().to_vec()))
}
