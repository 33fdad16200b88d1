//! A copy of a boring-registry's bucket (<https://github.com/boring-registry/boring-registry>), which has
//! this layout:
//!
//! ```text
//! providers/{namespace}/signing-keys.json
//! providers/{namespace}/{type}/terraform-provider-{type}_{version}_…      zips, SHA256SUMS and signatures
//! modules/{namespace}/{name}/{system}/{namespace}-{name}-{system}-{version}.tar.gz
//! mirror/…                                                                its cache: skipped
//! ```
//!
//! Everything is published through the ordinary API, so the registry checks it as if its author had published
//! it.

use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::json;
use terrace_core::model::address::{ModuleAddress, ProviderAddress};
use terrace_core::model::name::{Hostname, Namespace};

use crate::args::{DocumentationArguments, ModuleArguments, SourceArguments};
use crate::commands::publish::module;
use crate::commands::publish::provider;
use crate::error::Failure;
use crate::output::{Output, plural, were};
use crate::registry::client::Client;
use crate::registry::publish::PublishRequest;
use crate::source::dist::Dist;
use crate::source::repository::ReleaseSource;

const KEYS: &str = "signing-keys.json";

/// The maximum number of directories that the registry's prefix in the bucket may have.
const PREFIX_PARTS: usize = 3;

/// The file extensions of module archives.
const FORMATS: [&str; 3] = [".tar.gz", ".tgz", ".zip"];

/// The contents of `signing-keys.json`: one key, or several.
#[derive(Deserialize)]
struct KeysDocument {
    #[serde(default)]
    gpg_public_keys: Vec<KeyDocument>,
    #[serde(default)]
    ascii_armor: Option<String>,
}

#[derive(Deserialize)]
struct KeyDocument {
    ascii_armor: String,
}

/// The results of the import.
#[derive(Default)]
struct Done {
    published: Vec<String>,
    unchanged: Vec<String>,
    reasons: Vec<String>,
    /// Whether the signing keys of a namespace were added.
    has_keys: bool,
    /// The number of files and directories that were skipped.
    skipped: usize,
}

/// Returns whether a directory has the layout of such a bucket.
pub(super) fn is_at(root: &Path) -> bool {
    root.join("modules").is_dir() || has_keys(root)
}

fn has_keys(root: &Path) -> bool {
    let namespaces = directories(&root.join("providers")).unwrap_or_default();
    namespaces
        .iter()
        .any(|namespace| namespace.join(KEYS).is_file())
}

/// Finds such a bucket below a directory: the registry may be stored below a prefix.
pub(super) fn find_below(root: &Path) -> Option<PathBuf> {
    let mut level = vec![root.to_owned()];
    for _ in 0..PREFIX_PARTS {
        let below = level
            .iter()
            .flat_map(|place| directories(place).unwrap_or_default());
        level = below.collect();
        // In a mirror directory a hostname may have a namespace `modules`.
        let is_hostname = |place: &PathBuf| name_of(place).parse::<Hostname>().is_ok();
        let found = level.iter().find(|place| match is_hostname(place) {
            true => has_keys(place),
            false => is_at(place),
        });
        if let Some(found) = found {
            return Some(found.clone());
        }
    }
    None
}

/// Publishes everything in the bucket. Invalid versions are reported at the end.
pub(super) fn import(root: &Path, client: &Client<'_>, output: &Output) -> Result<(), Failure> {
    let mut done = Done::default();
    let ended = import_all(root, client, output, &mut done);
    let is_empty = done.published.is_empty() && done.unchanged.is_empty() && !done.has_keys;
    if ended.is_ok() && done.reasons.is_empty() && is_empty {
        let place = root.display();
        let skipped = match done.skipped {
            0 => String::new(),
            skipped => format!(", and {} skipped", were(skipped)),
        };
        done.reasons.push(format!(
            "nothing in {place} was imported{skipped}: is it a copy of a boring-registry's bucket?"
        ));
    }
    let mut reasons = done.reasons;
    let worst = match ended {
        Err(failure) => {
            reasons.extend(failure.reasons());
            Some(failure)
        }
        Ok(()) if reasons.is_empty() => None,
        Ok(()) => Some(Failure::Refused(reasons.clone())),
    };
    let text = format!(
        "published {}; {} already published",
        plural(done.published.len(), "version"),
        were(done.unchanged.len())
    );
    let report = json!({ "published": done.published, "unchanged": done.unchanged });
    output.outcome(text, report, worst, reasons)
}

fn import_all(
    root: &Path,
    client: &Client<'_>,
    output: &Output,
    done: &mut Done,
) -> Result<(), Failure> {
    for namespace in directories(&root.join("providers"))? {
        import_namespace(&namespace, client, output, done)?;
    }
    for namespace in directories(&root.join("modules"))? {
        for name in directories(&namespace)? {
            for system in directories(&name)? {
                import_modules(&[&namespace, &name, &system], client, output, done)?;
            }
        }
    }
    if root.join("mirror").is_dir() {
        done.skipped += 1;
        output.warning(
            "mirror/ is skipped: it is a cache of other registries; create a new one with `terrace mirror`",
        );
    }
    Ok(())
}

