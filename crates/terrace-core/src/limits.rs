//! The limits that users meet, and those that several crates share, each with its source. Error messages quote these
//! constants, so that the two cannot drift apart. Any other limit stands beside its only user.

/// Maximum length of one part of a provider address, which is a DNS label (RFC 1035, section 2.3.4).
pub const PROVIDER_PART_BYTES: usize = 63;

/// Maximum length of a domain name (RFC 1035, section 2.3.4, without the overhead of the wire format).
pub const HOSTNAME_BYTES: usize = 253;

/// Maximum length of one part of a module address (OpenTofu `registry-address`, `moduleRegistryNamePattern`).
pub const NAME_BYTES: usize = 64;

/// Maximum length of a version. With three names of 64 bytes a key stays below KV's limit of 512 bytes
/// (<https://developers.cloudflare.com/kv/platform/limits/>), with room for a hostname of 253.
pub const VERSION_BYTES: usize = 100;

/// Maximum number of platforms of one release. Go supports fewer than 50. Their names take at most 64 × 34 of
/// the 8,192 bytes that R2 allows for custom metadata.
pub const PLATFORMS: usize = 64;

/// Maximum number of protocol versions of one release. Two are in use.
pub const PROTOCOLS: usize = 8;

/// Maximum size of a variable of a Worker (<https://developers.cloudflare.com/workers/platform/limits/#environment-variables>).
pub const VARIABLE_BYTES: usize = 5 * 1024;

/// Maximum size of the body of an admin request. The body is held in wasm memory, which never shrinks. The
/// largest real request (64 platforms, their SHA256SUMS and an RSA-4096 signature) is about 40 KB.
pub const ADMIN_BODY_BYTES: u64 = 1024 * 1024;

/// Maximum size of a SHA256SUMS file: 64 platforms and some extra lines of at most 300 bytes each.
pub const SHASUMS_BYTES: usize = 64 * 1024;

/// Maximum size of the signing keys of one mirrored release together, one for each SHA256SUMS, in bytes: 16 KB for each of
/// [`PLATFORMS`] platforms, five times an RSA key of 4,096 bits. The release is held in wasm memory, which never shrinks.
pub const SIGNING_KEYS_BYTES: usize = 1024 * 1024;

/// Maximum length of a file name in SHA256SUMS (the usual limit of a path component).
pub const FILENAME_BYTES: usize = 255;

/// Maximum length of the URL of a release's repository. The URL is part of the release object's metadata,
/// which R2 limits to 8 KB (<https://developers.cloudflare.com/r2/platform/limits/>); [`PLATFORMS`] platforms
/// take 3.5 of them.
pub const SOURCE_BYTES: usize = 255;

/// Maximum length of a recorded claim of a job's token. GitHub's `workflow_ref`, the longest one, has a
/// repository, a path and a ref.
pub const CLAIM_BYTES: usize = 512;

/// Maximum size of all recorded claims of a job's token, as JSON. They are part of the token that the
/// registry issues, which travels in a header ([`TOKEN_BYTES`]), and of the release.
pub const PROVENANCE_BYTES: usize = 1_024;

/// Maximum size of a published archive. A presigned upload is a single PUT, which R2 limits to 4.995 GiB
/// (<https://developers.cloudflare.com/r2/platform/limits/>).
pub const ARCHIVE_BYTES: u64 = 4_995 * 1024 * 1024 * 1024 / 1000;

/// Maximum size of a request body that passes through the Worker: Cloudflare's limit on most plans
/// (<https://developers.cloudflare.com/workers/platform/limits/#request-limits>).
pub const WORKER_BODY_BYTES: u64 = 100 * 1000 * 1000;

/// Maximum size of an archive in the platform's cache of archives, in bytes: that of all plans at the moment
/// (<https://developers.cloudflare.com/workers/cache/limitations/#response-size>), in the smaller reading of its unit.
pub const CACHED_ARCHIVE_BYTES: u64 = 512 * 1000 * 1000;

