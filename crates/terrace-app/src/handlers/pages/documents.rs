//! The pages of documents, and their Markdown.

use terrace_core::api::details::document_path;
use terrace_core::documentation::DocumentPath;
use terrace_core::model::package::Package;
use terrace_core::read::{PageSubject, VersionView};
use terrace_web::pages::{self, ExampleFile, ShownDocument, ShownPart};
use terrace_web::{Site, rendering};

use crate::context::Context;
use crate::failure::Failure;
use crate::handlers::document::{self, RequestedDocument};
use crate::handlers::outcome::{Call, Handled};
use crate::handlers::pages::package::{release, version_view};
use crate::handlers::pages::shared::{html, site};
use crate::host::{Host, Request};

/// The file of an example that its page shows. A link leads to each other one.
const SHOWN_FILE: &str = "main.tf";

/// Shows a document: its version's index says where the text is, and one ranged read returns it.
pub(super) async fn page<P, R>(
    ctx: &Context<'_, P>,
    call: Call,
    request: R,
    requested: RequestedDocument,
) -> Handled<P::Stream>
where
    P: Host,
    R: Request<Stream = P::Stream>,
{
    // A client that asks for Markdown gets the text itself.
    if prefers_markdown(&request) {
        return document::send(ctx, call, request, requested).await;
    }
    let RequestedDocument {
        package, version, ..
    } = &requested;
    let subject = PageSubject::Document(package.clone(), version.clone());
    let found = version_view(ctx, &call, subject).await?;
    let site = site(ctx, &call.origin, &call.caller);
    let page = match package {
        Package::Module(_) => part(ctx, &site, &requested, &found.value).await?,
        Package::Provider(_) | Package::Mirrored(_) => {
            provider_document(ctx, &site, &requested, &found.value).await?
        }
    };
    html(&call, &request, found.is_private, page)
}

/// Returns the page of a provider's document.
async fn provider_document<P: Host>(
    ctx: &Context<'_, P>,
    site: &Site,
    requested: &RequestedDocument,
    view: &VersionView,
) -> Result<String, Failure> {
    let RequestedDocument {
        package,
        version,
        path,
    } = requested;
    let own = document_path(path.clone(), package, version);
    let mut documents = view.navigation.documents.iter();
    let entry = documents.find(|document| document.path == own);
    let entry = entry.ok_or_else(|| requested.missing_document())?;
    let text = document::text_in(ctx, requested, view.documentation.as_ref()).await?;
    let release = release(package, view);
    let shown = ShownDocument {
        path,
        view: entry,
        text: &rendering::document(&release, &view.navigation, path, &text),
        is_in_latest: false,
    };
    Ok(pages::document(site, &release, &view.navigation, &shown))
}

/// Returns the page of a submodule or an example.
async fn part<P: Host>(
    ctx: &Context<'_, P>,
    site: &Site,
    requested: &RequestedDocument,
    view: &VersionView,
) -> Result<String, Failure> {
    let RequestedDocument {
        package,
        version,
        path,
    } = requested;
    let module = view.details.module.as_ref();
    let parts = module.map(|module| match path {
        DocumentPath::Example(_) => (&module.examples, "examples"),
        _ => (&module.submodules, "modules"),
    });
    let (DocumentPath::Example(name) | DocumentPath::Submodule(name), Some((parts, directory))) =
        (path, parts)
    else {
        return Err(requested.missing_document().into());
    };
    let part = parts.iter().find(|part| part.name == *name);
    let part = part.ok_or_else(|| requested.missing_document())?;
    let release = release(package, view);
    let directory = format!("{directory}/{name}");
    let readme = part.part.readme.as_deref();
    let readme = readme.map(|text| rendering::readme(&release, &directory, text));
    let shown_file = match part
        .files
        .iter()
        .find(|file| file.name == format!("{name}/{SHOWN_FILE}"))
    {
        None => None,
        Some(_) => {
            let file = SHOWN_FILE.parse().map_err(Failure::corrupt)?;
            let requested = RequestedDocument {
                package: package.clone(),
                version: version.clone(),
                path: DocumentPath::ExampleFile(name.clone(), file),
            };
            Some(document::text_in(ctx, &requested, view.documentation.as_ref()).await?)
        }
    };
    let files: Vec<ExampleFile<'_>> = part
        .files
        .iter()
        .map(|file| {
            let own = file.name.rsplit('/').next().unwrap_or(&file.name);
            ExampleFile {
                name: own,
                text: shown_file.as_deref().filter(|_| own == SHOWN_FILE),
                path: &file.path,
            }
        })
        .collect();
    let shown = ShownPart {
        path,
        view: part,
        readme: readme.as_ref(),
        files: &files,
    };
    Ok(pages::module_part(site, &release, &shown))
}

/// Returns whether a client prefers Markdown to a page.
fn prefers_markdown<R: Request>(request: &R) -> bool {
    let accept = request.header("accept").unwrap_or_default();
    let place = |kind: &str| accept.split(',').position(|it| it.trim().starts_with(kind));
    match (place("text/markdown"), place("text/html")) {
        (Some(markdown), Some(html)) => markdown < html,
        (markdown, _) => markdown.is_some(),
    }
}
