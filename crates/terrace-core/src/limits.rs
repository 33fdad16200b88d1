//! All limits, each with its source. Error messages quote these constants, so that the two cannot drift
//! apart.

/// Maximum length of one part of a provider address, which is a DNS label (RFC 1035, section 2.3.4).
pub const PROVIDER_PART_BYTES: usize = 63;

/// Maximum length of a domain name (RFC 1035, section 2.3.4, without the overhead of the wire format).
pub const HOSTNAME_BYTES: usize = 253;

/// Maximum length of one part of a module address (OpenTofu `registry-address`, `moduleRegistryNamePattern`).
pub const NAME_BYTES: usize = 64;

/// Maximum length of each half of a platform. The longest that Go knows is `loongarch64`; 16 leaves room.
pub const PLATFORM_PART_BYTES: usize = 16;

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

/// Maximum length of a file name in SHA256SUMS (the usual limit of a path component).
pub const FILENAME_BYTES: usize = 255;

/// Maximum length of the URL of a release's repository. The URL is part of the release object's metadata,
/// which R2 limits to 8 KB (<https://developers.cloudflare.com/r2/platform/limits/>); [`PLATFORMS`] platforms
/// take 3.5 of them.
pub const SOURCE_BYTES: usize = 255;

/// Lengths of a full commit ID, in hexadecimal digits: of SHA-1 and of SHA-256
/// (<https://git-scm.com/docs/hash-function-transition>).
pub const COMMIT_DIGITS: [usize; 2] = [40, 64];

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

/// Maximum number of tags that one request removes from that cache
/// (<https://developers.cloudflare.com/cache/how-to/purge-cache/#availability-and-limits>).
pub const PURGED_AT_ONCE: usize = 100;

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

/// Maximum number of versions of a package that have a status: the document that contains them is read for
/// each list.
pub const VERSION_STATUSES: usize = 1_000;

/// Maximum number of warnings in one list. Clients print them on every init (clients.md 14.1 on 2.1.2).
pub const WARNINGS: usize = 10;

/// Maximum number of scopes of one token, which travels in a header.
pub const SCOPES: usize = 20;

/// Maximum length of the name of a token, in bytes.
pub const TOKEN_NAME_BYTES: usize = 100;

/// Maximum length of a token, in bytes: 20 scopes with the longest hostnames and namespaces, and the claims of
/// a job ([`PROVENANCE_BYTES`]), in base64.
pub const TOKEN_BYTES: usize = 12_288;

/// Allowed lifetime of an expiring token, in seconds: one minute to ten years.
pub const TOKEN_LIFETIME_SECONDS: std::ops::RangeInclusive<u64> = 60..=315_360_000;

/// Maximum lifetime of a token that is issued to a job, in seconds. GitHub's own tokens are valid for five
/// minutes, which is less; a run that takes longer exchanges its token again.
pub const EXCHANGED_TOKEN_SECONDS: u32 = 900;

/// Maximum size of the body of a token exchange: a token of [`terrace_jose::limits::TOKEN_BYTES`] and the
/// other parameters.
pub const EXCHANGE_BYTES: u64 = 32 * 1024;

/// Maximum number of parameters of a token exchange. RFC 8693 defines ten.
pub const EXCHANGE_PARAMETERS: usize = 20;

/// Maximum time for which a rotated token stays valid next to its replacement, in seconds: 90 days.
pub const TOKEN_OVERLAP_SECONDS: u64 = 7_776_000;

/// The seconds for which a token that has revoked itself may repeat the request, if its response was lost or its audit
/// entry could not be written. A client that retries gives up earlier.
pub const TOKEN_FAREWELL_SECONDS: u64 = 300;

/// Allowed length of an idempotency key: a 64-bit number in hexadecimal to a SHA-256 digest. A UUID has 36 characters.
pub const IDEMPOTENCY_KEY_CHARS: std::ops::RangeInclusive<usize> = 16..=64;

/// The seconds for which a repeated request with the same idempotency key gets the token that the first one created. A
/// client that retries gives up earlier; after it, no request returns the text of the token again.
pub const IDEMPOTENT_TOKEN_SECONDS: u64 = 300;

/// Maximum number of audit log entries in one response. Each is read from storage.
pub const AUDIT_AT_ONCE: u32 = 200;

/// Maximum number of releases processed per request when the status of their signing key changes. Each takes
/// about a dozen storage operations, and a request may make 1,000
/// (<https://developers.cloudflare.com/workers/platform/limits/#subrequests>).
pub const SIGNED_RELEASES_AT_ONCE: u32 = 40;

/// Maximum number of entries of the audit log: up to this number, the names of entries sort by their numbers.
pub const AUDIT_ENTRIES: u64 = 1_000_000_000_000;

/// Number of storage operations after which a request processes no further release of a signing key.
pub const SIGNED_OPERATIONS: u32 = 400;

/// Maximum number of tokens in one list. Each is read from storage.
pub const TOKENS_AT_ONCE: u32 = 100;

/// How many pages of tokens a request reads at most, to find one that its caller may see: fewer reads than a Worker may make.
pub const TOKEN_PAGES: u32 = 8;

/// Maximum number of indices that one read names. One KV operation reads them; its own limit is
/// [`INDICES_AT_ONCE`].
pub const KEYS_OF_READ: usize = 5;

/// Time for which an isolate remembers that it may change the stored documents, in seconds. Its changes take
/// at most one read of R2 for this in that time. A newer version waits as long before it writes documents
/// that older ones would damage.
pub const FORMAT_SECONDS: u64 = 60;

