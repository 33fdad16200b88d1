//! The list of a module's versions, as registries send it and clients read it.

use serde::Deserialize;

#[derive(Deserialize)]
struct Document {
    // Without this attribute, a document without the member would be an empty list.
    #[serde(deserialize_with = "Option::deserialize")]
    modules: Option<Vec<Module>>,
}

#[derive(Deserialize)]
struct Module {
    versions: Option<Vec<Listed>>,
}

#[derive(Deserialize)]
struct Listed {
    version: String,
}

/// Returns the versions in the body of a response: those of the first module, as for clients.
pub(crate) fn module_versions(body: &[u8]) -> Result<Vec<String>, serde_json::Error> {
    let document: Document = serde_json::from_slice(body)?;
    let first = document.modules.into_iter().flatten().next();
    let versions = first.and_then(|it| it.versions).unwrap_or_default();
    Ok(versions.into_iter().map(|it| it.version).collect())
}

#[cfg(test)]
#[test]
fn a_list_without_versions_and_no_list_differ() {
    for body in [
        r#"{"modules":[]}"#,
        r#"{"modules":null}"#,
        r#"{"modules":[{}]}"#,
        r#"{"modules":[{"versions":null}]}"#,
        r#"{"modules":[{"versions":[]},{"versions":[{"version":"1.0.0"}]}]}"#,
    ] {
        let listed = module_versions(body.as_bytes()).unwrap();
        assert_eq!(listed, [""; 0], "{body}");
    }
    for body in [r#"{"error":"x"}"#, "{}", "[]", "null"] {
        module_versions(body.as_bytes()).unwrap_err();
    }
}
