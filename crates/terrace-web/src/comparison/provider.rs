//! The comparison of providers.

use terrace_core::api::details::{
    DocumentView, Navigation, PlatformView, SymbolView, VersionDetails,
};
use terrace_core::documentation::DocumentationKind;
use terrace_core::model::protocol_version::ProtocolVersion;

use super::{Comparison, Rules};
use crate::text::kind_heading;

/// A version of a provider, with its documents.
#[derive(Debug, Clone, Copy)]
pub struct ProviderVersion<'a> {
    /// The details.
    pub details: &'a VersionDetails,
    /// The documents and symbols.
    pub navigation: &'a Navigation,
}

/// Compares two versions of a provider: its symbols by kind, its documents, platforms and protocols. Symbols and documents
/// are compared if both versions have any, because a version without documentation still has its resources.
pub fn providers(old: ProviderVersion<'_>, new: ProviderVersion<'_>) -> Comparison {
    let mut comparison = Comparison::default();
    let (old_docs, new_docs) = (old.navigation, new.navigation);
    let have_symbols = !old_docs.symbols.is_empty() && !new_docs.symbols.is_empty();
    let have_documents = !old_docs.documents.is_empty() && !new_docs.documents.is_empty();
    for kind in DocumentationKind::ALL {
        let title = kind_heading(kind);
        if have_symbols && !matches!(kind, DocumentationKind::Overview | DocumentationKind::Guide) {
            let of = |all: &[SymbolView]| {
                let of_kind = all.iter().filter(|it| it.kind == kind);
                of_kind.cloned().collect::<Vec<_>>()
            };
            comparison.add(
                title,
                &of(&old_docs.symbols),
                &of(&new_docs.symbols),
                &SYMBOLS,
            );
        } else if have_documents {
            let of = |all: &[DocumentView]| {
                let of_kind = all.iter().filter(|it| it.kind == kind.as_str());
                of_kind.cloned().collect::<Vec<_>>()
            };
            comparison.add(
                title,
                &of(&old_docs.documents),
                &of(&new_docs.documents),
                &DOCUMENTS,
            );
        }
    }
    let (old, new) = (old.details, new.details);
    // A revoked version has no list of platforms.
    if !old.platforms.is_empty() && !new.platforms.is_empty() {
        comparison.add("Platforms", &old.platforms, &new.platforms, &PLATFORMS);
    }
    if !old.protocols.is_empty() && !new.protocols.is_empty() {
        comparison.add(
            "Plugin protocols",
            &old.protocols,
            &new.protocols,
            &PROTOCOLS,
        );
    }
    comparison
}

const SYMBOLS: Rules<SymbolView> = Rules {
    name: |it| it.name.clone(),
    fields: |_| Vec::new(),
    is_breaking: |_, new| new.is_none(),
};

const DOCUMENTS: Rules<DocumentView> = Rules {
    name: |it| it.name.clone(),
    fields: |it| {
        vec![
            ("title", it.title.clone()),
            ("description", it.description.clone()),
        ]
    },
    is_breaking: |_, _| false,
};

const PLATFORMS: Rules<PlatformView> = Rules {
    name: |it| format!("{}_{}", it.os, it.arch),
    fields: |_| Vec::new(),
    is_breaking: |_, new| new.is_none(),
};

const PROTOCOLS: Rules<ProtocolVersion> = Rules {
    name: ToString::to_string,
    fields: |_| Vec::new(),
    is_breaking: |_, new| new.is_none(),
};
