//! The files of a module that its pages show or link: the images of its READMEs, and its licence.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use terrace_base::percent::{self, Plus};
use terrace_core::documentation::{Contents, ModuleDetails, image_type, is_license_file};
use terrace_core::limits::{ATTACHED_BYTES, PAGE_BYTES};
use terrace_metadata::{Draft, SourceFile};
use terrace_web::markdown::{Links, TargetKind, render};

use crate::source::local_paths::{Place, resolve};

/// The targets of the links and images in a document.
#[derive(Default)]
struct Targets(RefCell<BTreeSet<(String, bool)>>);

impl Links for Targets {
    fn resolve(&self, target: &str, kind: TargetKind) -> Option<String> {
        let is_image = kind == TargetKind::Image;
        self.0.borrow_mut().insert((target.to_owned(), is_image));
        None
    }
}

/// Returns the targets of the links in a document, and whether each is an image.
pub(crate) fn targets(text: &str) -> BTreeSet<(String, bool)> {
    let targets = Targets::default();
    render(text, &targets);
    targets.0.into_inner()
}

/// Returns the place in a repository that a target leads to, from a document in a directory.
pub(crate) fn place_of(target: &str, directory: &str) -> Place {
    let path = target.split(['?', '#']).next().unwrap_or(target);
    let path = percent::decoded(path, Plus::Plus).unwrap_or(path.into());
    let from = if path.starts_with('/') { "" } else { directory };
    resolve(from, &path)
}

/// Adds the files. One that is too large is left out, with a note.
pub(super) fn attach(draft: &mut Draft, sources: &[SourceFile<'_>]) {
    let Contents::Module(module) = &draft.contents else {
        return;
    };
    let mut names = shown(module);
    names.extend(
        sources
            .iter()
            .map(|it| it.path)
            .filter(|it| is_license_file(it))
            .map(str::to_owned),
    );
    let sources: BTreeMap<&str, &[u8]> = sources.iter().map(|it| (it.path, it.bytes)).collect();
    let mut left = ATTACHED_BYTES;
    for name in names {
        let (Some(bytes), Ok(path)) = (sources.get(&*name), name.parse()) else {
            continue;
        };
        let most = left.min(usize::try_from(PAGE_BYTES).unwrap_or(left));
        if bytes.len() > most {
            draft.notes.push(format!(
                "{path} was left out: an image may have {PAGE_BYTES} bytes, and all together {ATTACHED_BYTES}"
            ));
        } else if !bytes.is_empty() {
            left -= bytes.len();
            draft.attach(path, bytes);
        }
    }
}

/// Returns the paths of the images that READMEs of a module show.
fn shown(module: &ModuleDetails) -> BTreeSet<String> {
    let mut readmes = vec![(String::new(), module.root.readme.as_deref())];
    for (parent, parts) in [
        ("modules", &module.submodules),
        ("examples", &module.examples),
    ] {
        let named = parts.iter();
        readmes
            .extend(named.map(|it| (format!("{parent}/{}", it.name), it.part.readme.as_deref())));
    }
    let mut names = BTreeSet::new();
    for (directory, readme) in readmes {
        for (target, is_image) in targets(readme.unwrap_or_default()) {
            if let Place::Inside(path) = place_of(&target, &directory)
                && is_image
                && image_type(&path).is_some()
            {
                names.insert(path);
            }
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_of_readmes_and_the_licence_are_attached() {
        let readme = "![a](docs/a%20b.png?raw=true) <img src=\"./missing.png\"> ![x](https://example.com/x.png) ![c](main.tf)";
        let large = vec![b'x'; 500_001];
        let files: [(&str, &[u8]); 8] = [
            ("README.md", readme.as_bytes()),
            ("LICENSE", b"MIT"),
            ("main.tf", b""),
            ("docs/a b.png", b"a picture"),
            ("docs/unused.png", b"a picture"),
            (
                "modules/m/README.md",
                b"![d](../../docs/large.svg) ![e](/e.gif)",
            ),
            ("docs/large.svg", &large),
            ("e.gif", b"GIF"),
        ];
        let sources = files.map(|(path, bytes)| SourceFile { path, bytes });
        let mut draft = terrace_metadata::module_details(&sources);
        attach(&mut draft, &sources);
        let package = terrace_core::model::package::Package::parse_address("acme/vpc/aws").unwrap();
        let archive = draft.pack();
        let open = terrace_metadata::OpenArchive::parse(&archive.bytes, &package).unwrap();
        let Contents::Module(module) = &open.head().contents else {
            panic!("no module")
        };
        let attached = module.attachments.iter().map(|it| {
            let start = archive.head_bytes + usize::try_from(it.member.offset).unwrap();
            let end = start + usize::try_from(it.member.length).unwrap();
            (it.name.as_str(), &archive.bytes[start..end])
        });
        let expected: [(&str, &[u8]); 3] = [
            ("LICENSE", b"MIT"),
            ("docs/a b.png", b"a picture"),
            ("e.gif", b"GIF"),
        ];
        assert_eq!(attached.collect::<Vec<_>>(), expected);
        assert!(archive.head.notes[0].starts_with("docs/large.svg was left out"));
    }
}
