//! OAuth clients: assistants and editors that sign people in, by the metadata of the Model Context Protocol.

use serde_json::{Value, json};

use super::{claim, logged, page, refused};
use crate::support::mcp::{self, structured};
use crate::support::people::{ISSUER, People, VERIFIER, answer, hidden, opened, parameter};
use crate::support::registry::{Response, Sent};
use crate::support::tokens::{create, revoke};
use crate::support::{ModuleFixture, Registry};

const ID: &str = "https://app.example.com/oauth/client.json";
const REDIRECT: &str = "http://127.0.0.1:33418/callback";
const RESOURCE: &str = "https://registry.test/mcp/private";
const HOSTS: (&str, &str) = ("TERRACE_MCP_CLIENT_HOSTS", "app.example.com");
const PRIVATE: (&str, &str) = ("TERRACE_ACCESS", "private");

fn document() -> Value {
    json!({
        "client_id": ID,
        "client_name": "Example <b>Assistant</b>",
        "redirect_uris": ["http://127.0.0.1/callback", "https://app.example.com/callback"],
        "token_endpoint_auth_method": "none",
    })
}

fn people() -> People {
    let people = People::with(&[HOSTS, PRIVATE]);
    publish(&people, ID, answer(200, &document()));
    people
}

fn publish(people: &People, url: &str, document: Response) {
    let documents = &people.provider.documents;
    documents.borrow_mut().insert(url.to_owned(), document);
}

/// Returns the parameters of the URL that a client opens.
fn asked() -> Vec<(&'static str, String)> {
    let mut parts = opened();
    parts.retain(|(name, _)| name.starts_with("code_challenge") || *name == "response_type");
    for (name, value) in [
        ("client_id", ID),
        ("redirect_uri", REDIRECT),
        ("resource", RESOURCE),
        ("state", "a state"),
        ("scope", "read"),
    ] {
        parts.push((name, value.to_owned()));
    }
    parts
}

/// Signs in, up to the consent question. Returns the browser's cookie, and the page.
fn sign_in(people: &People, parts: &[(&str, String)]) -> (String, Response) {
    let (cookie, state) = people.begin_with(parts);
    let page = people.come_back(&cookie, &[("code", "c"), ("state", &state)]);
    (cookie, page)
}

/// Signs in and gives consent. Returns the code.
fn allow(people: &People, answer: &str) -> String {
    let (cookie, page) = sign_in(people, &asked());
    let consent = hidden(&page.expect(200));
    let allowed = people.consent(&cookie, &consent, answer).expect(303);
    let location = allowed.header("location").unwrap();
    assert!(location.starts_with(&format!("{REDIRECT}?")), "{location}");
    assert_eq!(parameter(location, "state").unwrap(), "a state");
    assert_eq!(parameter(location, "iss").unwrap(), "https://registry.test");
    parameter(location, "code").unwrap()
}

fn exchanged(code: &str) -> Vec<(&'static str, &str)> {
    vec![
        ("client_id", ID),
        ("code", code),
        ("code_verifier", VERIFIER),
        ("grant_type", "authorization_code"),
        ("redirect_uri", REDIRECT),
        ("resource", RESOURCE),
    ]
}

/// Signs in, gives consent, and redeems the code. Returns the answer.
fn redeem(people: &People) -> Value {
    let code = allow(people, "allow");
    people.exchange(&exchanged(&code)).found()
}

fn token(people: &People) -> String {
    redeem(people)["access_token"].as_str().unwrap().to_owned()
}

/// Returns the URLs that were fetched from hosts other than the provider.
fn fetched(people: &People) -> Vec<String> {
    let operations = people.memory.operations().into_iter();
    let urls = operations.filter_map(|it| it.strip_prefix("fetch ").map(str::to_owned));
    urls.filter(|url| !url.starts_with(ISSUER)).collect()
}

