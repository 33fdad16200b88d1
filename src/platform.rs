//! The implementation of the host on Cloudflare Workers. Only this module knows them.

mod analytics;
mod archive_cache;
mod clock;
mod entry;
mod fork;
mod http;
mod inflate;
mod kv;
mod r2;
mod tickets;
mod uploads;
mod upstream;

use std::cell::OnceCell;
use std::rc::Rc;

use archive_cache::ArchiveCache;
use terrace_core::config::{Config, is_variable_for_terrace};
use terrace_core::http::problem::Problem;
use terrace_core::http::reply::Reply;
use terrace_core::model::oci::Digest;
use worker::wasm_bindgen::{JsCast as _, JsValue, throw_str};
use worker::wasm_bindgen_futures::{JsFuture, future_to_promise};
use worker::{Context, Env, console_error, console_log, console_warn, js_sys, web_sys};

use terrace_app::cache::Cache;
use terrace_app::driver::Unfinished;
use terrace_app::host::{
    CacheRequest, CachedArchive, DownloadEvent, Host, LogLevel, Request as _, StoreError,
};
use terrace_app::usage::UsageMeter;
use terrace_app::{cache_tag, cached_archive, context, perform, pipeline};

/// Maximum number of tags that one request removes from the platform's cache of archives
/// (<https://developers.cloudflare.com/cache/how-to/purge-cache/#availability-and-limits>).
const PURGED_AT_ONCE: usize = 100;

/// The binding of the KV namespace that contains the indices; `entry.js` uses the name, too.
const INDICES: &str = "INDICES";
/// The binding of the R2 bucket that contains facts and archives.
const FACTS: &str = "FACTS";

thread_local! {
    /// The configuration. Variables and secrets are constant for the life of an isolate, so they are read
    /// once.
    static CONFIG: OnceCell<Result<&'static Config, ConfigurationError>> = const { OnceCell::new() };
    /// The cache. Each isolate has one, which lives as long as the isolate.
    static CACHE: &'static Cache = Box::leak(Box::default());
}

/// Answers one request, or continues it from where the entry stopped. Requests that
/// [outlive their client](pipeline::outlives_its_client) are kept alive with `waitUntil`, and so are tasks.
pub(crate) async fn serve(
    request: web_sys::Request,
    env: Env,
    context: Context,
    unfinished: Option<UnfinishedRequest>,
) -> worker::Result<web_sys::Response> {
    let context = Rc::new(context);
    let config = config(&env).ok();
    if !pipeline::outlives_its_client(config, &request.method(), &request.url()) {
        return answer(request, env, &context, unfinished).await;
    }
    let context_of_answer = Rc::clone(&context);
    let promise = future_to_promise(async move {
        Ok(answer(request, env, &context_of_answer, unfinished)
            .await?
            .into())
    });
    let carried_through = JsFuture::from(promise.clone());
    context.wait_until(async move {
        // The request that awaits the response receives the error.
        let _ = carried_through.await;
    });
    Ok(JsFuture::from(promise).await?.unchecked_into())
}

async fn answer(
    request: web_sys::Request,
    env: Env,
    context: &Context,
    unfinished: Option<UnfinishedRequest>,
) -> worker::Result<web_sys::Response> {
    let archives = ArchiveCache::of(context);
    let reply = match config(&env).and_then(|config| Ok((config, Cloudflare::new(env, archives)?)))
    {
        Ok((config, cloudflare)) => {
            let request = http::Incoming::new(request);
            let address = request.client_address();
            let ctx = context::Context::new(config, cloudflare, address);
            let reply = match unfinished {
                None => pipeline::handle(&ctx, request).await,
                Some(unfinished) => pipeline::resume(&ctx, request, unfinished).await,
            };
            let tasks = ctx.take_tasks();
            if !tasks.is_empty() {
                context.wait_until(async move { perform(&ctx, tasks).await });
            }
            reply
        }
        Err(error) => error.reply(),
    };
    http::respond(reply)
}

