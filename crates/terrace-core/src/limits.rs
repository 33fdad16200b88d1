//! Every limit, each with its source. Error texts quote these, so they cannot drift apart.

/// A part of a provider address is one DNS label (RFC 1035, section 2.3.4).
pub const PROVIDER_PART_BYTES: usize = 63;

/// A domain name (RFC 1035, section 2.3.4, less what its wire form adds).
pub const HOSTNAME_BYTES: usize = 253;

/// A part of a module address (OpenTofu `registry-address`, `moduleRegistryNamePattern`).
pub const NAME_BYTES: usize = 64;

/// Each half of a platform. The longest that Go knows is `loongarch64`; 16 leaves room.
pub const PLATFORM_PART_BYTES: usize = 16;

/// A version. With three names of 64 bytes a key stays under KV's 512 bytes
/// (<https://developers.cloudflare.com/kv/platform/limits/>) with room for a hostname of 253.
pub const VERSION_BYTES: usize = 100;

/// Platforms of one release. Go supports fewer than 50; their names fill at most
/// 64 × 34 bytes of the 8,192 that R2 gives to custom metadata.
pub const PLATFORMS: usize = 64;

/// Protocol versions of one release. Two are in use.
pub const PROTOCOLS: usize = 8;

/// The body of an admin request. It is held in wasm memory, which never shrinks; the largest real
/// request (64 platforms, their SHA256SUMS and an RSA-4096 signature) is about 40 KB.
pub const ADMIN_BODY_BYTES: u64 = 1024 * 1024;

/// The text of a SHA256SUMS file: 64 platforms and some extra lines of at most 300 bytes each.
pub const SHASUMS_BYTES: usize = 64 * 1024;

/// A file name inside SHA256SUMS (the usual limit of a path component).
pub const FILENAME_BYTES: usize = 255;

/// Most bytes of the URL of a release's repository. It is part of the release object's metadata, of which R2 keeps 8 KB
/// (<https://developers.cloudflare.com/r2/platform/limits/>) and [`PLATFORMS`] platforms take 3.5.
pub const SOURCE_BYTES: usize = 255;

/// A published archive. Presigned uploads are a single PUT, and R2 takes at most
/// 4.995 GiB in one (<https://developers.cloudflare.com/r2/platform/limits/>).
pub const ARCHIVE_BYTES: u64 = 4_995 * 1024 * 1024 * 1024 / 1000;

/// A request body that passes through the Worker: Cloudflare's limit on most plans
/// (<https://developers.cloudflare.com/workers/platform/limits/#request-limits>).
pub const WORKER_BODY_BYTES: u64 = 100 * 1000 * 1000;

/// The lifetime of a presigned URL in seconds, smallest and largest
/// (<https://developers.cloudflare.com/r2/api/s3/presigned-urls/>: 1 second to 7 days).
pub const URL_LIFETIME_SECONDS: std::ops::RangeInclusive<u32> = 1..=604_800;

/// The lifetime of a download URL where none is configured: long enough for a slow client to
/// begin, short because such URLs reach users' logs when a download fails.
pub const URL_LIFETIME_DEFAULT_SECONDS: u32 = 900;

/// The lifetime of an upload URL: time to send 5 GB at 1.5 MB a second.
pub const UPLOAD_LIFETIME_SECONDS: u32 = 3_600;

/// The shortest admin secret: 16 characters of base64 are 96 bits.
pub const ADMIN_TOKEN_BYTES: usize = 16;

/// The reason of a statement about a release, in bytes: with all of its characters escaped it fits the
/// metadata of a KV key, 1,024 bytes (<https://developers.cloudflare.com/kv/platform/limits/>).
pub const REASON_BYTES: usize = 400;

/// Versions of a package of which something is said: their document is read for each list.
pub const STANDINGS: usize = 1_000;

/// Warnings in one list: they are printed on every init (clients.md 14.1 on 2.1.2).
pub const WARNINGS: usize = 10;

/// Scopes of one token: it travels in a header.
pub const SCOPES: usize = 20;

/// The name of a token, in bytes.
pub const TOKEN_NAME_BYTES: usize = 100;

/// A whole token, in bytes: 20 scopes with the longest hostnames and namespaces, in base64.
pub const TOKEN_BYTES: usize = 12_288;

/// How long a token may be good that does not last for ever, in seconds: a minute to ten years.
pub const TOKEN_LIFETIME_SECONDS: std::ops::RangeInclusive<u64> = 60..=315_360_000;

/// How long a token is good at most that was given to a job, in seconds. GitHub's own are good for five
/// minutes, which is less; a run that takes longer exchanges its token again.
pub const EXCHANGED_TOKEN_SECONDS: u32 = 900;

