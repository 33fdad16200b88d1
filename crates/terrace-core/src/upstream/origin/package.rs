//! A package of a version, with all its signed documents (clients.md 2.2, 2.3).

use serde::Deserialize;

use super::discovery::is_clean;
use super::{Fetch, Fetched, OriginError, Service, URL_RULE, invalid, shortened};
use crate::limits;
use crate::model::address::MirroredAddress;
use crate::model::platform::Platform;
use crate::model::protocol_version::ProtocolVersion;
use crate::model::shasums::{FILE_NAME_RULE, Shasums, is_file_name};
use crate::model::version::Version;
use crate::storage::release::SigningKeyDocument;
use crate::upstream::origin::ORIGIN_PACKAGE_BYTES;
use terrace_base::digest::Sha256;
use terrace_base::sort;
use terrace_base::time::UnixTime;
use terrace_openpgp as openpgp;
use terrace_openpgp::{OpenPgpError, SigningKey};

/// The rule for digests.
const DIGEST_RULE: &str = "it must be a SHA-256 digest of 64 hexadecimal digits";

/// Maximum size of another registry's signature file that is read. [`terrace_openpgp::limits`] accepts less;
/// a file between the two limits gets a specific error.
const ORIGIN_SIGNATURE_BYTES: u64 = 64 * 1024;

/// The only registry from which clients install providers without a signature, if it lists no key (OpenTofu,
/// `ShouldEnforceGPGValidationForProvider`; clients.md 2.3.6).
const MAY_BE_UNSIGNED: &str = "registry.opentofu.org";

/// A platform's zip that clients would accept, if it has the promised digest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OriginPackage {
    /// The platform that it runs on.
    pub platform: Platform,
    /// The file name in SHA256SUMS, which its publisher chose.
    pub filename: String,
    /// The digest of the zip, in its description and in SHA256SUMS.
    pub sha256: Sha256,
    /// The request for the zip. Its contents are not checked yet.
    pub download: Fetch,
    /// The plugin protocols, ascending; the origin may list none.
    pub protocols: Vec<ProtocolVersion>,
    /// The exact text of SHA256SUMS, which lists the zip.
    pub shasums: Shasums,
    /// The signature of SHA256SUMS; `None` for some providers of registry.opentofu.org.
    pub signed: Option<SignedDocuments>,
    /// Warnings about properties that clients accept, but that they or their users may object to later.
    pub warnings: Vec<String>,
}

/// A signature that clients accept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignedDocuments {
    /// The signature in its binary form.
    pub signature: Vec<u8>,
    /// The key that made the signature.
    pub key: SigningKeyDocument,
}

/// Requests a package from an origin: its description, SHA256SUMS, and the signature of that.
///
/// It parses each response and decides the next request; the caller makes the requests.
#[derive(Debug)]
pub struct PackageInquiry {
    address: MirroredAddress,
    platform: Platform,
    now: UnixTime,
    known: Vec<OriginPackage>,
    state: State,
}

#[derive(Debug)]
enum State {
    Description(Fetch),
    Shasums(Description),
    Signature(Description, Shasums),
}

/// A verified signature with warnings about its key; `None` if the package is not signed.
type Verified = Option<(SignedDocuments, Vec<String>)>;

/// The parsed description of a package.
#[derive(Debug, Clone)]
struct Description {
    /// The URL of the description: relative URLs are relative to it.
    url: String,
    filename: String,
    sha256: Sha256,
    protocols: Vec<ProtocolVersion>,
    download_url: String,
    shasums_url: String,
    signature_url: String,
    keys: Vec<String>,
}

/// The description as sent. `key_id`, `trust_signature` and `packages` are not parsed: no client reads the
/// first, and the others add nothing to the signature.
#[derive(Deserialize)]
struct Document {
    protocols: Option<Vec<String>>,
    os: String,
    arch: String,
    filename: String,
    download_url: String,
    shasum: String,
    shasums_url: String,
    shasums_signature_url: String,
    signing_keys: Option<KeysBody>,
}

