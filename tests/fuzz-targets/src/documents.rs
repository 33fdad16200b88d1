//! Stored documents.

use terrace_core::api::admin::{DocumentationBody, SigningKeysDocument};
use terrace_core::auth::access::{RevocationDocument, Revocations, TokenDocument};
use terrace_core::auth::oidc::{RuleDocument, RuleIndex, StoredRule};
use terrace_core::documentation::Head;
use terrace_core::index::card::{Card, ListedCard};
use terrace_core::index::catalog::{CatalogLine, MergedPart};
use terrace_core::index::overview::{Overview, OverviewVersion};
use terrace_core::index::{self, ListedRelease, PublishedDigests};
use terrace_core::maintenance::audit::{AuditChain, AuditEntry, AuditHead};
use terrace_core::maintenance::garbage::GarbageDocument;
use terrace_core::maintenance::repair::CursorDocument;
use terrace_core::maintenance::restore::{Restored, check_referrer};
use terrace_core::model::oci::UploadId;
use terrace_core::model::package::Package;
use terrace_core::model::status::{KeyStatus, ReleaseState, ReleaseStatus, StatusDocument};
use terrace_core::oci::pushed::{LinkDocument, TagDocument, UploadSession};
use terrace_core::publish::DocumentationPublication;
use terrace_core::storage::documentation::{DocumentationArchive, DocumentationDocument};
use terrace_core::storage::failover::{FailoverDocument, FallbackCopyDocument};
use terrace_core::storage::fallback::{BucketPage, keeps_versions};
use terrace_core::storage::format::FormatDocument;
use terrace_core::storage::index_document::IndexMetadata;
use terrace_core::storage::key::{FactKey, PushedFact};
use terrace_core::storage::release::Release;
use terrace_core::upstream::pull::OriginDocument;
use terrace_openpgp::parse_signing_keys;

use crate::{NOW, document, text};

/// Parses and writes the document of a release.
pub fn release(data: &[u8]) {
    let Ok(release) = Release::from_document(data) else {
        return;
    };
    let written = release.to_document();
    let again = Release::from_document(written.as_bytes()).expect("a written document");
    assert_eq!(again, release);
    assert_eq!(again.to_document(), written);
    let package = release.package();
    let listed = ListedRelease::of(&release);
    let metadata = listed.to_metadata(&package);
    let told = |name: &str| {
        let found = metadata.iter().find(|(known, _)| *known == name);
        found.map(|(_, value)| value.as_str())
    };
    // Without any protocol or platform, the metadata contains no listed release, and the document is read
    // instead.
    let read = ListedRelease::from_metadata(&package, listed.version.clone(), NOW, told);
    assert!(read.is_none_or(|read| {
        read.contents == listed.contents
            && read.source == listed.source
            && read.published == listed.published
            && read.is_erased == listed.is_erased
    }));
    let version = release.version().to_string();
    let revoked_status = StatusDocument {
        versions: [(version, revoked())].into(),
        ..StatusDocument::default()
    };
    let statuses = StatusDocument::default();
    index::of_version(&release, &[], &statuses);
    index::of_version(&release, &[], &revoked_status);
    index::lists(&package, vec![listed], &statuses);
}

fn revoked() -> ReleaseStatus {
    ReleaseStatus {
        state: ReleaseState::Revoked,
        reason: "stolen".parse().expect("a reason"),
        at: NOW,
        by: "root".to_owned(),
    }
}

