//! The pages of documents, and their Markdown.

use terrace_core::read::PageSubject;
use terrace_web::views::DocumentPage;

use crate::context::Context;
use crate::documentation::document;
use crate::documentation::document::RequestedDocument;
use crate::host::{Host, Request};
use crate::outcome::{Call, Handled};
use crate::pages::package::version_view;
use crate::pages::shared::{chosen_by_accept, html, prefers_markdown, site_of};

/// Shows a document: its version's index says where the text is, and one ranged read returns it.
pub(super) async fn page<P: Host, R: Request<Stream = P::Stream>>(
    ctx: &Context<'_, P>,
    call: Call,
    request: R,
    requested: RequestedDocument,
) -> Handled<P::Stream> {
    // A client that asks for Markdown gets the text itself.
    if prefers_markdown(&request) {
        let sent = document::send(ctx, call, request, requested).await;
        return sent.map(chosen_by_accept);
    }
    let RequestedDocument {
        package, version, ..
    } = &requested;
    let subject = PageSubject::Document(package.clone(), version.clone());
    let found = version_view(ctx, &call, subject).await?;
    let page = DocumentPage::find(package, &found.value, &requested.path);
    let page = page.ok_or_else(|| requested.missing_document())?;
    let text = match page.source() {
        None => None,
        Some(path) => {
            let source = RequestedDocument::new(package.clone(), version.clone(), path);
            let documentation = found.value.documentation.as_ref();
            Some(document::text_in(ctx, &source, documentation).await?)
        }
    };
    let site = site_of(ctx, &call, found.is_private);
    let page = page.render(&site, text.as_deref());
    html(&call, &request, found.is_private, page).map(chosen_by_accept)
}