/// Answers a request of the cache of archives. It reads no configuration: the answer depends on the path alone.
async fn answer_cache(method: &str, url: String, env: Env) -> worker::Result<web_sys::Response> {
    let url = http::Url::new(url);
    http::respond(match Cloudflare::new(env, ArchiveCache::default()) {
        Ok(cloudflare) => cached_archive(&cloudflare, method, url.target()).await,
        Err(error) => error.reply(),
    })
}

/// Runs the job whose turn it is, such as a step of the repair.
pub(crate) async fn run_job(env: Env) {
    let no_cache = ArchiveCache::default();
    match config(&env).and_then(|config| Ok((config, Cloudflare::new(env, no_cache)?))) {
        Ok((config, cloudflare)) => {
            terrace_app::run_job(&context::Context::new(config, cloudflare, String::new())).await;
        }
        Err(ConfigurationError { cause, .. }) => console_error!("configuration: {cause}"),
    }
}

/// A configuration error.
#[derive(Debug, Clone)]
struct ConfigurationError {
    /// The message for clients, without details.
    message: String,
    /// The cause, for the log.
    cause: String,
}

impl ConfigurationError {
    /// Logs the cause, and returns the answer to clients.
    fn reply(self) -> PlatformReply {
        console_error!("configuration: {}", self.cause);
        Problem::Misconfigured(self.message).reply()
    }
}

impl From<String> for ConfigurationError {
    fn from(message: String) -> Self {
        let cause = message.clone();
        Self { message, cause }
    }
}

fn config(env: &Env) -> Result<&'static Config, ConfigurationError> {
    CONFIG.with(|cell| {
        let config = cell.get_or_init(|| {
            let vars = variables(env);
            let vars: Vec<(&str, &str)> = vars
                .iter()
                .map(|(name, value)| (&**name, &**value))
                .collect();
            match Config::from_vars(&vars) {
                Ok(config) => {
                    for warning in config.warnings() {
                        console_warn!("configuration: {warning}");
                    }
                    // Each isolate has one, which lives as long as the isolate.
                    Ok(Box::leak(Box::new(config)))
                }
                Err(error) => Err(ConfigurationError {
                    message: format!(
                        "the configuration variable {} is invalid: see the Worker's log for the reason",
                        error.variable()
                    ),
                    cause: error.to_string(),
                }),
            }
        });
        config.clone()
    })
}

/// Returns the variables and secrets that are meant for Terrace, including unknown ones: the core rejects a
/// misspelt name, which no look-up by name would find. Bindings are left out.
fn variables(env: &Env) -> Vec<(String, String)> {
    js_sys::Object::keys(env.unchecked_ref::<js_sys::Object>())
        .iter()
        .filter_map(|name| name.as_string())
        .filter_map(|name| {
            let value = js_sys::Reflect::get(env, &name.as_str().into()).unwrap_or_default();
            let is_object = value.is_object() || value.is_function();
            let is_object = is_object && !js_sys::Array::is_array(&value);
            is_variable_for_terrace(&name, is_object).then(|| (name, text(&value)))
        })
        .collect()
}

/// Returns a variable or secret as text. A number, a boolean or a list is converted to its JSON, so that no
/// setting is ignored.
fn text(value: &JsValue) -> String {
    let text = value
        .as_string()
        .or_else(|| js_sys::JSON::stringify(value).ok()?.as_string());
    text.unwrap_or_default()
}

/// The host for one request.
struct Cloudflare {
    env: Env,
    bucket: r2::Bucket,
    indices: kv::Namespace,
    archive_cache: ArchiveCache,
    internet: upstream::Internet,
    clock: clock::SystemClock,
    meter: Rc<UsageMeter>,
}