/// Allowed lifetime of a presigned URL, in seconds
/// (<https://developers.cloudflare.com/r2/api/s3/presigned-urls/>: 1 second to 7 days).
pub const URL_LIFETIME_SECONDS: std::ops::RangeInclusive<u32> = 1..=604_800;

/// Default lifetime of a download URL, in seconds: long enough for a slow client to start the download, and
/// short because such URLs appear in users' logs when a download fails.
pub const URL_LIFETIME_DEFAULT_SECONDS: u32 = 900;

/// Lifetime of an upload URL, in seconds: time to send 5 GB at 1.5 MB a second.
pub const UPLOAD_LIFETIME_SECONDS: u32 = 3_600;

/// Minimum length of the admin secret: 16 characters of base64 are 96 bits.
pub const ADMIN_TOKEN_BYTES: usize = 16;

/// Maximum length of the reason for a status, in bytes. With all its characters escaped, it fits into the
/// metadata of a KV key, 1,024 bytes (<https://developers.cloudflare.com/kv/platform/limits/>).
pub const REASON_BYTES: usize = 400;

/// Maximum length of the reason for an erasure, in bytes: the reason of the status has a prefix.
pub const ERASURE_REASON_BYTES: usize = 390;

/// Maximum number of scopes of one token, which travels in a header.
pub const SCOPES: usize = 20;

/// Maximum length of the name of a token, in bytes.
pub const TOKEN_NAME_BYTES: usize = 100;

/// Maximum length of a token, in bytes: 20 scopes with the longest hostnames and namespaces, and the claims of
/// a job ([`PROVENANCE_BYTES`]), in base64.
pub const TOKEN_BYTES: usize = 12_288;

/// Allowed lifetime of an expiring token, in seconds: one minute to ten years.
pub const TOKEN_LIFETIME_SECONDS: std::ops::RangeInclusive<u64> = 60..=315_360_000;

/// Maximum time for which a rotated token stays valid next to its replacement, in seconds: 90 days.
pub const TOKEN_OVERLAP_SECONDS: u64 = 7_776_000;

/// Allowed length of an idempotency key: a 64-bit number in hexadecimal to a SHA-256 digest. A UUID has 36 characters.
pub const IDEMPOTENCY_KEY_CHARS: std::ops::RangeInclusive<usize> = 16..=64;

/// The seconds for which a repeated request with the same idempotency key gets the token that the first one created. A
/// client that retries gives up earlier; after it, no request returns the text of the token again.
pub const IDEMPOTENT_TOKEN_SECONDS: u64 = 300;

/// Maximum size of a rule that is stored in the registry, in bytes. The longest useful ones, with URLs of workflows, have
/// about 500; with its document and in Base64, it fits into the metadata of an object, 8,192 bytes
/// (<https://developers.cloudflare.com/r2/platform/limits/>).
pub const STORED_RULE_BYTES: usize = 2_048;

/// Maximum number of rules that are stored in the registry: with the longest ones, their index has a megabyte, which the
/// exchange parses in milliseconds.
pub const STORED_RULES: usize = 500;

/// Number of stored rules from which on administrators of namespaces add none, so that a fifth of [`STORED_RULES`] is left to
/// those of the whole registry.
pub const DELEGATED_RULES: usize = 400;

const _: () = assert!(DELEGATED_RULES < STORED_RULES);

/// Default limit of requests with invalid credentials from one address per minute.
pub const FAILURES_A_MINUTE: u32 = 20;

/// Maximum number of signing keys of one namespace. Clients try them one after another.
pub const KEYS: usize = 16;

/// Cache time of a version list at the edge, in seconds: the minimum that KV allows
/// (<https://developers.cloudflare.com/changelog/post/2026-01-30-kv-reduced-minimum-cachettl/>).
pub const LIST_CACHE_SECONDS: u32 = 30;

/// Maximum number of reasons in one error response. A hostile archive could have thousands.
pub const REASONS: usize = 50;

/// Maximum length of a path: longer than all names of any route together.
pub const PATH_BYTES: usize = 1_024;

