//! The pages of a version, from its view and its texts. The registry shows published versions with them, and
//! `terrace docs preview` a directory.

use std::borrow::Cow;

use terrace_base::percent::{self, Plus};
use terrace_core::api::details::{DocumentView, NamedPartView, document_path};
use terrace_core::documentation::DocumentPath;
use terrace_core::model::package::Package;
use terrace_core::read::VersionView;

use crate::pages::{self, ExampleFile, Release};
use crate::rendering;
use crate::site::Site;

/// The file of an example that its page shows. A link leads to each other one.
const SHOWN_FILE: &str = "main.tf";

/// The page of a document, before its text is read.
#[derive(Debug)]
pub struct DocumentPage<'v> {
    release: Release<'v>,
    view: &'v VersionView,
    path: &'v DocumentPath,
    subject: Subject<'v>,
}

#[derive(Debug, Clone, Copy)]
enum Subject<'v> {
    /// A document of a provider.
    Document(&'v DocumentView),
    /// A submodule or an example, and the directory that contains it.
    Part(&'v NamedPartView, &'static str),
}

/// Returns the version that pages show.
fn release<'v>(package: &'v Package, view: &'v VersionView) -> Release<'v> {
    Release {
        package,
        details: &view.details,
        versions: &view.versions,
    }
}

/// Returns the page of a version.
pub fn version(site: &Site, package: &Package, view: &VersionView) -> String {
    let release = release(package, view);
    match package {
        Package::Module(_) => {
            let module = view.details.module.as_ref();
            let readme = module.and_then(|module| module.root.readme.as_deref());
            let readme = readme.map(|text| rendering::readme(site, &release, "", text));
            pages::module(site, &release, readme.as_ref())
        }
        Package::Provider(_) | Package::Mirrored(_) => {
            pages::provider(site, &release, &view.navigation)
        }
    }
}

impl<'v> DocumentPage<'v> {
    /// Finds a document of a version; `None` if the version has no page for it.
    pub fn find(
        package: &'v Package,
        view: &'v VersionView,
        path: &'v DocumentPath,
    ) -> Option<Self> {
        let subject = match package {
            Package::Module(_) => part(view, path)?,
            Package::Provider(_) | Package::Mirrored(_) => {
                let own = document_path(path.clone(), package, &view.navigation.version);
                let mut documents = view.navigation.documents.iter();
                Subject::Document(documents.find(|document| document.path == own)?)
            }
        };
        Some(Self {
            release: release(package, view),
            view,
            path,
            subject,
        })
    }

    /// Returns the document that the page shows the text of; `None` if the view has all texts of the page.
    pub fn source(&self) -> Option<DocumentPath> {
        match self.subject {
            Subject::Document(_) => Some(self.path.clone()),
            Subject::Part(part, _) => {
                let mut files = part.files.iter();
                files.find(|file| name_of(file) == SHOWN_FILE)?;
                let file = SHOWN_FILE.parse().ok()?;
                Some(DocumentPath::ExampleFile(part.name.clone(), file))
            }
        }
    }

    /// Returns the page. `text` is that of the [source](Self::source).
    pub fn render(&self, site: &Site, text: Option<&str>) -> String {
        match self.subject {
            Subject::Document(view) => self.document(site, view, text.unwrap_or_default()),
            Subject::Part(part, directory) => self.part(site, part, directory, text),
        }
    }

    fn document(&self, site: &Site, view: &DocumentView, text: &str) -> String {
        let navigation = &self.view.navigation;
        let text = rendering::document(&self.release, navigation, self.path, text);
        pages::document(site, &self.release, navigation, self.path, view, &text)
    }

    fn part(
        &self,
        site: &Site,
        part: &NamedPartView,
        directory: &str,
        text: Option<&str>,
    ) -> String {
        let directory = format!("{directory}/{}", part.name);
        let readme = part.part.readme.as_deref();
        let readme = readme.map(|text| rendering::readme(site, &self.release, &directory, text));
        let files: Vec<_> = part.files.iter().map(|it| (name_of(it), it)).collect();
        let files = files.iter().map(|(name, file)| ExampleFile {
            name,
            text: text.filter(|_| name == SHOWN_FILE),
            path: &file.path,
        });
        let files: Vec<_> = files.collect();
        let (release, readme) = (&self.release, readme.as_ref());
        pages::module_part(site, release, self.path, part, readme, &files)
    }
}

/// Returns the name of a file of an example.
fn name_of(file: &DocumentView) -> Cow<'_, str> {
    let name = file.name.rsplit('/').next().unwrap_or(&file.name);
    percent::decoded(name, Plus::Plus).unwrap_or(Cow::Borrowed(name))
}

fn part<'v>(view: &'v VersionView, path: &DocumentPath) -> Option<Subject<'v>> {
    let module = view.details.module.as_ref()?;
    let (parts, directory, name) = match path {
        DocumentPath::Submodule(name) => (&module.submodules, "modules", name),
        DocumentPath::Example(name) => (&module.examples, "examples", name),
        _ => return None,
    };
    let part = parts.iter().find(|part| part.name == *name)?;
    Some(Subject::Part(part, directory))
}
