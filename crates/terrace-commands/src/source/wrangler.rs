//! The configuration file of wrangler, as far as the registry depends on it
//! (<https://developers.cloudflare.com/workers/wrangler/configuration/>).

use std::collections::BTreeMap;
use std::path::Path;

use jsonc_parser::ParseOptions;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::source::syntax;

/// The names of the file, in the order in which wrangler looks for them.
pub(crate) const NAMES: [&str; 3] = ["wrangler.json", "wrangler.jsonc", "wrangler.toml"];

/// Keys of wrangler that may stand on one line. Below the line of a table, they belong to that table
/// (<https://developers.cloudflare.com/workers/wrangler/configuration/>).
const KEYS: [&str; 19] = [
    "account_id",
    "assets",
    "build",
    "compatibility_date",
    "compatibility_flags",
    "keep_vars",
    "limits",
    "logpush",
    "main",
    "minify",
    "name",
    "no_bundle",
    "placement",
    "preview_urls",
    "route",
    "routes",
    "rules",
    "upload_source_maps",
    "workers_dev",
];

/// Returns whether a variable has the name of a key of wrangler, and so was probably meant as that key.
pub(crate) fn is_key(name: &str) -> bool {
    KEYS.contains(&name)
}

/// The notation of a file, which its name tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Notation {
    /// JSON with comments and trailing commas.
    Json,
    Toml,
}

/// A deployment that the file describes: that of the top level, or one of its environments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Deployment {
    /// The variables with the text that the Worker receives: a value that is not a string becomes JSON.
    pub(crate) vars: BTreeMap<String, String>,
    /// The places of settings that wrangler does not pass to the Worker, because they are outside of `vars`.
    pub(crate) misplaced: Vec<String>,
    /// The settings of the top level that the environment does not inherit.
    pub(crate) not_inherited: Vec<String>,
    /// The R2 buckets.
    pub(crate) buckets: Vec<Binding>,
    /// The KV namespaces.
    pub(crate) namespaces: Vec<Binding>,
    /// The names of the rate limiters.
    pub(crate) rate_limits: Vec<String>,
    /// Whether a cron trigger is set.
    pub(crate) has_cron: bool,
    /// Whether the Worker has a hostname of its own.
    pub(crate) has_route: bool,
    /// Whether the Worker has addresses at workers.dev beside it.
    pub(crate) has_workers_dev: bool,
    /// Whether the platform may answer requests to the registry from its cache.
    pub(crate) caches_default: bool,
    /// Whether the platform may answer requests for archives from its cache.
    pub(crate) caches_archives: bool,
}

/// A binding of an R2 bucket or of a KV namespace.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct Binding {
    /// The name that the Worker knows it by.
    pub(crate) binding: String,
    /// The jurisdiction of the bucket, such as `eu`.
    pub(crate) jurisdiction: Option<String>,
}

/// The JSON that wrangler reads.
const JSON: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_loose_object_property_names: false,
    allow_trailing_commas: true,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

#[derive(Debug, Deserialize)]
struct File {
    #[serde(flatten)]
    top: Section,
    #[serde(default)]
    env: BTreeMap<String, Section>,
}

/// The keys of the top level and of an environment. Environments inherit all of them except variables and bindings.
#[derive(Debug, Deserialize)]
struct Section {
    #[serde(default)]
    vars: Map<String, Value>,
    #[serde(default)]
    r2_buckets: Vec<Binding>,
    #[serde(default)]
    kv_namespaces: Vec<Binding>,
    #[serde(default)]
    ratelimits: Vec<RateLimit>,
    triggers: Option<Triggers>,
    route: Option<Value>,
    routes: Option<Vec<Value>>,
    workers_dev: Option<bool>,
    cache: Option<Caching>,
    exports: Option<BTreeMap<String, Entrypoint>>,
}

/// The cache of the Worker or of one entrypoint
/// (<https://developers.cloudflare.com/workers/cache/configuration/#per-entrypoint-caching>).
#[derive(Debug, Clone, Copy, Deserialize)]
struct Caching {
    enabled: bool,
}

#[derive(Debug, Deserialize)]
struct Entrypoint {
    cache: Option<Caching>,
}

#[derive(Debug, Deserialize)]
struct RateLimit {
    name: String,
}

#[derive(Debug, Deserialize)]
struct Triggers {
    #[serde(default)]
    crons: Vec<String>,
}

