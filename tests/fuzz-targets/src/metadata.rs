//! Documentation of modules and providers.

use terrace_core::documentation::{Contents, Head};
use terrace_core::limits::DOCUMENTATION_HEAD_BYTES;
use terrace_core::model::package::Package;
use terrace_metadata::{
    Draft, OpenArchive, ProviderOptions, Schema, SourceFile, module_details, provider_details,
};

/// Extracts a module of files that are all the same.
pub fn module(data: &[u8]) {
    let paths = [
        "main.tf",
        "main.tf.json",
        "override.tf",
        "README.md",
        "modules/a/main.tofu",
        "examples/a/main.tf",
    ];
    let draft = module_details(&paths.map(|path| SourceFile { path, bytes: data }));
    is_read_as_packed(
        draft,
        &Package::Module("acme/vpc/aws".parse().expect("a name")),
    );
}

/// Extracts a provider from a page, and from a schema after the first zero byte.
pub fn provider(data: &[u8]) {
    let (page, schema) = crate::split(data, 0);
    let schema = Schema::parse(schema, "widget").ok();
    let options = ProviderOptions {
        provider_type: "widget",
        schema: schema.as_ref(),
    };
    let paths = [
        "docs/index.md",
        "docs/resources/a.md",
        "docs/functions/b.md",
    ];
    let draft = provider_details(&paths.map(|path| SourceFile { path, bytes: page }), options);
    is_read_as_packed(
        draft,
        &Package::Provider("acme/widget".parse().expect("a name")),
    );
}

fn is_read_as_packed(draft: Draft, package: &Package) {
    let pages = draft.pages.clone();
    let archive = draft.pack();
    let open = OpenArchive::parse(&archive.bytes, package).expect("an archive");
    assert_eq!(*open.head(), archive.head);
    assert!(serde_json::to_vec(open.head()).expect("a head").len() <= DOCUMENTATION_HEAD_BYTES);
    for (member, page) in members(open.head()).into_iter().zip(pages) {
        assert_eq!(open.page(member).expect("a page"), page);
    }
}

fn members(head: &Head) -> Vec<terrace_core::documentation::Member> {
    match &head.contents {
        Contents::Module(module) => module.files().map(|file| file.member).collect(),
        Contents::Provider(provider) => provider.pages.iter().map(|page| page.member).collect(),
    }
}
