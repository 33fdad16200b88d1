//! The benchmarked values: releases as publishers create them, and listings of them.

use terrace_archive::ArchiveFormat;
use terrace_base::digest::Sha256;
use terrace_base::time::UnixTime;
use terrace_core::index::{ListedRelease, PublicationTime};
use terrace_core::model::package::Package;
use terrace_core::model::package_hash::PackageHash;
use terrace_core::model::platform::Platform;
use terrace_core::model::version::Version;
use terrace_core::storage::release::{
    MirroredContents, MirroredRelease, ModuleArchiveDocument, ModuleRelease, PackageDocument,
    ProviderContents, ProviderRelease, Release, SignedDocument, SigningKeyDocument,
};

pub(crate) const NOW: UnixTime = UnixTime(1_800_000_000);

/// The registry's own URL, as its clients reach it.
pub(crate) const ORIGIN: &str = "https://registry.example.com";

/// The platforms that GoReleaser builds of a provider with HashiCorp's own configuration.
const PLATFORMS: [&str; 15] = [
    "darwin_amd64",
    "darwin_arm64",
    "freebsd_386",
    "freebsd_amd64",
    "freebsd_arm",
    "freebsd_arm64",
    "linux_386",
    "linux_amd64",
    "linux_arm",
    "linux_arm64",
    "openbsd_386",
    "openbsd_amd64",
    "windows_386",
    "windows_amd64",
    "windows_arm64",
];

fn platforms() -> Vec<Platform> {
    PLATFORMS.map(|text| text.parse().unwrap()).into()
}

pub(crate) fn version(text: &str) -> Version {
    text.parse().unwrap()
}

/// Returns a provider of this registry, for 15 platforms.
pub(crate) fn provider() -> Release {
    let contents = ProviderContents {
        protocols: vec!["5.0".parse().unwrap(), "6.0".parse().unwrap()],
        shasums: Sha256::of(b"shasums"),
        signature: Sha256::of(b"signature"),
        packages: packages(),
        source: None,
        provenance: None,
        manifest_missing: false,
    };
    let address = "acme/widget".parse().unwrap();
    let release = ProviderRelease::new(address, version("1.2.3"), contents, signing_key(), NOW);
    Release::Provider(release)
}

/// Returns the same provider of another registry.
pub(crate) fn mirrored() -> Release {
    let contents = MirroredContents {
        protocols: vec!["5.0".parse().unwrap()],
        signed: Some(SignedDocument {
            shasums: Sha256::of(b"shasums"),
            signature: Sha256::of(b"signature"),
            signing_key: signing_key(),
        }),
        packages: packages(),
    };
    let address = "registry.opentofu.org/acme/widget".parse().unwrap();
    Release::Mirrored(MirroredRelease::new(
        address,
        version("1.2.3"),
        contents,
        NOW,
    ))
}

pub(crate) fn module() -> Release {
    let archive = ModuleArchiveDocument {
        format: ArchiveFormat::Zip,
        sha256: Sha256::of(b"a zip"),
        size: 10_000,
        subdir: None,
    };
    let address = "acme/network/aws".parse().unwrap();
    Release::Module(ModuleRelease::new(address, version("1.2.3"), archive, NOW))
}

fn packages() -> Vec<PackageDocument> {
    let package = |platform: Platform| {
        let filename = format!("terraform-provider-widget_1.2.3_{platform}.zip");
        let sha256 = Sha256::of(filename.as_bytes());
        PackageDocument {
            h1: Some(PackageHash::H1(sha256)),
            size: 20_000_000,
            platform,
            filename,
            sha256,
        }
    };
    platforms().into_iter().map(package).collect()
}

/// Returns a key about as long as an RSA key of 4,096 bits.
pub(crate) fn signing_key() -> SigningKeyDocument {
    let line = "mQINBGB9+xkBEACabYZOWKmgZsHTdRDiyPJxhbuUiKX65GUWkyRMJKi/1dviVxOX\n";
    SigningKeyDocument {
        key_id: "51852D87348FFC4C".parse().unwrap(),
        fingerprint: "91a6e7f85d05c65630bef18951852d87348ffc4c".to_owned(),
        ascii_armor: format!(
            "-----BEGIN PGP PUBLIC KEY BLOCK-----\n\n{}-----END PGP PUBLIC KEY BLOCK-----\n",
            line.repeat(24)
        ),
    }
}

/// Returns the listing of that many versions of a package, in the order of their texts.
pub(crate) fn listed(package: &Package, count: usize) -> Vec<ListedRelease> {
    let is_provider = matches!(package, Package::Provider(_));
    let mut all: Vec<ListedRelease> = (0..count)
        .map(|number| ListedRelease {
            source: None,
            published: Some(PublicationTime::Exact(NOW)),
            is_erased: false,
            tarball: None,
            version: version(&format!("1.{}.{}", number / 10, number % 10)),
            protocols: match is_provider {
                true => vec!["5.0".parse().unwrap()],
                false => Vec::new(),
            },
            platforms: match is_provider {
                true => platforms(),
                false => Vec::new(),
            },
            contents: vec!["0123456789".to_owned(), "abcdef0123".to_owned()],
            signing_key: None,
        })
        .collect();
    all.sort_by_key(|listed| listed.version.to_string());
    all
}
