//! Marks, keeps and removes garbage at the request of a client, which has looked for what refers to it.

use terrace_core::api::admin::{GarbageAnswer, GarbageBody, MarkedBody};
use terrace_core::http::problem::Problem;
use terrace_core::limits;
use terrace_core::storage::key::{ArchiveKey, BytesKey};

use crate::body::check_count;
use crate::context::Context;
use crate::host::Host;
use crate::json;
use crate::outcome::{Call, Handled};
use crate::removal::garbage;

/// `POST /admin/v1/garbage`: the client has examined everything that refers to bytes.
pub(crate) async fn change<P: Host>(ctx: &Context<'_, P>, call: Call) -> Handled<P::Stream> {
    let GarbageBody { mark, keep, remove } = json::parse(&call.body)?;
    let count = mark.len() + keep.len() + remove.len();
    check_count(count, limits::GARBAGE_AT_ONCE)?;
    // All keys are parsed first, so that a rejected request changes nothing.
    let read = |texts: Vec<String>| {
        let keys = texts.into_iter().map(|text| Ok((bytes(&text)?, text)));
        keys.collect::<Result<Vec<_>, Problem>>()
    };
    let (mark, keep) = (read(mark)?, read(keep)?);
    let read = |MarkedBody { key, marked_at }| Ok((bytes(&key)?, key, marked_at));
    let remove = remove.into_iter().map(read);
    let remove = remove.collect::<Result<Vec<_>, Problem>>()?;
    let mut answer = GarbageAnswer::default();
    for (bytes, text) in mark {
        let list = match garbage::mark(ctx, bytes).await? {
            true => &mut answer.marked,
            false => &mut answer.spared,
        };
        list.push(text);
    }
    for (bytes, text) in keep {
        let list = match garbage::unmark(ctx, bytes).await? {
            true => &mut answer.kept,
            false => &mut answer.spared,
        };
        list.push(text);
    }
    for (bytes, text, marked_at) in remove {
        let list = match garbage::remove_marked(ctx, bytes, marked_at).await? {
            true => &mut answer.removed,
            false => &mut answer.spared,
        };
        list.push(text);
    }
    Ok(json::reply(200, &answer)?.into())
}

fn bytes(text: &str) -> Result<BytesKey, Problem> {
    match BytesKey::parse_key(text) {
        Some(blob @ BytesKey::Blob(_)) => Ok(blob),
        _ => archive(text).map(BytesKey::from),
    }
}

pub(crate) fn archive(text: &str) -> Result<ArchiveKey, Problem> {
    match BytesKey::parse_key(text) {
        Some(BytesKey::Archive(archive)) => Ok(archive),
        _ => Err(Problem::BadRequest(format!(
            "{text:?} is not the key of an archive: it must be archives/<sha256>.<zip, tar.gz, SHA256SUMS, sig or docs>"
        ))),
    }
}
