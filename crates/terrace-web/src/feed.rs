//! Atom feeds (RFC 4287) of the registry, a namespace and a package.

use std::fmt::Write as _;

use terrace_base::sort::sort_by;
use terrace_core::api::details::{ListedPackage, VersionSummary};
use terrace_core::api::route::{FeedScope, PageRoute};
use terrace_core::model::package::Package;
use terrace_core::model::version::Version;

use crate::links::{package as package_of, version_path};
use crate::site::Site;
use crate::text::state_name;
use crate::well_known::escaped;

/// Maximum number of entries of a feed. Readers of feeds ask at least daily; few registries publish as much in a day.
pub const FEED_ENTRIES: usize = 50;

/// The time of entries without a known publish time, which is in no feed reader's "new".
const UNKNOWN: &str = "1970-01-01T00:00:00Z";

/// A published version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The package.
    pub package: Package,
    /// The version.
    pub version: Version,
    /// The time of its publish, if it is known.
    pub published_at: Option<String>,
    /// The time at which the version got its status, if it has one.
    pub changed_at: Option<String>,
    /// The description of the package, or the status of the version; empty if there is none.
    pub summary: String,
}

impl Entry {
    /// Creates the entry of a package's newest version; `None` if its address is none.
    pub fn of_package(listed: &ListedPackage) -> Option<Self> {
        Some(Self {
            package: package_of(&listed.package)?,
            version: listed.latest.clone(),
            published_at: listed.published_at.clone(),
            changed_at: None,
            summary: listed.description.clone(),
        })
    }

    /// Creates the entry of a version.
    pub fn of_version(package: &Package, version: &VersionSummary) -> Self {
        let status = version.status.as_ref();
        let changed_at = status.map(|it| it.at.clone());
        let status = status.map(|it| format!("{}: {}", state_name(it.state), it.reason));
        Self {
            package: package.clone(),
            version: version.version.clone(),
            published_at: version.published_at.clone(),
            changed_at,
            summary: status.unwrap_or_default(),
        }
    }

    /// Returns the time of the last change: a feed reader shows an entry again if its time is later.
    fn updated_at(&self) -> Option<&str> {
        // RFC 3339 times in UTC with equal precision are ordered as texts.
        self.changed_at.as_deref().max(self.published_at.as_deref())
    }
}

/// Returns a feed of `entries`, of which only the last [`FEED_ENTRIES`] that were published or changed are written.
pub fn feed(site: &Site, scope: &FeedScope, entries: &[Entry]) -> String {
    let mut entries: Vec<&Entry> = entries.iter().collect();
    sort_by(&mut entries, |a, b| b.updated_at().cmp(&a.updated_at()));
    entries.truncate(FEED_ENTRIES);
    let (title, page) = match scope {
        FeedScope::Registry => (site.name.clone(), PageRoute::Home),
        FeedScope::Namespace(owner) => {
            let title = format!("{owner} · {}", site.name);
            (title, PageRoute::Namespace(owner.clone()))
        }
        FeedScope::Package(package) => {
            let title = format!("{} · {}", package.address(), site.name);
            (title, PageRoute::Package(package.clone()))
        }
    };
    let own = format!("{}{}", site.origin, PageRoute::Feed(scope.clone()));
    let updated = entries.iter().find_map(|entry| entry.updated_at());
    let mut xml = format!(
        "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<feed xmlns=\"http://www.w3.org/2005/Atom\">\n\
         <id>{own}</id>\n<title>{title}</title>\n<updated>{updated}</updated>\n\
         <author><name>{name}</name></author>\n\
         <link rel=\"self\" type=\"application/atom+xml\" href=\"{own}\"/>\n\
         <link rel=\"alternate\" type=\"text/html\" href=\"{page}\"/>\n",
        own = escaped(&own),
        title = escaped(&title),
        updated = escaped(updated.unwrap_or(UNKNOWN)),
        name = escaped(&site.name),
        page = escaped(&format!("{}{page}", site.origin)),
    );
    for entry in entries {
        push_entry(&mut xml, site, entry);
    }
    xml.push_str("</feed>\n");
    xml
}

fn push_entry(xml: &mut String, site: &Site, entry: &Entry) {
    let path = version_path(&entry.package, &entry.version);
    let link = format!("{}{path}", site.origin);
    let link = escaped(&link);
    let title = format!("{} {}", entry.package.address(), entry.version);
    let at = escaped(entry.updated_at().unwrap_or(UNKNOWN));
    let _ = write!(
        xml,
        "<entry>\n<id>{link}</id>\n<title>{}</title>\n<updated>{at}</updated>\n\
         <link rel=\"alternate\" type=\"text/html\" href=\"{link}\"/>\n",
        escaped(&title)
    );
    if entry.summary.is_empty() {
        // An entry without content needs a summary only if its link is of another kind (RFC 4287, section 4.1.2).
        xml.push_str("</entry>\n");
    } else {
        let _ = write!(
            xml,
            "<summary>{}</summary>\n</entry>\n",
            escaped(&entry.summary)
        );
    }
}
