//! Tools and resources of assistants show each caller what the API shows it, and cost no more.

use serde_json::{Value, json};

use crate::native::access::{VISIBILITIES, callers};
use crate::support::documentation::{Documentation, member, path_of};
use crate::support::documented::document;
use crate::support::faults::{Failure, Operations, When};
use crate::support::mcp::{request, structured, tool, tool_error, tool_names};
use crate::support::memory::Memory;
use crate::support::registry::{Response, Sent, TOKEN};
use crate::support::{MirrorFixture, ModuleFixture, ProviderFixture, Registry};

const MIRRORED: &str = "registry.example.com/acme/widget";

/// A tool's call, the request of the API for the same, and the parts of both answers that must be equal.
struct Pair {
    name: &'static str,
    arguments: Value,
    path: &'static str,
    of_tool: fn(&Value) -> Value,
    of_api: fn(&Response) -> Value,
}

fn names(list: &Value, field: &str) -> Value {
    let list = list.as_array().into_iter().flatten();
    list.map(|it| it[field].clone()).collect()
}

fn pairs() -> Vec<Pair> {
    fn addresses(page: &Value) -> Value {
        let results = page["results"].as_array().unwrap().iter();
        let address = |it: &Value| match it["type"] == "package" {
            true => it["address"].clone(),
            false => it["provider"]["address"].clone(),
        };
        results.map(address).collect()
    }
    vec![
        Pair {
            name: "search",
            arguments: json!({ "query": "acme" }),
            path: "/api/v1/search?q=acme",
            of_tool: addresses,
            of_api: |api| addresses(&api.json()),
        },
        Pair {
            name: "search",
            arguments: json!({ "query": "vpc", "namespace": "acme" }),
            path: "/api/v1/search?q=vpc&namespace=acme",
            of_tool: addresses,
            of_api: |api| addresses(&api.json()),
        },
        Pair {
            name: "find_type",
            arguments: json!({ "name": "widget_thing" }),
            path: "/api/v1/search?q=widget_thing&kind=resource",
            of_tool: addresses,
            of_api: |api| addresses(&api.json()),
        },
        Pair {
            name: "get_module",
            arguments: json!({ "address": "acme/vpc/aws", "version": "1.0.0" }),
            path: "/api/v1/modules/acme/vpc/aws/1.0.0",
            of_tool: |tool| tool["details"]["module"]["root"]["inputs"].clone(),
            of_api: |api| api.json()["module"]["root"]["inputs"].clone(),
        },
        Pair {
            name: "get_provider",
            arguments: json!({ "address": "acme/widget", "version": "1.0.0" }),
            path: "/api/v1/providers/acme/widget/1.0.0",
            of_tool: |tool| tool["details"]["platforms"].clone(),
            of_api: |api| api.json()["platforms"].clone(),
        },
        Pair {
            name: "get_provider",
            arguments: json!({ "address": MIRRORED, "version": "1.0.0" }),
            path: "/api/v1/mirror/registry.example.com/acme/widget/1.0.0",
            of_tool: |tool| tool["details"].clone(),
            of_api: |api| api.json(),
        },
        Pair {
            name: "get_docs",
            arguments: json!({ "address": "acme/vpc/aws", "version": "1.0.0" }),
            path: "/api/v1/modules/acme/vpc/aws/1.0.0/docs/readme",
            of_tool: |tool| tool["text"].clone(),
            of_api: |api| api.text().into(),
        },
        Pair {
            name: "get_docs",
            arguments: json!({ "address": "acme/widget", "version": "1.0.0", "document": "resources/none" }),
            path: "/api/v1/providers/acme/widget/1.0.0/docs/resources/none",
            of_tool: |tool| tool["text"].clone(),
            of_api: |api| api.text().into(),
        },
        Pair {
            name: "list_versions",
            arguments: json!({ "address": "acme/widget" }),
            path: "/api/v1/providers/acme/widget",
            of_tool: |tool| tool["details"].clone(),
            of_api: |api| api.json(),
        },
        Pair {
            name: "compare_versions",
            arguments: json!({ "address": "acme/vpc/aws", "from": "1.0.0", "to": "1.0.0" }),
            path: "/api/v1/modules/acme/vpc/aws",
            of_tool: |_| Value::Null,
            of_api: |_| Value::Null,
        },
    ]
}

