//! `terrace publish module`.

use std::collections::BTreeMap;

use terrace_core::admin::{ModuleArchiveBody, ModuleBody};
use terrace_core::archive::ArchiveFormat;
use terrace_core::publish::{ModulePublication, Publication};

use crate::args::ModuleArguments;
use crate::client::Client;
use crate::error::Failure;
use crate::output::Output;
use crate::pack::pack;
use crate::provider::check_contents;
use crate::publish::{publish as send, report_dry_run};
use crate::source::{Archive, Source};

/// Publishes a directory or an archive as a module.
pub(crate) fn publish(
    arguments: &ModuleArguments,
    client: impl Fn() -> Result<Client, Failure>,
    output: &Output,
) -> Result<(), Failure> {
    let ModuleArguments {
        address, version, ..
    } = arguments;
    output.progress(&format!("checking {address} {version}"));
    let (format, source) = source(arguments, output)?;
    let archive = Archive::of(source)?;
    let body = ModuleBody {
        archive: ModuleArchiveBody {
            format: format.as_str().to_owned(),
            sha256: archive.sha256.to_string(),
            size: archive.size,
        },
        subdir: arguments.subdir.as_ref().map(ToString::to_string),
    };
    let publication = ModulePublication::parse(address.clone(), version.clone(), &body)
        .map_err(Failure::Refused)?;
    let publication = Publication::Module(publication);
    let archives = BTreeMap::from([(archive.sha256.to_string(), archive)]);
    check_contents(&publication, &archives, output)?;

    if arguments.dry_run {
        let list: Vec<_> = publication
            .archives()
            .into_iter()
            .filter_map(|expected| {
                let archive = archives.get(&expected.key.digest.to_string())?;
                Some((expected.filename, archive))
            })
            .collect();
        report_dry_run(&address.to_string(), &version.to_string(), &list, output);
        return Ok(());
    }
    let path = format!("/admin/v1/modules/{address}/{version}");
    let text = serde_json::to_string(&body).map_err(|e| Failure::Unexpected(e.to_string()))?;
    send(&client()?, &path, &text, &archives, output)
}

fn source(
    arguments: &ModuleArguments,
    output: &Output,
) -> Result<(ArchiveFormat, Source), Failure> {
    let path = &arguments.path;
    if path.is_dir() {
        let packed = pack(path)?;
        output.progress(&format!("packed {} files", packed.files));
        return Ok((ArchiveFormat::Zip, Source::Bytes(packed.zip)));
    }
    let format = path
        .file_name()
        .and_then(|name| ArchiveFormat::of_file_name(&name.to_string_lossy()));
    match format {
        Some(format) => Ok((format, Source::File(path.clone()))),
        None => Err(Failure::refused(format!(
            "{} is neither a directory nor a .zip, .tar.gz or .tgz file",
            path.display()
        ))),
    }
}
