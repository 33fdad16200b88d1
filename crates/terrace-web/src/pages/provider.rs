//! The page of a provider's version.

use maud::{Markup, html};
use terrace_core::api::details::{Navigation, PlatformView};
use terrace_core::documentation::{DocumentPath, DocumentationKind};
use terrace_core::model::provenance::Provenance;
use terrace_core::storage::release::SigningKeyDocument;

use super::{Release, install};
use crate::links::{document, document_path, version_path};
use crate::parts::layout::Page;
use crate::parts::package_head::Section;
use crate::parts::{banner, code, icons, time, tree};
use crate::site::Site;
use crate::text::{counted, kind_heading, size};

/// Returns the page of a provider's version.
pub fn provider(site: &Site, release: &Release<'_>, navigation: &Navigation) -> String {
    let Release {
        package, details, ..
    } = *release;
    let version = &details.version.version;
    let has_documents = !navigation.documents.is_empty();
    let body = html! {
        main {
        (release.head(site, Section::Overview, tree::first(package, navigation)))
        div.columns.(if has_documents { "two" } else { "one" }) {
            @if has_documents { (tree::tree(package, navigation, None)) }
            div.content #page-content tabindex="-1" {
                (banner::of_version(release, None))
                @if release.is_installable() { (install::provider(site, package, release.shown())) }
                (documents(release, navigation))
                (platforms(&details.platforms))
                (origin(release))
            }
        }
        }
    };
    let address = package.address();
    let facts = match details.signing_key {
        Some(_) => "documentation, platforms, checksums and signing key",
        None => "documentation, platforms and checksums",
    };
    let description =
        format!("The {address} provider for Terraform and OpenTofu: {facts} of version {version}.");
    let title = release.title();
    let page = Page {
        description: &description,
        ..release.page(&title, version_path(package, version))
    };
    page.render(site, &body)
}