/// Parses every other kind of stored document. The first byte selects the kind.
pub fn documents(data: &[u8]) {
    let Some((kind, data)) = data.split_first() else {
        return;
    };
    match kind {
        b'v' => {
            let metadata = IndexMetadata {
                etag: "\"etag\"".to_owned(),
                ..IndexMetadata::default()
            };
            let text = std::str::from_utf8(data).ok();
            let described = text.and_then(|text| PublishedDigests::parse(&metadata, text));
            // A digest is never read from a text that contains none.
            assert!(described.is_none() || data.contains(&b':'));
        }
        b'a' => {
            if let Ok(keys) = serde_json::from_slice::<SigningKeysDocument>(data) {
                for key in keys.keys.iter().chain(&keys.removed) {
                    let _ = parse_signing_keys(&key.ascii_armor);
                }
            }
            document::<SigningKeysDocument>(data);
        }
        b'b' => document::<TokenDocument>(data),
        b'c' => document::<RevocationDocument>(data),
        b'C' => {
            if let Ok(rule) = serde_json::from_slice::<RuleDocument>(data)
                && let Ok(parsed) = rule.parse()
            {
                assert_eq!(
                    StoredRule::parse(rule.kind, parsed.text()),
                    Ok(parsed.clone())
                );
            }
            document::<RuleDocument>(data);
        }
        b'D' => {
            if let Ok(index) = serde_json::from_slice::<RuleIndex>(data) {
                let _ = index.parse();
            }
            document::<RuleIndex>(data);
        }
        b'd' => document::<Revocations>(data),
        b'e' => document::<LinkDocument>(data),
        b'f' => document::<TagDocument>(data),
        b'g' => {
            if let Ok(mut session) = serde_json::from_slice::<UploadSession>(data) {
                let id = UploadId::new(NOW, [7; 16]);
                assert!(
                    session.size() >= session.chunks(id).iter().map(|it| it.1).max().unwrap_or(0)
                );
                let _ = session.add(7, &[1, u64::MAX]);
                let _ = (session.range(), session.is_empty());
            }
            document::<UploadSession>(data);
        }
        b'h' => {
            if let Ok(seen) = OriginDocument::from_document(data) {
                assert!(!format!("{seen:?}").is_empty());
            }
        }
        b'i' => {
            if let Ok(statuses) = serde_json::from_slice::<StatusDocument>(data) {
                for line in statuses.warnings("acme/widget") {
                    assert!(!line.chars().any(char::is_control), "{line:?}");
                }
            }
            document::<StatusDocument>(data);
        }
        b'j' => document::<KeyStatus>(data),
        b'k' => {
            let entries = text(data).into_iter().flat_map(|text| text.split('\n'));
            let mut chain = AuditChain::default();
            let mut walked = 0;
            for entry in entries {
                match chain.follow(entry) {
                    Ok(_) => walked += 1,
                    Err(fault) => assert!(!fault.to_string().is_empty()),
                }
            }
            assert_eq!(chain.length(), walked);
            document::<AuditEntry>(data);
        }
        b'l' => document::<AuditHead>(data),
        b'u' => document::<FormatDocument>(data),
        b'p' => document::<FailoverDocument>(data),
        b'q' => document::<FallbackCopyDocument>(data),
        b'y' => {
            let _ = text(data).and_then(keeps_versions);
            let page = text(data).and_then(|text| BucketPage::parse(text).ok());
            for (key, _) in page.iter().flat_map(|page| &page.objects) {
                assert!(!key.contains('&'), "{key:?}");
            }
        }
        b'w' => card(data),
        b'x' => {
            let part = text(data).and_then(MergedPart::parse);
            for line in part.iter().flat_map(|part| part.text.packages.lines()) {
                let _ = CatalogLine::parse(line);
            }
        }
        b'm' => head(data),
        b'n' => {
            if let Ok(documentation) = DocumentationDocument::from_document(data) {
                let written = documentation.to_document();
                let again = DocumentationDocument::from_document(written.as_bytes());
                assert_eq!(again.expect("a written document"), documentation);
            }
        }
        b'o' => documentation(data),
        b'r' => document::<CursorDocument>(data),
        b's' => document::<GarbageDocument>(data),
        b't' => restored(data),
        _ => document::<IndexMetadata>(data),
    }
}

/// Parses the head of a documentation archive, of a module and of a provider.
fn head(data: &[u8]) {
    for address in ["acme/vpc/aws", "acme/widget"] {
        let package = Package::parse_address(address).expect("an address");
        match Head::parse(data, &package, 1_000) {
            Ok(head) => {
                let written = serde_json::to_string(&head).expect("a head");
                let again = Head::parse(written.as_bytes(), &package, 1_000);
                assert_eq!(again.expect("a written head"), head);
                let described = OverviewVersion {
                    published_at: Some(NOW),
                    is_documented: true,
                    ..OverviewVersion::new("1.0.0".parse().expect("a version"))
                };
                let overview = Overview {
                    status: None,
                    versions: vec![described.clone()],
                };
                let described = Some((&described.version, &head));
                let made = Card::of(&package, &overview, described).expect("a card");
                card(made.to_document().as_bytes());
            }
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
}

/// Parses the card of a package.
fn card(data: &[u8]) {
    let Some(card) = Card::from_document(data) else {
        return;
    };
    // A line that is too long is cut once.
    let written = card.to_document();
    let again = Card::from_document(written.as_bytes()).expect("a written card");
    assert_eq!(again.to_document(), written);
    let metadata = card.metadata();
    assert!(metadata.iter().all(|(_, value)| value.is_ascii()));
    let listed = ListedCard::from_metadata(|name| {
        let found = metadata.iter().find(|(known, _)| *known == name);
        found.map(|(_, value)| value.as_str())
    });
    assert_eq!(listed, Some(again.listed()));
}

/// Parses a request to add documentation.
fn documentation(data: &[u8]) {
    let Ok(body) = serde_json::from_slice::<DocumentationBody>(data) else {
        return;
    };
    for address in ["acme/widget", "registry.example.com/acme/widget"] {
        let package = Package::parse_address(address).expect("an address");
        let version = "1.0.0".parse().expect("a version");
        match DocumentationPublication::parse(package, version, body.clone()) {
            Ok(publication) => {
                let DocumentationArchive {
                    size, head_length, ..
                } = publication.archive;
                assert!(0 < head_length && head_length <= size);
            }
            Err(reasons) => assert!(!reasons.is_empty()),
        }
    }
}

/// Restores a document of a copy. The first line is its key.
pub(crate) fn restored(data: &[u8]) {
    let Some((key, document)) = text(data).and_then(|text| text.split_once('\n')) else {
        return;
    };
    let Some(key) = FactKey::parse(key) else {
        return;
    };
    match Restored::parse(&key, document) {
        Ok(restored) => {
            let is_parsed = |change: FactKey| FactKey::parse(&change.to_string()).is_some();
            assert!(
                !restored.change.is_some_and(is_parsed),
                "a marker is not exported"
            );
        }
        Err(reason) => assert!(!reason.is_empty()),
    }
    if let FactKey::Pushed(PushedFact::Referrer(_, subject, digest)) = key {
        let manifest = document.as_bytes();
        let _ = check_referrer(document, subject, manifest, digest);
    }
}
