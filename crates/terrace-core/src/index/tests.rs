use super::listed::{CONTENTS, PROTOCOLS, PUBLISHED, SOURCE, split};
use super::*;
use crate::model::provenance::tests::{COMMIT as JOB_COMMIT, provenance};
use crate::model::source::SourceDocument;
use crate::pinned::assert_pinned;
use proptest::prelude::*;
use terrace_base::time::UnixTime;

fn listed(version: &str, protocols: &str, platforms: &str) -> ListedRelease {
    ListedRelease {
        published: Some(UnixTime(1_800_000_000)),
        protocols: split(protocols).unwrap_or_default(),
        platforms: split(platforms).unwrap_or_default(),
        contents: vec!["0123456789".to_owned()],
        ..ListedRelease::new(version.parse().unwrap())
    }
}

fn verified() -> SourceDocument {
    let job = provenance();
    SourceDocument::claimed(job.url.clone().unwrap(), None).verified_by(&job)
}

fn provider() -> Package {
    Package::Provider("acme/widget".parse().unwrap())
}

#[test]
fn a_provider_list_follows_the_protocol_in_ascending_order_2_1_1_2_1_3() {
    let releases = vec![
        listed("1.10.0", "5.0,6.0", "linux_amd64,darwin_arm64"),
        listed("1.2.0", "5.0", "linux_amd64"),
    ];
    let lists = lists(&provider(), releases, &StatusDocument::default());
    assert_eq!(
        lists[0].1.text,
        r#"{"versions":[{"version":"1.2.0","protocols":["5.0"],"platforms":[{"os":"linux","arch":"amd64"}]},{"version":"1.10.0","protocols":["5.0","6.0"],"platforms":[{"os":"linux","arch":"amd64"},{"os":"darwin","arch":"arm64"}]}]}"#
    );
    assert_eq!(lists[1].1.text, r#"{"versions":{"1.2.0":{},"1.10.0":{}}}"#);
}

#[test]
fn a_mirrored_provider_has_only_the_lists_of_the_mirror_and_of_tags_5_3_6_3() {
    let package = Package::Mirrored("registry.example.com/acme/widget".parse().unwrap());
    // A version without contents is no artifact, so it has no tag.
    let without = ListedRelease::new("2.0.0".parse().unwrap());
    let releases = vec![listed("1.0.0+b", "", ""), without];
    let lists = lists(&package, releases, &StatusDocument::default());
    assert_eq!(lists.len(), 2);
    assert_eq!(lists[0].0, IndexKey::MirrorVersions(package.clone()));
    assert_eq!(lists[0].1.text, r#"{"versions":{"1.0.0+b":{},"2.0.0":{}}}"#);
    let name = oci::repository_of(&package);
    assert_eq!(lists[1].0, IndexKey::Tags(package));
    let text = format!(r#"{{"name":"{name}","tags":["1.0.0_b"]}}"#);
    assert_eq!(lists[1].1.text, text);
}

#[test]
fn a_module_list_follows_the_protocol_3_1() {
    let package = Package::Module("acme/vpc/aws".parse().unwrap());
    let releases = vec![listed("1.0.0", "", ""), listed("0.9.0", "", "")];
    let lists = lists(&package, releases, &StatusDocument::default());
    assert_eq!(
        lists[0].1.text,
        r#"{"modules":[{"versions":[{"version":"0.9.0"},{"version":"1.0.0"}]}]}"#
    );
}

#[test]
fn a_module_list_names_the_repository_of_the_newest_version_that_has_one_10_2() {
    let package = Package::Module("acme/vpc/aws".parse().unwrap());
    let from = |version, source: &str| ListedRelease {
        source: source
            .parse()
            .ok()
            .map(|url| SourceDocument::claimed(url, None)),
        ..listed(version, "", "")
    };
    let releases = vec![
        from("1.1.0", "https://example.com/new"),
        from("1.0.0", "https://example.com/old"),
        from("1.2.0", ""),
    ];
    let lists = lists(&package, releases, &StatusDocument::default());
    assert_eq!(
        lists[0].1.text,
        r#"{"modules":[{"versions":[{"version":"1.0.0"},{"version":"1.1.0"},{"version":"1.2.0"}],"source":"https://example.com/new"}]}"#
    );
}

#[test]
fn a_package_without_releases_has_no_list_2_1_6() {
    assert_eq!(
        lists(&provider(), Vec::new(), &StatusDocument::default()),
        []
    );
}

#[test]
fn the_metadata_of_a_hosted_provider_is_pinned() {
    let mut release = listed("1.0.0", "5.0,6.0", "linux_amd64,darwin_arm64");
    release.contents = vec!["e3b0c44298".to_owned()];
    release.signing_key = Some("1DCFB46346EDC30F".parse().unwrap());
    let metadata = release.to_metadata(&provider()).into_iter();
    let metadata: Vec<String> = metadata.map(|(k, v)| format!("{k}={v}")).collect();
    assert_pinned(
        &metadata.join("; "),
        "contents=e3b0c44298; protocols=5.0,6.0; platforms=linux_amd64,darwin_arm64; \
         key=1DCFB46346EDC30F; published=1800000000",
    );
    release.source = Some(verified());
    let metadata = release.to_metadata(&provider()).into_iter();
    let metadata: Vec<String> = metadata.map(|(k, v)| format!("{k}={v}")).collect();
    assert_pinned(
        &metadata[4..].join("; "),
        &format!(
            "source=https://github.com/acme/widget; commit={JOB_COMMIT}; verified=true; published=1800000000"
        ),
    );
}

#[test]
fn a_release_without_a_time_in_its_metadata_has_that_of_its_object() {
    let package = Package::Module("acme/vpc/aws".parse().unwrap());
    let of_object = |metadata: &[(&str, &'static str)]| {
        let value = |name: &str| {
            let found = metadata.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| *value)
        };
        let version = "1.0.0".parse().unwrap();
        ListedRelease::from_metadata(&package, version, UnixTime(7), value).unwrap()
    };
    let older = of_object(&[(CONTENTS, "-"), (SOURCE, "https://example.com/vpc")]);
    assert_eq!(older.published, Some(UnixTime(7)));
    assert!(older.source.unwrap().claimed);
    let damaged = of_object(&[(CONTENTS, "-"), (PUBLISHED, "soon")]);
    assert_eq!(damaged.published, Some(UnixTime(7)));
    let newer = of_object(&[(CONTENTS, "-"), (PUBLISHED, "5")]);
    assert_eq!(newer.published, Some(UnixTime(5)));
}

#[test]
fn metadata_of_another_form_is_rejected() {
    let version: Version = "1.0.0".parse().unwrap();
    let read = |protocols: &'static str, platforms: &'static str| {
        ListedRelease::from_metadata(&provider(), version.clone(), UnixTime(0), |name| {
            Some(if name == PROTOCOLS {
                protocols
            } else {
                platforms
            })
        })
    };
    assert!(read("5.0", "linux_amd64").is_some());
    assert!(read("five", "linux_amd64").is_none());
    assert!(read("5.0", "linux").is_none());
    assert!(
        ListedRelease::from_metadata(&provider(), version.clone(), UnixTime(0), |_| None).is_none()
    );
}

proptest! {
    #[test]
    fn metadata_is_parsed_as_written(
        protocols in proptest::collection::vec("[56]\\.[0-9]", 1..3),
        platforms in proptest::collection::vec("[a-z]{2,8}_[a-z0-9]{2,8}", 1..5),
        is_verified in proptest::option::of(any::<bool>()),
    ) {
        let mut release = listed("1.0.0", &protocols.join(","), &platforms.join(","));
        release.source = is_verified.map(|is_verified| SourceDocument {
            claimed: !is_verified,
            ..verified()
        });
        let metadata = release.to_metadata(&provider());
        let read = ListedRelease::from_metadata(&provider(), release.version.clone(), UnixTime(0), |name| {
            metadata.iter().find(|(known, _)| *known == name).map(|(_, value)| value.as_str())
        });
        prop_assert_eq!(read, Some(release));
    }
}
