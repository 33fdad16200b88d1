//! Adding documentation to a version, which may be published later.

use super::Reasons;
use crate::api::admin::DocumentationBody;
use crate::model::package::Package;
use crate::model::source_url::SourceUrl;
use crate::model::version::Version;
use crate::storage::documentation::DocumentationArchive;
use terrace_base::digest::Sha256;

/// Maximum length of a licence, an SPDX expression
/// (<https://spdx.github.io/spdx-spec/v3.0.1/annexes/spdx-license-expressions/>). The longest identifiers have about 40 characters; this leaves room for two with an operator.
const LICENSE_BYTES: usize = 100;

/// A parsed request to add documentation, without any error that is visible from the request alone.
#[derive(Debug, Clone)]
pub struct DocumentationPublication {
    /// The package.
    pub package: Package,
    /// The version.
    pub version: Version,
    /// The archive.
    pub archive: DocumentationArchive,
}

impl DocumentationPublication {
    /// Parses a request. Documentation of another registry's provider is the work of others, so it must state its
    /// licence and its origin.
    ///
    /// # Errors
    /// All reasons why the request is not valid.
    pub fn parse(
        package: Package,
        version: Version,
        body: DocumentationBody,
    ) -> Result<Self, Vec<String>> {
        let DocumentationBody {
            sha256,
            size,
            head_length,
            license,
            origin,
        } = body;
        let mut reasons = Reasons::default();
        let digest = sha256.parse::<Sha256>();
        let digest = reasons.take(digest.map_err(|error| format!("sha256: {error}")));
        reasons.take(DocumentationArchive::check_lengths(size, head_length));
        if let Some(license) = license.as_deref().filter(|text| !is_spdx(text)) {
            let (shown, max) = (shown(license), LICENSE_BYTES);
            reasons.extend([format!(
                "license is {shown:?}: it must be an SPDX expression of at most {max} characters, such as MPL-2.0"
            )]);
        }
        if let Some(Err(error)) = origin.as_deref().map(str::parse::<SourceUrl>) {
            reasons.extend([format!("origin: {error}")]);
        }
        if let Package::Mirrored(address) = &package {
            for (name, value) in [("license", &license), ("origin", &origin)] {
                if value.is_none() {
                    reasons.extend([format!(
                        "{name} is missing: {address} belongs to another registry, and its documentation is shown with \
                         its licence and its origin"
                    )]);
                }
            }
        } else if origin.is_some() {
            reasons.extend(["origin is only for providers of other registries: omit it, the source of a release is part of its publish"]);
        }
        match digest {
            Some(sha256) if reasons.is_empty() => Ok(Self {
                package,
                version,
                archive: DocumentationArchive {
                    sha256,
                    size,
                    head_length,
                    license,
                    origin,
                },
            }),
            _ => Err(reasons.0),
        }
    }
}

/// Returns whether a text has the characters and the length of an SPDX licence expression
/// (<https://spdx.github.io/spdx-spec/v3.0.1/annexes/spdx-license-expressions/>).
fn is_spdx(text: &str) -> bool {
    let is_inner = |byte: u8| byte.is_ascii_alphanumeric() || b".-+:() ".contains(&byte);
    text.len() <= LICENSE_BYTES
        && text.bytes().all(is_inner)
        && text.bytes().any(|byte| byte.is_ascii_alphanumeric())
        && text.trim() == text
}

fn shown(text: &str) -> String {
    text.chars().take(LICENSE_BYTES).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body() -> DocumentationBody {
        DocumentationBody {
            sha256: "0".repeat(64),
            size: 100,
            head_length: 40,
            license: None,
            origin: None,
        }
    }

    fn parse(package: &str, body: DocumentationBody) -> Result<DocumentationArchive, String> {
        let package = Package::parse_address(package).unwrap();
        let parsed = DocumentationPublication::parse(package, "1.0.0".parse().unwrap(), body);
        parsed
            .map(|publication| publication.archive)
            .map_err(|reasons| reasons.join("\n"))
    }

    fn licensed(license: &str) -> DocumentationBody {
        DocumentationBody {
            license: Some(license.to_owned()),
            ..body()
        }
    }

    #[test]
    fn a_valid_request_is_parsed() {
        let archive = parse(
            "acme/vpc/aws",
            licensed("MIT OR (Apache-2.0 WITH LLVM-exception)"),
        );
        assert_eq!(archive.unwrap().head_length, 40);
    }

    #[test]
    fn all_reasons_are_returned_at_once() {
        let odd = DocumentationBody {
            sha256: "x".to_owned(),
            size: 0,
            ..licensed("<b>")
        };
        let reasons = parse("acme/vpc/aws", odd).unwrap_err();
        for reason in ["sha256: ", "license is \"<b>\"", "size is 0"] {
            assert!(reasons.contains(reason), "{reasons}");
        }
    }

    #[test]
    fn a_license_is_one_short_line() {
        for license in ["", " ", "MIT ", "()", "a\nb", "é", &"a".repeat(101)] {
            assert!(
                parse("acme/widget", licensed(license)).is_err(),
                "{license:?}"
            );
        }
    }

    #[test]
    fn documentation_of_another_registry_states_its_license_and_origin() {
        let mirrored = "registry.example.com/acme/widget";
        let reasons = parse(mirrored, body()).unwrap_err();
        assert!(reasons.contains("license is missing") && reasons.contains("origin is missing"));
        let mut complete = licensed("MPL-2.0");
        complete.origin = Some("https://registry.example.com/providers/acme/widget".to_owned());
        assert!(parse(mirrored, complete.clone()).is_ok());
        let reasons = parse("acme/widget", complete.clone()).unwrap_err();
        assert!(reasons.contains("origin is only for"), "{reasons}");
        complete.origin = Some("javascript:alert(1)".to_owned());
        let reasons = parse(mirrored, complete).unwrap_err();
        assert!(reasons.starts_with("origin: "), "{reasons}");
    }
}