fn with(sent: Sent, token: Option<&String>) -> Sent {
    match token {
        Some(token) => sent.bearing(token),
        None => sent,
    }
}

#[test]
fn a_tool_shows_each_caller_what_the_api_shows_it() {
    let (memory, registry) = documented();
    let callers = callers(&registry, &memory);
    let (mut shown, mut hidden) = (0, 0);
    for seen in &VISIBILITIES {
        let registry = Registry::in_memory(&memory, seen.vars);
        for caller in &callers {
            for pair in pairs() {
                let token = caller.shows.as_ref();
                let api = registry.send(&with(Sent::new("GET", pair.path), token));
                let call = registry.send(&with(tool(pair.name, &pair.arguments), token));
                let what = format!(
                    "{} {} by {} with {:?}",
                    pair.name, pair.arguments, caller.name, seen.vars
                );
                let secrets = [TOKEN, "X-Amz-", "/archives/", "/pull/"].into_iter();
                for secret in secrets.chain(token.map(String::as_str)) {
                    assert!(!call.text().contains(secret), "{what}");
                }
                if api.status == 200 {
                    let found = structured(&call);
                    assert_eq!(
                        (pair.of_tool)(&found),
                        (pair.of_api)(&api),
                        "{what}: {found} {}",
                        api.text()
                    );
                    if (pair.of_tool)(&found) != json!([]) {
                        shown += 1;
                    }
                } else if call.status == 401 {
                    assert_eq!(api.status, 401, "{what}");
                    assert!(
                        call.header("www-authenticate")
                            .unwrap()
                            .contains("/oauth-protected-resource/mcp\"")
                    );
                    hidden += 1;
                } else {
                    let (error, expected) = (tool_error(&call), api.errors());
                    // The words about a comparison are those of its page.
                    assert!(
                        error.starts_with(&expected) || pair.name == "compare_versions",
                        "{what}: {error} {expected}"
                    );
                    hidden += 1;
                }
            }
        }
    }
    assert!(shown > 100 && hidden > 100, "{shown} {hidden}");
}

#[test]
fn a_resource_shows_each_caller_what_the_api_shows_it() {
    let (memory, registry) = documented();
    let callers = callers(&registry, &memory);
    for seen in &VISIBILITIES {
        let registry = Registry::in_memory(&memory, seen.vars);
        for caller in &callers {
            let send = |sent| registry.send(&with(sent, caller.shows.as_ref()));
            for document in [
                "modules/acme/vpc/aws/1.0.0/docs/readme",
                "providers/acme/widget/1.0.0/docs",
            ] {
                let api = send(Sent::new("GET", &format!("/api/v1/{document}")));
                let uri = format!("terrace:///{document}");
                let read = send(request("resources/read", json!({ "uri": uri })));
                let what = format!("{document} by {} with {:?}", caller.name, seen.vars);
                match api.status {
                    200 => assert_eq!(
                        read.json()["result"]["contents"][0]["text"],
                        api.text(),
                        "{what}"
                    ),
                    status if read.status == 401 => assert_eq!(status, 401, "{what}"),
                    _ => {
                        let message = read.json()["error"].clone();
                        assert_eq!(message["code"], -32602, "{what}");
                        let text = message["message"].as_str().unwrap();
                        assert!(text.starts_with(&api.errors()), "{what}: {text}");
                    }
                }
            }
            let listed = send(request("resources/list", json!({})));
            let found = send(Sent::new("GET", "/api/v1/namespaces"));
            assert_eq!(listed.status, found.status, "{}", caller.name);
            if listed.status == 200 {
                let resources = listed.json()["result"]["resources"].clone();
                // The mirrored provider has no documentation.
                let namespaces = names(&found.json()["namespaces"], "namespace");
                let documented = namespaces.as_array().unwrap().contains(&json!("acme"));
                let expected = if documented { 2 } else { 0 };
                assert_eq!(resources.as_array().unwrap().len(), expected);
            }
        }
    }
}

