//! The table of commands: their examples, scopes and exit codes.

use terrace_core::api::endpoint::RequiredAccess;
use terrace_core::http::method::Method;

use super::Entry;

const PUBLISHED: &str = "published, or already published with the same bytes";
const INVALID_RELEASE: &str = "the release is invalid; every reason is printed";
const OTHER_BYTES: &str = "the version is already published with other bytes";
const MIRRORED: &str =
    "every version is published, or already was with the same bytes; skipped parts are listed";
const OTHER_MIRRORED_BYTES: &str = "a version is already published with other bytes";
const OTHER_PUBLISHED_BYTES: &str =
    "a version is already published with other bytes; the others are published";
const ORIGIN_FORBIDS: &str = "an origin does not allow the download";
const ORIGIN_UNAVAILABLE: &str = "the registry, its storage or an origin cannot be reached or does not respond; run the \
                                  command again";
const NO_SUCH_KEY: &str = "the namespace has no such key";
const NO_SUCH_KEY_OR_CHANGED: &str = "the namespace has no such key; or another request changed the status of the key at \
                                      the same time: run the command again";
const NO_SUCH_PACKAGE_OR_TOO_MANY: &str = "the package or version does not exist; or too many versions of the package have \
                                           a status: deprecate the package instead";
const NO_SUCH_NAMESPACE: &str =
    "the namespace has no packages, or the registry is too old to have a catalogue";
const NO_SUCH_VERSION: &str =
    "the package or version does not exist, or the registry is too old to have a catalogue";
const NO_CATALOGUE: &str =
    "the registry does not accept the search, or is too old to have a catalogue";
const NO_SUCH_PACKAGE: &str = "the package or version does not exist";

const INVALID_RULE: &str =
    "the rule is invalid: it does not identify whom it trusts, or grants too much";
const NO_RULE: &str = "the registry has no rule with one of the IDs that this token may manage";