/// Maximum number of redirects of one request to another registry: half of the ten that Go's `net/http`
/// follows, and more than the two that a release on GitHub needs.
pub const ORIGIN_REDIRECTS: usize = 5;

/// Maximum number of characters of another registry's text that a message quotes.
pub const ORIGIN_TEXT_CHARS: usize = 120;

/// Maximum length of the name of a pushed repository. Many clients limit it to 255 bytes together with the
/// hostname (OCI Distribution 1.1, "Pulling manifests"). With a tag or digest it fits into every key.
pub const REPOSITORY_BYTES: usize = 255;

/// Maximum length of a tag (OCI Distribution 1.1, "Pulling manifests").
pub const TAG_BYTES: usize = 128;

/// Maximum size of a manifest: the size that every registry should accept (OCI Distribution 1.1, "Pushing
/// Manifests"), and the maximum that OpenTofu reads (clients.md 6.8). A manifest is held in wasm memory,
/// which never shrinks.
pub const MANIFEST_BYTES: u64 = 4 * 1024 * 1024;

/// Maximum number of references in a manifest. Each is looked up in storage when the manifest is pushed, and
/// a Worker may make 1,000 requests to storage
/// (<https://developers.cloudflare.com/workers/platform/limits/>).
pub const MANIFEST_REFERENCES: usize = 500;

/// Maximum number of chunks of one upload. Each is read once when the upload is completed, which is one
/// request; the rest of the 1,000 is for everything else.
pub const UPLOAD_CHUNKS: usize = 800;

/// Age at which an upload that was neither completed nor published is removed, in seconds.
pub const UPLOAD_ABANDONED_SECONDS: u64 = 86_400;

/// Maximum number of characters of client input that a message quotes.
pub const QUOTED_CHARS: usize = 240;

/// Default lifetime of a person's token, in seconds: 90 days. Clients have no way to renew one (clients.md
/// 7.7).
pub const LOGIN_LIFETIME_SECONDS: u64 = 7_776_000;

/// Default number of storage operations of one repair step. It suffices for the lists of a package. A step a
/// minute visits 5,000 packages of 100 versions in 1.0 to 1.2 days. By the figures of docs/measurements.md for listings, it
/// takes an estimated 5 to 8 ms of CPU: the free plan allows 10
/// (<https://developers.cloudflare.com/workers/platform/limits/#cpu-time>).
pub const REPAIR_OPERATIONS: u32 = 40;

/// The number of minutes of which one belongs to the periodic repair, if a step is due: webhooks that always have something to
/// deliver must not stop it. In the others, deliveries come first.
pub const REPAIR_TURN_MINUTES: u64 = 5;

/// Maximum number of indices that are read by one operation
/// (<https://developers.cloudflare.com/kv/api/read-key-value-pairs/#multiple-key-requests-with-get>).
pub const INDICES_AT_ONCE: usize = 100;

/// Maximum number of documents in one list of facts. Each is read from storage.
pub const FACTS_AT_ONCE: u32 = 40;

/// Maximum number of objects that one request looks up in storage before an upload.
pub const UPLOADS_AT_ONCE: usize = 40;

/// Maximum number of documents that one request restores.
pub const RESTORED_AT_ONCE: usize = 20;

/// Maximum number of archives and blobs in one garbage collection request. The removal of one takes five operations.
pub const GARBAGE_AT_ONCE: usize = 40;

/// Maximum number of archives in one request for an erasure: those of a release with [`PLATFORMS`] platforms, the two signed
/// documents of all of them, and the documentation of `DOCUMENTATION_HISTORY` changes. The command erases the documents of a release with a
/// SHA256SUMS for each platform in further requests. Each archive takes up to eight operations, of the 1,000 that a
/// request may make (<https://developers.cloudflare.com/workers/platform/limits/#subrequests>).
pub const ERASED_AT_ONCE: usize = 80;

/// Maximum number of digests and repositories in one request for an erasure of pushed content. Each takes some twenty
/// operations.
pub const CONTENTS_ERASED_AT_ONCE: usize = 20;

