//! The pages of a module's version, and of its submodules and examples.

use maud::{Markup, html};
use terrace_core::api::details::{ModuleView, NamedPartView};
use terrace_core::documentation::{DocumentPath, ModulePart};
use terrace_core::index::card::first_paragraph;

use super::module_tables::{self, Place};
use super::provider::{notes, provenance, source};
use super::{Release, install};
use crate::links::{TAB, document_path, newest_document_path, text_path, version_path, with_query};
use crate::markdown::Rendered;
use crate::parts::layout::Page;
use crate::parts::package_head::Section;
use crate::parts::{banner, code, icons, prose, time};
use crate::readme::with_own_sources;
use crate::site::Site;
use crate::text::counted;

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
    let path = version_path(package, version);
    let root = details.module.as_ref().map(|module| &module.root);
    let body = html! {
        main {
        (release.head(site, Section::Overview, None))
        div.columns.(if details.module.is_some() { "two" } else { "one" }) {
            @if let Some(module) = &details.module { (sidebar(release, module, readme, None)) }
            div.content #page-content tabindex="-1" {
                (banner::of_version(release, None))
                @if release.is_installable() { (install::module(site, release, None, root)) }
                @if let Some(readme) = readme { (readme_section(readme, &path)) }
                @match root {
                    Some(root) => (module_tables::sections(&Place { site, release, directory: "", part: root })),
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
    let described = root
        .and_then(|root| root.readme.as_deref())
        .map(first_paragraph);
    let description = described.filter(|it| !it.is_empty()).unwrap_or_else(|| {
        let address = package.address();
        format!("The {address} module for {clients}: inputs, outputs, resources and examples of version {version}.")
    });
    let title = release.title();
    let page = Page {
        description: &description,
        ..release.page(&title, path)
    };
    page.render(site, &body)
}

/// Returns the page of a submodule or an example.
pub fn module_part(
    site: &Site,
    release: &Release<'_>,
    path: &DocumentPath,
    view: &NamedPartView,
    readme: Option<&Rendered>,
    example_files: &[ExampleFile<'_>],
) -> String {
    let Release {
        package, details, ..
    } = *release;
    let version = &details.version.version;
    let name = view.name.as_str();
    let (kind, directory) = match path {
        DocumentPath::Submodule(_) => ("Submodule", Some(format!("modules/{name}"))),
        _ => ("Example", None),
    };
    let own_path = document_path(package, version, path);
    let place = match &directory {
        Some(directory) => directory.clone(),
        None => format!("examples/{name}"),
    };
    let body = html! {
        main {
        (release.head(site, Section::Overview, None))
        div.columns.two {
            @if let Some(module) = &details.module { (sidebar(release, module, readme, Some((path, &view.part)))) }
            div.content #page-content tabindex="-1" {
                (banner::of_version(release, Some(newest_document_path(package, path, version))))
                p.over { (kind) }
                h2.part-title { bdi { (name) } }
                @if let Some(directory) = &directory {
                    @if release.is_installable() { (install::module(site, release, Some(directory), Some(&view.part))) }
                }
                @if let Some(readme) = readme { (readme_section(readme, &own_path)) }
                (files(site, release, &place, example_files))
                (module_tables::sections(&Place { site, release, directory: &place, part: &view.part }))
                @if readme.is_some() { p.about-text { a href=(text_path(package, version, path)) { "Download the README as Markdown" } } }
            }
        }
        }
    };
    let title = format!("{name} · {}", release.title());
    let page = release.page(&title, own_path);
    page.render(site, &body)
}

/// Returns the section with a README, on the page at `path`.
fn readme_section(readme: &Rendered, path: &str) -> Markup {
    let whole = with_query(path, &[(TAB, "readme")]);
    html! {
        section #page-readme aria-label="README" {
            @if readme.has_own_sources { (own_sources()) }
            article.prose.framed dir="auto" { (prose(readme)) }
            @if readme.is_truncated { (banner::cut_text()) }
            @if readme.is_abridged {
                p.about-text { span { "The tables of terraform-docs are left out: this page has their contents below. " a href={ (whole) "#page-readme" } rel="nofollow" { "Show the whole README" } } }
            }
        }
    }
}

fn own_sources() -> Markup {
    html! { p.small.own { "Where the code calls this module, its source is shown as this registry's, with the version." } }
}

/// Returns the headings of a README below its title, as links to them.
fn headings(readme: &Rendered) -> Markup {
    let levels = || readme.contents.iter().map(|heading| heading.level);
    let top = levels().min().unwrap_or_default();
    let is_title = levels().filter(|level| *level == top).count() == 1;
    let shown = top + u8::from(is_title);
    let shown = readme.contents.iter().filter(|it| it.level == shown);
    html! {
        ul { @for heading in shown { li { a href={ "#" (heading.id) } { bdi { (heading.text) } } } } }
    }
}

/// Returns the contents of a module's pages: sections of the root, submodules and examples.
fn sidebar(
    release: &Release<'_>,
    module: &ModuleView,
    readme: Option<&Rendered>,
    current: Option<(&DocumentPath, &ModulePart)>,
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
                                    aria-current=[current.is_some_and(|(shown, _)| *shown == path).then_some("page")] { bdi { (part.name) } }
                            }
                        }
                    }
                }
            }
        }
    };
    let is_example = matches!(current, Some((DocumentPath::Example(_), _)));
    let part = current.map_or(&module.root, |(_, part)| part);
    html! {
        input #page-contents-switch.switch type="checkbox";
        label.switch for="page-contents-switch" { (icons::menu()) "Contents of the module" }
        nav.sidebar aria-label="Contents of the module" {
            div.tree {
                ul {
                    @if current.is_some() {
                        li { a href=(version_path(release.package, version)) { "Root module" } }
                    }
                    @if release.is_installable() && !is_example { li { a href="#page-install" { "Use this version" } } }
                    @if let Some(readme) = readme { li { a href="#page-readme" { "README" } (headings(readme)) } }
                    (module_tables::section_links(part))
                }
                (group("Submodules", &module.submodules, |part| DocumentPath::Submodule(part.name.clone())))
                (group("Examples", &module.examples, |part| DocumentPath::Example(part.name.clone())))
            }
        }
    }
}

/// Returns the files of an example in a directory.
fn files(site: &Site, release: &Release<'_>, directory: &str, files: &[ExampleFile<'_>]) -> Markup {
    html! {
        @if !files.is_empty() {
            section {
                h2 #page-files { "Files " span.count { (files.len()) } }
                @for file in files {
                    @match file.text {
                        Some(text) => {
                            @let own = with_own_sources(site, release, directory, text);
                            @if own.is_some() { (own_sources()) }
                            (code::file(file.name, own.as_deref().unwrap_or(text)))
                        }
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
                @if let Some(origin) = release.package.origin() { dt { "Mirrored from" } dd { bdi { (origin) } } }
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