#[derive(Deserialize)]
struct KeysBody {
    gpg_public_keys: Option<Vec<KeyBody>>,
}

#[derive(Deserialize)]
struct KeyBody {
    ascii_armor: String,
}

impl PackageInquiry {
    /// The name of the first fetched resource: a 404 means that this platform has no package.
    pub const DESCRIPTION: &str = "package description";

    /// Begins the inquiry for a package of a version in the origin's list. `now` is the time for the expiry
    /// of signatures and keys.
    pub fn new(
        service: &Service,
        address: MirroredAddress,
        version: &Version,
        platform: Platform,
        now: UnixTime,
    ) -> Self {
        let (provider, os, arch) = (&address.provider, platform.os(), platform.arch());
        let fetch = service.fetch(
            &format!("{provider}/{version}/download/{os}/{arch}"),
            ORIGIN_PACKAGE_BYTES,
            Self::DESCRIPTION,
        );
        Self {
            address,
            platform,
            now,
            known: Vec::new(),
            state: State::Description(fetch),
        }
    }

    /// Returns the inquiry with other packages of the version: their SHA256SUMS is not requested again if it lists this one and
    /// one of its keys signed it.
    #[must_use]
    pub fn knowing(self, known: &[OriginPackage]) -> Self {
        let known = known.to_vec();
        Self { known, ..self }
    }

    /// Returns the next request.
    pub fn next(&self) -> Fetch {
        match &self.state {
            State::Description(fetch) => fetch.clone(),
            State::Shasums(description) => description.fetch_shasums(),
            State::Signature(description, _) => description.fetch_signature(),
        }
    }

    /// Takes the response to the request of [`next`](Self::next), and returns the package after the last one. The checks are in
    /// the order of the clients (clients.md 2.3).
    ///
    /// # Errors
    /// The reason why clients would not accept the package. It ends the inquiry.
    pub fn feed(&mut self, fetched: &Fetched) -> Result<Option<OriginPackage>, OriginError> {
        self.state = match &self.state {
            State::Description(fetch) => {
                let document = fetch.take_json(fetched)?;
                let description = self.understand(document, &fetched.final_url)?;
                let accepted = self.known.iter().find_map(|known| {
                    let signed = self.confirm(&description, known)?;
                    Some(self.accept(&description, known.shasums.clone(), signed))
                });
                if accepted.is_some() {
                    return Ok(accepted);
                }
                State::Shasums(description)
            }
            State::Shasums(description) => {
                let shasums = description.read_shasums(fetched)?;
                if description.keys.is_empty() {
                    if self.address.hostname.as_str() != MAY_BE_UNSIGNED {
                        let reason = "the origin lists no signing keys, which clients accept only from registry.opentofu.org";
                        return Err(OriginError::Unusable(reason.to_owned()));
                    }
                    return Ok(Some(self.accept(description, shasums, None)));
                }
                State::Signature(description.clone(), shasums)
            }
            State::Signature(description, shasums) => {
                let signature = description.fetch_signature().take(fetched)?;
                let signed = shasums.as_str().as_bytes();
                let verified = verify(&description.keys, signed, signature, self.now)?;
                let shasums = shasums.clone();
                return Ok(Some(self.accept(description, shasums, Some(verified))));
            }
        };
        Ok(None)
    }

    /// Returns the signature of a known SHA256SUMS if it lists the package and one of the description's own keys made it.
    fn confirm(&self, description: &Description, known: &OriginPackage) -> Option<Verified> {
        let listed = known.shasums.digest_of(&description.filename)?;
        let signed = known.shasums.as_str().as_bytes();
        match &known.signed {
            _ if listed != description.sha256 => None,
            None => description.keys.is_empty().then_some(None),
            Some(SignedDocuments { signature, .. }) => {
                let verified = verify(&description.keys, signed, signature, self.now);
                verified.ok().map(Some)
            }
        }
    }