/// Maximum length of the name of a page of documentation: longer than the names of all public providers' pages.
pub const PAGE_NAME_BYTES: usize = 128;

/// Maximum size of one page of documentation, in bytes. Longer files are cut there, with a note: the limit of the
/// public registry (<https://developer.hashicorp.com/terraform/registry/providers/docs#storage-limits>).
pub const PAGE_BYTES: u32 = 500_000;

/// Maximum number of pages of the documentation of one version: the limit of the public registry (`tfplugindocs`,
/// `RegistryMaximumNumberOfFiles`).
pub const DOCUMENTATION_PAGES: usize = 2_000;

/// Maximum size of the images of a module's READMEs together, in bytes. Each has at most [`PAGE_BYTES`].
pub const ATTACHED_BYTES: usize = 5_000_000;

/// Maximum number of symbols of a provider. The largest public ones, `aws` and `azurerm`, have about 1,600 resources and
/// 600 data sources; this leaves room for twice as many.
pub const DOCUMENTATION_SYMBOLS: usize = 5_000;

/// Maximum length of the name of a symbol, in bytes: the type of a provider, an underscore and the name of a page.
pub const SYMBOL_NAME_BYTES: usize = PROVIDER_PART_BYTES + 1 + PAGE_NAME_BYTES;

/// Maximum number of characters of the title, the group and the description of a page in the navigation.
pub const TITLE_CHARS: usize = 301;

/// Maximum number of submodules, and of examples, in the documentation of a module. The largest public modules have about 60.
pub const MODULE_PARTS: usize = 500;

/// Maximum number of entries of the root module, a submodule or an example in its documentation: inputs, outputs, resources,
/// providers, calls and errors. Large public modules have some hundred inputs. A page and its comparisons show all.
pub const PART_ENTRIES: usize = 5_000;

/// Maximum number of such entries of a module with its submodules and examples.
pub const MODULE_ENTRIES: usize = 20_000;

/// Maximum size of such an entry, as JSON. Types of public modules reach 20 KB.
pub const ENTRY_BYTES: usize = 300_000;

/// Maximum number of notes in documentation. The command writes at most 200, and some about what it has left out.
pub const DOCUMENTATION_NOTES: usize = 250;

/// Maximum number of characters of such a note.
pub const DOCUMENTATION_NOTE_CHARS: usize = 1_000;

/// Maximum size of the head of a documentation archive, inflated. The navigation of 2,000 pages has about 400 KB, the
/// details of the largest public modules with all their README texts have as much. An index holds it, and it is parsed
/// in wasm.
pub const DOCUMENTATION_HEAD_BYTES: usize = 2 * 1024 * 1024;

/// Maximum size of a documentation archive. The documentation of the largest public provider has 10 MB before
/// compression.
pub const DOCUMENTATION_BYTES: u64 = 64 * 1024 * 1024;

/// Time after which documentation without a release is removed, in seconds: the publish that it was stored for has been
/// given up.
pub const DOCUMENTATION_ABANDONED_SECONDS: u64 = 86_400;

/// Maximum length of a description in the catalogue, in bytes: two or three lines of a list. With every character escaped
/// as ASCII it still fits into `CARD_BYTES`.
pub const CATALOG_DESCRIPTION_BYTES: usize = 300;

/// Maximum length of a part of the merged catalogue, in bytes: about 14,000 packages. All parts together are held in wasm
/// memory, which has 128 MB (<https://developers.cloudflare.com/workers/platform/limits/#memory>), while they are built and
/// while they are searched. KV takes values of 25 MiB (<https://developers.cloudflare.com/kv/platform/limits/>).
pub const CATALOG_PART_BYTES: usize = 8 * 1024 * 1024;

/// Maximum number of parts of the merged catalogue. A search reads the first one, and the others by one more operation.
pub const CATALOG_PARTS: usize = 3;

