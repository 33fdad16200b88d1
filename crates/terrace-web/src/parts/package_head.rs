//! The head of all pages of a version: the address, the version with its picker, facts, and the other pages.

use maud::{Markup, html};
use terrace_base::url::Url;
use terrace_core::api::details::{VersionDetails, VersionSummary};
use terrace_core::api::route::{FeedScope, PageRoute};
use terrace_core::documentation::{DocumentPath, is_license_file};
use terrace_core::model::owner::Owner;
use terrace_core::model::package::Package;
use terrace_core::model::package::PackageKind;
use terrace_core::model::provenance::Provenance;
use terrace_core::model::status::ReleaseState;
use terrace_core::model::version::Version;

use super::layout::Page;
use super::{icons, label, state_label, time};
use crate::links::{owner_path, text_path, version_path};
use crate::markdown::Repository;
use crate::site::Site;
use crate::snippets::Shown;
use crate::text::state_name;

/// Number of versions in the menu of a version's pages, which are the newest: a screen. The table of versions has all.
const PICKED_VERSIONS: usize = 30;

/// A version of a package, which its pages show.
#[derive(Debug, Clone, Copy)]
pub struct Release<'a> {
    /// The package.
    pub package: &'a Package,
    /// The details of the version.
    pub details: &'a VersionDetails,
    /// All versions, the newest first.
    pub versions: &'a [VersionSummary],
}

/// A link in the row of a package's pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Section {
    /// The page of the version.
    Overview,
    /// The documents of a provider.
    Documentation,
    /// The list of versions.
    Versions,
    /// The comparison of two versions.
    Comparison,
    /// The list of packages that call it.
    UsedBy,
}

impl Release<'_> {
    /// Returns the text of a title: the address and the version.
    pub(crate) fn title(&self) -> String {
        format!(
            "{} {}",
            self.package.address(),
            self.details.version.version
        )
    }

    /// Returns the version and the newest one, for snippets.
    pub(crate) fn shown(&self) -> Shown<'_> {
        Shown {
            version: &self.details.version.version,
            latest: self.details.latest.as_ref(),
        }
    }

    /// Returns the page of the version, or of a part of it, at this path.
    pub(crate) fn page<'p>(&self, title: &'p str, path: String) -> Page<'p> {
        Page {
            title,
            path: Some(path),
            feed: Some(feed(self.package)),
            class: "package",
            ..Page::default()
        }
    }

    /// Returns the repository with the code of the version.
    pub(crate) fn repository(&self) -> Option<Repository> {
        let source = self.details.version.source.as_ref()?;
        Some(Repository::of(source, self.details.provenance.as_ref()))
    }

    /// Returns the newest version, if it is another one, and not withdrawn.
    pub(crate) fn alternative(&self) -> Option<&Version> {
        let latest = self.details.latest.as_ref();
        let latest = latest.filter(|latest| **latest != self.details.version.version)?;
        (!is_withdrawn(self.versions, latest)).then_some(latest)
    }

    /// Returns whether the version can be installed.
    pub(crate) fn is_installable(&self) -> bool {
        let status = self.details.version.status.as_ref();
        status.is_none_or(|status| status.state < ReleaseState::Revoked)
    }

    /// Returns the head. `section` is the part that the page belongs to, and `documents` the path of the first document.
    pub(crate) fn head(&self, site: &Site, section: Section, documents: Option<String>) -> Markup {
        let version = &self.details.version.version;
        html! {
            div.package-head {
                div.inner {
                    (crumbs(self.package))
                    div.title {
                        h1 dir="auto" { (name(self.package)) }
                        (self.picker())
                        @if let Some(status) = &self.details.version.status { (state_label(status.state)) }
                        @else if let Some(status) = &self.details.package_status { (state_label(status.state)) }
                        @if version.is_prerelease() { (label("info", "prerelease")) }
                    }
                    (self.facts(site))
                    (sections(self.package, version_path(self.package, version), section, documents))
                }
            }
        }
    }

    fn picker(&self) -> Markup {
        let version = &self.details.version.version;
        html! {
            details.menu {
                summary aria-label={ "Version " (version) ", show others" } { bdi { (version) } }
                ul {
                    @for known in self.versions.iter().take(PICKED_VERSIONS) {
                        li {
                            a href=(version_path(self.package, &known.version))
                                aria-current=[(known.version == *version).then_some("true")] {
                                bdi { (known.version) }
                                @if Some(&known.version) == self.details.latest.as_ref() { span.small { "latest" } }
                                @else if let Some(status) = &known.status { span.small { (state_name(status.state)) } }
                            }
                        }
                    }
                    li { a.all href=(PageRoute::Versions(self.package.clone())) { "All versions" } }
                }
            }
        }
    }

    /// Returns the path of the file with the licence of a module.
    fn license_file(&self) -> Option<String> {
        let module = self.details.module.as_ref()?;
        let file = module.files.iter().find(|it| is_license_file(&it.name))?;
        let path = DocumentPath::File(file.name.parse().ok()?);
        let version = &self.details.version.version;
        Some(text_path(self.package, version, &path))
    }

    fn facts(&self, site: &Site) -> Markup {
        let license = self.details.documentation.as_ref();
        let license = license.and_then(|it| it.license.as_deref());
        html! {
            p.meta {
                @if let Some(at) = &self.details.version.published_at { span { "Published " (time(at)) } }
                @if let Some(repository) = self.repository() {
                    a.external href=(repository.source()) rel="nofollow noopener noreferrer" { "Source" (icons::external()) }
                }
                @if let Some(file) = self.license_file() { a href=(file) { "Licence" } }
                @if let Some(license) = license { span { "Licence " bdi { (license) } } }
                @if let Some(job) = &self.details.provenance { (published_by(site, job)) }
            }
        }
    }
}

