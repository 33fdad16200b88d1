//! Prints answers in the shape of the public registry's API, for the structures of other programs: a JSON object on each
//! line, `{"shape":"ModuleDetail","answer":{…}}`. `tests/clients/public-api` parses them.

#![expect(
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a program of the tests"
)]

use terrace_base::time::UnixTime;
use terrace_core::api::public::{PublicMeta, PublicModule, PublicModules};
use terrace_core::config::Config;
use terrace_core::http::reply::Body;
use terrace_core::index::catalog::CatalogLine;
use terrace_core::read::{
    CookieHeader, Decision, ReadOutcome, RequestHead, StoredIndex, StoredIndices, begin,
};

const PATH: &str = "/v1/modules/acme/vpc/aws/1.0.0";
const ORIGIN: &str = "https://registry.test";

const OVERVIEW: &str = r#"{"versions":[{"version":"1.1.0","published_at":1700000000,"is_documented":true},{"version":"1.0.0"}]}"#;

const DOCUMENTED: &str = r##"{"published_at":1700000000,"source":{"url":"https://github.com/acme/vpc","claimed":true},
    "documentation":{"archive":"0000000000000000000000000000000000000000000000000000000000000000","head_length":1,
    "changed_at":1700000000,"head":{"schema":1,"contents":{"module":{"root":{"readme":"# VPC\n\nA \"cloud\".\n",
    "inputs":[{"name":"cidr","type":"string","description":"The range."},{"name":"tags","default":"{\n  a = \"b\"\n}"}],
    "outputs":[{"name":"id"}],"resources":[{"mode":"managed","type":"aws_vpc","name":"this","provider":"aws"}],
    "providers":[{"name":"aws","source":"hashicorp/aws","versions":[">= 5.0"]}],
    "calls":[{"name":"subnets","source":"./modules/subnets"}]},
    "submodules":[{"name":"subnets","part":{"readme":"# Subnets"}}],"examples":[{"name":"simple","files":[]}]}}}}}"##;

const UNDOCUMENTED: &str = r#"{"published_at":1700000000}"#;

fn main() {
    for about in [DOCUMENTED, UNDOCUMENTED] {
        let answer = details(about);
        println!(r#"{{"shape":"ModuleDetail","answer":{answer}}}"#);
    }
    for (offset, next) in [(0, Some(1)), (1, None)] {
        let answer = serde_json::to_string(&list(offset, next)).unwrap();
        println!(r#"{{"shape":"ModuleList","answer":{answer}}}"#);
    }
}

/// Returns the answer of the read machine for a version that is described so.
fn details(about: &str) -> String {
    let vars: [(&str, &str); 0] = [];
    let config = Config::from_vars(&vars).unwrap();
    let head = RequestHead {
        method: "GET",
        origin: ORIGIN,
        path: PATH,
        query: "",
        if_none_match: None,
        authorization: None,
        cookies: CookieHeader::Unread,
        user_agent: None,
    };
    let (_, Decision::<()>::Read(lookup)) = begin(&head, &config, || UnixTime(0)) else {
        panic!("{PATH} is not a read");
    };
    let found = StoredIndices {
        first: stored(about),
        others: vec![Some(stored(OVERVIEW))],
    };
    match lookup.answer(found, &config, ORIGIN, UnixTime(0)) {
        ReadOutcome::Fresh(reply) => match reply.body {
            Body::Text(text) => text,
            other => panic!("{other:?}"),
        },
        other => panic!("{other:?}"),
    }
}

fn stored(text: &str) -> StoredIndex<()> {
    let metadata = serde_json::from_str(r#"{"etag":"\"e\""}"#).unwrap();
    let body = Body::Text(text.to_owned());
    StoredIndex { metadata, body }
}

fn list(offset: usize, next: Option<usize>) -> PublicModules {
    let line =
        r#"["modules/acme/vpc/aws","1.2.0",1700000000,3,"deprecated",1,"A network",["cidr"]]"#;
    let url = |offset: usize| format!("/v1/modules?limit=1&offset={offset}");
    let previous = offset.checked_sub(1);
    PublicModules {
        meta: PublicMeta {
            limit: 1,
            current_offset: offset,
            next_offset: next,
            next_url: next.map(url),
            prev_offset: previous,
            prev_url: previous.map(url),
        },
        modules: vec![PublicModule::of_line(&CatalogLine::parse(line).unwrap()).unwrap()],
    }
}
