//! The pages of a preview, as HTML.

use sha2::{Digest as _, Sha256};
use terrace_base::digest;

use super::page::{PreviewPage, pages};
use crate::args::DocsSubject;
use crate::commands::documentation::Extracted;
use crate::error::Failure;
use crate::source::documentation::DocumentationFiles;

/// The documentation in a directory.
pub(super) struct Site {
    /// A digest of the files, or of the failure to read them.
    revision: digest::Sha256,
    pages: Vec<PreviewPage>,
    problems: Vec<String>,
}

impl Site {
    /// Reads the documentation.
    ///
    /// # Errors
    /// The directory cannot be read.
    pub(super) fn read(subject: &DocsSubject) -> Result<Self, Failure> {
        let files = subject.files()?;
        Self::of(revision(&files), subject, &files)
    }

    /// Reads the documentation again if a file has changed. A failure is shown above the pages.
    pub(super) fn refresh(&mut self, subject: &DocsSubject) {
        let read = subject.files().and_then(|files| {
            let revision = revision(&files);
            let is_new = revision != self.revision;
            is_new
                .then(|| Self::of(revision, subject, &files))
                .transpose()
        });
        match read {
            Ok(None) => {}
            Ok(Some(site)) => *self = site,
            Err(failure) => {
                self.problems = failure.reasons();
                self.revision = digest::Sha256::of(self.problems.join("\n").as_bytes());
            }
        }
    }

    fn of(
        revision: digest::Sha256,
        subject: &DocsSubject,
        files: &DocumentationFiles,
    ) -> Result<Self, Failure> {
        let draft = subject.draft(files)?;
        let pages = pages(&draft);
        let extracted = Extracted::new(draft, files);
        let problems = extracted.warnings().iter().chain(extracted.notes());
        Ok(Self {
            revision,
            pages,
            problems: problems.cloned().collect(),
        })
    }

    /// Returns a text that changes with the files.
    pub(super) fn revision(&self) -> String {
        self.revision.to_string()
    }

    /// Returns the page at a path, or the first one at `/`.
    pub(super) fn page(&self, path: &str) -> Option<String> {
        let page = match path {
            "/" => self.pages.first(),
            path => Some(self.pages.iter().find(|page| page.path == path)?),
        };
        let title = escaped(page.map_or("no pages", |page| &page.title));
        let text = escaped(page.map_or("", |page| &page.text));
        let problems = self.problems.iter().map(|it| item(&escaped(it)));
        let problems: String = problems.collect();
        let (revision, navigation) = (self.revision(), self.navigation());
        Some(format!(
            "<!doctype html>\n<html lang=\"en\" data-revision=\"{revision}\">\n<head>\n<meta charset=\"utf-8\">\n\
             <title>{title}</title>\n<link rel=\"stylesheet\" href=\"/style.css\">\n\
             <script src=\"/reload.js\" defer></script>\n</head>\n<body>\n<nav>\n{navigation}</nav>\n<main>\n\
             <ul class=\"problems\">\n{problems}</ul>\n<h1>{title}</h1>\n<pre>{text}</pre>\n</main>\n</body>\n</html>\n"
        ))
    }

    fn navigation(&self) -> String {
        let mut html = String::new();
        for group in self.pages.chunk_by(|one, next| one.group == next.group) {
            let title = group.first().map_or("", |page| &page.group);
            html.push_str(&format!("<h2>{}</h2>\n<ul>\n", escaped(title)));
            for page in group {
                let (path, title) = (escaped(&page.path), escaped(&page.title));
                html.push_str(&item(&format!("<a href=\"{path}\">{title}</a>")));
            }
            html.push_str("</ul>\n");
        }
        html
    }
}

fn item(html: &str) -> String {
    format!("<li>{html}</li>\n")
}

/// Returns a text in which no character has a meaning in HTML.
fn escaped(text: &str) -> String {
    let mut html = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => html.push_str("&amp;"),
            '<' => html.push_str("&lt;"),
            '>' => html.push_str("&gt;"),
            '"' => html.push_str("&quot;"),
            '\'' => html.push_str("&#39;"),
            c => html.push(c),
        }
    }
    html
}

fn revision(files: &DocumentationFiles) -> digest::Sha256 {
    let mut hasher = Sha256::new();
    for file in files.sources() {
        for part in [file.path.as_bytes(), file.bytes] {
            hasher.update(part.len().to_le_bytes());
            hasher.update(part);
        }
    }
    digest::Sha256::from_bytes(hasher.finalize().into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_shown_and_never_interpreted() {
        let site = Site {
            revision: digest::Sha256::of(b""),
            pages: vec![PreviewPage {
                group: "guides".to_owned(),
                title: "<b>".to_owned(),
                path: "/guides/\"x".to_owned(),
                text: "</pre><script>alert('1')</script>&".to_owned(),
            }],
            problems: vec!["<i>".to_owned()],
        };
        let html = site.page("/").unwrap();
        for text in ["<b>", "</pre><script>", "<i>", "\"x"] {
            assert!(!html.contains(text), "{text} in {html}");
        }
        assert!(
            html.contains("&lt;/pre&gt;&lt;script&gt;alert(&#39;1&#39;)"),
            "{html}"
        );
    }
}