/// The body of a token exchange: a token of [`terrace_jose::limits::TOKEN_BYTES`], and all around it.
pub const EXCHANGE_BYTES: u64 = 32 * 1024;

/// Parameters of a token exchange. RFC 8693 knows ten.
pub const EXCHANGE_PARAMETERS: usize = 20;

/// How long a token may stay good that another replaces, in seconds: 90 days.
pub const TOKEN_OVERLAP_SECONDS: u64 = 7_776_000;

/// Entries of the audit log in one answer; each is read from storage.
pub const AUDIT_AT_ONCE: u32 = 200;

/// Releases that are looked at when something is said of the key that signed them: each takes about a
/// dozen storage operations, of which a request may have 1,000
/// (<https://developers.cloudflare.com/workers/platform/limits/#subrequests>).
pub const SIGNED_RELEASES_AT_ONCE: u32 = 40;

/// Entries of the audit log: so many have names that sort by their numbers.
pub const AUDIT_ENTRIES: u64 = 1_000_000_000_000;

/// After so many operations no further one of them is begun.
pub const SIGNED_OPERATIONS: u32 = 400;

/// Tokens of one listing; each is read from storage.
pub const TOKENS_AT_ONCE: u32 = 100;

/// Indices that one read may name: one operation of KV reads them, whose other limit is 100 keys
/// (<https://developers.cloudflare.com/kv/api/read-key-value-pairs/#read-multiple-keys-at-once>).
pub const KEYS_OF_READ: usize = 3;

/// How long an isolate keeps the list of revoked tokens, in seconds. With the 30 seconds of the edge
/// ([`LIST_CACHE_SECONDS`]) a revoked token is dead everywhere within a minute.
pub const REVOCATIONS_SECONDS: u64 = 25;

/// How long an isolate remembers that it may change the stored documents, in seconds: one read of R2 in this time, before
/// a change. A newer version that must not share them with an older one waits as long.
pub const FORMAT_SECONDS: u64 = 60;

/// After how many seconds an isolate looks for a newer list, while it still goes by the one it has.
pub const REVOCATIONS_FRESH_SECONDS: u64 = 10;

/// Requests with wrong credentials from one address in a minute, unless it is configured.
pub const FAILURES_A_MINUTE: u32 = 20;

/// The product of a client, and its version, each: what is longer is no name for a figure.
pub const CLIENT_PART_BYTES: usize = 32;

/// Addresses whose wrong credentials an isolate counts.
pub const THROTTLED_ADDRESSES: usize = 1_000;

/// Signing keys of one namespace. Clients try them one after another.
pub const KEYS: usize = 16;

/// The cache time of a version list at the edge, in seconds: the shortest KV allows
/// (<https://developers.cloudflare.com/changelog/post/2026-01-30-kv-reduced-minimum-cachettl/>).
pub const LIST_CACHE_SECONDS: u32 = 30;

/// The cache time of the documents of one immutable version, in seconds: how long a version that is
/// revoked may still be handed out somewhere.
pub const VERSION_CACHE_SECONDS: u32 = 300;

/// Reasons given at once for a refusal; a hostile archive could have thousands.
pub const REASONS: usize = 50;

/// How often an index is written again because a release landed meanwhile. A write a second is
/// KV's limit for a key, so this is also the longest wait, in seconds.
pub const REFRESH_ROUNDS: u32 = 30;

/// How long what an origin listed is taken for what it lists, in seconds. A client that knows of a
/// release of a quarter of an hour ago is rare, and asking costs two requests, two writes to R2 and one
/// to KV (of which the free plan has 1,000 a day).
pub const PULL_CHECK_SECONDS: u64 = 900;

/// The same where the origin had no such provider.
pub const PULL_ABSENCE_SECONDS: u64 = 60;

/// How long a version may be off its origin's list and still be the one that was there before, in
/// seconds.
pub const PULL_MISSING_SECONDS: u64 = 86_400;

/// Of how many platforms a version is asked for, where the first is not there.
pub const PULL_PLATFORMS: usize = 3;

/// How long a request may ask other registries for documents, in seconds: clients give up after ten.
pub const PULL_SECONDS: u32 = 8;

/// How long after an origin was asked everybody should see the new list, in seconds: a KV write may
/// take a minute (<https://developers.cloudflare.com/kv/concepts/how-kv-works/>).
pub const PULL_LISTED_SECONDS: u64 = 120;

/// The age at which a list is no longer answered before its origin was asked, in seconds.
pub const PULL_STALE_SECONDS: u64 = 86_400;

/// How long the edge may keep what has a digest, in seconds. It never changes; but that there is no such
/// thing is kept as long, and finding it elsewhere costs a listing.
pub const CONTENT_CACHE_SECONDS: u32 = 300;