/// Time for which an isolate caches the list of revoked tokens and erased digests, in seconds. Together with the 30
/// seconds of the edge cache ([`LIST_CACHE_SECONDS`]), a revoked token is rejected everywhere within a minute, and no
/// request for an erased archive is answered from the platform's cache.
pub const REVOCATIONS_SECONDS: u64 = 25;

/// Time for which an isolate caches the stored rules, in seconds. Together with the 30 seconds of the edge cache
/// ([`LIST_CACHE_SECONDS`]), a rule takes effect, and a removed one ends, everywhere within a minute.
pub const RULES_SECONDS: u64 = 25;

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

/// Maximum number of stored rules that grant something in one namespace, for its administrators; for those of a host of mirrored
/// providers, on the whole host. A rule names a repository or a group of people, and may have a pattern: the largest public publishers have
/// some hundred repositories of providers and modules.
pub const RULES_OF_NAMESPACE: usize = 100;

const _: () = assert!(RULES_OF_NAMESPACE < DELEGATED_RULES && DELEGATED_RULES < STORED_RULES);

/// Maximum number of issuers for which an isolate caches keys or failures.
pub const CACHED_ISSUERS: usize = 32;

/// Age at which an isolate refreshes its list of revoked tokens in the background while it still uses it, in
/// seconds.
pub const REVOCATIONS_FRESH_SECONDS: u64 = 10;

/// Time for which an isolate caches which bucket serves downloads, in seconds. Together with the 30 seconds of the edge cache
/// ([`LIST_CACHE_SECONDS`]), a failover takes effect everywhere within a minute.
pub const FAILOVER_SECONDS: u64 = 25;

/// Age at which an isolate refreshes that in the background while it still uses it, in seconds.
pub const FAILOVER_FRESH_SECONDS: u64 = 10;

/// Time by which a state of the failover may be ahead of the clock, in seconds: clocks differ, and changes within a second are counted
/// on. One further ahead is damaged, and would outrank every later change.
pub const FAILOVER_AHEAD_SECONDS: u32 = 300;

/// Time after which a refused change may be tried again while the second bucket serves downloads, in seconds: after an outage the main
/// one returns with [`FAILBACK_PROBES`] probes, one a minute, and a minute in which the change takes effect everywhere.
pub const FAILOVER_RETRY_SECONDS: u64 = 60 * (FAILBACK_PROBES as u64 + 1);

/// Default limit of requests with invalid credentials from one address per minute.
pub const FAILURES_A_MINUTE: u32 = 20;

/// Maximum length of a client's product name, and of its version. Longer ones are not recorded in logs and
/// metrics.
pub const CLIENT_PART_BYTES: usize = 32;

/// Maximum number of addresses for which an isolate counts invalid credentials.
pub const THROTTLED_ADDRESSES: usize = 1_000;

/// Maximum number of signing keys of one namespace. Clients try them one after another.
pub const KEYS: usize = 16;

/// Cache time of a version list at the edge, in seconds: the minimum that KV allows
/// (<https://developers.cloudflare.com/changelog/post/2026-01-30-kv-reduced-minimum-cachettl/>).
pub const LIST_CACHE_SECONDS: u32 = 30;

/// Time for which an isolate remembers that neither KV nor R2 had a list, in seconds: as long as the edge may cache one that
/// exists ([`LIST_CACHE_SECONDS`]).
pub const ABSENCE_SECONDS: u64 = LIST_CACHE_SECONDS as u64;

/// How many absent lists an isolate remembers at most. An entry is a key and a time.
pub const REMEMBERED_ABSENCES: usize = 256;

/// How many packages of each kind the registry compares with its indices when it examines itself: a sample that one request
/// can afford.
pub const EXAMINED_PACKAGES: usize = 3;

/// How many releases are listed to find them.
pub const EXAMINED_RELEASES: u32 = 100;

/// How many seconds another server has to answer while the registry examines itself.
pub const EXAMINED_SECONDS: u32 = 5;

/// How many other servers the registry tries when it examines itself.
pub const EXAMINED_SERVERS: usize = 10;

/// Cache time of the documents of one immutable version, in seconds. For this long, a revoked version may
/// still be served somewhere.
pub const VERSION_CACHE_SECONDS: u32 = 300;

/// Maximum number of reasons in one error response. A hostile archive could have thousands.
pub const REASONS: usize = 50;

/// Maximum number of times that an index is rewritten because a release was committed in the meantime. KV
/// allows one write per second to a key, so this is also the longest wait, in seconds.
pub const REFRESH_ROUNDS: u32 = 30;

/// Time for which an origin's version list is considered current, in seconds. Clients that need a release of
/// the last quarter of an hour are rare, and a check costs two requests, two writes to R2 and one to KV (the
/// free plan has 1,000 a day).
pub const PULL_CHECK_SECONDS: u64 = 900;

/// Time for which the answer that an origin has no such provider is considered current, in seconds.
pub const PULL_ABSENCE_SECONDS: u64 = 60;

/// Time for which a version may be missing from its origin's list and still count as the same version when it
/// returns, in seconds.
pub const PULL_MISSING_SECONDS: u64 = 86_400;

/// Maximum number of platforms that are tried for the signed documents of a version, if the first platform is
/// missing.
pub const PULL_PLATFORMS: usize = 3;

/// Maximum time for which one request may wait for documents of other registries, in seconds. Clients give up
/// after ten.
pub const PULL_SECONDS: u32 = 8;

/// Time that a new list takes to become visible everywhere after its origin was checked, in seconds. A KV
/// write may take a minute (<https://developers.cloudflare.com/kv/concepts/how-kv-works/>).
pub const PULL_LISTED_SECONDS: u64 = 120;

