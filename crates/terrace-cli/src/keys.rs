//! `terrace key`.

use std::fs;
use std::io::Read as _;
use std::path::Path;

use terrace_core::admin::SigningKeysDocument;
use terrace_core::name::Namespace;
use terrace_core::openpgp::{KeyId, SigningKey, parse_signing_keys};

use crate::client::Client;
use crate::error::Failure;
use crate::output::Output;

/// Lets a key sign for a namespace.
pub(crate) fn add(
    client: &Client,
    namespace: &Namespace,
    file: &Path,
    output: &Output,
) -> Result<(), Failure> {
    let text = read(file)?;
    let keys = parse_signing_keys(&text)
        .map_err(|error| Failure::refused(format!("{}: {error}", file.display())))?;
    let body = Some((text.as_str(), "application/pgp-keys"));
    let document = parse(&client.expect_ok("PUT", &path(namespace), body)?)?;
    let ids: Vec<String> = keys.iter().map(|key| key.key_id().to_string()).collect();
    output.result(
        &format!("{} may sign for {namespace}", ids.join(", ")),
        &document,
    );
    Ok(())
}

/// Shows who may sign for a namespace.
pub(crate) fn list(client: &Client, namespace: &Namespace, output: &Output) -> Result<(), Failure> {
    let document = parse(&client.expect_ok("GET", &path(namespace), None)?)?;
    let lines: Vec<String> = document
        .keys
        .iter()
        .map(|key| format!("{}  fingerprint {}", key.key_id, key.fingerprint))
        .collect();
    let text = if lines.is_empty() {
        format!("namespace {namespace} has no signing keys")
    } else {
        lines.join("\n")
    };
    output.result(&text, &document);
    Ok(())
}

/// Stops a key from signing for a namespace.
pub(crate) fn remove(
    client: &Client,
    namespace: &Namespace,
    key_id: KeyId,
    output: &Output,
) -> Result<(), Failure> {
    let path = format!("{}/{key_id}", path(namespace));
    let document = parse(&client.expect_ok("DELETE", &path, None)?)?;
    let text = format!("{key_id} no longer signs for {namespace}; what it signed stays published");
    output.result(&text, &document);
    Ok(())
}

/// The keys of a namespace, ready to verify with.
pub(crate) fn signing_keys(
    client: &Client,
    namespace: &Namespace,
) -> Result<Vec<SigningKey>, Failure> {
    let document = parse(&client.expect_ok("GET", &path(namespace), None)?)?;
    let mut keys = Vec::new();
    for key in &document.keys {
        let parsed = parse_signing_keys(&key.ascii_armor)
            .map_err(|error| Failure::Unexpected(format!("key {}: {error}", key.key_id)))?;
        keys.extend(parsed);
    }
    Ok(keys)
}

fn path(namespace: &Namespace) -> String {
    format!("/admin/v1/namespaces/{namespace}/keys")
}

fn parse(text: &str) -> Result<SigningKeysDocument, Failure> {
    serde_json::from_str(text).map_err(|error| {
        Failure::Unexpected(format!("the registry's answer is not understood: {error}"))
    })
}

fn read(file: &Path) -> Result<String, Failure> {
    if file == Path::new("-") {
        let mut text = String::new();
        let read = std::io::stdin().read_to_string(&mut text);
        return read
            .map(|_| text)
            .map_err(|error| Failure::file(file, &error));
    }
    fs::read_to_string(file).map_err(|error| Failure::file(file, &error))
}
