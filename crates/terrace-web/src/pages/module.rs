//! The pages of a module's version, and of its submodules and examples.

use maud::{Markup, html};
use terrace_core::api::details::{ModuleView, NamedPartView};
use terrace_core::documentation::DocumentPath;

use super::provider::{notes, provenance, source};
use super::{Release, install, module_tables};
use crate::links::{document_path, newest_document_path, text_path, version_path};
use crate::markdown::Rendered;
use crate::parts::layout::Page;
use crate::parts::package_head::Section;
use crate::parts::{banner, code, icons, prose, time};
use crate::site::Site;
use crate::text::counted;

/// A submodule or an example, and its texts.
#[derive(Debug, Clone, Copy)]
pub struct ShownPart<'a> {
    /// The path of its page.
    pub path: &'a DocumentPath,
    /// Its details.
    pub view: &'a NamedPartView,
    /// Its README.
    pub readme: Option<&'a Rendered>,
    /// The files of an example.
    pub files: &'a [ExampleFile<'a>],
}

/// A file of an example.
#[derive(Debug, Clone, Copy)]
pub struct ExampleFile<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its text; `None` if it was not read.
    pub text: Option<&'a str>,
    /// The path of its text.
    pub path: &'a str,
}

/// Returns the page of a module's version.
pub fn module(site: &Site, release: &Release<'_>, readme: Option<&Rendered>) -> String {
    let Release {
        package, details, ..
    } = *release;
    let version = &details.version.version;
    let root = details.module.as_ref().map(|module| &module.root);
    let body = html! {
        main {
        (release.head(site, Section::Overview, None))
        div.columns.(if details.module.is_some() { "two" } else { "one" }) {
            @if let Some(module) = &details.module { (sidebar(release, module, readme.is_some(), None)) }
            div.content #page-content tabindex="-1" {
                (banner::of_version(release, None))
                @if release.is_installable() { (install::module(site, release, None, root)) }
                @if let Some(readme) = readme { (readme_section(readme)) }
                @match root {
                    Some(root) => (module_tables::sections(root)),
                    // No documentation is added to a version that was erased.
                    None if !release.is_installable() => {}
                    None => (banner::undocumented()),
                }
                (origin(release, readme.is_some()))
            }
        }
        }
    };
    let clients = match root {
        Some(root) if root.is_opentofu_only => "OpenTofu",
        _ => "Terraform and OpenTofu",
    };
    let description = format!(
        "The {} module for {clients}: inputs, outputs, resources and examples of version {version}.",
        package.address()
    );
    let title = release.title();
    let page = Page {
        description: &description,
        ..release.page(&title, version_path(package, version))
    };
    page.render(site, &body)
}

/// Returns the page of a submodule or an example.
pub fn module_part(site: &Site, release: &Release<'_>, shown: &ShownPart<'_>) -> String {
    let Release {
        package, details, ..
    } = *release;
    let version = &details.version.version;
    let name = shown.view.name.as_str();
    let (kind, directory) = match shown.path {
        DocumentPath::Submodule(_) => ("Submodule", Some(format!("modules/{name}"))),
        _ => ("Example", None),
    };
    let body = html! {
        main {
        (release.head(site, Section::Overview, None))
        div.columns.two {
            @if let Some(module) = &details.module { (sidebar(release, module, false, Some(shown.path))) }
            div.content #page-content tabindex="-1" {
                (banner::of_version(release, Some(newest_document_path(package, shown.path, version))))
                p.over { (kind) }
                h2.part-title { bdi { (name) } }
                @if let Some(directory) = &directory {
                    @if release.is_installable() { (install::module(site, release, Some(directory), Some(&shown.view.part))) }
                }
                @if let Some(readme) = &shown.readme { (readme_section(readme)) }
                (files(shown.files))
                (module_tables::sections(&shown.view.part))
                @if shown.readme.is_some() { p.about-text { a href=(text_path(package, version, shown.path)) { "Download the README as Markdown" } } }
            }
        }
        }
    };
    let title = format!("{name} · {}", release.title());
    let page = release.page(&title, document_path(package, version, shown.path));
    page.render(site, &body)
}

fn readme_section(readme: &Rendered) -> Markup {
    html! {
        section #page-readme aria-label="README" {
            article.prose.framed dir="auto" { (prose(readme)) }
            @if readme.is_truncated { (banner::cut_text()) }
        }
    }
}

/// Returns the contents of a module's pages: sections of the root, submodules and examples.
fn sidebar(
    release: &Release<'_>,
    module: &ModuleView,
    has_readme: bool,
    current: Option<&DocumentPath>,
) -> Markup {
    let version = &release.details.version.version;
    let group = |heading: &str,
                 parts: &[NamedPartView],
                 path: fn(&NamedPartView) -> DocumentPath| {
        html! {
            @if !parts.is_empty() {
                details open {
                    summary { (heading) " " span.count { (parts.len()) } }
                    ul {
                        @for part in parts {
                            @let path = path(part);
                            li {
                                a href=(document_path(release.package, version, &path))
                                    aria-current=[(Some(&path) == current).then_some("page")] { bdi { (part.name) } }
                            }
                        }
                    }
                }
            }
        }
    };
    html! {
        input #page-contents-switch.switch type="checkbox";
        label.switch for="page-contents-switch" { (icons::menu()) "Contents of the module" }
        nav.sidebar aria-label="Contents of the module" {
            div.tree {
                ul {
                    @if current.is_some() {
                        li { a href=(version_path(release.package, version)) { "Root module" } }
                    } @else {
                        @if release.is_installable() { li { a href="#page-install" { "Use this version" } } }
                        @if has_readme { li { a href="#page-readme" { "README" } } }
                        (module_tables::section_links(&module.root))
                    }
                }
                (group("Submodules", &module.submodules, |part| DocumentPath::Submodule(part.name.clone())))
                (group("Examples", &module.examples, |part| DocumentPath::Example(part.name.clone())))
            }
        }
    }
}

fn files(files: &[ExampleFile<'_>]) -> Markup {
    html! {
        @if !files.is_empty() {
            section {
                h2 #page-files { "Files " span.count { (files.len()) } }
                @for file in files {
                    @match file.text {
                        Some(text) => (code::file(file.name, text)),
                        None => p { a href=(file.path) { code { bdi { (file.name) } } } },
                    }
                }
            }
        }
    }
}

/// Returns the facts about where a version comes from.
fn origin(release: &Release<'_>, has_readme: bool) -> Markup {
    let details = release.details;
    let documentation = details.documentation.as_ref();
    html! {
        section {
            h2 #page-origin { "Origin" }
            dl.facts {
                (source(release))
                @if let Some(job) = &details.provenance { (provenance(job)) }
                @if let Some(at) = &details.version.published_at { dt { "Published" } dd { (time(at)) } }
                @if let Some(docs) = documentation.filter(|docs| docs.changes > 0) {
                    dt { "Documentation" }
                    dd { "changed after the publish, last on " (time(&docs.changed_at)) " (" (counted(usize::try_from(docs.changes).unwrap_or_default(), "change")) ")" }
                }
                @if has_readme {
                    dt { "README" }
                    dd { a href=(text_path(release.package, &details.version.version, &DocumentPath::Readme)) { "Download as Markdown" } }
                }
            }
            @if let Some(docs) = documentation { (notes(&docs.notes)) }
        }
    }
}
