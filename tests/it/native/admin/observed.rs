//! Observability for operators: log lines, figures, and the health route.

use serde_json::Value;
use terrace_app::host::Clock as _;

use crate::support::faults::Break;
use crate::support::memory::Memory;
use crate::support::registry::{Response, Sent, TOKEN};
use crate::support::{MirrorFixture, ModuleFixture, ProviderFixture, Registry, tokens};

const TERRAFORM: &str = "Terraform/1.11.4 (+https://www.terraform.io)";

fn ask(registry: &Registry, method: &str, path: &str) -> Response {
    let sent = Sent::new(method, path).header("user-agent", TERRAFORM);
    registry.send(&sent)
}

/// Returns the lines of the last `count` requests.
fn lines(memory: &Memory, count: usize) -> Vec<Value> {
    let lines = memory.request_lines();
    let last = lines.iter().skip(lines.len().saturating_sub(count));
    last.map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[test]
fn a_read_is_logged_as_one_line_with_its_operations() {
    let (memory, registry) = Registry::with_memory(&[]);
    let module = ModuleFixture::of("acme", "1.0.0");
    module.publish(&registry);
    let path = module.versions();
    let before = memory.request_lines().len();
    ask(&registry, "GET", &path).expect(200);
    assert_eq!(memory.request_lines().len(), before + 1);
    let line = &lines(&memory, 1)[0];
    let took = ["kv", "r2", "origin", "status"].map(|part| line[part].as_u64().unwrap());
    assert_eq!(took, [1, 0, 0, 200], "{line}");
    assert_eq!(line["route"], "module_versions");
    assert_eq!(line["method"], "GET");
    assert_eq!(line["index"], "hit");
    assert_eq!(line["client"], "Terraform");
    assert_eq!(line["client_version"], "1.11.4");
    memory.lose_indices();
    ask(&registry, "GET", &path).expect(200);
    let line = &lines(&memory, 1)[0];
    assert_eq!(line["index"], "miss");
    assert!(line["r2"].as_u64() > Some(0), "{line}");
    memory.put_index("modules/acme/vpc/aws/version/1.0.0", "no JSON");
    ask(&registry, "GET", &module.download());
    assert_eq!(lines(&memory, 1)[0]["index"], "corrupt");
}

#[test]
fn a_log_line_holds_no_part_of_a_path_a_query_or_a_token() {
    let (memory, registry) = Registry::with_memory(&[("TERRACE_ACCESS", "private")]);
    for path in [
        "/v1/modules/s3cr3t/vpc/aws/versions?token=s3cr3t",
        "/archives/1800000000/s3cr3t/s3cr3t.zip",
        "/s3cr3t",
        "/oauth/callback?code=s3cr3t",
        "/admin/v1/tokens?s3cr3t",
        "/v2/s3cr3t/tags/list",
    ] {
        for method in ["GET", "PUT", "S3CR3T"] {
            let sent = Sent::new(method, path).bearing("s3cr3t");
            registry.send(&sent.header("user-agent", "s3cr3t").body("s3cr3t"));
        }
    }
    let lines = memory.request_lines();
    assert_eq!(lines.len(), 18);
    let all = lines.join("\n").to_lowercase();
    assert!(!all.contains("s3cr3t"), "{all}");
}

#[test]
fn a_log_can_be_limited_to_failures_or_switched_off() {
    for (setting, written) in [("all", 2), ("failures", 1), ("none", 0)] {
        let (memory, registry) = Registry::with_memory(&[("TERRACE_LOG_REQUESTS", setting)]);
        registry.get("/.well-known/terraform.json").expect(200);
        registry.get("/nothing").expect(404);
        assert_eq!(memory.request_lines().len(), written, "{setting}");
    }
}

const ALL_FIELDS: (&str, &str) = ("TERRACE_LOG_FIELDS", "package, version token,caller");

/// Returns the optional fields of the last request: package, version, token and caller.
fn fields(memory: &Memory) -> [String; 4] {
    let line = lines(memory, 1).remove(0);
    let field = |name: &str| line[name].as_str().unwrap_or_default().to_owned();
    ["package", "version", "token", "caller"].map(field)
}

/// Returns the name of the admin token's bearer, as in the log.
fn root(registry: &Registry) -> String {
    let own = registry.admin("GET", "/api/v1/token", None).expect(200);
    format!("root (key {})", own.json()["key"].as_str().unwrap())
}

#[test]
fn a_request_is_logged_with_its_package_version_and_caller_where_these_are_chosen() {
    for vars in [
        &[ALL_FIELDS][..],
        &[ALL_FIELDS, ("TERRACE_ACCESS", "private")],
    ] {
        let (memory, registry) = Registry::with_memory(vars);
        let provider = ProviderFixture::of("acme", "widget", "2.0.0");
        provider.publish(&registry);
        let logged = fields(&memory);
        assert_eq!(logged, ["acme/widget", "2.0.0", "", &root(&registry)]);
        let (id, token) = tokens::create(&registry, &["read"], None);
        for (path, package, version) in [
            (
                "/v1/providers/acme/widget/2.0.0/download/linux/amd64",
                "acme/widget",
                "2.0.0",
            ),
            ("/providers/acme/widget", "acme/widget", ""),
            ("/healthz", "", ""),
        ] {
            memory.forget_operations();
            registry.get_as(&token, path);
            if vars.len() == 1 && !package.is_empty() {
                let operations = memory.operations();
                assert_eq!(operations.len(), 1, "no field costs one: {operations:?}");
            }
            let expected = [package, version, id.as_str(), "a test"];
            assert_eq!(fields(&memory), expected, "{path}");
        }
        registry.get("/.well-known/terraform.json").expect(200);
        assert_eq!(fields(&memory), ["", "", "", ""]);
        registry.get_as("terrace_no.token", "/mirror/");
        assert_eq!(fields(&memory), ["", "", "", ""]);
    }
}

#[test]
fn a_provider_that_the_mirror_refuses_is_always_logged_by_its_address() {
    for chosen in ["", "caller", "version", "package,caller"] {
        let (memory, registry) = Registry::with_memory(&[
            ("TERRACE_PULL_THROUGH", "a.example/acme/*"),
            ("TERRACE_PULL_BLOCK", "a.example/acme/widget@1.0.0"),
            ("TERRACE_LOG_FIELDS", chosen),
        ]);
        let caller = match chosen.contains("caller") {
            true => root(&registry),
            false => String::new(),
        };
        for (provider, document, version) in [
            ("a.example/globex/gadget", "index", ""),
            ("a.example/globex/gadget", "1.0.0", "1.0.0"),
            ("a.example/acme/widget", "1.0.0", "1.0.0"),
        ] {
            let path = format!("/mirror/{provider}/{document}.json");
            registry.get_as(TOKEN, &path).expect(404);
            let expected = [provider, version, "", &caller];
            assert_eq!(fields(&memory), expected, "{path} {chosen}");
        }
    }
    let (memory, registry) = Registry::with_memory(&[]);
    registry
        .get("/v1/providers/acme/widget/versions")
        .expect(404);
    assert_eq!(fields(&memory), ["", "", "", ""]);
}

#[test]
fn only_admin_responses_to_administrators_have_a_server_timing_header() {
    let (_, registry) = Registry::with_memory(&[]);
    let told = registry.admin("GET", "/admin/v1/tokens", None).expect(200);
    let timing = told.header("server-timing").unwrap();
    assert!(timing.starts_with("total;dur="), "{timing}");
    assert!(timing.contains("r2;dur=0;desc=\"1\""), "{timing}");
    for path in ["/", "/healthz", "/v1/modules/acme/vpc/aws/versions"] {
        assert_eq!(registry.get(path).header("server-timing"), None);
    }
    let delegate = tokens::create(&registry, &["admin:acme"], None).1;
    let told = registry.get_as(&delegate, "/admin/v1/tokens").expect(200);
    assert_eq!(told.header("server-timing"), None);
}

#[test]
fn each_download_is_counted_once_by_package_and_version() {
    let (memory, registry) = Registry::with_memory(&[]);
    let (module, provider) = (
        ModuleFixture::of("acme", "1.0.0"),
        ProviderFixture::of("acme", "widget", "2.0.0"),
    );
    module.publish(&registry);
    provider.publish(&registry);
    let mirrored = MirrorFixture::of(ProviderFixture::of("globex", "gadget", "3.0.0"));
    mirrored.publish(&registry);
    let download = format!("{}/2.0.0/download/linux/amd64", provider.path());
    for path in [
        module.download(),
        download.clone(),
        mirrored.packages(),
        "/v2/providers/acme/widget/manifests/2.0.0".to_owned(),
    ] {
        ask(&registry, "GET", &path);
    }
    let counted = [
        "acme/vpc/aws 1.0.0 module_download Terraform",
        "acme/widget 2.0.0 provider_download Terraform",
        "registry.example.com/globex/gadget 3.0.0 mirror_packages Terraform",
        "acme/widget 2.0.0 oci_manifest Terraform",
    ];
    assert_eq!(memory.downloads(), counted);
    ask(&registry, "HEAD", &download).expect(200);
    ask(&registry, "GET", &download.replace("amd64", "mips")).expect(404);
    ask(&registry, "GET", &provider.versions()).expect(200);
    assert_eq!(memory.downloads(), counted);
}

#[test]
fn guesses_over_the_limit_of_the_platform_are_throttled() {
    let (memory, registry) = Registry::with_memory(&[]);
    let guess = || {
        let sent = Sent::new("GET", "/admin/v1/tokens").bearing("wrong");
        let sent = sent.header("cf-connecting-ip", "192.0.2.1");
        registry.send(&sent).status
    };
    memory.let_failures_pass(2);
    assert_eq!([guess(), guess(), guess(), guess()], [401, 401, 429, 429]);
    // Valid credentials are accepted.
    registry.admin("GET", "/admin/v1/tokens", None).expect(200);
}

#[test]
fn the_health_route_reads_kv_and_r2() {
    let (memory, registry) = Registry::with_memory(&[("TERRACE_ACCESS", "private")]);
    let told = registry.get("/healthz").expect(200);
    assert_eq!(told.text(), "{\"kv\":\"ok\",\"r2\":\"ok\"}\n");
    assert_eq!(told.header("cache-control"), Some("no-store"));
    let line = &lines(&memory, 1)[0];
    assert_eq!((&line["kv"], &line["r2"]), (&1.into(), &1.into()));
    assert_eq!(registry.head("/healthz").expect(200).body, b"");
}

#[test]
fn the_health_route_reports_which_of_kv_and_r2_does_not_answer() {
    let (memory, registry) = Registry::with_memory(&[]);
    for (at, how, kv, r2) in [
        (0, Break::Before, "does not answer", "ok"),
        (1, Break::Before, "ok", "does not answer"),
        (0, Break::Outage, "does not answer", "does not answer"),
        // The operation never ends.
        (0, Break::KilledBefore, "does not answer", "ok"),
        (1, Break::KilledBefore, "ok", "does not answer"),
    ] {
        let before = memory.now().0;
        let fault = memory.break_at(at, how);
        let told = registry.get("/healthz").expect(503).json();
        assert_eq!((&told["kv"], &told["r2"]), (&kv.into(), &r2.into()));
        assert!(fault.lift());
        assert!(memory.now().0 - before <= 5);
    }
}
