//! What operators ask for, besides repair and garbage: everything that is stored, as it is, and whether it
//! still is what it was.

use std::pin::Pin;

use futures_util::future::join_all;
use terrace_core::api::admin::{
    FactBody, FactsAnswer, StoredAnswer, StoredArchive, VerifyAnswer, VerifyBody, WrongBytes,
};
use terrace_core::api::route::Route;
use terrace_core::http::form::Query;
use terrace_core::http::method::Method;
use terrace_core::http::problem::Problem;
use terrace_core::http::reply::Reply;
use terrace_core::limits;
use terrace_core::storage::key::{ARCHIVES, BLOBS, BytesKey, FactKey, PASSING};

use super::tokens::{json, parse};
use super::{App, Failure};
use crate::store::{Archives as _, BytesPage, Clock as _, Facts as _, Platform};

/// How many documents are read at once: what a Worker may have open
/// (<https://developers.cloudflare.com/workers/platform/limits/#simultaneous-open-connections>).
const AT_ONCE: usize = 6;

/// What answers an operator: boxed, since each is large, and rare.
type Operation<'r, S> = Pin<Box<dyn Future<Output = Result<Reply<S>, Failure>> + 'r>>;

/// What to go on behind.
const BEHIND: &str = "it must be the `next` of the answer before";

/// What is read of a document.
enum Read {
    Document(String),
    /// It is no text.
    Damaged,
    /// It is not there.
    Gone,
    /// Its key is none that is known.
    Unknown,
}