/// A path that no route can have: longer than every name together.
pub const PATH_BYTES: usize = 1_024;

/// The discovery document of another registry: what clients read of one (OpenTofu `svchost`,
/// `maxDiscoDocBytes`).
pub const ORIGIN_DISCOVERY_BYTES: u64 = 1024 * 1024;

/// The version list of another registry. The largest that is known has 1,000 versions of 30
/// platforms each and is about 1.5 MB; this leaves room to grow, and fits into wasm memory.
pub const ORIGIN_VERSIONS_BYTES: u64 = 8 * 1024 * 1024;

/// The description of one package of another registry: a few URLs, and keys of at most 64 KiB each.
pub const ORIGIN_PACKAGE_BYTES: u64 = 1024 * 1024;

/// The signature file of another registry, as it comes. What [`terrace_openpgp::limits`] takes is
/// less; between the two an error can tell what is wrong.
pub const ORIGIN_SIGNATURE_BYTES: u64 = 64 * 1024;

/// Redirects of one request to another registry: half of what clients follow (Go's `net/http`
/// follows ten), and more than a release on GitHub needs, which is two.
pub const ORIGIN_REDIRECTS: usize = 5;

/// Characters of another registry's text that are quoted in a message.
pub const ORIGIN_TEXT_CHARS: usize = 120;

/// The text of version constraints: far more than anyone writes.
pub const CONSTRAINTS_BYTES: usize = 1_000;

/// The name of a repository that is pushed to. Many clients take at most 255 bytes together with the
/// hostname (OCI Distribution 1.1, "Pulling manifests"); with a tag or digest it fits every key.
pub const REPOSITORY_BYTES: usize = 255;

/// A tag (OCI Distribution 1.1, "Pulling manifests").
pub const TAG_BYTES: usize = 128;

/// A media type: two names of 127 bytes (RFC 6838, section 4.2) and a slash.
pub const MEDIA_TYPE_BYTES: usize = 255;

/// A manifest: what every registry should take (OCI Distribution 1.1, "Pushing Manifests"), and the
/// most that OpenTofu reads (clients.md 6.8). It is held in wasm memory, which never shrinks.
pub const MANIFEST_BYTES: u64 = 4 * 1024 * 1024;

/// What a manifest may refer to. Each is looked for in storage when the manifest is pushed, and a Worker
/// may make 1,000 requests to storage (<https://developers.cloudflare.com/workers/platform/limits/>).
pub const MANIFEST_REFERENCES: usize = 500;

/// Tags that are pushed with one manifest by its digest. The specification asks for ten.
pub const TAGS_AT_ONCE: usize = 16;

/// Chunks of one upload. Each is read once when the upload is completed, which is one request; the rest
/// of the 1,000 is for everything else.
pub const UPLOAD_CHUNKS: usize = 800;

/// How long chunks should be, in bytes, as clients are told that ask for it: so many of them are 4 GB. Shorter
/// ones are taken, too, as long as they are not too many.
pub const UPLOAD_CHUNK_BYTES: u64 = 5 * 1024 * 1024;

/// Chunks that a body of unknown length is stored in, in bytes: what is held in memory.
pub const UPLOAD_PIECE_BYTES: u32 = 4 * 1024 * 1024;

/// How old an upload that nobody has completed, or published, is before it is removed, in seconds.
pub const UPLOAD_ABANDONED_SECONDS: u64 = 86_400;

/// Objects of abandoned uploads that are removed at once.
pub const UPLOADS_SWEPT: u32 = 100;

/// How long a token is good that was given for the admin token, in seconds. A client that gets it before
/// a large blob must still have it for the manifest (clients.md 11.3).
pub const OCI_TOKEN_SECONDS: u32 = 3_600;

/// Characters of what somebody has sent that are quoted in a message.
pub const QUOTED_CHARS: usize = 240;

/// Descriptors in one answer that lists referrers; each is read from storage.
pub const REFERRERS_AT_ONCE: u32 = 100;

/// Their text, in bytes: what clients read of a manifest (clients.md 6.8), less what is around it.
pub const REFERRERS_BYTES: usize = 4 * 1024 * 1024 - 1024;

/// One of them, with its annotations: a few are in memory before it is known whether they fit into an
/// answer. A signature with its certificates, which some tools keep in annotations, has 10 KB.
pub const REFERRER_BYTES: usize = 64 * 1024;

/// How long a person may take to sign in, in seconds.
pub const SIGN_IN_SECONDS: u32 = 600;