#[test]
fn access_is_explained_with_the_names_of_this_registry() {
    for (vars, reads) in [
        (&[][..], "none"),
        (&[("TERRACE_ACCESS", "private")], "all"),
        (&[("TERRACE_ACCESS_EXCEPT", "acme")], "some"),
    ] {
        let registry = Registry::in_memory(&Memory::new(), vars);
        let asked = tool("how_to_authenticate", &json!({})).bearing(TOKEN);
        let answer = structured(&registry.send(&asked));
        assert_eq!(answer["registry"], "registry.test");
        assert_eq!(answer["reads_need_token"], reads);
        let text = answer.to_string();
        assert!(!text.contains(TOKEN), "{text}");
        for expected in [
            "TF_TOKEN_registry_test",
            "credentials \\\"registry.test\\\"",
            "https://registry.test/mirror/",
            "https://registry.test/mcp/private",
        ] {
            assert!(text.contains(expected), "{expected}: {text}");
        }
    }
}

/// Returns a registry with a documented provider and module, and a mirrored provider.
fn documented() -> (Memory, Registry) {
    let (memory, registry) = Registry::with_memory(&[]);
    for version in ["1.0.0", "1.1.0"] {
        ProviderFixture::of("acme", "widget", version).publish(&registry);
        ModuleFixture::of("acme", version).publish(&registry);
        let page = member(b"# A thing\n");
        let head = json!({ "schema": 1, "contents": { "provider": {
            "pages": [{
                "kind": "resources",
                "name": "thing",
                "title": "widget_thing",
                "member": { "offset": 0, "length": page.len(), "size": 10 },
            }],
            "symbols": [{ "kind": "resources", "name": "widget_thing", "page": "thing" }],
        } } });
        let pages = Documentation::of_members(member(head.to_string().as_bytes()), &[page]);
        let path = path_of("providers", "acme/widget", version);
        pages.add(&registry, &path).expect(201);
        let root = json!({
            "readme": format!("# A network, as of {version}\n"),
            "inputs": [{ "name": "cidr", "type": "string" }, { "name": "tags", "default": "{}" }],
        });
        let head = json!({ "schema": 1, "contents": { "module": { "root": root } } });
        let path = path_of("modules", "acme/vpc/aws", version);
        Documentation::of_head(&head)
            .add(&registry, &path)
            .expect(201);
    }
    let origin = ProviderFixture::of("acme", "widget", "1.0.0");
    MirrorFixture::of(origin).put(&registry).expect(201);
    // The indices follow from the facts, so that a test may rebuild them at any time.
    memory.lose_indices();
    registry.merge_catalog();
    (memory, registry)
}

