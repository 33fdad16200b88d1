//! URLs that the Worker signs itself, for registries without S3 keys.
//!
//! The token is in the path, so that go-getter's re-encoding of queries cannot affect it and the path keeps
//! its extension (clients.md 4.2, 4.6). A URL is valid for one object and one method, until its expiry:
//! `/archives/{expires}/{hmac}/{sha256}.{extension}`.

use crate::model::address::{MirroredAddress, ProviderAddress};
use crate::model::package::PulledPackage;
use crate::storage::key::BytesKey;
use terrace_base::digest::Sha256;
use terrace_base::mac::{MacKey, hmac};
use terrace_base::secret::Secret;
use terrace_base::time::UnixTime;
use terrace_presign::SignedMethod;

/// Path prefix of all URLs of stored objects.
pub const SIGNED_PATH_PREFIX: &str = "/archives/";

/// Path prefix of pull-through URLs, for packages that are not stored yet.
pub const PULL_PREFIX: &str = "/pull/";

/// Signs and verifies the paths of archives.
#[derive(Debug, Clone)]
pub struct PathSigner {
    key: MacKey,
}

/// A signed path as requested; [`PathSigner::check`] verifies it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SignedPath {
    /// The object.
    pub object: BytesKey,
    expires: UnixTime,
    mac: Sha256,
}

/// The path of a pull-through URL as requested: below [`PULL_PREFIX`],
/// `{expires}/{hmac}/{hostname}/{namespace}/{type}/{version}/{os}_{arch}.zip`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PullPath {
    /// The package to pull.
    pub package: PulledPackage,
    expires: UnixTime,
    mac: Sha256,
}

/// Reasons to reject a signed path. All are a 403 to the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SignedPathError {
    /// The path has expired.
    #[error("this URL has expired: ask the registry for a new one")]
    Expired,
    /// The registry did not sign the path for this object, method and size.
    #[error("the signature of this URL does not match")]
    Signature,
}

impl PathSigner {
    /// Creates a signer with a key derived from `secret`, so that the secret can serve other purposes too.
    pub fn new(secret: &Secret) -> Self {
        let derived = hmac(secret.expose().as_bytes(), b"terrace archive URL 1");
        Self {
            key: MacKey::new(Sha256::from_bytes(derived).to_string().as_bytes()),
        }
    }

    /// Returns a path that allows downloading an object (GET and HEAD).
    pub fn download(&self, object: impl Into<BytesKey>, expires: UnixTime) -> String {
        self.path(SignedMethod::Get, object.into(), 0, expires)
    }

    /// Returns a path that allows uploading exactly `size` bytes as an object.
    pub fn upload(&self, object: impl Into<BytesKey>, size: u64, expires: UnixTime) -> String {
        self.path(SignedMethod::Put, object.into(), size, expires)
    }

    /// Checks that `path` allows `method` now. `size` is the length of an upload, 0 for a download.
    ///
    /// # Errors
    /// If the signature does not match, or the path has expired.
    pub fn check(
        &self,
        path: &SignedPath,
        method: SignedMethod,
        size: u64,
        now: UnixTime,
    ) -> Result<(), SignedPathError> {
        let message = message(method, path.object, size, path.expires);
        self.verify(&message, path.mac, path.expires, now)
    }

    /// Returns a path that allows pulling a package.
    pub fn pull(&self, package: &PulledPackage, expires: UnixTime) -> String {
        let message = pull_message(package, expires);
        let mac = Sha256::from_bytes(self.key.sign(message.as_bytes()));
        format!("{PULL_PREFIX}{}/{mac}/{package}.zip", expires.0)
    }

    /// Checks that `path` allows pulling its package now.
    ///
    /// # Errors
    /// If the signature does not match, or the path has expired.
    pub fn check_pull(&self, path: &PullPath, now: UnixTime) -> Result<(), SignedPathError> {
        let message = pull_message(&path.package, path.expires);
        self.verify(&message, path.mac, path.expires, now)
    }

    fn verify(
        &self,
        message: &str,
        mac: Sha256,
        expires: UnixTime,
        now: UnixTime,
    ) -> Result<(), SignedPathError> {
        if !self.key.has_signed(message.as_bytes(), mac.as_bytes()) {
            return Err(SignedPathError::Signature);
        }
        if now > expires {
            return Err(SignedPathError::Expired);
        }
        Ok(())
    }

    fn path(&self, method: SignedMethod, object: BytesKey, size: u64, expires: UnixTime) -> String {
        let message = message(method, object, size, expires);
        let mac = Sha256::from_bytes(self.key.sign(message.as_bytes()));
        format!(
            "{SIGNED_PATH_PREFIX}{}/{mac}/{}",
            expires.0,
            object.file_name()
        )
    }
}

fn message(method: SignedMethod, object: BytesKey, size: u64, expires: UnixTime) -> String {
    let method = method.as_str();
    format!("{method}\n{object}\n{size}\n{}", expires.0)
}

fn pull_message(package: &PulledPackage, expires: UnixTime) -> String {
    format!("PULL\n{package}\n{}", expires.0)
}

impl PullPath {
    /// Parses the segments after [`PULL_PREFIX`]; `None` if they have another shape.
    pub fn parse(expires: &str, mac: &str, package: [&str; 5]) -> Option<Self> {
        let [hostname, namespace, provider_type, version, file] = package;
        let provider = ProviderAddress {
            namespace: namespace.parse().ok()?,
            provider_type: provider_type.parse().ok()?,
        };
        let hostname = hostname.parse().ok()?;
        Some(Self {
            package: PulledPackage {
                address: MirroredAddress { hostname, provider },
                version: version.parse().ok()?,
                platform: file.strip_suffix(".zip")?.parse().ok()?,
            },
            expires: parse_expires(expires)?,
            mac: parse_mac(mac)?,
        })
    }
}

