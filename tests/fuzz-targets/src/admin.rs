//! Bodies of the admin API.

use terrace_core::api::admin::{
    ErasureBody, FactBody, GarbageBody, MirrorBody, ModuleBody, ProviderBody, ReindexBody,
    RestoreBody, RotationBody, StatusBody, TokenBody, UploadsBody, VerifyBody,
};
use terrace_core::auth::access::{Scopes, TokenName};
use terrace_core::maintenance::repair::Position;
use terrace_core::model::oci::Digest;
use terrace_core::model::package::Package;
use terrace_core::model::status::{KeyState, Reason, ReleaseState};
use terrace_core::model::version::Version;
use terrace_core::publish::{MirrorPublication, ModulePublication, ProviderPublication};
use terrace_core::storage::key::{BytesKey, FactKey};

use crate::NOW;
use crate::documents::restored;

/// Parses the bodies of admin requests.
pub fn admin(data: &[u8]) {
    let version: Version = "1.2.3".parse().expect("a version");
    if let Ok(body) = serde_json::from_slice::<ProviderBody>(data) {
        let address = "acme/widget".parse().expect("an address");
        let parsed = ProviderPublication::parse(address, version.clone(), &body);
        assert!(parsed.err().is_none_or(|reasons| !reasons.is_empty()));
    }
    if let Ok(body) = serde_json::from_slice::<MirrorBody>(data) {
        let address = "registry.example.com/acme/widget"
            .parse()
            .expect("an address");
        let parsed = MirrorPublication::parse(address, version.clone(), &body, NOW);
        assert!(parsed.err().is_none_or(|reasons| !reasons.is_empty()));
    }
    if let Ok(body) = serde_json::from_slice::<ModuleBody>(data) {
        let address = "acme/vpc/aws".parse().expect("an address");
        let parsed = ModulePublication::parse(address, version, &body);
        assert!(parsed.err().is_none_or(|reasons| !reasons.is_empty()));
    }
    if let Ok(body) = serde_json::from_slice::<TokenBody>(data) {
        let _ = body.name.parse::<TokenName>();
        let _ = body.scopes.join(" ").parse::<Scopes>();
    }
    let _ = serde_json::from_slice::<RotationBody>(data);
    if let Ok(ReindexBody {
        after,
        package,
        accept_loss,
        full: _,
    }) = serde_json::from_slice(data)
    {
        let mut releases = accept_loss.iter();
        let _ = releases.all(|release| FactKey::parse_release(release).is_some());
        let _ = after.map(|after| after.parse::<Position>());
        let _ = package.and_then(|package| Package::parse_address(&package));
    }
    let _ = serde_json::from_slice::<VerifyBody>(data);
    if let Ok(GarbageBody { mark, keep, .. }) = serde_json::from_slice(data) {
        let mut keys = mark.iter().chain(&keep);
        let _ = keys.all(|key| BytesKey::parse_key(key).is_some());
    }
    if let Ok(ErasureBody {
        package,
        version,
        archives,
        contents,
        ..
    }) = serde_json::from_slice(data)
    {
        let _ = contents.iter().all(|it| Digest::parse(&it.digest).is_ok());
        let _ = package.and_then(|package| Package::parse_address(&package));
        let _ = version.map(|version| version.parse::<Version>());
        let _ = archives
            .iter()
            .all(|key| BytesKey::parse_key(key).is_some());
    }
    let _ = serde_json::from_slice::<UploadsBody>(data);
    if let Ok(RestoreBody { facts }) = serde_json::from_slice(data) {
        for FactBody { key, document } in facts {
            restored(format!("{key}\n{document}").as_bytes());
        }
    }
    if let Ok(body) = serde_json::from_slice::<StatusBody>(data) {
        if let Ok(reason) = body.reason.parse::<Reason>() {
            assert_eq!(reason.to_string(), body.reason);
        }
        let _ = (
            body.state.parse::<ReleaseState>(),
            body.state.parse::<KeyState>(),
        );
    }
}