fn list_tools(path: &str) -> Sent {
    at(path, mcp::request("tools/list", json!({})))
}

/// Returns a request to another endpoint.
fn at(path: &str, sent: Sent) -> Sent {
    Sent {
        target: path.to_owned(),
        ..sent
    }
}

#[test]
fn a_client_finds_the_sign_in_from_the_refusal_of_its_first_request() {
    let people = people();
    let get = |url: &str| {
        let path = url.strip_prefix("https://registry.test").unwrap();
        people.registry.read(path)
    };
    for path in ["/mcp", "/mcp/private"] {
        let refused = people.registry.send(&list_tools(path)).expect(401);
        let challenge = refused.header("www-authenticate").unwrap();
        let (_, url) = challenge.split_once("resource_metadata=\"").unwrap();
        let resource = get(url.split('"').next().unwrap());
        assert_eq!(resource["resource"], format!("https://registry.test{path}"));
        assert_eq!(
            resource["authorization_servers"],
            json!(["https://registry.test"])
        );
    }
    let server = get("https://registry.test/.well-known/oauth-authorization-server");
    assert_eq!(
        server,
        json!({
            "issuer": "https://registry.test",
            "authorization_endpoint": "https://registry.test/oauth/authorize",
            "token_endpoint": "https://registry.test/oauth/token",
            "service_documentation": "https://registry.test/assistants",
            "scopes_supported": ["read"],
            "response_types_supported": ["code"],
            "grant_types_supported": ["authorization_code"],
            "token_endpoint_auth_methods_supported": ["none"],
            "code_challenge_methods_supported": ["S256"],
            "client_id_metadata_document_supported": true,
            "authorization_response_iss_parameter_supported": true,
        })
    );
}

#[test]
fn clients_are_not_accepted_unless_a_host_is_named() {
    let people = People::with(&[PRIVATE]);
    publish(&people, ID, answer(200, &document()));
    let registry = &people.registry;
    let metadata = "/.well-known/oauth-protected-resource/mcp/private";
    let resource = registry.read(metadata);
    assert_eq!(resource.get("authorization_servers"), None);
    registry
        .get("/.well-known/oauth-authorization-server")
        .refuses(404, "TERRACE_MCP_CLIENT_HOSTS is not set");
    let text = page(people.open(&asked()), 400);
    assert!(
        text.contains("which TERRACE_MCP_CLIENT_HOSTS of this registry does not name"),
        "{text}"
    );
    let told = refused(people.exchange(&exchanged("a.b")), "invalid_client");
    assert!(told.contains("must be terraform-cli"), "{told}");
    assert_eq!(fetched(&people), [""; 0]);
}

#[test]
fn users_and_assistants_are_shown_the_hosts_of_the_clients_that_sign_in() {
    let host = |vars: &[(&str, &str)]| {
        let registry = People::with(vars).registry;
        let page = registry.get("/assistants").expect(200).text();
        let sent = mcp::tool("how_to_authenticate", &json!({}));
        let answer = structured(&registry.send(&sent)).to_string();
        [page, answer].map(|text| text.contains("app.example.com"))
    };
    assert_eq!(host(&[HOSTS]), [true, true]);
    assert_eq!(host(&[]), [false, false]);
}