/// Age from which a list is no longer served before its origin has been checked, in seconds.
pub const PULL_STALE_SECONDS: u64 = 86_400;

/// Cache time of content that is addressed by a digest, in seconds. Content never changes, but the absence of
/// content is cached for as long, and a search for it elsewhere costs a listing.
pub const CONTENT_CACHE_SECONDS: u32 = 300;

/// Maximum length of a path: longer than all names of any route together.
pub const PATH_BYTES: usize = 1_024;

/// Maximum size of another registry's discovery document: the limit that clients apply (OpenTofu `svchost`,
/// `maxDiscoDocBytes`).
pub const ORIGIN_DISCOVERY_BYTES: u64 = 1024 * 1024;

/// Maximum number of versions for which dates are requested when a provider is looked up for the first time: each may
/// take a part of [`PULL_SECONDS`], and the free plan allows a request 50 of its own.
pub const PULL_DATES: usize = 5;

/// Maximum size of another registry's description of a version. Descriptions of the largest providers, which list their
/// documents, are about 500 KB.
pub const ORIGIN_DESCRIPTION_BYTES: u64 = 2 * 1024 * 1024;

/// Maximum size of another registry's version list. The largest known list has 1,000 versions of 30 platforms
/// each and is about 1.5 MB. This leaves room to grow, and fits into wasm memory.
pub const ORIGIN_VERSIONS_BYTES: u64 = 8 * 1024 * 1024;

/// Maximum size of another registry's description of one package: a few URLs, and keys of at most 64 KiB
/// each.
pub const ORIGIN_PACKAGE_BYTES: u64 = 1024 * 1024;

/// Maximum size of another registry's signature file that is read. [`terrace_openpgp::limits`] accepts less;
/// a file between the two limits gets a specific error.
pub const ORIGIN_SIGNATURE_BYTES: u64 = 64 * 1024;

/// Maximum number of redirects of one request to another registry: half of the ten that Go's `net/http`
/// follows, and more than the two that a release on GitHub needs.
pub const ORIGIN_REDIRECTS: usize = 5;

/// Maximum time until a long response of another registry begins, redirects included, in seconds.
pub const ORIGIN_OPEN_SECONDS: u32 = 15;

/// Minimum rate of a long response, in bytes per second, after [`ORIGIN_UNTIMED_SECONDS`].
pub const ORIGIN_BYTES_PER_SECOND: u32 = 65_536;

/// Time at the beginning of a long response to which [`ORIGIN_BYTES_PER_SECOND`] does not apply, in seconds.
pub const ORIGIN_UNTIMED_SECONDS: u32 = 60;

/// How far a client may lag behind storage when both receive one response, in bytes. The difference is buffered in memory;
/// all requests together have 128 MB of it on Workers.
pub const FORK_LAG_BYTES: u32 = 8 * 1024 * 1024;

/// How long either of them may accept nothing, and an origin send nothing, in seconds.
pub const FORK_STALL_SECONDS: u32 = 15;

/// Maximum time that storage waits for a slow client in total, in seconds. Meanwhile, other clients receive the same bytes
/// from the origin.
pub const FORK_PATIENCE_SECONDS: u32 = 600;

/// Maximum number of characters of another registry's text that a message quotes.
pub const ORIGIN_TEXT_CHARS: usize = 120;

/// Maximum length of version constraints, far longer than any in use.
pub const CONSTRAINTS_BYTES: usize = 1_000;

/// Maximum length of the name of a pushed repository. Many clients limit it to 255 bytes together with the
/// hostname (OCI Distribution 1.1, "Pulling manifests"). With a tag or digest it fits into every key.
pub const REPOSITORY_BYTES: usize = 255;

/// Maximum length of a tag (OCI Distribution 1.1, "Pulling manifests").
pub const TAG_BYTES: usize = 128;

/// Maximum length of a media type: two names of 127 bytes (RFC 6838, section 4.2) and a slash.
pub const MEDIA_TYPE_BYTES: usize = 255;

/// Maximum size of a manifest: the size that every registry should accept (OCI Distribution 1.1, "Pushing
/// Manifests"), and the maximum that OpenTofu reads (clients.md 6.8). A manifest is held in wasm memory,
/// which never shrinks.
pub const MANIFEST_BYTES: u64 = 4 * 1024 * 1024;

/// Maximum number of references in a manifest. Each is looked up in storage when the manifest is pushed, and
/// a Worker may make 1,000 requests to storage
/// (<https://developers.cloudflare.com/workers/platform/limits/>).
pub const MANIFEST_REFERENCES: usize = 500;

/// Maximum number of tags pushed with one manifest by its digest. The specification requires ten.
pub const TAGS_AT_ONCE: usize = 16;

/// Maximum number of chunks of one upload. Each is read once when the upload is completed, which is one
/// request; the rest of the 1,000 is for everything else.
pub const UPLOAD_CHUNKS: usize = 800;

/// Recommended chunk length, in bytes, sent as `OCI-Chunk-Min-Length` in the 202 of each new upload:
/// [`UPLOAD_CHUNKS`] of them are 4 GB. Shorter chunks are accepted too, as long as there are not too many.
pub const UPLOAD_CHUNK_BYTES: u64 = 5 * 1024 * 1024;

/// Length of the chunks in which a body of unknown length is stored, in bytes: one chunk is held in memory.
pub const UNSIZED_CHUNK_BYTES: u32 = 4 * 1024 * 1024;