    fn understand(&self, document: Document, url: &str) -> Result<Description, OriginError> {
        let Document { os, arch, .. } = &document;
        if os != self.platform.os() || arch != self.platform.arch() {
            let (wanted, os, arch) = (&self.platform, shortened(os), shortened(arch));
            return Err(OriginError::Unusable(format!(
                "{wanted} was requested, but the origin returned a package for os {os:?} and arch {arch:?}"
            )));
        }
        if !is_file_name(&document.filename) {
            return Err(invalid("filename", &document.filename, FILE_NAME_RULE));
        }
        let sha256 = document
            .shasum
            .parse()
            .map_err(|_| invalid("shasum", &document.shasum, DIGEST_RULE))?;
        let keys = document.signing_keys.and_then(|keys| keys.gpg_public_keys);
        let keys = keys.unwrap_or_default();
        check_number("signing keys", keys.len(), limits::KEYS)?;
        Ok(Description {
            url: url.to_owned(),
            filename: document.filename,
            sha256,
            protocols: protocols(&document.protocols.unwrap_or_default())?,
            download_url: reference("download_url", document.download_url)?,
            shasums_url: reference("shasums_url", document.shasums_url)?,
            signature_url: reference("shasums_signature_url", document.shasums_signature_url)?,
            keys: keys.into_iter().map(|key| key.ascii_armor).collect(),
        })
    }

    fn accept(
        &self,
        description: &Description,
        shasums: Shasums,
        verified: Verified,
    ) -> OriginPackage {
        let (signed, warnings) = match verified {
            Some((signed, warnings)) => (Some(signed), warnings),
            None => (None, vec![format!("{} is not signed", self.address)]),
        };
        OriginPackage {
            platform: self.platform.clone(),
            filename: description.filename.clone(),
            sha256: description.sha256,
            download: description.fetch_zip(),
            protocols: description.protocols.clone(),
            shasums,
            signed,
            warnings,
        }
    }
}

impl Description {
    fn fetch_shasums(&self) -> Fetch {
        let max_bytes = limits::SHASUMS_BYTES as u64;
        self.fetch(&self.shasums_url, max_bytes, "SHA256SUMS")
    }

    fn fetch_signature(&self) -> Fetch {
        let max_bytes = ORIGIN_SIGNATURE_BYTES;
        self.fetch(&self.signature_url, max_bytes, "signature of SHA256SUMS")
    }

    fn fetch_zip(&self) -> Fetch {
        self.fetch(&self.download_url, limits::ARCHIVE_BYTES, "zip")
    }

    fn fetch(&self, reference: &str, max_bytes: u64, what: &'static str) -> Fetch {
        Fetch {
            base: Some(self.url.clone()),
            reference: reference.to_owned(),
            max_bytes,
            with_token: false,
            what,
        }
    }

    fn read_shasums(&self, fetched: &Fetched) -> Result<Shasums, OriginError> {
        let fetch = self.fetch_shasums();
        let text = str::from_utf8(fetch.take(fetched)?);
        let text = text.map_err(|_| fetch.unparsed("it is not UTF-8"))?;
        let shasums = Shasums::parse(text).map_err(|errors| {
            let errors = errors.iter().take(limits::REASONS);
            let errors: Vec<String> = errors.map(ToString::to_string).collect();
            OriginError::Unusable(errors.join("; "))
        })?;
        let (filename, stated) = (&self.filename, self.sha256);
        match shasums.digest_of(filename) {
            Some(listed) if listed == stated => Ok(shasums),
            Some(listed) => Err(OriginError::Unusable(format!(
                "{filename}: SHA256SUMS lists the sha256 {listed}, but the origin states {stated}"
            ))),
            None => Err(OriginError::Unusable(format!(
                "SHA256SUMS does not list {filename}"
            ))),
        }
    }
}