/// How long a code is good that a client gets for a token, in seconds. The browser brings it to the
/// client, which sends it at once; RFC 6749, section 4.1.2, allows ten minutes at most.
pub const LOGIN_CODE_SECONDS: u32 = 60;

/// How long a token of a person is good unless the configuration says otherwise, in seconds: 90 days.
/// Clients have no way to renew one (clients.md 7.7).
pub const LOGIN_LIFETIME_SECONDS: u64 = 7_776_000;

/// The `state` of a client. Theirs is a UUID.
pub const LOGIN_STATE_BYTES: usize = 256;

/// A form of a browser or a client: a sealed text, and what goes with it.
pub const LOGIN_FORM_BYTES: u64 = 24 * 1024;

/// A sealed text: scopes and names as in a token ([`TOKEN_BYTES`]), and a client's state.
pub const SEALED_BYTES: usize = 16 * 1024;

/// The code of a provider. Entra's have 2 KB.
pub const PROVIDER_CODE_BYTES: usize = 8 * 1024;

/// What a provider answers for a code: an ID token, an access token and a refresh token.
pub const PROVIDER_ANSWER_BYTES: usize = 64 * 1024;

/// A client ID, secret or list of scopes, as the provider has them.
pub const LOGIN_CLIENT_BYTES: usize = 1_000;

/// Organisations, or teams, of a person that GitHub lists at once, which is its most
/// (<https://docs.github.com/en/rest/orgs/orgs>).
pub const GITHUB_AT_ONCE: usize = 100;

/// Such lists that are read of one person.
pub const GITHUB_PAGES: usize = 5;

/// Such a list, in bytes. A team with its organisation has 3 KB.
pub const GITHUB_PAGE_BYTES: usize = 1024 * 1024;

/// Storage operations of one step of a repair, unless it is configured. Enough for a release of
/// [`PLATFORMS`] platforms, which has 131 indices; and little enough for the free plan, where a request may
/// make 1,000 (<https://developers.cloudflare.com/workers/platform/limits/#subrequests>) and 100,000 keys of
/// KV are read in a day: a step an hour over releases of fifteen platforms reads 40,000.
pub const REPAIR_OPERATIONS: u32 = 150;

/// How many operations of one step can be configured: as many as the lists of a package take, and as any
/// plan lets a request do, less what a release takes that is begun with the last of them.
pub const REPAIR_OPERATIONS_RANGE: std::ops::RangeInclusive<u32> = 40..=800;

/// How long the periodic repair waits for one that has begun and not ended, in seconds: longer than the
/// platform lets one run, which is 15 minutes
/// (<https://developers.cloudflare.com/workers/platform/limits/#duration>).
pub const REPAIR_SECONDS: u64 = 1_800;

/// Names in one answer, or line of the log, about what was repaired.
pub const REPAIRED_NAMES: usize = 1_000;

/// Indices that are read by one operation
/// (<https://developers.cloudflare.com/kv/api/read-key-value-pairs/#multiple-key-requests-with-get>).
pub const INDICES_AT_ONCE: usize = 100;

/// Documents in one answer that lists facts; each is read from storage.
pub const FACTS_AT_ONCE: u32 = 40;

/// Their bytes, after which no further one is added: four manifests at most are more.
pub const FACTS_BYTES: usize = 1024 * 1024;

/// Objects in one answer that lists stored bytes: a page of storage.
pub const STORED_AT_ONCE: u32 = 1_000;

/// The same where each has a signed URL, which takes five HMACs.
pub const STORED_URLS_AT_ONCE: u32 = 100;

/// Objects of which one request looks whether they are stored.
pub const UPLOADS_AT_ONCE: usize = 40;

/// Documents that one request restores.
pub const RESTORED_AT_ONCE: usize = 20;

/// The body of a request that restores documents: the longest manifest, escaped as JSON.
pub const RESTORE_BODY_BYTES: u64 = 3 * MANIFEST_BYTES;

/// Stored bytes that one request hashes again, after which no further object is begun: a few seconds of
/// CPU. Paid plans begin with 30 s, and an object may have 5 GB.
pub const VERIFY_BYTES: u64 = 1024 * 1024 * 1024;

/// Objects that one request hashes again; each is one operation.
pub const VERIFIED_AT_ONCE: u32 = 100;

/// Archives of one request about garbage; to remove one takes four operations.
pub const GARBAGE_AT_ONCE: usize = 40;

/// How long an archive must have been marked before it is removed, in seconds: longer by far than
/// [`LOOK_SECONDS`], as `terrace_core::repair` explains.
pub const GARBAGE_SECONDS: u64 = 3_600;

/// How long a publish goes by what it has seen of the archives, in seconds; after that it looks again.
pub const LOOK_SECONDS: u64 = 900;