/// Age at which an upload that was neither completed nor published is removed, in seconds.
pub const UPLOAD_ABANDONED_SECONDS: u64 = 86_400;

/// Maximum number of objects of abandoned uploads that are removed at once.
pub const UPLOADS_SWEPT: u32 = 100;

/// Maximum lifetime of a token that the OCI token endpoint issues, in seconds. A client that gets it before a large blob must still have it for the manifest (clients.md 11.3).
pub const OCI_TOKEN_SECONDS: u32 = 3_600;

/// Maximum number of characters of client input that a message quotes.
pub const QUOTED_CHARS: usize = 240;

/// Maximum number of descriptors in one list of referrers. Each is read from storage.
pub const REFERRERS_AT_ONCE: u32 = 100;

/// Maximum size of the descriptors in one list of referrers, in bytes: what clients read of a manifest
/// (clients.md 6.8), less the envelope.
pub const REFERRERS_BYTES: usize = 4 * 1024 * 1024 - 1024;

/// Maximum size of one descriptor with its annotations. A few are in memory before it is known whether they
/// fit into a response. A signature with its certificates, which some tools keep in annotations, has 10 KB.
pub const REFERRER_BYTES: usize = 64 * 1024;

/// Maximum time that a person may take to sign in, in seconds.
pub const SIGN_IN_SECONDS: u32 = 600;

/// Maximum lifetime of the session of a browser, in seconds: half a day. It cannot be revoked one by one, and a working
/// day passes with one or two sign-ins.
pub const SESSION_SECONDS: u32 = 43_200;

/// Maximum length of the session of a browser. Browsers accept cookies of 4,096 bytes with their names (RFC 6265bis,
/// section 5.6).
pub const SESSION_BYTES: usize = 4_080;

/// Maximum length of the path and query of the page to which a sign-in returns. It travels to the provider and back in a
/// URL, next to a code of its own.
pub const RETURN_PATH_BYTES: usize = 512;

/// Lifetime of a code that a client exchanges for a token, in seconds. The browser passes it to the client,
/// which sends it at once; RFC 6749, section 4.1.2, recommends at most ten minutes.
pub const LOGIN_CODE_SECONDS: u32 = 60;

/// Default lifetime of a person's token, in seconds: 90 days. Clients have no way to renew one (clients.md
/// 7.7).
pub const LOGIN_LIFETIME_SECONDS: u64 = 7_776_000;

/// Maximum length of a client's `state`. Terraform and OpenTofu send a UUID.
pub const LOGIN_STATE_BYTES: usize = 256;

/// Maximum length of the URL of an OAuth client: its ID, or the one at which it waits. Both travel to the sign-in provider and
/// back in a URL, next to a code of its own.
pub const CLIENT_URL_BYTES: usize = 512;

/// Maximum size of the document of an OAuth client, as draft-ietf-oauth-client-id-metadata-document recommends (section 8.6).
pub const CLIENT_DOCUMENT_BYTES: usize = 5 * 1024;

/// Maximum length of the name of an OAuth client, in characters: a line of the page that asks for consent.
pub const CLIENT_NAME_CHARS: usize = 64;

/// Maximum size of a form of a browser or a client: a sealed text, and the other parameters.
pub const LOGIN_FORM_BYTES: u64 = 24 * 1024;

/// Maximum length of a sealed text: scopes and names as in a token ([`TOKEN_BYTES`]), and a client's state.
pub const SEALED_BYTES: usize = 16 * 1024;

/// Maximum length of a provider's code. Entra's have 2 KB.
pub const PROVIDER_CODE_BYTES: usize = 8 * 1024;

/// Maximum size of a provider's response to a code: an ID token, an access token and a refresh token.
pub const PROVIDER_ANSWER_BYTES: usize = 64 * 1024;

/// Maximum length of a client ID, a client secret or a list of scopes at the provider.
pub const LOGIN_CLIENT_BYTES: usize = 1_000;

/// Maximum number of organisations, or teams, of a person in one of GitHub's pages: GitHub's own limit
/// (<https://docs.github.com/en/rest/orgs/orgs>).
pub const GITHUB_AT_ONCE: usize = 100;

/// Maximum number of such pages that are read for one person.
pub const GITHUB_PAGES: usize = 5;

/// Maximum size of such a page, in bytes. A team with its organisation has 3 KB.
pub const GITHUB_PAGE_BYTES: usize = 1024 * 1024;

/// Default number of storage operations of one repair step. It suffices for the lists of a package. A step a
/// minute visits 5,000 packages of 100 versions in 1.0 to 1.2 days. By the figures of docs/performance.md for listings, it
/// takes an estimated 5 to 8 ms of CPU: the free plan allows 10
/// (<https://developers.cloudflare.com/workers/platform/limits/#cpu-time>).
pub const REPAIR_OPERATIONS: u32 = 40;

/// Allowed number of operations of one repair step. The minimum suffices for the lists of a package. The
/// maximum fits into a request on every plan, together with a release that is started with the last
/// operations.
pub const REPAIR_OPERATIONS_RANGE: std::ops::RangeInclusive<u32> = 40..=800;

/// How many names a repair step may list for each of its storage operations, because listing is what takes its
/// CPU: some 12 microseconds for each release (docs/performance.md).
pub const REPAIRED_NAMES_PER_OPERATION: u32 = 10;

/// How many listed names count as much as comparing the indices of one version: it takes a millisecond of CPU,
/// because every manifest is made and hashed.
pub const NAMES_OF_A_VERSION: u32 = 50;

