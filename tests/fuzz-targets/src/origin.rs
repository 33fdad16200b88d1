//! Responses of other registries.

use terrace_core::model::address::MirroredAddress;
use terrace_core::upstream::origin::{Fetched, OriginVersions, PublishedVersion, Service};

/// Parses the responses of other registries.
pub fn origin(data: &[u8]) {
    let fetched = Fetched {
        status: 200,
        final_url: "https://registry.example.com/v1/".to_owned(),
        content_type: Some("application/json".to_owned()),
        body: data.to_vec(),
    };
    let _ = Service::read(&fetched);
    let discovered = Fetched {
        body: br#"{"providers.v1":"/v1/providers/"}"#.to_vec(),
        ..fetched.clone()
    };
    let service = Service::read(&discovered).expect("a service");
    let address: MirroredAddress = "registry.example.com/acme/widget"
        .parse()
        .expect("an address");
    let fetch = OriginVersions::ask(&service, &address);
    let _ = OriginVersions::read(&fetch, &fetched);
    let version = "1.2.0".parse().expect("a version");
    let fetch = PublishedVersion::ask(&service, &address.provider, &version);
    PublishedVersion::read(&fetch, &fetched, &version);
}