/// Maximum number of providers with symbols in one catalogue. The document of each is read when it is built, and a
/// request may make 1,000 operations (<https://developers.cloudflare.com/workers/platform/limits/#subrequests>). A publish
/// builds two catalogues, that of its owner and that of all owners; the other 400 are for the publish itself, of which
/// each platform of a provider takes a few, and for documents that change meanwhile.
pub const CARDS_WITH_SYMBOLS: usize = 300;

/// Maximum size of the cards that add their symbols to one catalogue, in bytes. Their symbols are held in wasm memory,
/// which has 128 MB (<https://developers.cloudflare.com/workers/platform/limits/#memory>), and take about four times this
/// size while the catalogue is built. The largest public providers have cards of 250 KB, so more than 30 of them fit. The
/// catalogue is shorter than the cards, and KV takes values of 25 MiB
/// (<https://developers.cloudflare.com/kv/platform/limits/>).
pub const CATALOG_SYMBOLS_BYTES: usize = 8 * 1024 * 1024;

/// Maximum length of the words of a search, in bytes: [`SEARCH_WORDS`] of 20 letters.
pub const SEARCH_BYTES: usize = 200;

/// Maximum number of words of a search. Each is looked up in every line that the earlier ones match, so the number bounds
/// the CPU.
pub const SEARCH_WORDS: usize = 10;

/// Default number of results of a search, and of entries in a list of packages or namespaces: a page for people.
pub const LISTED_AT_ONCE: usize = 20;

/// Maximum number of such results and entries. Each has at most about a kilobyte, and the response is composed in wasm
/// memory.
pub const MAX_LISTED_AT_ONCE: usize = 100;

/// Default number of searches and lists of the whole registry, for each client address and minute and without a token.
/// Each reads one KV key, of which the free plan allows 100,000 a day
/// (<https://developers.cloudflare.com/kv/platform/limits/>), and takes milliseconds of CPU.
pub const SEARCHES_A_MINUTE: u32 = 60;

/// Maximum position in a list that is paged by position, as the public registry's API does it. All entries up to the
/// position are sorted, so it bounds the CPU; cursors lead further.
pub const MAX_OFFSET: usize = 10_000;

/// Maximum length of the registry's name on its web pages, in characters: it stands beside the search field.
pub const WEB_NAME_CHARS: usize = 60;

/// Maximum number of webhooks. Each takes three reads a minute.
pub const WEBHOOKS: usize = 10;

/// Maximum length of the name of a webhook, in bytes: as of a token.
pub const WEBHOOK_NAME_BYTES: usize = 100;

/// Maximum number of namespaces of a webhook; more are a webhook for all.
pub const WEBHOOK_NAMESPACES: usize = 50;

/// Maximum duration of a delivery, in seconds: within the 15 to 30 that the Standard Webhooks specification recommends at
/// most, because a slow receiver holds one of six connections.
pub const WEBHOOK_SECONDS: u32 = 10;

/// Maximum number of deliveries of one run to a webhook, each of which is a request to another host; the free plan allows 50
/// for an event of the platform.
pub const WEBHOOK_DELIVERIES: u32 = 5;

/// How long a deliverer may take before another takes over, in seconds: longer than `WEBHOOK_RUN_SECONDS` and
/// [`WEBHOOK_SECONDS`] together.
pub const WEBHOOK_LEASE_SECONDS: u32 = 60;

/// How long deliveries may fail until the webhook is disabled, in seconds: a long weekend, and a day to repair the receiver.
pub const WEBHOOK_FAILING_SECONDS: u64 = 5 * 24 * 3600;

/// How long the removal of one copy may take in an erasure, in seconds. The scheduled copy completes it.
pub const COPY_REMOVAL_SECONDS: u32 = 5;

/// Time after which an erasure begins no further removal of a copy, in seconds: clients wait for its report.
pub const COPY_REMOVALS_SECONDS: u64 = 20;

/// Maximum number of versions in a table, and in each list of the form that compares two: about 100 KB of HTML. A package
/// may have thousands; a link leads to the next ones.
pub const SHOWN_VERSIONS: usize = 200;