/// Share of the periodic repair, with default steps, in the KV keys that the free plan lets be read in a day: a
/// quarter of 100,000 (<https://developers.cloudflare.com/kv/platform/pricing/>). More operations for each
/// step raise this share, and the following ones.
pub const REPAIR_KV_READS_A_DAY: u64 = 25_000;

/// The same for lists of keys: a quarter of 1,000. Each publish takes one.
pub const REPAIR_KV_LISTS_A_DAY: u64 = 250;

/// The same for writes: half of 1,000, because the repair writes only after damage.
pub const REPAIR_KV_WRITES_A_DAY: u64 = 500;

/// Time that a walk of the periodic repair may make up for if it began its steps late, in seconds.
pub const REPAIR_CREDIT_SECONDS: u64 = 600;

/// Time between two walks of the periodic repair over the facts, in seconds.
pub const REPAIR_PAUSE_SECONDS: u64 = 3_600;

/// Time between two walks of the periodic repair over the keys of the indices, in seconds.
pub const REPAIR_KEYS_PAUSE_SECONDS: u64 = 86_400;

/// How many steps visit a single item each after a step that was interrupted.
pub const REPAIR_CAREFUL_STEPS: u32 = 30;

/// The number of minutes of which one belongs to the periodic repair, if a step is due: webhooks that always have something to
/// deliver must not stop it. In the others, deliveries come first.
pub const REPAIR_TURN_MINUTES: u64 = 5;

/// Time that the periodic repair waits for an unfinished earlier run, in seconds: longer than the platform
/// lets one run, which is 15 minutes (<https://developers.cloudflare.com/workers/platform/limits/#duration>).
pub const REPAIR_SECONDS: u64 = 1_000;

/// Maximum number of names in one response, or one log line, about repairs.
pub const REPAIRED_NAMES: usize = 1_000;

/// Maximum number of indices that are read by one operation
/// (<https://developers.cloudflare.com/kv/api/read-key-value-pairs/#multiple-key-requests-with-get>).
pub const INDICES_AT_ONCE: usize = 100;

/// Maximum number of documents in one list of facts. Each is read from storage.
pub const FACTS_AT_ONCE: u32 = 40;

/// Size of the documents in one list of facts after which no further ones are added, in bytes. The
/// documents that are read together may exceed it.
pub const FACTS_BYTES: usize = 1024 * 1024;

/// Maximum number of objects in one list of stored bytes: a page of storage.
pub const STORED_AT_ONCE: u32 = 1_000;

/// Maximum number of objects in such a list if each has a signed URL, which takes five HMACs.
pub const STORED_URLS_AT_ONCE: u32 = 100;

/// Maximum number of objects that one request looks up in storage before an upload.
pub const UPLOADS_AT_ONCE: usize = 40;

/// Maximum number of documents that one request restores.
pub const RESTORED_AT_ONCE: usize = 20;

/// Maximum size of the body of a request that restores documents: the longest manifest, escaped as JSON.
pub const RESTORE_BODY_BYTES: u64 = 3 * MANIFEST_BYTES;

/// Number of stored bytes after which a request that verifies digests starts no further object: a few seconds
/// of CPU. Paid plans start at 30 s, and an object may have 5 GB.
pub const VERIFY_BYTES: u64 = 1024 * 1024 * 1024;

/// Maximum number of objects that one request hashes again. Each takes one operation.
pub const VERIFIED_AT_ONCE: u32 = 100;

/// Maximum number of archives and blobs in one garbage collection request. The removal of one takes five operations.
pub const GARBAGE_AT_ONCE: usize = 40;

/// Time for which an archive must have been marked before it is removed, in seconds: much longer than
/// [`FENCE_SECONDS`], as [`crate::maintenance::garbage`] explains.
pub const GARBAGE_SECONDS: u64 = 3_600;

/// Time for which no request makes the tombstone of an archive from a garbage mark that another request may be about to remove, in
/// seconds. The mark is removed within half of that time or not at all, and one operation of storage takes less than the other
/// half.
pub const MARK_REMOVAL_SECONDS: u64 = 60;

/// Maximum number of archives in one request for an erasure: those of a release with [`PLATFORMS`] platforms, its signed
/// documents, and the documentation of [`DOCUMENTATION_HISTORY`] changes. Each takes up to eight operations, of the 1,000 that a
/// request may make (<https://developers.cloudflare.com/workers/platform/limits/#subrequests>).
pub const ERASED_AT_ONCE: usize = 80;

/// Number of storage operations after which a request for an erasure removes no further documentation, and is to be sent
/// again: the rest of the request, and the work that it has begun, fit into the 1,000 that it may make
/// (<https://developers.cloudflare.com/workers/platform/limits/#subrequests>).
pub const ERASURE_OPERATIONS: u32 = 500;

/// Number of storage operations that the removal of one version's documentation takes, with its share of the lists.
pub const DOCUMENTATION_ERASURE_OPERATIONS: u32 = 12;

/// Maximum number of versions for which one request for an erasure removes the documentation with the archives.
pub const DOCUMENTATION_ERASED_AT_ONCE: usize = 30;

/// Maximum number of releases that an erasure reads because an older version of Terrace has stored them without the digest of
/// their archive. The repair examines the others.
pub const UNNAMED_ARCHIVES_READ: usize = 100;

/// Maximum number of digests and repositories in one request for an erasure of pushed content. Each takes some twenty
/// operations.
pub const CONTENTS_ERASED_AT_ONCE: usize = 20;

/// Time for which a publish may rely on its snapshot of the garbage marks, in seconds. After that it does not
/// commit: the response is a 503, and the retry takes a new snapshot.
pub const FENCE_SECONDS: u64 = 900;

