//! Responses, as hyper sends them.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use hyper::StatusCode;
use hyper::body::{Body, Frame, SizeHint};
use hyper::header::{HeaderName, HeaderValue};
use terrace_core::http::problem::Problem;
use terrace_core::http::reply;
use terrace_core::http::reply::Reply;

use crate::limits::SMALL_REPLY_BYTES;
use crate::shares::Share;
use crate::stream::ByteStream;

/// The body of a response.
pub(crate) enum ReplyBody {
    /// No further bytes.
    Empty,
    /// A text, sent at once.
    Text(Bytes),
    /// A stream, of which hyper asks for the next chunk when the client has accepted the last one.
    Stream(ByteStream),
}

impl Body for ReplyBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        match &mut *self {
            Self::Empty => Poll::Ready(None),
            Self::Text(text) => {
                let text = std::mem::take(text);
                *self = Self::Empty;
                Poll::Ready(Some(Ok(Frame::data(text))))
            }
            Self::Stream(stream) => {
                let chunk = stream.as_mut().poll_next(context);
                chunk.map(|chunk| chunk.map(|chunk| chunk.map(Frame::data)))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Self::Empty)
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Empty => SizeHint::with_exact(0),
            Self::Text(text) => SizeHint::with_exact(text.len() as u64),
            Self::Stream(_) => SizeHint::default(),
        }
    }
}

fn crowded() -> Reply<ByteStream> {
    Problem::Unavailable(
        "too many responses wait for clients that do not accept them: send the same request again later"
            .to_owned(),
    )
    .reply()
}

/// A text that waits for its client.
struct Waiting {
    text: String,
    _share: Share,
}

impl AsRef<[u8]> for Waiting {
    fn as_ref(&self) -> &[u8] {
        self.text.as_bytes()
    }
}

/// Converts a reply into a response. Its headers are exactly those of the reply, and `Date`. `take` returns the share of
/// memory for a long text, which is held until the client has accepted the text.
pub(crate) fn respond(
    reply: Reply<ByteStream>,
    take: &dyn Fn(usize) -> Option<Share>,
) -> hyper::Response<ReplyBody> {
    let body = match reply.body {
        reply::Body::Empty => ReplyBody::Empty,
        reply::Body::Text(text) if text.is_empty() => ReplyBody::Empty,
        reply::Body::Text(text) if text.len() <= SMALL_REPLY_BYTES => ReplyBody::Text(text.into()),
        reply::Body::Text(text) => match take(text.capacity()) {
            Some(_share) => ReplyBody::Text(Bytes::from_owner(Waiting { text, _share })),
            None => return respond(crowded(), take),
        },
        reply::Body::Stream(stream) => ReplyBody::Stream(stream),
    };
    let mut response = hyper::Response::new(body);
    *response.status_mut() =
        StatusCode::from_u16(reply.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    for (name, value) in reply.headers {
        // The core creates no other values.
        if let Ok(value) = HeaderValue::from_bytes(value.as_bytes()) {
            response
                .headers_mut()
                .insert(HeaderName::from_static(name), value);
        }
    }
    response
}

#[cfg(test)]
mod tests {
    use terrace_core::http::reply::CachePolicy;

    use super::*;
    use crate::shares::Shares;

    #[test]
    fn long_replies_wait_up_to_a_number_of_bytes() {
        let shares = Shares::new(SMALL_REPLY_BYTES * 3);
        let page = |length: usize| {
            let text = reply::Body::Text("x".repeat(length));
            let reply = Reply::new(200, CachePolicy::NoStore).with_body(text);
            respond(reply, &|bytes| shares.take(None, bytes))
        };
        let waiting = [page(SMALL_REPLY_BYTES + 1), page(SMALL_REPLY_BYTES + 1)];
        assert!(waiting.iter().all(|page| page.status() == 200));
        assert_eq!(page(SMALL_REPLY_BYTES + 1).status(), 503);
        assert_eq!(page(SMALL_REPLY_BYTES).status(), 200);
        drop(waiting);
        assert_eq!(page(SMALL_REPLY_BYTES + 1).status(), 200);
    }
}
