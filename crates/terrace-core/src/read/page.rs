//! Reads for web pages about a package: the indices that the path of the page names, in one operation.

use super::composed::optional;
use super::lookup::{IndexForm, Lookup, Projection};
use super::pulled::Freshness;
use super::{FinishError, IndexRequest, StoredIndex, StoredIndices, parse};
use crate::api::details::{
    BuiltVersion, Navigation, PackageDetails, VersionDetails, VersionSummary,
};
use crate::auth::access::{Access, Caller, Owner, Visibility};
use crate::http::method::Method;
use crate::http::problem::Problem;
use crate::index::about::{About, AboutDocumentation};
use crate::index::overview::Overview;
use crate::model::package::Package;
use crate::model::version::Version;
use crate::storage::index_document::IndexMetadata;
use crate::storage::key::IndexKey;
use crate::upstream::pull::{PullPolicy, blocked};
use terrace_base::time::UnixTime;

/// The subject of a page about a package.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PageSubject {
    /// A package, from its overview.
    Package(Package),
    /// A version, from its description, the overview and, for a provider, the index of the version.
    Version(Package, Version),
    /// A document of a version, from the version's description and the overview.
    Document(Package, Version),
    /// Two versions, from the overview, their descriptions and, for a provider, the indices of the versions.
    Comparison(Package, Version, Version),
}

/// The read for a page.
#[derive(Debug)]
pub struct PageRead {
    /// The keys. The first decides whether there is anything to show.
    pub lookup: Lookup,
    subject: PageSubject,
}

/// The values that a page shows.
#[derive(Debug)]
pub enum PageView {
    /// A package.
    Package(PackageDetails),
    /// A version, or one of its documents.
    Version(Box<VersionView>),
    /// Two versions, the one to compare with first.
    Comparison(Box<[VersionView; 2]>),
}

/// The values of a page about a version.
#[derive(Debug)]
pub struct VersionView {
    /// The details.
    pub details: VersionDetails,
    /// All versions of the package, the newest first.
    pub versions: Vec<VersionSummary>,
    /// The documents and symbols.
    pub navigation: Navigation,
    /// The documentation, with the places of its texts.
    pub documentation: Option<AboutDocumentation>,
}

impl PageRead {
    /// Creates the read of a page for a caller. To a caller without access, the package appears not to exist.
    ///
    /// # Errors
    /// If reads require a token and there is none, or if the operator blocks the version.
    pub fn new(
        subject: PageSubject,
        caller: &Caller,
        access: &Access,
        policy: &PullPolicy,
    ) -> Result<Self, Problem> {
        let package = subject.package();
        let visibility = access.visibility(caller, &Owner::of(package));
        if visibility == Visibility::Unauthenticated {
            return Err(Problem::no_token());
        }
        if let Package::Mirrored(address) = package
            && visibility != Visibility::Hidden
            && let Some(version) = subject.versions().find(|it| policy.blocks(address, it))
        {
            return Err(blocked(address, version));
        }
        let (key, others) = subject.keys();
        let request = IndexRequest::new(key, IndexForm::Text, Projection::Page);
        let request = IndexRequest { others, ..request };
        Ok(Self {
            lookup: Lookup::new(request, visibility, Method::Get),
            subject,
        })
    }

    /// Returns whether only callers with access may see the page.
    pub fn is_private(&self) -> bool {
        self.lookup.is_private
    }

    /// Returns the error if the registry has no such package or version.
    pub fn missing(&self) -> Problem {
        self.lookup.missing()
    }

    /// Returns whether the index that decides may be shown.
    pub fn freshness(
        &self,
        metadata: &IndexMetadata,
        policy: &PullPolicy,
        now: UnixTime,
    ) -> Freshness {
        self.lookup.freshness(metadata, policy, now)
    }