#[test]
fn a_person_sees_the_client_and_what_it_gets_before_it_gets_a_code() {
    let people = people();
    let (_, question) = sign_in(&people, &asked());
    let policy = question.header("content-security-policy").unwrap();
    assert!(
        policy.contains("form-action 'self' http://127.0.0.1:33418;"),
        "{policy}"
    );
    let text = page(question, 200);
    for words in [
        "Give an application a token?",
        "as <strong>ann@acme.example</strong>",
        "<strong>Example &lt;b&gt;Assistant&lt;/b&gt;</strong>, as described by <strong>app.example.com</strong>,",
        "<li>read everything (<code>read</code>)</li>",
        "goes to <code>http://127.0.0.1:33418/callback</code>",
        "only <code>https://registry.test/mcp/private</code> accepts it",
        "value=\"refuse\"",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    assert!(
        !text.contains("publish") && !text.contains("terminal"),
        "{text}"
    );
    assert!(!text.contains("Allow reading only"), "{text}");
}

#[test]
fn a_client_gets_a_token_that_only_its_endpoint_accepts() {
    let people = People::with(&[HOSTS, PRIVATE, ("TERRACE_LOGIN_LIFETIME", "600")]);
    publish(&people, ID, answer(200, &document()));
    ModuleFixture::of("acme", "1.0.0").publish(&people.registry);
    let code = allow(&people, "allow");
    let answered = people.exchange(&exchanged(&code)).found();
    assert_eq!(answered["token_type"], "bearer");
    assert_eq!(answered["scope"], "read");
    assert_eq!(answered["expires_in"], 600);
    let token = answered["access_token"].as_str().unwrap();
    assert!(token.starts_with("terrace_mcp_"), "{token}");
    let send = |sent: Sent| people.registry.send(&sent.bearing(token));
    send(list_tools("/mcp/private")).expect(200);
    let versions = mcp::tool("list_versions", &json!({ "address": "acme/vpc/aws" }));
    let versions = structured(&send(at("/mcp/private", versions)));
    assert_eq!(versions["details"]["versions"][0]["version"], "1.0.0");
    let elsewhere = send(list_tools("/mcp")).expect(401).text();
    assert!(elsewhere.contains("another MCP endpoint"), "{elsewhere}");
    for (method, path) in [
        ("GET", "/v1/modules/acme/vpc/aws/versions"),
        ("DELETE", "/api/v1/token"),
    ] {
        let refused = send(Sent::new(method, path)).expect(401).text();
        assert!(refused.contains("the token of an MCP client"), "{refused}");
    }
    logged(&people, ": read at https://registry.test/mcp/private only");
    refused(people.exchange(&exchanged(&code)), "invalid_grant");
    // This isolate has just read the list of revoked tokens, and accepts the token for a while.
    people.memory.advance(60);
    let revoked = send(list_tools("/mcp/private")).expect(401).text();
    assert!(revoked.contains("this token is revoked"), "{revoked}");
}

#[test]
fn a_token_of_a_client_reads_only_what_its_person_may_read() {
    let people = people();
    claim(&people, "groups", json!(["guests"]));
    let answered = redeem(&people);
    assert_eq!(answered["scope"], "read:acme");
    let token = answered["access_token"].as_str().unwrap();
    let list = |address: &str| {
        let sent = mcp::tool("list_versions", &json!({ "address": address }));
        let sent = at("/mcp/private", sent);
        let by_client = people.registry.send(&sent.clone().bearing(token));
        let reader = create(&people.registry, &["read:acme"], None).1;
        let by_reader = people.registry.send(&sent.bearing(&reader));
        assert_eq!(by_client.json(), by_reader.json());
        by_client.json()["result"]["isError"].clone()
    };
    for namespace in ["acme", "globex"] {
        ModuleFixture::of(namespace, "1.0.0").publish(&people.registry);
    }
    assert_eq!(list("acme/vpc/aws"), false);
    assert_eq!(list("globex/vpc/aws"), true);
}

#[test]
fn a_token_of_a_client_is_listed_and_revoked_and_not_rotated() {
    let people = people();
    let token = token(&people);
    let list = people.registry.read_as_admin("/admin/v1/tokens");
    let listed = &list["tokens"][0];
    assert_eq!(listed["name"], "ann@acme.example");
    assert_eq!(listed["created_by"], "login as 248289761001");
    assert_eq!(listed["scopes"], json!(["read"]));
    assert_eq!(listed["resource"], RESOURCE);
    let id = listed["id"].as_str().unwrap();
    let rotation = format!("/admin/v1/tokens/{id}/rotation");
    people
        .registry
        .admin("POST", &rotation, Some(b"{}"))
        .refuses(409, "let the client sign in again");
    let send = || {
        people
            .registry
            .send(&list_tools("/mcp/private").bearing(&token))
    };
    // An isolate that has just read the list of revoked tokens would accept it for a while.
    revoke(&people.registry, id).expect(200);
    assert!(send().expect(401).text().contains("this token is revoked"));
}

#[test]
fn a_document_is_fetched_only_for_a_person_with_access_and_never_by_a_redirect() {
    let people = people();
    people.memory.forget_operations();
    let (cookie, state) = people.begin_with(&asked());
    let refused = [("error", "access_denied"), ("state", state.as_str())];
    let text = page(people.come_back(&cookie, &refused), 403);
    assert!(text.contains("The application gets no token."), "{text}");
    claim(&people, "groups", json!(["guests"]));
    claim(&people, "email", json!("bob@globex.example"));
    page(sign_in(&people, &asked()).1, 403);
    assert_eq!(fetched(&people), [""; 0]);
    claim(&people, "groups", json!(["staff"]));
    sign_in(&people, &asked()).1.expect(200);
    assert_eq!(fetched(&people), [ID]);
}

#[test]
fn a_hostile_document_ends_the_sign_in_before_any_redirect() {
    let with = |name: &str, value: Value| {
        let mut document = document();
        document[name] = value;
        answer(200, &document)
    };
    let redirected = Response {
        status: 302,
        headers: vec![("location".to_owned(), "https://169.254.169.254/".to_owned())],
        body: Vec::new(),
    };
    for (document, words) in [
        (
            with("client_id", json!("https://app.example.com/other.json")),
            "client_id is &quot;https://app.example.com/other.json&quot;",
        ),
        (redirected, "status 302"),
    ] {
        let people = people();
        publish(&people, ID, document);
        let (_, response) = sign_in(&people, &asked());
        let text = page(response, 400);
        assert!(text.contains("This application cannot sign in"), "{text}");
        assert!(text.contains(words), "{words}: {text}");
        assert!(text.contains("Notify the application"), "{text}");
        assert_eq!(fetched(&people), [ID]);
        logged(&people, &format!("the document of the client {ID}"));
    }
    let people = people();
    people.provider.documents.borrow_mut().clear();
    let text = page(sign_in(&people, &asked()).1, 400);
    assert!(text.contains("cannot be fetched"), "{text}");
}

#[test]
fn a_refusal_is_delivered_to_the_client_with_the_issuer() {
    let people = people();
    let (cookie, question) = sign_in(&people, &asked());
    let consent = hidden(&question.expect(200));
    let refused = people.consent(&cookie, &consent, "refuse").expect(303);
    assert_eq!(
        refused.header("location"),
        Some(
            "http://127.0.0.1:33418/callback?error=access_denied&state=a%20state&iss=https%3A%2F%2Fregistry.test"
        )
    );
}

#[test]
fn a_sign_in_of_a_client_ends_if_its_host_is_no_longer_named() {
    let mut people = people();
    let (consent_cookie, asking) = sign_in(&people, &asked());
    let consent = hidden(&asking.expect(200));
    let (cookie, state) = people.begin_with(&asked());
    let vars = [PRIVATE, ("TERRACE_MCP_CLIENT_HOSTS", "other.example.com")];
    let vars = [&vars[..], &crate::support::people::LOGIN].concat();
    people.registry = Registry::in_memory(&people.memory, &vars);
    people.memory.forget_operations();
    let response = people.come_back(&cookie, &[("code", "c"), ("state", &state)]);
    assert!(page(response, 400).contains("cannot be fetched"));
    let response = people.consent(&consent_cookie, &consent, "allow");
    assert!(page(response, 400).contains("cannot be fetched"));
    assert_eq!(fetched(&people), [""; 0]);
}