impl Notation {
    /// Returns the notation of a file with this name.
    pub(crate) fn of(file: &Path) -> Self {
        let extension = file.extension().unwrap_or_default();
        match extension == "json" || extension == "jsonc" {
            true => Self::Json,
            false => Self::Toml,
        }
    }

    /// Returns the keys of a text.
    fn parse(self, text: &str) -> Result<Map<String, Value>, String> {
        match self {
            Self::Json => {
                jsonc_parser::parse_to_serde_value(text, &JSON).map_err(|error| error.to_string())
            }
            Self::Toml => toml::from_str(text).map_err(|error| syntax::toml(text, &error)),
        }
    }
}

impl Deployment {
    /// Reads the deployment at the top level of a file, or that of the environment with this name.
    ///
    /// # Errors
    /// The reason why the file describes no such deployment.
    pub(crate) fn read(text: &str, notation: Notation, env: Option<&str>) -> Result<Self, String> {
        // wrangler ignores the mark as well.
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let table = notation.parse(text)?;
        let file = serde_json::from_value(Value::Object(table.clone()));
        let File { top, env: others } = file.map_err(|error| error.to_string())?;
        let known: Vec<&str> = others.keys().map(String::as_str).collect();
        let section = match env {
            None => &top,
            Some(name) => others.get(name).ok_or_else(|| match known.as_slice() {
                [] => format!("it has no environment {name:?}, and no other: add env.{name}"),
                known => format!(
                    "it has no environment {name:?}; it has {}",
                    known.join(", ")
                ),
            })?,
        };
        let mut misplaced = Vec::new();
        find_misplaced(&table, "", &mut misplaced);
        let is_missing = |name: &&String| env.is_some() && !section.vars.contains_key(*name);
        let of_top = top.vars.keys().filter(|name| is_setting(name));
        let inherited = |own: bool, of_top: bool| own || of_top;
        let has_cron = |it: &Section| it.triggers.as_ref().map(|it| !it.crons.is_empty());
        let has_route = |it: &Section| it.route.is_some() || it.routes.is_some();
        let workers_dev = section.workers_dev.or(top.workers_dev);
        let has_route = inherited(has_route(section), has_route(&top));
        let exports = section.exports.as_ref().or(top.exports.as_ref());
        let cache = section.cache.or(top.cache);
        let is_cached = |entrypoint: &str| {
            let own = exports.and_then(|all| all.get(entrypoint)?.cache);
            own.or(cache).is_some_and(|cache| cache.enabled)
        };
        Ok(Self {
            vars: section
                .vars
                .iter()
                .map(|(name, it)| (name.clone(), text_of(it)))
                .collect(),
            misplaced,
            not_inherited: of_top.filter(is_missing).cloned().collect(),
            buckets: section.r2_buckets.clone(),
            namespaces: section.kv_namespaces.clone(),
            rate_limits: section
                .ratelimits
                .iter()
                .map(|it| it.name.clone())
                .collect(),
            has_cron: has_cron(section).or(has_cron(&top)).unwrap_or(false),
            has_route,
            // Without a route, wrangler enables them by default.
            has_workers_dev: workers_dev.unwrap_or(!has_route),
            caches_default: is_cached("default"),
            caches_archives: is_cached("Archives"),
        })
    }
}

/// The beginning of the names of all settings.
const PREFIX: &str = "TERRACE_";

fn is_setting(name: &str) -> bool {
    name.starts_with(PREFIX)
}

/// Finds the settings in all tables but those of variables. `path` is the name of the table, with a dot at its end.
fn find_misplaced(table: &Map<String, Value>, path: &str, found: &mut Vec<String>) {
    for (name, value) in table {
        let place = format!("{path}{name}");
        match value {
            _ if is_setting(name) => found.push(place),
            Value::Object(_) if name == "vars" && is_root(path) => {}
            Value::Object(inner) => find_misplaced(inner, &format!("{place}."), found),
            Value::Array(all) => {
                for inner in all.iter().filter_map(Value::as_object) {
                    find_misplaced(inner, &format!("{place}."), found);
                }
            }
            _ => {}
        }
    }
}

/// Returns whether a table is the top level or an environment.
fn is_root(path: &str) -> bool {
    let parts = path.split_terminator('.').collect::<Vec<_>>();
    matches!(parts.as_slice(), [] | ["env", _])
}

fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
