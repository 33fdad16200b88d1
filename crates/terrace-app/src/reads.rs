//! Reads that one index answers, in two steps between which somebody else reads it. Nothing here waits, and
//! nothing is written: whatever takes more than that is for the [pipeline](crate::pipeline), which gives the same
//! answers.

use std::cell::{Cell, RefCell};

use terrace_base::time::UnixTime;
use terrace_core::api::route::is_fenced;
use terrace_core::config::Config;
use terrace_core::http::method::Method;
use terrace_core::http::reply::Reply;
use terrace_core::http::request_line::{Client, IndexState, RequestLine, Took, Usage};
use terrace_core::model::token_id::TokenId;
use terrace_core::read::{Answered, Asked, Begun, Found, IndexForm, Lookup, begin};

use crate::cache::Cache;
use crate::host::Counted;

/// The reads of one isolate that wait for their index.
#[derive(Debug)]
pub struct Reads<'a> {
    config: &'a Config,
    cache: &'a Cache,
    /// Each is at its ticket's remainder. What a client that has gone leaves behind is replaced by and by.
    /// In a box, so that all places together take 4 KiB.
    waiting: RefCell<Vec<Option<Box<Waiting>>>>,
    next: Cell<u32>,
}

/// How many reads may wait. One whose place has been taken is begun anew, by the whole registry.
const PLACES: u32 = 1024;

/// How many bytes of a request may wait with it. Whoever goes while KV is read leaves them behind: a client must
/// not fill the isolate with that. What clients send is a tenth of it.
const MOST_BYTES: usize = 1024;

#[derive(Debug)]
struct Waiting {
    ticket: u32,
    lookup: Box<Lookup>,
    origin: String,
    about: About,
}

/// What the log tells of a request.
#[derive(Debug)]
struct About {
    route: &'static str,
    method: Option<Method>,
    client: Client,
    /// When it came, in milliseconds since 1970.
    began: u64,
}

/// What becomes of a request that has begun.
#[derive(Debug)]
pub enum Step {
    /// It is answered.
    Answer(Answer),
    /// It needs an index.
    Read(Wanted),
}

/// The index that a request needs.
#[derive(Debug)]
pub struct Wanted {
    /// What [`Reads::finish`] is told.
    pub ticket: u32,
    /// Its key.
    pub key: String,
    /// How its value is wanted.
    pub form: IndexForm,
    /// How long the edge may keep it, in seconds.
    pub cache_seconds: u32,
    /// Whether the header `Range` counts.
    pub takes_range: bool,
}

/// An answer, with what is to be written down of it.
#[derive(Debug)]
pub struct Answer {
    /// What is answered; a stream stands for the value that was read.
    pub reply: Reply<()>,
    /// A line for the log.
    pub line: Option<String>,
    /// A [point](Counted::point) for the dataset of downloads.
    pub point: Option<String>,
}

impl<'a> Reads<'a> {
    /// None yet. The first `ticket` is any number: those of two instances in one isolate, of which the
    /// older has failed, shall not be the same.
    pub fn new(config: &'a Config, cache: &'a Cache, ticket: u32) -> Self {
        Self {
            config,
            cache,
            waiting: RefCell::default(),
            next: Cell::new(ticket),
        }
    }

    /// Begins to answer a GET or HEAD that came `now`, in milliseconds since 1970. `None`: it is for the whole
    /// registry.
    pub fn begin(&self, asked: &Asked<'_>, now: u64) -> Option<Step> {
        if is_fenced(asked.path) {
            return None;
        }
        let kept = [Some(asked.origin), Some(asked.query), asked.if_none_match];
        if kept.iter().flatten().map(|it| it.len()).sum::<usize>() > MOST_BYTES {
            return None;
        }
        let time = UnixTime(now / 1000);
        let (route, begun) = begin(asked, self.config, || time);
        let about = About {
            route,
            method: Method::parse(asked.method),
            client: Client::of_user_agent(asked.user_agent),
            began: now,
        };
        let reply = match begun {
            Begun::Answer(reply) => reply,
            Begun::AnswerTo(token, reply) if self.is_good(token, time) => reply,
            Begun::Read(lookup) if lookup.token.is_none_or(|it| self.is_good(it, time)) => {
                return self.wait(lookup, asked.origin, about).map(Step::Read);
            }
            _ => return None,
        };
        let usage = Usage::default();
        let line = self.line(&about, reply.status, None, usage, now);
        Some(Step::Answer(Answer {
            reply,
            line,
            point: None,
        }))
    }

    /// Whether a token is known not to be revoked, and nobody has to look again yet.
    fn is_good(&self, token: TokenId, now: UnixTime) -> bool {
        self.cache.knows_good(token, now)
    }

    fn wait(&self, lookup: Box<Lookup>, origin: &str, about: About) -> Option<Wanted> {
        // The registry answers it without a read.
        if lookup.blocked::<()>(&self.config.pull, None).is_some() {
            return None;
        }
        let ticket = self.next.get();
        self.next.set(ticket.wrapping_add(1));
        let wanted = Wanted {
            ticket,
            key: lookup.key.to_string(),
            form: lookup.form,
            cache_seconds: lookup.cache_seconds,
            takes_range: lookup.leads_to_bytes(),
        };
        let place = place(ticket);
        let mut waiting = self.waiting.borrow_mut();
        while waiting.len() <= place {
            waiting.push(None);
        }
        *waiting.get_mut(place)? = Some(Box::new(Waiting {
            ticket,
            lookup,
            origin: origin.to_owned(),
            about,
        }));
        Some(wanted)
    }

    /// Finishes with what was found under the key; `range` is the header of this name where it counts, and
    /// `counts` says whether downloads are counted. `None`: it is for the whole registry, as all is whose index
    /// was not found.
    pub fn finish(
        &self,
        ticket: u32,
        found: Option<Found<()>>,
        range: Option<String>,
        counts: bool,
        now: u64,
    ) -> Option<Answer> {
        let Waiting {
            mut lookup,
            origin,
            about,
            ..
        } = *self.take(ticket)?;
        lookup.set_range(range);
        let Answered::Fresh(reply) =
            lookup.answer(found?, self.config, &origin, UnixTime(now / 1000))
        else {
            return None;
        };
        let took = Took {
            operations: 1,
            millis: now.saturating_sub(about.began),
        };
        let usage = Usage {
            kv: took,
            ..Usage::default()
        };
        let line = self.line(&about, reply.status, Some(IndexState::Hit), usage, now);
        let counted = lookup.download(reply.status).filter(|_| counts);
        let point = counted.map(|(package, version)| {
            let counted = Counted {
                package,
                version,
                route: about.route,
                client: &about.client,
            };
            counted.point()
        });
        Some(Answer { reply, line, point })
    }

    fn take(&self, ticket: u32) -> Option<Box<Waiting>> {
        let mut waiting = self.waiting.borrow_mut();
        let place = waiting.get_mut(place(ticket))?;
        place.take_if(|waiting| waiting.ticket == ticket)
    }

    fn line(
        &self,
        about: &About,
        status: u16,
        index: Option<IndexState>,
        usage: Usage,
        now: u64,
    ) -> Option<String> {
        let line = RequestLine {
            route: about.route,
            method: about.method,
            status,
            millis: now.saturating_sub(about.began),
            usage,
            index,
            client: &about.client,
        };
        line.logged(self.config.logged_requests)
    }
}

/// Where the request with this ticket waits.
fn place(ticket: u32) -> usize {
    usize::try_from(ticket % PLACES).unwrap_or_default()
}