fn import_namespace(
    directory: &Path,
    client: &Client<'_>,
    output: &Output,
    done: &mut Done,
) -> Result<(), Failure> {
    let Ok(namespace) = name_of(directory).parse::<Namespace>() else {
        done.reasons.push(format!(
            "{}: the name of the directory is not a valid namespace",
            directory.display()
        ));
        return Ok(());
    };
    let keys = directory.join(KEYS);
    if keys.is_file() {
        match armored(&keys) {
            Ok(armored) => {
                // The errors of its releases also state that no key signed them.
                match client.add_keys(&namespace, &armored) {
                    Ok(_) => {
                        done.has_keys = true;
                        output.progress(&format!("added the signing keys of {namespace}"));
                    }
                    Err(Failure::Refused(reasons)) => {
                        let message = reasons.join("; ");
                        done.reasons.push(format!("keys of {namespace}: {message}"));
                    }
                    Err(failure) => return Err(failure),
                }
            }
            Err(reason) => done.reasons.push(reason),
        }
    }
    for place in directories(directory)? {
        let found = Dist::find_all(&place).map_err(|error| unreadable(&place, &error))?;
        for dist in found {
            let request = match dist {
                Ok(dist) => {
                    let address = ProviderAddress {
                        namespace: namespace.clone(),
                        provider_type: dist.provider_type.clone(),
                    };
                    provider::prepare(&dist, &address, ReleaseSource::default(), &[], output)
                        .map(|(request, _)| request)
                }
                Err(reasons) => Err(Failure::Refused(reasons)),
            };
            publish(request, &place, client, output, done)?;
        }
    }
    Ok(())
}

fn import_modules(
    [namespace, name, system]: &[&Path; 3],
    client: &Client<'_>,
    output: &Output,
    done: &mut Done,
) -> Result<(), Failure> {
    let parts = [name_of(namespace), name_of(name), name_of(system)];
    let Ok(address) = parts.join("/").parse::<ModuleAddress>() else {
        done.reasons.push(format!(
            "{}: the names of the directories are not a valid module address",
            system.display()
        ));
        return Ok(());
    };
    let prefix = format!("{}-", parts.join("-"));
    for path in files(system)? {
        let file = name_of(&path);
        let version = file.strip_prefix(&prefix);
        let version = version.and_then(|rest| FORMATS.iter().find_map(|it| rest.strip_suffix(it)));
        let Some(version) = version.and_then(|version| version.parse().ok()) else {
            done.skipped += 1;
            output.warning(&format!(
                "{} is skipped: it is not a version of {address}",
                path.display()
            ));
            continue;
        };
        let arguments = ModuleArguments {
            path: path.clone(),
            address: address.clone(),
            version,
            subdir: None,
            // The copy of a bucket does not belong to a repository.
            source: SourceArguments {
                no_source: true,
                ..SourceArguments::default()
            },
            documentation: DocumentationArguments::default(),
            allow_secrets: Vec::new(),
            allow_unparsed: Vec::new(),
            dry_run: false,
        };
        publish(
            module::prepare(&arguments, output),
            &path,
            client,
            output,
            done,
        )?;
    }
    Ok(())
}

/// Publishes a version. The import goes on after an invalid version, and ends if the registry is unavailable.
fn publish(
    request: Result<PublishRequest, Failure>,
    place: &Path,
    client: &Client<'_>,
    output: &Output,
    done: &mut Done,
) -> Result<(), Failure> {
    let sent = request.and_then(|request| {
        let receipt = request.send(client, output, || Ok(()))?;
        Ok((format!("{} {}", request.address, request.version), receipt))
    });
    match sent {
        Ok((what, receipt)) => {
            for warning in &receipt.warnings {
                output.warning(&format!("{what}: {warning}"));
            }
            output.progress(&format!("{what}: {}", receipt.status));
            match receipt.status {
                "created" => done.published.push(what),
                _ => done.unchanged.push(what),
            }
        }
        Err(failure @ (Failure::Refused(_) | Failure::Erased(_) | Failure::Conflict(_))) => {
            let place = place.display();
            let reasons = failure.reasons().into_iter();
            done.reasons
                .extend(reasons.map(|reason| format!("{place}: {reason}")));
        }
        Err(failure) => return Err(failure),
    }
    Ok(())
}

fn armored(path: &Path) -> Result<String, String> {
    let message = |reason: &dyn ToString| format!("{}: {}", path.display(), reason.to_string());
    let bytes = fs::read(path).map_err(|error| message(&error))?;
    let keys: KeysDocument = serde_json::from_slice(&bytes).map_err(|error| message(&error))?;
    let several = keys.gpg_public_keys.into_iter().map(|key| key.ascii_armor);
    let all: Vec<String> = several.chain(keys.ascii_armor).collect();
    match all.is_empty() {
        true => Err(message(&"the file contains no key")),
        false => Ok(all.join("\n")),
    }
}

fn directories(place: &Path) -> Result<Vec<PathBuf>, Failure> {
    entries(place, Path::is_dir)
}

fn files(place: &Path) -> Result<Vec<PathBuf>, Failure> {
    entries(place, Path::is_file)
}

/// Returns the entries of a directory that `is_wanted` accepts, sorted; none if the directory does not exist.
fn entries(place: &Path, is_wanted: fn(&Path) -> bool) -> Result<Vec<PathBuf>, Failure> {
    if !place.is_dir() {
        return Ok(Vec::new());
    }
    let mut found = Vec::new();
    for entry in fs::read_dir(place).map_err(|error| unreadable(place, &error))? {
        let path = entry.map_err(|error| unreadable(place, &error))?.path();
        if is_wanted(&path) {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

fn unreadable(place: &Path, error: &std::io::Error) -> Failure {
    Failure::refused(format!("{}: {error}", place.display()))
}

fn name_of(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}
