//! The archive: a gzip member with the head, and one for each page.

mod gzip;
mod shrink;

use terrace_core::documentation::{Contents, Head, Member};
use terrace_core::limits::{
    DOCUMENTATION_BYTES, DOCUMENTATION_HEAD_BYTES, DOCUMENTATION_PAGES, PAGE_BYTES,
};
use terrace_core::model::package::Package;

use crate::draft::Draft;

/// A packed archive. The same draft results in the same bytes.
#[derive(Debug, Clone, PartialEq)]
pub struct Archive {
    /// The archive.
    pub bytes: Vec<u8>,
    /// The length of its first member, in bytes.
    pub head_bytes: usize,
    /// The contents of the first member.
    pub head: Head,
}

/// An archive that was read.
#[derive(Debug)]
pub struct OpenArchive<'a> {
    head: Head,
    pages: &'a [u8],
}

impl Draft {
    /// Packs the archive. Nothing fails: if the pages or the head are too long, some are left out or cut, with a note.
    pub fn pack(self) -> Archive {
        let Self {
            mut contents,
            mut notes,
            pages,
            ..
        } = self;
        let mut packer = Packer::default();
        packer.place(&mut contents, pages);
        notes.extend(packer.note());
        let mut head = Head::new(contents, notes);
        let json = shrink::shrink(&mut head);
        let mut bytes = gzip::member(&json);
        let head_bytes = bytes.len();
        bytes.extend(packer.bytes);
        Archive {
            bytes,
            head_bytes,
            head,
        }
    }
}

/// The members of the pages.
#[derive(Debug, Default)]
struct Packer {
    bytes: Vec<u8>,
    count: usize,
    omitted: usize,
}

impl Packer {
    /// Packs the pages and sets their places. Pages that do not fit are removed from the contents.
    fn place(&mut self, contents: &mut Contents, pages: Vec<Vec<u8>>) {
        let mut pages = pages.into_iter();
        let mut place = |member: &mut Member, is_packed: bool| {
            let placed = pages.next().and_then(|page| self.add(&page, is_packed));
            if let Some(placed) = placed {
                *member = placed;
            }
            placed.is_some()
        };
        match contents {
            // The order is that of `ModuleDetails::files`.
            Contents::Module(module) => {
                for part in module.examples.iter_mut().chain(&mut module.submodules) {
                    part.files.retain_mut(|file| place(&mut file.member, true));
                }
                module
                    .attachments
                    .retain_mut(|file| place(&mut file.member, false));
            }
            Contents::Provider(provider) => {
                provider
                    .pages
                    .retain_mut(|page| place(&mut page.member, true));
                let kept: Vec<_> = provider
                    .pages
                    .iter()
                    .map(|page| (page.kind, page.name.clone()))
                    .collect();
                for symbol in &mut provider.symbols {
                    symbol.page = symbol
                        .page
                        .take()
                        .filter(|name| kept.binary_search(&(symbol.kind, name.clone())).is_ok());
                }
            }
        }
    }

    fn add(&mut self, page: &[u8], is_packed: bool) -> Option<Member> {
        let size = u32::try_from(page.len())
            .ok()
            .filter(|size| *size <= PAGE_BYTES);
        let member = match is_packed {
            true => gzip::member(page),
            false => page.to_vec(),
        };
        let head = gzip::max_length(DOCUMENTATION_HEAD_BYTES);
        let end = self.bytes.len() + member.len();
        let fits = u64::try_from(head + end).is_ok_and(|length| length <= DOCUMENTATION_BYTES);
        let placed = Member {
            offset: u64::try_from(self.bytes.len()).ok()?,
            length: u32::try_from(member.len()).ok()?,
            size: size.unwrap_or_default(),
        };
        if size.is_none() || !fits || self.count == DOCUMENTATION_PAGES {
            self.omitted += 1;
            return None;
        }
        self.count += 1;
        self.bytes.extend(member);
        Some(placed)
    }

    fn note(&self) -> Option<String> {
        let omitted = self.omitted;
        (omitted > 0).then(|| {
            format!(
                "{omitted} pages were left out, because documentation has at most {DOCUMENTATION_PAGES} pages and {DOCUMENTATION_BYTES} bytes"
            )
        })
    }
}

impl<'a> OpenArchive<'a> {
    /// Reads the head of an archive for a version of `package`.
    ///
    /// # Errors
    /// The reason why the archive is not accepted.
    pub fn parse(bytes: &'a [u8], package: &Package) -> Result<Self, String> {
        let (head, length) = contents(bytes, DOCUMENTATION_HEAD_BYTES)?;
        let pages = bytes.get(length..).unwrap_or_default();
        let available = u64::try_from(pages.len()).unwrap_or(u64::MAX);
        let head = Head::parse(&head, package, available).map_err(|error| error.to_string())?;
        Ok(Self { head, pages })
    }

    /// Returns the contents of the first member.
    pub fn head(&self) -> &Head {
        &self.head
    }

    /// Returns the contents of a page.
    ///
    /// # Errors
    /// The reason why it cannot be read.
    pub fn page(&self, member: Member) -> Result<Vec<u8>, String> {
        let [start, length] = [member.offset, u64::from(member.length)].map(usize::try_from);
        let place = start.ok().zip(length.ok());
        let page = place.and_then(|(start, length)| self.pages.get(start..)?.get(..length));
        let page = page.ok_or("the page is outside the archive of the documentation")?;
        let size = usize::try_from(member.size).unwrap_or(usize::MAX);
        Ok(contents(page, size)?.0)
    }
}

/// Returns the contents of the first member of gzip, and its length.
fn contents(bytes: &[u8], limit: usize) -> Result<(Vec<u8>, usize), String> {
    let damaged = |reason| format!("the archive of the documentation is damaged: {reason}");
    gzip::contents(bytes, limit).map_err(damaged)
}

#[cfg(test)]
mod tests;