/// Returns a summary of the documentation: the number of pages of each kind, and links to the first ones.
fn documents(release: &Release<'_>, navigation: &Navigation) -> Markup {
    let version = &release.details.version.version;
    let of_kind = |kind: DocumentationKind| {
        let all = navigation.documents.iter();
        all.filter(move |it| it.kind == kind.as_str())
    };
    let kinds = DocumentationKind::ALL
        .into_iter()
        .filter(|kind| *kind != DocumentationKind::Overview);
    let overview = of_kind(DocumentationKind::Overview).next().is_some();
    // No documentation is added to a version that was erased.
    if navigation.documents.is_empty() && !release.is_installable() {
        return Markup::default();
    }
    html! {
        section {
            h2 #page-documentation { "Documentation" }
            @if navigation.documents.is_empty() {
                (banner::undocumented())
            } @else {
                @if overview {
                    p { a.button.primary href=(document_path(release.package, version, &DocumentPath::Overview)) { "Read the overview" } }
                }
                ul.tiles {
                    @for kind in kinds {
                        @if let Some(first) = of_kind(kind).find_map(document) {
                            li {
                                a href=(document_path(release.package, version, &first)) { (kind_heading(kind)) }
                                span.count { (of_kind(kind).count()) }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn platforms(platforms: &[PlatformView]) -> Markup {
    html! {
        @if !platforms.is_empty() {
            section {
                h2 #page-platforms { "Platforms " span.count { (platforms.len()) } }
                div.scroll tabindex="0" role="region" aria-labelledby="page-platforms" {
                    table {
                        thead { tr { th scope="col" { "Platform" } th.number scope="col" { "Size" } th scope="col" { "SHA-256" } th scope="col" { code { "h1:" } " hash" } } }
                        tbody { @for platform in platforms { (platform_row(platform)) } }
                    }
                }
            }
        }
    }
}

fn platform_row(platform: &PlatformView) -> Markup {
    let name = format!("{}_{}", platform.os, platform.arch);
    html! {
        tr {
            th scope="row" title=(platform.filename) { code { (name) } }
            td.number { @if let Some(bytes) = platform.size { (size(bytes)) } @else { "–" } }
            td { (code::value(&format!("the SHA-256 of {name}"), &platform.sha256.to_string())) }
            td {
                @if let Some(h1) = &platform.h1 { (code::value(&format!("the h1 hash of {name}"), &h1.to_string())) } @else { "–" }
            }
        }
    }
}

/// Returns the facts that let readers check where a version comes from.
fn origin(release: &Release<'_>) -> Markup {
    let details = release.details;
    let documentation = details.documentation.as_ref();
    let protocols: Vec<String> = details.protocols.iter().map(ToString::to_string).collect();
    html! {
        section {
            h2 #page-origin { "Origin" }
            dl.facts {
                @if let Some(key) = &details.signing_key { (signing_key(key)) }
                @else if !details.platforms.is_empty() {
                    dt { "Signing key" }
                    dd { "This page does not know whether the origin signed this version. Clients of a mirror check no signatures: the checksums in a lock file pin the packages." }
                }
                @if let Some(job) = &details.provenance { (provenance(job)) }
                (source(release))
                @if let Some(at) = &details.version.published_at { dt { "Published" } dd { (time(at)) } }
                @if !protocols.is_empty() { dt { "Plugin protocols" } dd { (protocols.join(", ")) } }
                @if let Some(docs) = documentation {
                    @if let Some(license) = &docs.license { dt { "Licence of the documentation" } dd { bdi { (license) } } }
                    dt { "Documentation" }
                    dd {
                        "changed " (time(&docs.changed_at))
                        @if docs.changes > 0 { ", " (counted(usize::try_from(docs.changes).unwrap_or_default(), "change")) " after the first" }
                    }
                }
            }
            @if let Some(docs) = documentation { (notes(&docs.notes)) }
        }
    }
}

fn signing_key(key: &SigningKeyDocument) -> Markup {
    html! {
        dt { "Signing key" }
        dd {
            (code::value("the key ID", &key.key_id.to_string()))
        }
        dt { "Fingerprint" }
        dd { (code::value("the fingerprint", &key.fingerprint)) }
        dt { "Public key" }
        dd { details { summary { "ASCII armour" } (code::block("the public key", &key.ascii_armor)) } }
    }
}

/// Returns the source repository and commit of a version.
pub(super) fn source(release: &Release<'_>) -> Markup {
    html! {
        @if let Some(source) = &release.details.version.source {
            dt { "Source" }
            dd {
                @let page = release.repository().map(|it| it.source());
                a href=(page.as_deref().unwrap_or(source.url.as_str())) rel="nofollow noopener noreferrer" { (source.url) (icons::external()) }
                @if let Some(commit) = &source.commit { " at " code { (commit) } }
                @if let Some(directory) = &source.directory { " in " code { bdi { (directory) } } }
                @if let Some(tree) = &source.tree { ", files with the SHA-256 " code { (tree) } }
                @if source.claimed { " (stated by the publisher)" } @else { " (verified)" }
            }
        }
    }
}

/// Returns the job that published a version.
pub(super) fn provenance(job: &Provenance) -> Markup {
    let rows = [
        (
            "Repository of the job",
            job.repository.as_ref().map(ToString::to_string),
        ),
        ("Workflow", job.workflow.as_ref().map(ToString::to_string)),
        ("Ref", job.reference.as_ref().map(ToString::to_string)),
        (
            "Commit of the job",
            job.commit.as_ref().map(ToString::to_string),
        ),
        ("Run", job.run.as_ref().map(ToString::to_string)),
    ];
    html! {
        dt { "Published by" }
        dd { "a job verified by " bdi { (job.issuer) } }
        @for (name, value) in rows {
            @if let Some(value) = value { dt { (name) } dd { code { (value) } } }
        }
    }
}

/// Returns the notes about files that were cut, skipped or unreadable.
pub(super) fn notes(notes: &[String]) -> Markup {
    html! {
        @if !notes.is_empty() {
            details.notes {
                summary { (counted(notes.len(), "note")) " about the documentation" }
                ul { @for note in notes { li dir="auto" { (note) } } }
            }
        }
    }
}