/// Tries the keys one after another, as Terraform's `findSigningKey` does: a key that did not make the
/// signature is skipped, and every other error is final (clients.md 2.3.5).
fn verify(
    keys: &[String],
    signed: &[u8],
    signature: &[u8],
    now: UnixTime,
) -> Result<(SignedDocuments, Vec<String>), OriginError> {
    let mut issuers = Vec::new();
    let mut named = Vec::new();
    for (index, text) in keys.iter().enumerate() {
        let key = match openpgp::parse_signing_keys(first_block(text)) {
            Ok(keys) => keys,
            Err(error) if is_passed_over(&error) => {
                named.push(format!(
                    "number {}, which cannot be used ({error})",
                    index + 1
                ));
                continue;
            }
            Err(error) => {
                let place = index + 1;
                return Err(OriginError::Unusable(format!(
                    "signing key number {place}: {error}"
                )));
            }
        };
        match openpgp::verify_detached(&key, signed, signature, now.0) {
            Ok(verified) => {
                let signed = SignedDocuments {
                    signature: signature.to_vec(),
                    key: verified.key.into(),
                };
                return Ok((signed, verified.warnings));
            }
            Err(OpenPgpError::UnknownIssuer { issuers: made, .. }) => {
                issuers = made;
                named.extend(key.iter().map(|key: &SigningKey| key.key_id().to_string()));
            }
            Err(error) => {
                let reason = format!("signature of SHA256SUMS: {error}");
                return Err(OriginError::Unusable(reason));
            }
        }
    }
    let issuers: Vec<String> = issuers.iter().map(ToString::to_string).collect();
    let issuers = match issuers.is_empty() {
        true => "another key".to_owned(),
        false => issuers.join(", "),
    };
    Err(OriginError::Unusable(format!(
        "SHA256SUMS is signed by {issuers}, but the origin lists only the keys {}",
        named.join(", ")
    )))
}

/// Returns the first key block of a text: clients ignore the others (clients.md 2.3.5).
fn first_block(text: &str) -> &str {
    const END: &str = "-----END PGP PUBLIC KEY BLOCK-----";
    text.find(END)
        .and_then(|at| text.get(..at + END.len()))
        .unwrap_or(text)
}

/// Returns whether clients can parse this key, although they accept no signature by it.
fn is_passed_over(error: &OpenPgpError) -> bool {
    matches!(
        error,
        OpenPgpError::NoSigningKey(_)
            | OpenPgpError::RevokedKey(_)
            | OpenPgpError::UncheckableKey { .. }
    )
}

/// Rejects a list that is longer than that of any publisher.
fn check_number(what: &str, number: usize, max: usize) -> Result<(), OriginError> {
    if number > max {
        return Err(OriginError::Unusable(format!(
            "the origin lists {number} {what}, at most {max} are allowed"
        )));
    }
    Ok(())
}

/// Parses plugin protocols. Clients also accept `5` as `5.0`.
fn protocols(texts: &[String]) -> Result<Vec<ProtocolVersion>, OriginError> {
    check_number("protocols", texts.len(), limits::PROTOCOLS)?;
    let read = |text: &String| {
        let whole = if text.contains('.') {
            text.clone()
        } else {
            format!("{text}.0")
        };
        whole
            .parse()
            .map_err(|_| invalid("a protocol", text, "it must be of the form MAJOR.MINOR"))
    };
    let mut protocols = texts
        .iter()
        .map(read)
        .collect::<Result<Vec<ProtocolVersion>, _>>()?;
    sort::sort(&mut protocols);
    protocols.dedup();
    // Clients do not check an empty list (clients.md 2.2.3).
    if !protocols.is_empty() && !protocols.iter().any(|p| p.is_supported_by_clients()) {
        let texts: Vec<String> = protocols.iter().map(ToString::to_string).collect();
        return Err(OriginError::Unusable(format!(
            "none of the protocols {} is at least 5.0 and below 7.0, the range that terraform and tofu support",
            texts.join(", ")
        )));
    }
    Ok(protocols)
}

fn reference(field: &'static str, value: String) -> Result<String, OriginError> {
    match is_clean(&value) {
        true => Ok(value),
        false => Err(invalid(field, &value, URL_RULE)),
    }
}

#[cfg(test)]
mod tests;