#[test]
fn each_tool_costs_as_many_operations_as_its_page() {
    let (memory, registry) = documented();
    let mut tried = Vec::new();
    let module = r#""address":"acme/vpc/aws""#;
    let provider = r#""address":"acme/widget""#;
    let (version, thing) = (r#""version":"1.0.0""#, r#""document":"resources/thing""#);
    for (name, arguments, expected) in [
        ("search", r#""query":"vpc""#, "KV get"),
        ("search", r#""query":"vpc","namespace":"acme""#, "KV get"),
        ("find_type", r#""name":"widget_thing""#, "KV get"),
        ("get_module", &format!("{module},{version}"), "KV get"),
        ("get_module", module, "KV get, KV get"),
        ("get_provider", &format!("{provider},{version}"), "KV get"),
        ("get_docs", &format!("{module},{version}"), "KV get"),
        (
            "get_docs",
            &format!("{provider},{version},{thing}"),
            "KV get, R2 read",
        ),
        (
            "get_docs",
            &format!("{provider},{thing}"),
            "KV get, KV get, R2 read",
        ),
        ("list_versions", provider, "KV get"),
        (
            "compare_versions",
            &format!(r#"{provider},"from":"1.0.0","to":"1.1.0""#),
            "KV get",
        ),
        (
            "check_versions",
            r#""packages":"acme/widget@1.0.0""#,
            "KV get",
        ),
        ("list_callers", module, "KV get"),
        ("how_to_authenticate", "", ""),
    ] {
        let arguments = serde_json::from_str(&format!("{{{arguments}}}")).unwrap();
        let sent = tool(name, &arguments);
        structured(&registry.send(&sent));
        memory.forget_operations();
        structured(&registry.send(&sent));
        let operations = memory.operations().into_iter();
        let kinds: Vec<_> = operations
            .map(|it| it.split(' ').take(2).collect::<Vec<_>>().join(" "))
            .map(|it| it.replace("inflate", "read"))
            .collect();
        assert_eq!(kinds.join(", "), expected, "{name} {arguments}");
        tried.push(name);
    }
    let names = tool_names(&registry);
    assert!(names.iter().all(|name| tried.contains(&name.as_str())));
    for method in ["server/discover", "tools/list", "resources/templates/list"] {
        memory.forget_operations();
        registry.send(&request(method, json!({}))).expect(200);
        assert_eq!(memory.operations(), Vec::<String>::new(), "{method}");
    }
}

#[test]
fn a_long_document_is_read_in_pages() {
    let (memory, registry) = documented();
    let readme = "é0123456789".repeat(5_000);
    let head = json!({ "schema": 1, "contents": { "module": { "root": { "readme": readme } } } });
    document(&memory, "modules/acme/vpc/aws", "1.0.0", &head);
    memory.lose_indices();
    let (mut text, mut offset) = (String::new(), json!(0));
    let mut pages = 0;
    while !offset.is_null() {
        let arguments = json!({ "address": "acme/vpc/aws", "version": "1.0.0", "offset": offset });
        let answer = structured(&registry.send(&tool("get_docs", &arguments)));
        text.push_str(answer["text"].as_str().unwrap());
        offset = answer["next_offset"].clone();
        pages += 1;
    }
    assert_eq!((text == readme, pages), (true, 3));
    let uri = "terrace:///modules/acme/vpc/aws/1.0.0/docs/readme";
    let first = request("resources/read", json!({ "uri": uri }));
    let first = registry.send(&first).json();
    let first = first["result"]["contents"][0]["text"].as_str().unwrap();
    assert!(first.ends_with(&format!("[The document continues at {uri}?offset=20000]\n")));
}

#[test]
fn an_answer_with_many_entries_is_read_in_pages_within_the_limit() {
    let (memory, registry) = documented();
    let inputs: Vec<Value> = (0..400)
        .map(|at| json!({ "name": format!("input_{at:03}"), "type": "string", "description": "x".repeat(at * 9) }))
        .collect();
    let head = json!({ "schema": 1, "contents": { "module": { "root": { "inputs": inputs } } } });
    document(&memory, "modules/acme/vpc/aws", "1.0.0", &head);
    memory.lose_indices();
    let (mut found, mut offset) = (Vec::new(), json!(0));
    while !offset.is_null() {
        let arguments = json!({ "address": "acme/vpc/aws", "version": "1.0.0", "offset": offset });
        let answer = structured(&registry.send(&tool("get_module", &arguments)));
        assert!(answer.to_string().chars().count() < 27_000);
        let root = &answer["details"]["module"]["root"];
        found.extend(names(&root["inputs"], "name").as_array().unwrap().clone());
        offset = answer["next_offset"].clone();
    }
    let expected: Vec<Value> = inputs.iter().map(|it| it["name"].clone()).collect();
    assert_eq!(found, expected);
}

#[test]
fn a_failure_of_storage_is_no_answer_of_a_tool() {
    let (memory, registry) = documented();
    memory.lose_indices();
    // The first operation misses the index.
    let fault = memory.fail(Operations::All, 1, When::Before, Failure::Error);
    let versions = tool("list_versions", &json!({ "address": "acme/widget" }));
    let response = registry.send(&versions).expect(503);
    assert!(fault.lift());
    assert_eq!(response.json()["error"]["code"], -32603);
    structured(&registry.send(&versions));
}