impl Cloudflare {
    /// Reads the bindings of `wrangler.toml`. An error names the missing one.
    fn new(env: Env, archive_cache: ArchiveCache) -> Result<Self, ConfigurationError> {
        let missing = |name| format!("the binding {name} is missing");
        let bucket = env.bucket(FACTS);
        let bucket = bucket.map_err(|error| format!("{}: {error}", missing(FACTS)))?;
        let meter = Rc::<UsageMeter>::default();
        let counted = || Rc::clone(&meter);
        let indices = kv::Namespace::new(&env, INDICES, counted());
        let indices = indices.ok_or_else(|| missing(INDICES))?;
        Ok(Self {
            env,
            bucket: r2::Bucket::new(bucket, counted()),
            indices,
            archive_cache,
            internet: upstream::Internet { meter: counted() },
            clock: clock::SystemClock,
            meter,
        })
    }
}

impl Host for Cloudflare {
    type Stream = web_sys::ReadableStream;
    type Facts = r2::Bucket;
    type Archives = r2::Bucket;
    type Uploads = r2::Bucket;
    type Indices = kv::Namespace;
    type Upstream = upstream::Internet;
    type Clock = clock::SystemClock;

    /// Always `true`: Cloudflare routes a request here only for a hostname of this Worker.
    fn serves(&self, _: &str) -> bool {
        true
    }

    fn facts(&self) -> &r2::Bucket {
        &self.bucket
    }

    fn archives(&self) -> &r2::Bucket {
        &self.bucket
    }

    fn uploads(&self) -> &r2::Bucket {
        &self.bucket
    }

    fn indices(&self) -> &kv::Namespace {
        &self.indices
    }

    fn upstream(&self) -> &upstream::Internet {
        &self.internet
    }

    fn clock(&self) -> &clock::SystemClock {
        &self.clock
    }

    fn cache(&self) -> &Cache {
        CACHE.with(|cache| *cache)
    }

    fn random(&self) -> [u8; 16] {
        let mut bytes = [0; 16];
        let global: web_sys::WorkerGlobalScope = js_sys::global().unchecked_into();
        let filled = global
            .crypto()
            .and_then(|crypto| crypto.get_random_values_with_u8_array(&mut bytes));
        if filled.is_err() {
            // Predictable values must never be issued. This failure is not known to occur.
            throw_str("the platform provides no random numbers");
        }
        bytes
    }

    fn meter(&self) -> &UsageMeter {
        &self.meter
    }

    async fn cached_archive(
        &self,
        request: CacheRequest<'_>,
    ) -> Result<Option<CachedArchive<Self::Stream>>, StoreError> {
        self.archive_cache.fetch(request).await
    }

    async fn purge(&self, digests: &[Digest]) -> Result<(), StoreError> {
        for digests in digests.chunks(PURGED_AT_ONCE) {
            let tags: Vec<String> = digests.iter().map(|digest| cache_tag(*digest)).collect();
            self.archive_cache.purge(&tags).await?;
        }
        Ok(())
    }

    fn log_at(&self, level: LogLevel, line: &str) {
        match level {
            LogLevel::Info => console_log!("{line}"),
            LogLevel::Warning => console_warn!("{line}"),
            LogLevel::Error => console_error!("{line}"),
        }
    }

    fn log_request(&self, line: &str) {
        console_log!("{line}");
    }

    fn count(&self, download: &DownloadEvent<'_>) {
        analytics::count(&self.env, download);
    }

    async fn is_one_failure_too_many(&self, network: &str) -> bool {
        analytics::is_one_too_many(&self.env, analytics::FAILURES, network).await
    }

    async fn is_one_search_too_many(&self, network: &str) -> bool {
        analytics::is_one_too_many(&self.env, analytics::SEARCHES, network).await
    }
}

/// The reply type of the platform, for the modules below.
type PlatformReply = Reply<web_sys::ReadableStream>;

/// A request that the entry has begun, but not finished.
pub(crate) type UnfinishedRequest = Box<Unfinished<web_sys::ReadableStream>>;