/// Maximum length of the name of a page of documentation: longer than the names of all public providers' pages.
pub const PAGE_NAME_BYTES: usize = 128;

/// Maximum size of one page of documentation, in bytes. Longer files are cut there, with a note: the limit of the
/// public registry (<https://developer.hashicorp.com/terraform/registry/providers/docs#storage-limits>).
pub const PAGE_BYTES: u32 = 500_000;

/// Maximum length of the gzip member of a page. Incompressible contents grow by 5 bytes for each 16 KiB and by the 18
/// bytes of the frame (RFC 1951, section 3.2.4; RFC 1952); the rest is room for other encoders.
pub const PAGE_MEMBER_BYTES: u32 = PAGE_BYTES + 16 * 1024;

/// Maximum number of pages of the documentation of one version: the limit of the public registry (`tfplugindocs`,
/// `RegistryMaximumNumberOfFiles`).
pub const DOCUMENTATION_PAGES: usize = 2_000;

/// Maximum number of symbols of a provider. The largest public ones, `aws` and `azurerm`, have about 1,600 resources and
/// 600 data sources; this leaves room for twice as many.
pub const DOCUMENTATION_SYMBOLS: usize = 5_000;

/// Maximum length of the name of a symbol, in bytes: the type of a provider, an underscore and the name of a page.
pub const SYMBOL_NAME_BYTES: usize = PROVIDER_PART_BYTES + 1 + PAGE_NAME_BYTES;

/// Maximum size of the head of a documentation archive, inflated. The navigation of 2,000 pages has about 400 KB, the
/// details of the largest public modules with all their README texts have as much. An index holds it, and it is parsed
/// in wasm.
pub const DOCUMENTATION_HEAD_BYTES: usize = 2 * 1024 * 1024;

/// Maximum length of the gzip member of a head; see [`PAGE_MEMBER_BYTES`].
pub const DOCUMENTATION_HEAD_MEMBER_BYTES: u64 = DOCUMENTATION_HEAD_BYTES as u64 + 64 * 1024;

/// Maximum size of a documentation archive. The documentation of the largest public provider has 10 MB before
/// compression.
pub const DOCUMENTATION_BYTES: u64 = 64 * 1024 * 1024;

/// Number of changes of a version's documentation that its document remembers: every reader of the documentation reads
/// them, and older ones stay in the audit log.
pub const DOCUMENTATION_HISTORY: usize = 10;

/// Maximum length of a licence, an SPDX expression
/// (<https://spdx.github.io/spdx-spec/v3.0.1/annexes/spdx-license-expressions/>). The longest identifiers have about 40 characters; this leaves room for two with an operator.
pub const LICENSE_BYTES: usize = 100;

/// Time after which documentation without a release is removed, in seconds: the publish that it was stored for has been
/// given up.
pub const DOCUMENTATION_ABANDONED_SECONDS: u64 = 86_400;

/// Time for which documentation that a request or a repair has begun to remove is not replaced, in seconds. It is removed
/// within half of that time or not at all, and one operation of storage takes less than the other half.
pub const DOCUMENTATION_REMOVAL_SECONDS: u64 = 60;

/// Maximum number of documented versions in one list: a page of storage.
pub const DOCUMENTED_AT_ONCE: u32 = 1_000;

/// Maximum length of a package's line in the metadata of its card: the limit of R2 for all metadata of an object is
/// 8,192 bytes (<https://developers.cloudflare.com/r2/platform/limits/>), and a page of a listing holds 1,000 of them.
pub const CARD_BYTES: usize = 2_048;

/// Maximum length of a description in the catalogue, in bytes: two or three lines of a list. With every character escaped
/// as ASCII it still fits into [`CARD_BYTES`] with the names of the inputs.
pub const CATALOG_DESCRIPTION_BYTES: usize = 300;

/// Maximum length of the beginning of a paragraph in which a README's description is sought, in bytes: badges before the
/// prose may be long. It also bounds the time that unclosed brackets take.
pub const README_PARAGRAPH_BYTES: usize = 4 * 1024;

/// Maximum length of the label of a link in such a paragraph, with an image in it, in bytes. A badge has two URLs, of 100
/// to 200 bytes each.
pub const README_LABEL_BYTES: usize = 1_000;

/// Maximum number of inputs of a module in the catalogue: the required ones, of which few modules have more, and some
/// others. With usual names they take a fifth of [`CARD_BYTES`].
pub const CATALOG_INPUTS: usize = 20;

/// Number of packages that the catalogue lists as the newest: two lists of [`MAX_LISTED_AT_ONCE`], about 40 KB of the
/// 2 MB that 5,000 packages take.
pub const CATALOG_NEWEST: usize = 200;

/// Maximum length of a part of the merged catalogue, in bytes: about 25,000 packages. All parts together are held in wasm
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

/// Minimum length of a symbol in the document of a card, in bytes: its JSON with names of one letter. A card with too many
/// symbols for the rest of a catalogue need not be read.
pub const CARD_SYMBOL_BYTES: usize = 40;

/// Maximum size of the cards that add their symbols to one catalogue, in bytes. Their symbols are held in wasm memory,
/// which has 128 MB (<https://developers.cloudflare.com/workers/platform/limits/#memory>), and take about four times this
/// size while the catalogue is built. The largest public providers have cards of 250 KB, so more than 30 of them fit. The
/// catalogue is shorter than the cards, and KV takes values of 25 MiB
/// (<https://developers.cloudflare.com/kv/platform/limits/>).
pub const CATALOG_SYMBOLS_BYTES: usize = 8 * 1024 * 1024;

