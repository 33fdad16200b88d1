//! Archives: zips and gzipped tars.

use std::io::Write as _;

use terrace_archive::{
    Entry, Step, TarGzInspector, ZipInspector, check_module_archive, check_provider_package,
    inspect_tar_gz, inspect_zip, module_archive_warnings,
};

/// Inspects a zip, as a provider's package and as a module's archive.
pub fn zip(data: &[u8]) {
    for inspector in [ZipInspector::new, ZipInspector::with_contents] {
        let mut inspector = inspector(data.len() as u64);
        let mut reads = 0;
        while let Step::Read { offset, len } = inspector.next() {
            let end = offset.checked_add(len).expect("a place");
            assert!(
                end <= data.len() as u64,
                "reads {offset}+{len} of {}",
                data.len()
            );
            let (offset, end) = (offset as usize, end as usize);
            if inspector.feed(&data[offset..end]).is_err() {
                break;
            }
            reads += 1;
            assert!(reads <= 4 + data.len(), "it does not end");
        }
        if let Ok(entries) = inspector.finish() {
            judge(&entries);
        }
    }
    let _ = inspect_zip(data);
}

fn judge(entries: &[Entry]) {
    let _ = check_provider_package(entries, "widget");
    let _ = check_module_archive(entries, Some("modules/vpc"));
    let _ = module_archive_warnings(entries);
}

/// Inspects the data as a gzipped tar, and as the contents of one. It is fed in pieces as long as the first
/// byte plus one.
pub fn tar(data: &[u8]) {
    let Some((piece, data)) = data.split_first() else {
        return;
    };
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::none());
    gzip.write_all(data).expect("memory");
    let zipped = gzip.finish().expect("memory");
    for archive in [data, &zipped] {
        let mut inspector = TarGzInspector::default();
        let pieces = archive.chunks(1 + usize::from(*piece));
        let fed = pieces
            .map(|piece| inspector.feed(piece))
            .find(Result::is_err);
        let in_pieces = match fed {
            Some(error) => error.map(|()| Vec::new()),
            None => inspector.finish(),
        };
        let at_once = inspect_tar_gz(archive);
        assert_eq!(
            in_pieces.is_ok(),
            at_once.is_ok(),
            "{in_pieces:?} {at_once:?}"
        );
        if let Ok(entries) = at_once {
            judge(&entries);
        }
    }
}