fn parse_expires(text: &str) -> Option<UnixTime> {
    let canonical = text.len() <= 12 && !text.starts_with(['0', '+']);
    canonical.then(|| text.parse().ok().map(UnixTime))?
}

fn parse_mac(text: &str) -> Option<Sha256> {
    let canonical = !text.bytes().any(|byte| byte.is_ascii_uppercase());
    canonical.then(|| text.parse().ok())?
}

impl SignedPath {
    /// Returns the time at which the path expires.
    pub fn expires(&self) -> UnixTime {
        self.expires
    }

    /// Parses the three segments after [`SIGNED_PATH_PREFIX`]; `None` if they have another shape.
    pub fn parse(expires: &str, mac: &str, file_name: &str) -> Option<Self> {
        Some(Self {
            object: file_name.parse().ok()?,
            expires: parse_expires(expires)?,
            mac: parse_mac(mac)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::key::{ArchiveKey, ArchiveKind};
    use terrace_archive::ArchiveFormat;

    const NOW: UnixTime = UnixTime(1_800_000_000);

    fn archive(content: &[u8]) -> ArchiveKey {
        ArchiveKey::of(content, ArchiveKind::Archive(ArchiveFormat::Zip))
    }

    fn read(path: &str) -> SignedPath {
        let mut parts = path.strip_prefix(SIGNED_PATH_PREFIX).unwrap().split('/');
        let mut next = || parts.next().unwrap();
        SignedPath::parse(next(), next(), next()).unwrap()
    }

    #[test]
    fn a_path_is_valid_for_its_object_method_and_time_only() {
        use SignedMethod::{Get, Put};
        let signer = PathSigner::new(&Secret::new("s"));
        let get = read(&signer.download(archive(b"a"), NOW.plus(10)));
        let put = read(&signer.upload(archive(b"a"), 1, NOW));
        let foreign = PathSigner::new(&Secret::new("t")).download(archive(b"a"), NOW);
        let object = archive(b"b").into();
        let expires = NOW.plus(99);
        let unsigned = Err(SignedPathError::Signature);
        for (path, method, size, seconds, expected) in [
            (get, Get, 0, 0, Ok(())),
            (get, Get, 0, 10, Ok(())),
            (get, Get, 0, 11, Err(SignedPathError::Expired)),
            (get, Put, 0, 0, unsigned),
            (SignedPath { object, ..get }, Get, 0, 0, unsigned),
            (SignedPath { expires, ..get }, Get, 0, 0, unsigned),
            (put, Put, 1, 0, Ok(())),
            (put, Put, 2, 0, unsigned),
            (put, Get, 1, 0, unsigned),
            (read(&foreign), Get, 0, 0, unsigned),
        ] {
            let checked = signer.check(&path, method, size, NOW.plus(seconds));
            assert_eq!(checked, expected, "{path:?} {method:?} {size} {seconds}");
        }
    }

    #[test]
    fn malformed_segments_are_rejected() {
        let mac = "0".repeat(64);
        let name = archive(b"a").file_name();
        assert!(SignedPath::parse("1800000000", &mac, &name).is_some());
        for (expires, mac, name) in [
            ("", mac.as_str(), name.as_str()),
            ("01800000000", &mac, &name),
            ("+1800000000", &mac, &name),
            ("-1", &mac, &name),
            ("9999999999999", &mac, &name),
            ("1800000000", "", &name),
            ("1800000000", &mac, "x.zip"),
        ] {
            assert!(
                SignedPath::parse(expires, mac, name).is_none(),
                "{expires} {mac} {name}"
            );
        }
    }

    fn pull_path(path: &str) -> Option<PullPath> {
        let parts: Vec<&str> = path.strip_prefix(PULL_PREFIX)?.split('/').collect();
        let [expires, mac, package @ ..] = parts.as_slice() else {
            return None;
        };
        PullPath::parse(expires, mac, package.try_into().ok()?)
    }

    /// Each part of the path is signed.
    #[test]
    fn a_pull_path_is_valid_for_one_package_until_its_expiry() {
        let signer = PathSigner::new(&Secret::new("s"));
        let package = PulledPackage {
            address: "registry.example.com/acme/widget".parse().unwrap(),
            version: "1.0.0+b".parse().unwrap(),
            platform: "linux_amd64".parse().unwrap(),
        };
        let path = signer.pull(&package, NOW);
        let check = |path: &str, now| signer.check_pull(&pull_path(path).unwrap(), now);
        assert_eq!(pull_path(&path).unwrap().package, package);
        assert_eq!(check(&path, NOW), Ok(()));
        assert_eq!(check(&path, NOW.plus(1)), Err(SignedPathError::Expired));
        for (from, to) in [
            ("1800000000", "1800000001"),
            ("registry.example.com", "registry.example.net"),
            ("acme", "acne"),
            ("widget", "gadget"),
            ("1.0.0+b", "1.0.0+c"),
            ("linux", "darwin"),
            ("amd64", "arm64"),
        ] {
            let other = path.replacen(from, to, 1);
            assert_ne!(other, path);
            assert_eq!(check(&other, NOW), Err(SignedPathError::Signature), "{to}");
        }
        let other = PathSigner::new(&Secret::new("t"));
        let parsed = pull_path(&path).unwrap();
        assert_eq!(
            other.check_pull(&parsed, NOW),
            Err(SignedPathError::Signature)
        );
    }
}