/// Number of packages up to which an owner's catalogue is written before the response to a publish: building it
/// takes some 12 microseconds of CPU for each, and the free plan allows 10 ms in all. For larger owners it is written
/// after the response.
pub const CATALOG_CARDS_AT_ONCE: u32 = 200;

/// How long the health check waits for KV or R2, in seconds. A read of either takes milliseconds, and load balancers and uptime
/// monitors wait for 5 to 30 seconds: they are to receive the answer that names the part.
pub const HEALTH_SECONDS: u32 = 3;

/// Number of attempts of a publish to write the catalogue of its owner before it responds, one second apart, because KV
/// allows one write per second to a key: people wait for no more than three seconds. The rest happens after the response.
pub const CATALOG_ROUNDS: u32 = 3;

/// Number of attempts of a publish to write an index that only people read, one second apart, for the same reason. All
/// other indices of the publish have been written by then.
pub const FOR_PEOPLE_TRIES: u32 = 3;

/// Minimum time between two rebuilds of the merged catalogue, in seconds. The free plan allows 1,000 KV writes a day.
pub const CATALOG_SECONDS: u32 = 60;

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

/// Maximum length of the cursor of a list: a rank, the longest key of a package, and the name of a symbol.
pub const CURSOR_BYTES: usize = 1_024;

/// Default number of searches and lists of the whole registry, for each client address and minute and without a token.
/// Each reads one KV key, of which the free plan allows 100,000 a day
/// (<https://developers.cloudflare.com/kv/platform/limits/>), and takes milliseconds of CPU.
pub const SEARCHES_A_MINUTE: u32 = 60;

/// Maximum position in a list that is paged by position, as the public registry's API does it. All entries up to the
/// position are sorted, so it bounds the CPU; cursors lead further.
pub const MAX_OFFSET: usize = 10_000;

/// Maximum length of the registry's name on its web pages, in characters: it stands beside the search field.
pub const WEB_NAME_CHARS: usize = 60;

/// Number of packages on the start page, the newest first: two screens of a laptop. The lists of modules and providers
/// have all.
pub const RECENT_PACKAGES: usize = 12;

/// Maximum number of namespaces beside a list of packages, which has [`LISTED_AT_ONCE`] entries of about twice their
/// height. A link leads to the next ones.
pub const SHOWN_NAMESPACES: usize = 50;

/// Maximum number of versions in a table, and in each list of the form that compares two: about 100 KB of HTML. A package
/// may have thousands; a link leads to the next ones.
pub const SHOWN_VERSIONS: usize = 200;

/// Number of versions in the menu of a version's pages, which are the newest: a screen. The table of versions has all.
pub const PICKED_VERSIONS: usize = 30;

/// Maximum number of entries of a feed. Readers of feeds ask at least daily; few registries publish as much in a day.
pub const FEED_ENTRIES: usize = 50;

/// Maximum number of characters in each half of a badge; the rest is cut. A line of a README has about 100.
pub const BADGE_CHARS: usize = 40;

/// Maximum number of webhooks. Each takes three reads a minute.
pub const WEBHOOKS: usize = 10;

/// Maximum length of the name of a webhook, in bytes: as of a token.
pub const WEBHOOK_NAME_BYTES: usize = 100;

/// Maximum number of namespaces of a webhook; more are a webhook for all.
pub const WEBHOOK_NAMESPACES: usize = 50;

/// Number of characters of an unknown event or format that a message shows.
pub const QUOTED_EVENT_CHARS: usize = 40;

/// Maximum duration of a delivery, in seconds: within the 15 to 30 that the Standard Webhooks specification recommends at
/// most, because a slow receiver holds one of six connections.
pub const WEBHOOK_SECONDS: u32 = 10;

/// Time after which a run of deliveries begins no further one, in seconds. After an answer, the platform ends a Worker after
/// 30.
pub const WEBHOOK_RUN_SECONDS: u64 = 15;

/// Maximum number of audit entries that one run looks at for a webhook.
pub const WEBHOOK_ENTRIES: u32 = 50;

/// Maximum number of deliveries of one run to a webhook, each of which is a request to another host; the free plan allows 50
/// for an event of the platform.
pub const WEBHOOK_DELIVERIES: u32 = 5;

/// How long a deliverer may take before another takes over, in seconds: longer than [`WEBHOOK_RUN_SECONDS`] and
/// [`WEBHOOK_SECONDS`] together.
pub const WEBHOOK_LEASE_SECONDS: u32 = 60;

/// The pause after the first failed delivery, in seconds. It doubles with each further one.
pub const WEBHOOK_FIRST_PAUSE_SECONDS: u32 = 30;

/// The number of times the pause doubles at most: enough for [`WEBHOOK_PAUSE_SECONDS`].
pub const WEBHOOK_DOUBLINGS: u32 = 7;

/// The longest pause between two attempts, in seconds.
pub const WEBHOOK_PAUSE_SECONDS: u32 = 3600;

/// How long deliveries may fail until the webhook is disabled, in seconds: a long weekend, and a day to repair the receiver.
pub const WEBHOOK_FAILING_SECONDS: u64 = 5 * 24 * 3600;

/// Maximum number of characters of a failure's reason that are stored.
pub const WEBHOOK_RESULT_CHARS: usize = 200;

/// Maximum size of the body of an MCP request, in bytes. The longest arguments are a search and an address, so the rest is
/// room for the metadata of clients. The body is held in wasm memory.
pub const MCP_BODY_BYTES: u64 = 64 * 1024;

