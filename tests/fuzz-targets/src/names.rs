//! Short texts: versions, addresses, names, digests.

use terrace_base::digest::Sha256;
use terrace_core::auth::access::{OwnerPattern, Scope, TokenName};
use terrace_core::auth::login::{Challenge, ClientState, LoopbackRedirect, Verifier};
use terrace_core::http::request_line::ClientProduct;
use terrace_core::maintenance::repair::Position;
use terrace_core::model::address::{MirroredAddress, ModuleAddress, ProviderAddress};
use terrace_core::model::commit::CommitId;
use terrace_core::model::name::{Hostname, Namespace};
use terrace_core::model::package::Package;
use terrace_core::model::package_hash::PackageHash;
use terrace_core::model::platform::Platform;
use terrace_core::model::protocol_version::ProtocolVersion;
use terrace_core::model::provenance::ClaimText;
use terrace_core::model::source_url::SourceUrl;
use terrace_core::model::status::{KeyState, Reason, ReleaseState};
use terrace_core::model::subdir::Subdir;
use terrace_core::model::version::Version;
use terrace_core::search::{Cursor, Query, SearchKind, pieces};
use terrace_core::storage::key::{ArchiveKey, BytesKey, FactKey, IndexKey};
use terrace_core::upstream::origin::Constraints;
use terrace_core::upstream::pull::{ProviderPattern, VersionPattern};
use terrace_openpgp::KeyId;

use crate::{round_trip, text};

/// Parses every kind of short text: versions, addresses, names, digests.
pub fn names(data: &[u8]) {
    let Some(text) = text(data) else { return };
    round_trip::<Version>(text);
    if let Ok(version) = Version::parse_request(text) {
        round_trip::<Version>(&version.to_string());
    }
    round_trip::<Cursor>(text);
    let _ = text.parse::<SearchKind>();
    if let Ok(query) = text.parse::<Query>() {
        assert_eq!(pieces(text, &query).concat(), text);
    }
    round_trip::<ProviderAddress>(text);
    round_trip::<MirroredAddress>(text);
    round_trip::<ModuleAddress>(text);
    round_trip::<Hostname>(text);
    round_trip::<Namespace>(text);
    round_trip::<Platform>(text);
    round_trip::<ProtocolVersion>(text);
    round_trip::<Sha256>(text);
    round_trip::<PackageHash>(text);
    round_trip::<SourceUrl>(text);
    round_trip::<CommitId>(text);
    round_trip::<ClaimText>(text);
    round_trip::<KeyId>(text);
    // An archive's key is written with its prefix, but parsed from its file name.
    if let Ok(archive) = text.parse::<ArchiveKey>() {
        assert_eq!(archive.file_name().parse(), Ok(archive));
    }
    if let Some(key) = FactKey::parse(text) {
        assert_eq!(key.to_string(), text);
    }
    if let Some(key) = IndexKey::parse(text) {
        assert_eq!(key.to_string(), text);
    }
    if let Some(key) = BytesKey::parse_key(text) {
        assert_eq!(key.to_string(), text);
    }
    if let Some(package) = Package::parse_key(text) {
        assert_eq!(package.to_string(), text);
    }
    if let Some(package) = Package::parse_address(text) {
        assert_eq!(Package::parse_address(&package.address()), Some(package));
    }
    if let Ok(position) = text.parse::<Position>() {
        assert_eq!(position.to_string().parse(), Ok(position));
    }
    let client = ClientProduct::of_user_agent(Some(text));
    let is_known = |it: &str| it.bytes().all(|byte| byte.is_ascii_graphic());
    assert!(is_known(client.product()), "{client:?}");
    if let Ok(key) = text.parse::<BytesKey>() {
        assert_eq!(key.file_name(), text);
    }
    if let Ok(subdir) = text.parse::<Subdir>() {
        assert!(!subdir.as_str().split('/').any(|part| part == ".."));
    }
    if let Ok(constraints) = text.parse::<Constraints>() {
        let version: Version = "1.2.3".parse().expect("a version");
        let _ = constraints.admit(&version);
    }
    let _ = (
        text.parse::<ProviderPattern>(),
        text.parse::<VersionPattern>(),
    );
    let _ = text.parse::<OwnerPattern>();
    round_trip::<Scope>(text);
    round_trip::<TokenName>(text);
    round_trip::<ReleaseState>(text);
    round_trip::<KeyState>(text);
    round_trip::<Reason>(text);
    round_trip::<LoopbackRedirect>(text);
    round_trip::<Challenge>(text);
    round_trip::<ClientState>(text);
    if let Ok(verifier) = text.parse::<Verifier>() {
        assert!(verifier.challenge().is_of(&verifier));
    }
}