/// Returns the mark of a job, with the host that vouches for it. Only the operator's issuers have the shield: an administrator
/// of a namespace may add others.
fn published_by(site: &Site, job: &Provenance) -> Markup {
    let issuer = job.issuer.to_string();
    let url = issuer.parse::<Url>();
    let host = url.as_ref().map_or(&*issuer, |url| url.host());
    html! {
        @if site.issuers.contains(&issuer) {
            span.verified { (icons::verified()) "Published by a verified job of " bdi { (host) } }
        } @else {
            span { "Published by a job of " bdi { (host) } }
        }
    }
}

/// Returns whether a version is withdrawn.
pub(crate) fn is_withdrawn(versions: &[VersionSummary], version: &Version) -> bool {
    let listed = versions.iter().find(|it| it.version == *version);
    let status = listed.and_then(|it| it.status.as_ref());
    status.is_some_and(|status| status.state == ReleaseState::Withdrawn)
}

/// Returns the links to the namespace and the kind of a package.
pub(crate) fn crumbs(package: &Package) -> Markup {
    let owner = Owner::of(package);
    let (kind, heading) = match package {
        Package::Module(_) => (PackageKind::Module, "Modules"),
        _ => (PackageKind::Provider, "Providers"),
    };
    html! {
        nav.crumbs aria-label="Breadcrumb" {
            ol {
                li { a href=(PageRoute::Browse(kind)) { (heading) } }
                li { a href=(owner_path(&owner)) { bdi { (owner) } } }
                li { a href=(PageRoute::Package(package.clone())) { bdi { (name(package)) } } }
            }
        }
    }
}

/// Returns the row of links to a package's pages.
pub(crate) fn sections(
    package: &Package,
    overview: String,
    current: Section,
    documents: Option<String>,
) -> Markup {
    let own = |route: fn(Package) -> PageRoute| Some(route(package.clone()).to_string());
    let links = [
        (Section::Overview, "Overview", Some(overview)),
        (Section::Documentation, "Documentation", documents),
        (Section::Versions, "Versions", own(PageRoute::Versions)),
        (
            Section::Comparison,
            "Compare",
            own(PageRoute::ComparisonForm),
        ),
        (Section::UsedBy, "Used by", own(PageRoute::UsedBy)),
    ];
    html! {
        nav.sections aria-label="Package" {
            @for (section, name, path) in links {
                @if let Some(path) = path {
                    a href=(path) aria-current=[(current == section).then_some("page")] { (name) }
                }
            }
        }
    }
}

/// Returns the feed of a package's versions.
pub(crate) fn feed(package: &Package) -> String {
    PageRoute::Feed(FeedScope::Package(package.clone())).to_string()
}

/// Returns the name of a package without its owner.
pub(crate) fn name(package: &Package) -> String {
    match package {
        Package::Provider(address) => address.provider_type.to_string(),
        Package::Mirrored(address) => address.provider.provider_type.to_string(),
        Package::Module(address) => format!("{}/{}", address.name, address.system),
    }
}