/// Maximum length of the ID of an MCP request, in bytes: it is repeated in the response. Clients send numbers and UUIDs.
pub const MCP_ID_BYTES: usize = 128;

/// Maximum length of the entries or the text of an answer of an MCP tool, in characters: about 5,000 tokens of a model, of
/// which a page of documentation of a large provider would take 100,000.
pub const MCP_ANSWER_CHARS: usize = 20_000;

/// Maximum length of one text of a publisher within such an answer, in characters. Descriptions and defaults are longer only
/// where they hold whole documents.
pub const MCP_FIELD_CHARS: usize = 1_000;

/// Maximum number of names within one entry of such an answer, such as the files of an example.
pub const MCP_NAMES: usize = 50;

/// Maximum length of the snippet in such an answer, in characters: a call with about a hundred required inputs.
pub const MCP_SNIPPET_CHARS: usize = 6_000;

/// How long an MCP client may keep the list of tools, in milliseconds. Only a deployment changes it.
pub const MCP_LIST_MILLIS: u32 = 300_000;

/// How long an MCP client may keep a document, in milliseconds: as long as the edge keeps a list.
pub const MCP_DOCUMENT_MILLIS: u32 = 1_000 * LIST_CACHE_SECONDS;

/// Number of consecutive failed probes of the main bucket, one a minute, after which downloads are served by the second one.
/// Short failures are more frequent than outages, and clients retry.
pub const FAILOVER_PROBES: u32 = 3;

/// Number of consecutive successful probes after which the main bucket serves downloads again, if the probe has ended that:
/// a bucket that answers now and then is not back.
pub const FAILBACK_PROBES: u32 = 5;

/// How long a request to a bucket by its S3 API may take, in seconds, except for one that sends an archive. It is also the
/// lifetime of its URL.
pub const BUCKET_REQUEST_SECONDS: u32 = 10;

/// How long the copy of one archive to the second bucket may take, in seconds: a scheduled event may last 15 minutes
/// (<https://developers.cloudflare.com/workers/platform/limits/#duration>).
pub const COPY_SECONDS: u32 = 300;

/// Maximum number of archives that one run copies to the second bucket. Each takes a request to the bucket, of the 50 to other servers
/// that an event may send on the free plan (<https://developers.cloudflare.com/workers/platform/limits/#subrequests>), and may take
/// another one to undo it. With those of [`SURPLUS_AT_ONCE`] and [`COMPLETED_REMOVALS_AT_ONCE`] and three of the probe and the lists,
/// a run sends 43 at most.
pub const COPIED_AT_ONCE: usize = 10;

/// Time after which a run begins no further copy, in seconds.
pub const COPY_RUN_SECONDS: u64 = 60;

/// Time after which a step of the copy that has not ended is taken to be interrupted, in seconds: the last copy may begin just
/// before [`COPY_RUN_SECONDS`], and no removal begins more than [`COPY_SECONDS`] later.
pub const COPY_STEP_SECONDS: u64 = COPY_RUN_SECONDS + COPY_SECONDS as u64 + 60;

/// Maximum age of the last complete comparison of the two buckets for the second one to serve downloads, in seconds. Copies do not
/// become invalid, so it is long: the comparison of a million archives takes days.
pub const COPY_RECORD_SECONDS: u64 = 7 * 86_400;

/// Time after which a comparison with the same result is recorded again, in seconds: KV allows 1,000 writes a day on the free plan
/// (<https://developers.cloudflare.com/kv/platform/limits/>).
pub const COPY_RECORD_RENEWAL_SECONDS: u64 = 3_600;

/// The second bucket may lack one in this number of archives when it begins to serve downloads: new archives wait for their copy
/// for some minutes.
pub const COPY_GAP: u64 = 10;

/// Time within which every location sees a value that was written to KV, in seconds
/// (<https://developers.cloudflare.com/kv/concepts/how-kv-works/#consistency>).
pub const KV_ARRIVAL_SECONDS: u64 = 60;

/// How long the removal of one copy may take in an erasure, in seconds. The scheduled copy completes it.
pub const COPY_REMOVAL_SECONDS: u32 = 5;

/// Time after which an erasure begins no further removal of a copy, in seconds: clients wait for its report.
pub const COPY_REMOVALS_SECONDS: u64 = 20;

/// Maximum number of archives in one comparison of the two buckets: the listing of the second one is parsed in wasm, within the
/// 10 ms of CPU of an event on the free plan.
pub const COMPARED_AT_ONCE: u32 = 500;

/// Maximum number of missing archives in one answer to `terrace admin replicate`, each with two signed URLs.
pub const MISSING_COPIES_AT_ONCE: usize = 50;

/// Maximum number of erased objects that one comparison removes from the second bucket: each takes a request.
pub const SURPLUS_AT_ONCE: usize = 10;

/// Maximum number of interrupted removals that one comparison completes: each takes a request and six operations.
pub const COMPLETED_REMOVALS_AT_ONCE: usize = 10;

/// Time after which an upload of a copy that began before the removal of its archive has ended, in seconds: its URL was signed before.
pub const COPY_SWEEP_SECONDS: u64 = UPLOAD_LIFETIME_SECONDS as u64 + COPY_SECONDS as u64;

/// Maximum length of the listing of a bucket, in bytes: [`COMPARED_AT_ONCE`] objects of at most a kilobyte each.
pub const BUCKET_PAGE_BYTES: u64 = 512 * 1024;

/// The number of minutes of which one belongs to the copy in the second bucket.
pub const COPY_TURN_MINUTES: u64 = 5;
