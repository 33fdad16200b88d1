//! The stored archives and blobs, page by page.

use terrace_core::http::problem::Problem;
use terrace_core::storage::key::{ARCHIVES, BLOBS};

use crate::context::Context;
use crate::failure::Failure;
use crate::host::{Archives as _, BytesPage, Host};

/// A page of stored bytes, of one of the two kinds.
pub(crate) struct Inventory {
    /// The beginning of their keys.
    pub(crate) prefix: &'static str,
    /// The objects, by the rest of their keys.
    pub(crate) page: BytesPage,
}

/// Returns a page of archives or, after the last archive, of blobs.
pub(crate) async fn page<P: Host>(
    ctx: &Context<'_, P>,
    after: Option<&str>,
    limit: u32,
) -> Result<Inventory, Failure> {
    let (prefix, after) = place(after)?;
    let archives = ctx.host.archives();
    let page = archives.list_bytes(prefix, after, limit).await?;
    Ok(Inventory { prefix, page })
}

/// Returns the beginning of the keys of the page after a cursor, and the rest of the key after which it begins.
///
/// # Errors
/// If it is not a cursor.
pub(crate) fn place(after: Option<&str>) -> Result<(&'static str, Option<&str>), Problem> {
    let (prefix, after) = match after {
        None | Some("") => (ARCHIVES, None),
        Some(after) => [ARCHIVES, BLOBS]
            .into_iter()
            .find_map(|prefix| {
                Some((prefix, after.strip_prefix(prefix))).filter(|it| it.1.is_some())
            })
            .ok_or_else(|| Problem::invalid_cursor(after))?,
    };
    Ok((prefix, after.filter(|after| !after.is_empty())))
}

/// Returns the cursor of the page after the last one with this beginning.
pub(crate) fn after_last(prefix: &str) -> Option<String> {
    (prefix == ARCHIVES).then(|| BLOBS.to_owned())
}

impl Inventory {
    /// Returns the cursor of the next page.
    pub(crate) fn next(&self) -> Option<String> {
        match self.page.objects.last() {
            Some(last) if self.page.is_truncated => Some(format!("{}{}", self.prefix, last.name)),
            _ => after_last(self.prefix),
        }
    }
}