/// An entry for each command without subcommands.
pub(super) const ENTRIES: [Entry; 63] = [
    Entry::new("list", "terrace list acme", "listed").uses("api_namespaces", Method::Get).rejected(NO_SUCH_NAMESPACE),
    Entry::new("show", "terrace show acme/vpc/aws 1.2.0", "shown").uses("api_package", Method::Get).rejected(NO_SUCH_VERSION),
    Entry::new(
        "search",
        "terrace search network --kind module",
        "searched, also if nothing matches",
    ).uses("api_search", Method::Get)
    .rejected(NO_CATALOGUE),
    Entry::new(
        "publish provider",
        "terrace publish provider dist --namespace acme",
        PUBLISHED,
    ).uses("publish_provider", Method::Put)
    .rejected(INVALID_RELEASE)
    .conflict(OTHER_BYTES),
    Entry::new(
        "publish module",
        "terrace publish module . --address acme/vpc/aws --version 1.2.3",
        PUBLISHED,
    ).uses("publish_module", Method::Put)
    .rejected(INVALID_RELEASE)
    .conflict(OTHER_BYTES),
    Entry::new(
        "publish modules",
        "terrace publish modules . --address 'acme/{name}/{system}' --dry-run",
        "every version is published, or already was with the same bytes",
    ).uses("publish_module", Method::Put)
    .rejected("a version is invalid, or there is no module or version; every reason is printed")
    .conflict(OTHER_PUBLISHED_BYTES)
    .goes_on(),
    Entry::new(
        "docs add",
        "terrace docs add acme/vpc/aws 1.2.3 .",
        "the registry has the documentation, or already had it",
    ).uses("documentation", Method::Put)
    .rejected("the documentation is invalid, there is none in the directory, the version is not published, or the registry is too old to store documentation")
    .conflict("another request changed the documentation at the same time: run the command again"),
    Entry::new("docs check", "terrace docs check .", "nothing was found")
        .rejected("something should be corrected; every line names a file")
        .offline(),
    Entry::new(
        "docs preview",
        "terrace docs preview docs",
        "the preview was shown",
    )
    .rejected("the documentation cannot be read")
    .offline(),
    Entry::new(
        "key add",
        "terrace key add acme publisher.asc",
        "the keys in the file may sign for the namespace",
    ).uses("signing_keys", Method::Put)
    .rejected("the file is unreadable or not a public key, or the namespace has too many keys"),
    Entry::new("key list", "terrace key list acme", "listed").uses("signing_keys", Method::Get),
    Entry::new(
        "key retire",
        "terrace key retire acme 0123456789ABCDEF --reason 'replaced by a new key'",
        "retired",
    ).uses("signing_key", Method::Put)
    .rejected(NO_SUCH_KEY_OR_CHANGED),
    Entry::new(
        "key revoke",
        "terrace key revoke acme 0123456789ABCDEF --reason 'the private key leaked'",
        "revoked",
    ).uses("signing_key", Method::Put)
    .scope_note("with --everywhere, admin, or the key stays active in the namespaces that the token does not administer")
    .rejected(NO_SUCH_KEY_OR_CHANGED)
    .not_allowed("with --everywhere, the token does not suffice to revoke the key for all namespaces; the result names those for which it is revoked"),
    Entry::new(
        "key restore",
        "terrace key restore acme 0123456789ABCDEF --reason 'retired by mistake'",
        "active again",
    ).uses("signing_key", Method::Put)
    .rejected(NO_SUCH_KEY_OR_CHANGED),
    Entry::new(
        "key remove",
        "terrace key remove acme 0123456789ABCDEF",
        "removed",
    ).uses("signing_key", Method::Delete)
    .rejected(NO_SUCH_KEY),
    Entry::new(
        "release deprecate",
        "terrace release deprecate acme/widget --reason 'use acme/gadget instead'",
        "deprecated",
    ).uses("status", Method::Put)
    .rejected(NO_SUCH_PACKAGE_OR_TOO_MANY),
    Entry::new(
        "release withdraw",
        "terrace release withdraw acme/widget@1.2.0 --reason 'deletes tags: use 1.2.1'",
        "withdrawn",
    ).uses("status", Method::Put)
    .rejected(NO_SUCH_PACKAGE_OR_TOO_MANY),
    Entry::new(
        "release revoke",
        "terrace release revoke acme/widget@1.2.0 --reason 'contains a credential'",
        "revoked",
    ).uses("status", Method::Put).restricted_to(RequiredAccess::OwnerAdmins)
    .rejected(NO_SUCH_PACKAGE),
    Entry::new(
        "release restore",
        "terrace release restore acme/widget@1.2.0 --reason 'deprecated by mistake'",
        "active again",
    ).uses("status", Method::Put)
    .scope_note("for a revocation, admin:<namespace> or admin")
    .rejected(NO_SUCH_PACKAGE),
    Entry::new("release show", "terrace release show acme/widget", "shown").uses("status", Method::Get)
        .rejected("the package or version does not exist"),
    Entry::new(
        "admin audit",
        "terrace admin audit --since 24h",
        "shown; with --verify, no entry is missing or changed",
    ).uses("audit", Method::Get)
    .rejected("with --verify, an entry is missing or changed; with --copy, the copy is not intact"),
    Entry::new(
        "admin reindex",
        "terrace admin reindex",
        "the indices agree with the stored releases",
    ).uses("reindex", Method::Post)
    .rejected("a published release is missing, or nothing is published as the package"),
    Entry::new(
        "admin verify",
        "terrace admin verify",
        "everything stored is intact",
    ).uses("verify", Method::Post)
    .rejected("something is missing, changed or damaged; every line names it"),
    Entry::new(
        "admin gc",
        "terrace admin gc --older-than 30d --yes",
        "done; without --yes, the archives and blobs are only listed",
    ).uses("garbage", Method::Post)
    .rejected("a document is missing or not understood, so nothing is removed")
    .conflict("the second bucket refuses a removal or has the documents of a registry; everything before it is done"),
    Entry::new(
        "admin erase",
        "terrace admin erase acme/vpc/aws@1.2.0 --reason 'a leaked key' --yes",
        "erased, now or before; without --yes, everything is only listed",
    ).uses("erasures", Method::Post)
    .rejected("the version, archive, manifest or blob does not exist, or a document is not understood, or with --yes everything, or a manifest that was named, is in use elsewhere; nothing is erased"),
    Entry::new(
        "admin export",
        "terrace admin export backup",
        "the copy is complete",
    ).uses("facts", Method::Get)
    .rejected("something is missing, changed or damaged, or the directory is not a copy of this registry; an older copy stays unchanged")
    .conflict("the copy is complete, but the audit log starts again after that of the older copy; without --accept-loss audit-log"),
    Entry::new(
        "admin replicate",
        "terrace admin replicate",
        "the second bucket has every archive and blob; with --dry-run, they are only counted",
    ).uses("replication", Method::Post)
    .rejected("an archive in the main bucket is damaged, and is not copied, or the URLs of archives lead to another bucket")
    .conflict("the registry has no second bucket, or that one refuses a request or has the documents of a registry"),
    Entry::new(
        "admin failover on",
        "terrace admin failover on --reason 'R2 is down'",
        "the second bucket serves downloads within a minute, now or before",
    ).uses("failover", Method::Put)
    .rejected("the reason is empty or too long")
    .conflict("the registry has no second bucket, or that one refuses a request, has the documents of a registry or, without --force, \
               lacks copies")
    .unavailable("the registry or its second bucket cannot be reached or does not respond"),
    Entry::new(
        "admin failover off",
        "terrace admin failover off --reason 'R2 answers again'",
        "the main bucket serves downloads within a minute, now or before",
    ).uses("failover", Method::Put)
    .rejected("the reason is empty or too long")
    .conflict("the registry has no second bucket"),
    Entry::new("admin failover status", "terrace admin failover status", "shown").uses("failover", Method::Get),
    Entry::new(
        "admin import",
        "terrace admin import backup",
        "imported, or already in the registry",
    ).uses("facts", Method::Put)
    .scope_note("for everything but a directory that terrace admin export wrote, admin:<namespace> suffices")
    .rejected("something in the directory or at the other registry is invalid, missing or damaged, or nothing there can be imported")
    .conflict("the registry has a different document or version of the same name, and keeps it")
    .not_allowed("the other registry denies access")
    .unavailable("this registry or the other one cannot be reached or does not respond"),
    Entry::new(
        "token create",
        "terrace token create --name ci --scope publish:acme --expires 90d",
        "the token is on standard output",
    ).uses("tokens", Method::Post)
    .rejected("the lifetime is too short or too long"),
    Entry::new(
        "token list",
        "terrace token list --expiring 14d",
        "listed",
    ).uses("tokens", Method::Get),
    Entry::new(
        "token revoke",
        "terrace token revoke 7f3a9c2e51b04d68",
        "revoked",
    ).uses("token", Method::Delete)
    .rejected("the registry has no record of a token with one of the IDs, and revoked the ID anyway; or of no token of the person"),
    Entry::new(
        "token rotate",
        "terrace token rotate 7f3a9c2e51b04d68 --overlap 24h",
        "the new token is on standard output",
    ).uses("token_rotation", Method::Post)
    .rejected("there is no token with this ID, or the overlap is too long")
    .conflict("the old token is already expired or revoked, or its successor was itself rotated"),
    Entry::new(
        "webhook add",
        "terrace webhook add 'https://hooks.slack.com/services/…' --events publish,status --format slack",
        "the secret is on standard output",
    ).uses("webhooks", Method::Post)
    .rejected("the URL is not an https URL of a public host")
    .conflict("the registry has as many webhooks as it may have"),
    Entry::new("webhook list", "terrace webhook list", "listed").uses("webhooks", Method::Get),
    Entry::new(
        "webhook test",
        "terrace webhook test 7f3a9c2e51b04d68",
        "the receiver accepted the test event",
    ).uses("webhook_test", Method::Post)
    .rejected("there is no webhook with this ID, or the receiver did not accept the event"),
    Entry::new(
        "webhook secret",
        "terrace webhook secret 7f3a9c2e51b04d68",
        "the secret is on standard output",
    ).uses("webhook", Method::Get)
    .rejected("there is no webhook with this ID"),
    Entry::new(
        "webhook remove",
        "terrace webhook remove 7f3a9c2e51b04d68",
        "removed",
    ).uses("webhook", Method::Delete)
    .rejected("there is no webhook with this ID"),
    Entry::new(
        "trust add",
        "terrace trust add --scope publish:acme --github acme/infra --ref 'refs/tags/*'",
        "the rule is stored, or an equal one was before",
    ).uses("rules", Method::Post)
    .rejected(INVALID_RULE),
    Entry::new("trust list", "terrace trust list", "listed").uses("rules", Method::Get),
    Entry::new(
        "trust remove",
        "terrace trust remove 7f3a9c2e51b04d68",
        "removed",
    ).uses("rule", Method::Delete)
    .rejected(NO_RULE),
    Entry::new(
        "role add",
        "terrace role add --scope read --claim groups=platform",
        "the rule is stored, or an equal one was before",
    ).uses("rules", Method::Post)
    .rejected(INVALID_RULE),
    Entry::new("role list", "terrace role list", "listed").uses("rules", Method::Get),
    Entry::new(
        "role remove",
        "terrace role remove 7f3a9c2e51b04d68",
        "removed",
    ).uses("rule", Method::Delete)
    .rejected(NO_RULE),
    Entry::new(
        "mirror add",
        "terrace mirror add registry.opentofu.org/hashicorp/random --versions '~> 3.6'",
        MIRRORED,
    ).uses("mirrored_release", Method::Put)
    .rejected("a package is invalid, or the version or platform does not exist")
    .conflict(OTHER_MIRRORED_BYTES)
    .not_allowed(ORIGIN_FORBIDS)
    .unavailable(ORIGIN_UNAVAILABLE)
    .goes_on(),
    Entry::new(
        "mirror sync",
        "terrace mirror sync .terraform.lock.hcl",
        MIRRORED,
    ).uses("mirrored_release", Method::Put)
    .rejected("a file or a package is invalid, or a version or platform does not exist")
    .conflict(OTHER_MIRRORED_BYTES)
    .not_allowed(ORIGIN_FORBIDS)
    .unavailable(ORIGIN_UNAVAILABLE)
    .goes_on(),
    Entry::new("mirror push", "terrace mirror push mirror", MIRRORED).uses("mirrored_release", Method::Put)
        .rejected("the directory or a version in it is invalid")
        .conflict(OTHER_MIRRORED_BYTES)
        .goes_on(),
    Entry::new(
        "mirror list",
        "terrace mirror list registry.opentofu.org/hashicorp",
        "listed",
    ).uses("facts", Method::Get),
    Entry::new(
        "mirror block",
        "terrace mirror block registry.opentofu.org/hashicorp/null@3.2.0 --reason 'it leaks variables'",
        "blocked, or already blocked",
    ).uses("status", Method::Put).restricted_to(RequiredAccess::Admins)
    .rejected("it belongs to this registry, or too many versions are blocked: block the provider instead"),
    Entry::new(
        "mirror unblock",
        "terrace mirror unblock registry.opentofu.org/hashicorp/null@3.2.0",
        "not blocked any more, or it was not",
    ).uses("status", Method::Put).restricted_to(RequiredAccess::Admins)
    .rejected("it belongs to this registry"),
    Entry::new("mirror blocks", "terrace mirror blocks", "listed").uses("facts", Method::Get),
    Entry::new(
        "mirror remove",
        "terrace mirror remove registry.opentofu.org/hashicorp/null@3.2.0 --reason 'a takedown'",
        "listed; with --yes, removed",
    ).uses("erasures", Method::Post)
    .rejected("the provider or version does not exist, or a document is not understood; nothing is removed"),
    Entry::new(
        "mcp",
        "terrace mcp",
        "the assistant has closed standard input",
    ).uses("mcp", Method::Post),
    Entry::new(
        "serve",
        "terrace serve --data ./registry",
        "a signal has stopped the server, and every request that it had begun is completed",
    )
    .rejected("the configuration file of wrangler is invalid")
    .offline(),
    Entry::new(
        "config check",
        "terrace config check wrangler.jsonc",
        "a registry with this configuration starts; warnings are printed",
    )
    .rejected("the configuration is invalid; every reason is printed, of settings that belong together the first")
    .offline(),
    Entry::new(
        "doctor",
        "terrace doctor https://registry.example.com",
        "no check failed; with --strict, there are no warnings either",
    )
    .unexpected("with --strict, there are warnings")
    .rejected("a check failed; every cause and its fix are printed")
    .unavailable("the registry cannot be reached")
    .offline(),
    Entry::new(
        "login",
        "terrace login https://registry.example.com",
        "signed in; the token is stored",
    )
    .rejected("the registry offers no sign-in, or the file with the tokens is not valid"),
    Entry::new(
        "logout",
        "terrace logout https://registry.example.com",
        "the token is removed, and revoked if the registry can",
    )
    .rejected("no token is stored for the registry, or the file with the tokens is not valid"),
    Entry::new("whoami", "terrace whoami", "shown").uses("api_token", Method::Get)
        .rejected("the registry is too old to describe a token"),
    Entry::new("profile list", "terrace profile list", "listed").offline(),
    Entry::new(
        "completion",
        "terrace completion bash",
        "the script is on standard output",
    )
    .offline(),
];