impl<P: Platform> App<'_, P> {
    /// Answers an operator.
    pub(super) fn operate<'r>(
        &'r self,
        route: &Route,
        method: Method,
        body: &'r [u8],
        query: &'r str,
        origin: &'r str,
    ) -> Operation<'r, P::Stream> {
        match (route, method) {
            (Route::Facts, Method::Get) => Box::pin(self.list_facts(Query(query))),
            (Route::StoredArchives, Method::Get) => {
                Box::pin(self.list_archives(Query(query), origin))
            }
            (Route::Facts, _) => Box::pin(self.restore(body)),
            (Route::StoredArchives, _) => Box::pin(self.ask_for_copies(body, origin)),
            (Route::Reindex, _) => Box::pin(self.reindex(body)),
            (Route::Verify, _) => Box::pin(self.verify(body)),
            _ => Box::pin(self.change_garbage(body)),
        }
    }

    /// Documents as they are stored. None of them holds a secret.
    async fn list_facts(&self, query: Query<'_>) -> Result<Reply<P::Stream>, Failure> {
        let prefix = query.value("prefix").unwrap_or_default();
        let behind = query.value("behind");
        let (keys, is_cut) = self.fact_keys(&prefix, behind.as_deref()).await?;
        let mut answer = FactsAnswer::default();
        let mut last = None;
        let mut bytes = 0;
        for some in keys.chunks(AT_ONCE) {
            if bytes >= limits::FACTS_BYTES {
                break;
            }
            let read = some.iter().map(async |text| (text, self.fact(text).await));
            for (text, read) in join_all(read).await {
                last = Some(text.clone());
                match read? {
                    Read::Document(document) => {
                        bytes += document.len();
                        let key = text.clone();
                        answer.facts.push(FactBody { key, document });
                    }
                    // A moment ago.
                    Read::Gone => {}
                    Read::Damaged => answer.unreadable.push(text.clone()),
                    Read::Unknown => answer.unknown.push(text.clone()),
                }
            }
        }
        answer.next = last.filter(|last| is_cut || Some(last) != keys.last());
        json(200, &answer)
    }

    /// The keys of some facts, and whether there are more.
    async fn fact_keys(
        &self,
        prefix: &str,
        behind: Option<&str>,
    ) -> Result<(Vec<String>, bool), Failure> {
        let mut behind = match behind.filter(|behind| !behind.is_empty()) {
            None => None,
            Some(behind) => match behind.strip_prefix(prefix) {
                Some(name) => Some(name.to_owned()),
                None => {
                    let told = format!("behind is {behind:?}: {BEHIND}");
                    return Err(Problem::BadRequest(told).into());
                }
            },
        };
        // Whoever asks for what passes, gets it.
        let is_passed_over = |key: &str| {
            let mut passing = PASSING.iter();
            passing
                .find(|it| key.starts_with(**it) && !prefix.starts_with(**it))
                .copied()
        };
        let most = limits::FACTS_AT_ONCE;
        let mut keys = Vec::new();
        'pages: loop {
            let facts = self.platform.facts();
            let page = facts.list(prefix, behind.as_deref(), most).await?;
            for fact in page.facts {
                let key = format!("{prefix}{}", fact.name);
                if let Some(passing) = is_passed_over(&key) {
                    // What follows a slash in ASCII is a zero.
                    let end = format!("{}0", passing.trim_end_matches('/'));
                    behind = end.strip_prefix(prefix).map(str::to_owned);
                    continue 'pages;
                }
                if u64::try_from(keys.len()).unwrap_or_default() >= most.into() {
                    return Ok((keys, true));
                }
                behind = Some(fact.name);
                keys.push(key);
            }
            if !page.is_cut {
                return Ok((keys, false));
            }
        }
    }

    async fn fact(&self, text: &str) -> Result<Read, Failure> {
        let Some(key) = FactKey::parse(text) else {
            return Ok(Read::Unknown);
        };
        let fact = self.platform.facts().get(&key).await?;
        let document = fact.map(|fact| String::from_utf8(fact.bytes));
        Ok(match document {
            Some(Ok(document)) => Read::Document(document),
            Some(Err(_)) => Read::Damaged,
            None => Read::Gone,
        })
    }

    /// Stored bytes, with where to fetch them from if that is asked for.
    async fn list_archives(
        &self,
        query: Query<'_>,
        origin: &str,
    ) -> Result<Reply<P::Stream>, Failure> {
        let with_urls = match query.value("urls").as_deref() {
            None | Some("false") => false,
            Some("true") => true,
            Some(urls) => {
                let told = format!("urls is {urls:?}: it must be true or false");
                return Err(Problem::BadRequest(told).into());
            }
        };
        let urls = match (with_urls, &self.config.archive_urls) {
            (false, _) => None,
            (true, Some(urls)) => Some(urls),
            (true, None) => return Err(no_signer().into()),
        };
        let most = match urls {
            Some(_) => limits::STORED_URLS_AT_ONCE,
            None => limits::STORED_AT_ONCE,
        };
        let behind = query.value("behind");
        let listed = self.list_stored(behind.as_deref(), most).await?;
        let now = self.platform.clock().now();
        let mut answer = StoredAnswer {
            now: now.0,
            next: listed.next(),
            ..StoredAnswer::default()
        };
        let Listed { prefix, page } = listed;
        for object in page.objects {
            let key = format!("{prefix}{}", object.name);
            let Some(bytes) = BytesKey::parse_key(&key) else {
                answer.unknown.push(key);
                continue;
            };
            answer.archives.push(StoredArchive {
                key,
                size: object.size,
                stored_at: object.stored_at.0,
                url: urls.map(|urls| urls.download(origin, bytes, now)),
            });
        }
        json(200, &answer)
    }

    /// A page of archives, and behind the last of them one of blobs.
    async fn list_stored(&self, behind: Option<&str>, most: u32) -> Result<Listed, Failure> {
        let (prefix, behind) = match behind {
            None | Some("") => (ARCHIVES, None),
            Some(behind) => [ARCHIVES, BLOBS]
                .into_iter()
                .find_map(|prefix| {
                    Some((prefix, behind.strip_prefix(prefix))).filter(|it| it.1.is_some())
                })
                .ok_or_else(|| Problem::BadRequest(format!("behind is {behind:?}: {BEHIND}")))?,
        };
        let behind = behind.filter(|behind| !behind.is_empty());
        let archives = self.platform.archives();
        let page = archives.list_bytes(prefix, behind, most).await?;
        Ok(Listed { prefix, page })
    }

    /// Hashes stored bytes again, natively: they do not enter wasm.
    async fn verify(&self, body: &[u8]) -> Result<Reply<P::Stream>, Failure> {
        let VerifyBody { behind } = parse(body)?;
        let most = limits::VERIFIED_AT_ONCE;
        let listed = self.list_stored(behind.as_deref(), most).await?;
        let mut answer = VerifyAnswer {
            next: listed.next(),
            ..VerifyAnswer::default()
        };
        let Listed { prefix, page } = listed;
        let mut last = None;
        for object in page.objects {
            if answer.bytes >= limits::VERIFY_BYTES {
                answer.next = last;
                break;
            }
            let text = format!("{prefix}{}", object.name);
            last = Some(text.clone());
            let Some(key) = BytesKey::parse_key(&text) else {
                continue;
            };
            let digest = self.platform.archives().digest(key).await?;
            answer.looked_at += 1;
            answer.bytes += object.size;
            if digest != Some(key.digest()) {
                let digest = digest.map(|digest| digest.to_string());
                answer.wrong.push(WrongBytes { key: text, digest });
            }
        }
        json(200, &answer)
    }
}

/// Stored bytes, of one of the two kinds.
struct Listed {
    prefix: &'static str,
    page: BytesPage,
}

impl Listed {
    /// Behind which key the next page begins.
    fn next(&self) -> Option<String> {
        match self.page.objects.last() {
            Some(last) if self.page.is_cut => Some(format!("{}{}", self.prefix, last.name)),
            _ if self.prefix == ARCHIVES => Some(BLOBS.to_owned()),
            _ => None,
        }
    }
}

pub(super) fn no_signer() -> Problem {
    Problem::Misconfigured("no secret is set that could sign URLs".to_owned())
}

pub(super) fn check_count(count: usize, most: usize) -> Result<(), Problem> {
    if count <= most {
        return Ok(());
    }
    Err(Problem::BadRequest(format!(
        "there are {count}, and one request takes at most {most}"
    )))
}