    /// Returns the values that the page shows.
    ///
    /// # Errors
    /// If an index is not the output of an index function.
    pub fn view<S>(&self, found: &StoredIndices<S>) -> Result<PageView, FinishError> {
        self.lookup.check_provider(found)?;
        let StoredIndices { first, others } = found;
        let other = |at: usize| others.get(at).unwrap_or(&None);
        Ok(match &self.subject {
            PageSubject::Package(package) => {
                PageView::Package(PackageDetails::of(package, &parse(first)?))
            }
            PageSubject::Version(package, version) => {
                let (overview, built) = (optional(other(0))?, optional(other(1))?);
                let view = VersionView::new(package, version, parse(first)?, &overview, built);
                PageView::Version(Box::new(view))
            }
            PageSubject::Document(package, version) => {
                let (overview, built) = (optional(other(0))?, Default::default());
                let view = VersionView::new(package, version, parse(first)?, &overview, built);
                PageView::Version(Box::new(view))
            }
            PageSubject::Comparison(package, from, to) => {
                let overview: Overview = parse(first)?;
                let view = |version, about: &Option<StoredIndex<S>>, built| {
                    let about = about.as_ref();
                    let about = about.ok_or_else(|| FinishError::Problem(self.lacks(version)))?;
                    let (about, built) = (parse(about)?, optional(built)?);
                    Ok(VersionView::new(package, version, about, &overview, built))
                };
                PageView::Comparison(Box::new([
                    view(from, other(0), other(2))?,
                    view(to, other(1), other(3))?,
                ]))
            }
        })
    }

    /// Returns the error for a version to compare that is neither described nor in the overview: nothing else needs to be
    /// read to know that it is missing. `first` and `others` are the indices that were found.
    pub fn unlisted<S>(
        &self,
        first: &StoredIndex<S>,
        others: &[Option<StoredIndex<S>>],
    ) -> Option<Problem> {
        let PageSubject::Comparison(_, from, to) = &self.subject else {
            return None;
        };
        let overview: Overview = parse(first).ok()?;
        let is_missing = |(at, version): &(usize, &Version)| {
            matches!(others.get(*at), None | Some(None)) && overview.version(version).is_none()
        };
        let (_, missing) = [from, to].into_iter().enumerate().find(is_missing)?;
        Some(self.lacks(missing))
    }

    fn lacks(&self, version: &Version) -> Problem {
        let address = self.subject.package().address();
        Problem::NotFound(format!(
            "this registry has no version {version} of {address}"
        ))
    }
}

impl PageSubject {
    fn package(&self) -> &Package {
        match self {
            Self::Package(package)
            | Self::Version(package, _)
            | Self::Document(package, _)
            | Self::Comparison(package, ..) => package,
        }
    }

    fn versions(&self) -> impl Iterator<Item = &Version> {
        let (one, other) = match self {
            Self::Package(_) => (None, None),
            Self::Version(_, version) | Self::Document(_, version) => (Some(version), None),
            Self::Comparison(_, from, to) => (Some(from), Some(to)),
        };
        one.into_iter().chain(other)
    }

    /// Returns the key that decides whether there is anything to show, and the others.
    pub(super) fn keys(&self) -> (IndexKey, Vec<IndexKey>) {
        let package = self.package();
        let overview = IndexKey::Overview(package.clone());
        let about = |version: &Version| IndexKey::About(package.clone(), version.clone());
        let built = |version: &Version| IndexKey::Version(package.clone(), version.clone());
        let (key, mut others) = match self {
            Self::Package(_) => (overview, Vec::new()),
            Self::Document(_, version) => (about(version), vec![overview]),
            Self::Version(_, version) => (about(version), vec![overview, built(version)]),
            Self::Comparison(_, from, to) => {
                let others = vec![about(from), about(to), built(from), built(to)];
                (overview, others)
            }
        };
        // The index of a module's version has nothing to show.
        let is_module = matches!(package, Package::Module(_));
        others.retain(|key| !is_module || !matches!(key, IndexKey::Version(..)));
        (key, others)
    }
}

impl VersionView {
    /// Creates the view of a version that is not published, with this documentation.
    pub fn preview(
        package: &Package,
        version: &Version,
        documentation: AboutDocumentation,
    ) -> Self {
        let about = About {
            archive: None,
            published_at: documentation.changed_at,
            source: None,
            provenance: None,
            documentation: Some(documentation),
        };
        let overview = Overview::default();
        let mut view = Self::new(package, version, about, &overview, Default::default());
        view.details.version.published_at = None;
        view.details.latest = Some(version.clone());
        view.versions = vec![view.details.version.clone()];
        view
    }

    fn new(
        package: &Package,
        version: &Version,
        about: About,
        overview: &Overview,
        built: BuiltVersion,
    ) -> Self {
        let documentation = about.documentation.clone();
        Self {
            navigation: Navigation::of(package, version, &about),
            details: VersionDetails::of(package, version, about, overview, built),
            versions: overview.versions.iter().map(VersionSummary::from).collect(),
            documentation,
        }
    }
}
