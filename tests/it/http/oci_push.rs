//! Repositories that clients push to.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::support::pushed::{INDEX, MANIFEST, Pushed, PushedProvider, code, digest};
use crate::support::registry::{Sent, unique};
use crate::support::{MirrorFixture, ModuleFixture, Registry};

const NOTHING: &str = "sha256:0000000000000000000000000000000000000000000000000000000000000000";

fn sha512(bytes: &[u8]) -> String {
    use sha2::Digest as _;
    let digest = sha2::Sha512::digest(bytes);
    let digits: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha512:{digits}")
}

/// The bytes that a blob leads to.
fn pull(pushed: &Pushed<'_>, digest: &str) -> Vec<u8> {
    let led = pushed.get(&format!("blobs/{digest}")).expect(307);
    assert_eq!(led.header("cache-control"), Some("no-store"));
    let location = led.header("location").unwrap();
    pushed.registry.get(location).expect(200).body
}

fn has_blob(pushed: &Pushed<'_>, bytes: &[u8]) {
    let digest = digest(bytes);
    let head = pushed.head(&format!("blobs/{digest}")).expect(200);
    let length = bytes.len().to_string();
    assert_eq!(head.header("content-length"), Some(length.as_str()));
    assert_eq!(head.header("docker-content-digest"), Some(digest.as_str()));
    assert_eq!(pull(pushed, &digest), bytes);
}

#[test]
fn a_blob_is_pushed_by_post_and_put_11_1_11_2() {
    let registry = Registry::start();
    let pushed = Pushed::new(&registry);
    let bytes = unique("a blob").into_bytes();
    let missing = pushed.head(&format!("blobs/{}", digest(&bytes)));
    assert_eq!(missing.status, 404);
    let location = pushed.begin();
    assert!(
        location.starts_with(&pushed.path("blobs/uploads/")),
        "{location}"
    );
    let put = pushed
        .request("PUT", &format!("{location}?digest={}", digest(&bytes)))
        .header("content-type", "application/octet-stream");
    let created = registry.send(&put.body(bytes.clone())).expect(201);
    let at = pushed.path(&format!("blobs/{}", digest(&bytes)));
    assert_eq!(created.header("location"), Some(at.as_str()));
    has_blob(&pushed, &bytes);
    // The upload is over.
    assert_eq!(
        code(&pushed.send("GET", &location).expect(404)),
        "BLOB_UPLOAD_UNKNOWN"
    );
}

#[test]
fn a_blob_is_pushed_by_one_post() {
    let registry = Registry::start();
    let pushed = Pushed::new(&registry);
    let bytes = unique("a blob").into_bytes();
    let post = format!("blobs/uploads/?digest={}", digest(&bytes));
    let sent = pushed.request("POST", &post).body(bytes.clone());
    registry.send(&sent).expect(201);
    has_blob(&pushed, &bytes);
    let other = unique("another").into_bytes();
    let post = format!("blobs/uploads/?digest={}", digest(&other));
    let sent = pushed.request("POST", &post).unsized_body(other.clone());
    registry.send(&sent).expect(201);
    has_blob(&pushed, &other);
}

#[test]
fn a_blob_is_pushed_in_chunks_whose_length_may_be_unknown() {
    let registry = Registry::start();
    let pushed = Pushed::new(&registry);
    let bytes = unique(&"0123456789".repeat(1_000)).into_bytes();
    for last_by_put in [false, true] {
        let begun = pushed.request("POST", "blobs/uploads/").body(b"");
        let begun = registry.send(&begun).expect(202);
        assert_eq!(begun.header("oci-chunk-min-length"), Some("5242880"));
        let location = begun.header("location").unwrap().to_owned();
        let status = pushed.send("GET", &location).expect(204);
        assert_eq!(status.header("range"), Some("0-0"));
        let chunk = |method: &str, from: usize, to: usize, is_unsized: bool| {
            let to_where = match method {
                "PUT" => format!("{location}?digest={}", digest(&bytes)),
                _ => location.clone(),
            };
            let sent = pushed
                .request(method, &to_where)
                .header("content-range", &format!("{from}-{}", to - 1));
            registry.send(&if is_unsized {
                sent.unsized_body(&bytes[from..to])
            } else {
                sent.body(&bytes[from..to])
            })
        };
        let first = chunk("PATCH", 0, 4_000, false).expect(202);
        assert_eq!(first.header("range"), Some("0-3999"));
        assert_eq!(first.header("location"), Some(location.as_str()));
        // Twice, and further on.
        for (from, to) in [(0, 4_000), (8_000, 9_000)] {
            let refused = chunk("PATCH", from, to, false).expect(416);
            assert_eq!(refused.header("range"), Some("0-3999"));
            assert_eq!(refused.header("location"), Some(location.as_str()));
            assert_eq!(code(&refused), "BLOB_UPLOAD_INVALID");
            chunk("PUT", from, to, false).expect(416);
        }
        let second = chunk("PATCH", 4_000, 8_000, true).expect(202);
        assert_eq!(second.header("range"), Some("0-7999"));
        // Of another length than its range.
        let sent = pushed.request("PATCH", &location);
        let sent = sent.header("content-range", "8000-8999");
        for sent in [sent.clone().unsized_body(b"short"), sent.body(b"short")] {
            assert_eq!(code(&registry.send(&sent).expect(400)), "SIZE_INVALID");
        }
        let status = pushed.send("GET", &location).expect(204);
        assert_eq!(status.header("range"), Some("0-7999"));
        if last_by_put {
            chunk("PUT", 8_000, bytes.len(), false).expect(201);
        } else {
            chunk("PATCH", 8_000, bytes.len(), true).expect(202);
            let done = format!("{location}?digest={}", digest(&bytes));
            registry
                .send(&pushed.request("PUT", &done).body(b""))
                .expect(201);
        }
        has_blob(&pushed, &bytes);
        pushed.send("GET", &location).expect(404);
        pushed
            .send("DELETE", &format!("blobs/{}", digest(&bytes)))
            .expect(202);
    }
}

#[test]
fn a_blob_of_nothing_is_a_blob() {
    let registry = Registry::start();
    let pushed = Pushed::new(&registry);
    assert_eq!(pushed.blob(b""), digest(b""));
    has_blob(&pushed, b"");
}

#[test]
fn a_digest_that_is_another_stores_nothing() {
    let registry = Registry::start();
    let pushed = Pushed::new(&registry);
    let bytes = unique("a blob").into_bytes();
    let wrong = digest(&unique("another").into_bytes());
    let location = pushed.begin();
    let sent = pushed.request("PUT", &format!("{location}?digest={wrong}"));
    let refused = registry.send(&sent.body(bytes.clone())).expect(400);
    assert_eq!(code(&refused), "DIGEST_INVALID");
    pushed.head(&format!("blobs/{wrong}")).expect(404);
    for query in [
        "",
        "?digest=",
        "?digest=sha256:00",
        "?digest=md5:00",
        "?digest=%zz",
    ] {
        let location = pushed.begin();
        let sent = pushed.request("PUT", &format!("{location}{query}"));
        let refused = registry.send(&sent.body(bytes.clone())).expect(400);
        assert_eq!(code(&refused), "DIGEST_INVALID", "{query}");
    }
    let algorithm = pushed.request("POST", "blobs/uploads/?digest-algorithm=md5");
    registry.send(&algorithm.body(b"")).expect(400);
}

#[test]
fn a_sha512_is_a_digest_too() {
    let registry = Registry::start();
    let pushed = Pushed::new(&registry);
    let bytes = unique("a blob").into_bytes();
    let digest = sha512(&bytes);
    let post = pushed.request("POST", "blobs/uploads/?digest-algorithm=sha512");
    let begun = registry.send(&post.body(b"")).expect(202);
    let location = begun.header("location").unwrap();
    let put = pushed.request("PUT", &format!("{location}?digest={digest}"));
    registry.send(&put.body(bytes.clone())).expect(201);
    assert_eq!(pull(&pushed, &digest), bytes);
    let text = json!({
        "schemaVersion": 2,
        "mediaType": MANIFEST,
        "config": { "mediaType": "a/b", "digest": digest, "size": bytes.len() },
        "layers": [],
    })
    .to_string();
    let named = sha512(text.as_bytes());
    pushed.put_manifest(&named, MANIFEST, &text).expect(201);
    let found = pushed.get(&format!("manifests/{named}")).expect(200);
    assert_eq!(found.text(), text);
    assert_eq!(found.header("docker-content-digest"), Some(named.as_str()));
    let wrong = sha512(b"another");
    let refused = pushed.put_manifest(&wrong, MANIFEST, &text).expect(400);
    assert_eq!(code(&refused), "DIGEST_INVALID");
}

#[test]
fn a_blob_is_mounted_where_it_is_and_else_sent_11_5() {
    let registry = Registry::start();
    let (from, to) = (Pushed::new(&registry), Pushed::new(&registry));
    let bytes = unique("a blob").into_bytes();
    let digest = from.blob(&bytes);
    let mount = |query: String| {
        let sent = to.request("POST", &format!("blobs/uploads/?mount={query}"));
        registry.send(&sent.body(b""))
    };
    let source = from.name.replace('/', "%2F");
    for query in [
        format!("{NOTHING}&from={source}"),
        format!("{digest}&from=nobody/nothing"),
        format!("{digest}&from=providers/acme/widget"),
        NOTHING.to_owned(),
        // No blob that could be here.
        String::new(),
        format!("sha256:00&from={source}"),
        format!("sha384:{}&from={source}", "0".repeat(96)),
    ] {
        let begun = mount(query).expect(202);
        assert!(begun.header("location").unwrap().contains("/uploads/"));
    }
    to.head(&format!("blobs/{digest}")).expect(404);
    mount(format!("{digest}&from={source}")).expect(201);
    has_blob(&to, &bytes);
    to.send("DELETE", &format!("blobs/{digest}")).expect(202);
    to.head(&format!("blobs/{digest}")).expect(404);
    mount(digest).expect(201);
    has_blob(&to, &bytes);
}

#[test]
fn a_blob_of_a_published_release_is_mounted_11_5() {
    let registry = Registry::start();
    let pushed = Pushed::new(&registry);
    let module = ModuleFixture::new("1.0.0");
    module.publish(&registry);
    let mount = |bytes: &[u8]| {
        let query = format!("mount={}&from=modules/{}", digest(bytes), module.address);
        let sent = pushed.request("POST", &format!("blobs/uploads/?{query}"));
        registry.send(&sent.body(b""))
    };
    for bytes in [&module.archive[..], b"{}"] {
        mount(bytes).expect(201);
        has_blob(&pushed, bytes);
    }
    let begun = mount(unique("another").as_bytes()).expect(202);
    assert!(begun.header("location").unwrap().contains("/uploads/"));
}

#[test]
fn an_upload_can_be_cancelled() {
    let registry = Registry::start();
    let pushed = Pushed::new(&registry);
    let location = pushed.begin();
    registry
        .send(&pushed.request("PATCH", &location).body(b"bytes"))
        .expect(202);
    pushed.send("DELETE", &location).expect(204);
    for method in ["GET", "DELETE", "PATCH", "PUT"] {
        let target = format!("{location}?digest={}", digest(b"bytes"));
        let gone = registry.send(&pushed.request(method, &target).body(b""));
        assert_eq!(code(&gone.expect(404)), "BLOB_UPLOAD_UNKNOWN", "{method}");
    }
    // And is of one repository.
    let location = pushed.begin();
    let other = Pushed::new(&registry);
    let elsewhere = location.replace(&pushed.name, &other.name);
    pushed.send("GET", &elsewhere).expect(404);
}

#[test]
fn a_manifest_is_stored_byte_for_byte_and_read_by_tag_and_digest_11_6() {
    let registry = Registry::start();
    let pushed = Pushed::new(&registry);
    let config = pushed.blob(b"{}");
    let text = format!(
        "\n{{ \"schemaVersion\" : 2,\n \"unknown\": [1.50, \"\\u00e4ä\"], \"layers\":[], \
         \"config\":{{\"mediaType\":\"a/b\",\"digest\":\"{config}\",\"size\":2}}}} \n"
    );
    let own = digest(text.as_bytes());
    for reference in ["latest", own.as_str()] {
        let created = pushed.put_manifest(reference, MANIFEST, &text).expect(201);
        assert_eq!(created.header("docker-content-digest"), Some(own.as_str()));
        let location = created.header("location").unwrap();
        assert_eq!(registry.get(location).expect(200).text(), text);
        let path = format!("manifests/{reference}");
        let head = pushed.head(&path).expect(200);
        assert_eq!(head.header("content-type"), Some(MANIFEST));
        assert_eq!(head.header("docker-content-digest"), Some(own.as_str()));
        let length = text.len().to_string();
        assert_eq!(head.header("content-length"), Some(length.as_str()));
        assert_eq!(pushed.get(&path).expect(200).text(), text);
    }
    // A body whose length is not told.
    let sent = pushed
        .request("PUT", "manifests/other")
        .unsized_body(text.clone());
    registry.send(&sent).expect(201);
    assert_eq!(pushed.tags(), ["latest", "other"]);
}

#[test]
fn a_tag_names_what_was_pushed_last() {
    let registry = Registry::start();
    let pushed = Pushed::new(&registry);
    let first = pushed.artifact("latest", b"first", json!({}));
    assert_eq!(pushed.get("manifests/latest").text(), first);
    let second = pushed.artifact("latest", b"second", json!({}));
    assert_eq!(pushed.get("manifests/latest").text(), second);
    let old = pushed.get(&format!("manifests/{}", digest(first.as_bytes())));
    assert_eq!(old.expect(200).text(), first);
}

#[test]
fn tags_can_be_pushed_with_a_digest() {
    let registry = Registry::start();
    let pushed = Pushed::new(&registry);
    let text = pushed.artifact("first", b"layer", json!({}));
    let own = digest(text.as_bytes());
    let created = pushed
        .put_manifest(&format!("{own}?tag=1.0&tag=1&tag=1"), MANIFEST, &text)
        .expect(201);
    assert_eq!(created.header("oci-tag"), Some("1.0, 1"));
    assert_eq!(pushed.tags(), ["1", "1.0", "first"]);
    let many: String = (0..20).map(|number| format!("&tag=t{number}")).collect();
    let refused = pushed.put_manifest(&format!("{own}?x{many}"), MANIFEST, &text);
    assert_eq!(refused.status, 414);
    let refused = pushed.put_manifest(&format!("{own}?tag=-x"), MANIFEST, &text);
    assert_eq!(refused.status, 400);
}

#[test]
fn tags_come_in_parts_where_that_is_asked_for() {
    let registry = Registry::start();
    let pushed = Pushed::new(&registry);
    let text = pushed.artifact("b", b"layer", json!({}));
    for tag in ["C", "a", "1.0"] {
        pushed.put_manifest(tag, MANIFEST, &text).expect(201);
    }
    assert_eq!(pushed.tags(), ["1.0", "C", "a", "b"]);
    let page = pushed.get("tags/list?n=2").expect(200);
    assert_eq!(page.json()["tags"], json!(["1.0", "C"]));
    let link = page.header("link").unwrap();
    let next = link.split(['<', '>']).nth(1).unwrap();
    let rest = registry.get(next).expect(200);
    assert_eq!(rest.json()["tags"], json!(["a", "b"]));
    assert_eq!(rest.header("link"), None);
    let none = pushed.get("tags/list?n=0").expect(200);
    assert_eq!(none.json()["tags"], json!([]));
}

#[test]
fn what_a_manifest_of_a_provider_refers_to_must_be_in_its_repository() {
    let registry = Registry::start();
    let provider = PushedProvider::new("whole");
    let pushed = Pushed::of(&registry, &provider.repository());
    let manifest = referring_to(NOTHING);
    let refused = pushed.put_manifest("a", MANIFEST, &manifest).expect(400);
    assert_eq!(code(&refused), "MANIFEST_BLOB_UNKNOWN");
    assert!(refused.text().contains(NOTHING));
    let elsewhere = Pushed::new(&registry).blob(&unique("elsewhere").into_bytes());
    let refused = pushed.put_manifest("a", MANIFEST, &referring_to(&elsewhere));
    assert_eq!(code(&refused.expect(400)), "MANIFEST_BLOB_UNKNOWN");
    let refused = pushed.put_manifest("a", INDEX, &index_of(NOTHING));
    assert_eq!(code(&refused.expect(400)), "MANIFEST_BLOB_UNKNOWN");
    pushed.get("tags/list").expect(404);
}

#[test]
fn elsewhere_parts_of_a_manifest_may_be_missing_or_come_later() {
    let registry = Registry::start();
    let pushed = Pushed::new(&registry);
    let layer = unique("later").into_bytes();
    let manifest = referring_to(&digest(&layer));
    for (tag, media_type, text) in [("a", MANIFEST, &manifest), ("b", INDEX, &index_of(NOTHING))] {
        pushed.put_manifest(tag, media_type, text).expect(201);
        assert_eq!(
            &pushed.get(&format!("manifests/{tag}")).expect(200).text(),
            text
        );
    }
    assert_eq!(pushed.tags(), ["a", "b"]);
    let blob = format!("blobs/{}", digest(&layer));
    pushed.get(&blob).expect(404);
    pushed.blob(&layer);
    pushed.head(&blob).expect(200);
    pushed.get(&format!("manifests/{NOTHING}")).expect(404);
}

fn described(digest: &str) -> Value {
    json!({ "mediaType": "a/b", "digest": digest, "size": 2 })
}

fn referring_to(digest: &str) -> String {
    json!({ "schemaVersion": 2, "config": described(digest), "layers": [] }).to_string()
}

fn index_of(digest: &str) -> String {
    json!({ "schemaVersion": 2, "manifests": [described(digest)] }).to_string()
}

#[test]
fn what_is_no_manifest_is_refused() {
    let registry = Registry::start();
    let pushed = Pushed::new(&registry);
    let text = pushed.artifact("good", b"layer", json!({}));
    for (media_type, text) in [
        (MANIFEST, ""),
        (MANIFEST, "{}"),
        (MANIFEST, "not json"),
        (MANIFEST, &"[".repeat(100_000)),
        (MANIFEST, r#"{"schemaVersion":2,"config":1,"layers":[]}"#),
        (INDEX, &text),
        ("application/json", &text),
    ] {
        let refused = pushed.put_manifest("bad", media_type, text).expect(400);
        assert_eq!(code(&refused), "MANIFEST_INVALID", "{media_type}");
    }
    let no_text = pushed
        .request("PUT", "manifests/bad")
        .body(b"{\"a\":\"\xff\"}");
    assert_eq!(
        code(&registry.send(&no_text).expect(400)),
        "MANIFEST_INVALID"
    );
    let large = format!("{}{}", text, " ".repeat(4 * 1024 * 1024));
    let refused = pushed.put_manifest("bad", MANIFEST, &large).expect(413);
    assert_eq!(code(&refused), "SIZE_INVALID");
    let refused = pushed.request("PUT", "manifests/bad").unsized_body(large);
    registry.send(&refused).expect(413);
    for reference in [NOTHING, "sha256:baddigeststring"] {
        let refused = pushed.put_manifest(reference, MANIFEST, &text).expect(400);
        assert_eq!(code(&refused), "DIGEST_INVALID");
    }
    pushed.put_manifest("-bad", MANIFEST, &text).expect(404);
    assert_eq!(pushed.tags(), ["good"]);
}

#[test]
fn what_refers_to_a_manifest_is_listed_and_filtered_11_7() {
    let registry = Registry::start();
    let pushed = Pushed::new(&registry);
    let subject = pushed.artifact("subject", b"layer", json!({}));
    let subject = json!({
        "mediaType": MANIFEST, "digest": digest(subject.as_bytes()), "size": subject.len(),
    });
    let path = format!("referrers/{}", subject["digest"].as_str().unwrap());
    let empty = pushed.get(&path).expect(200);
    assert_eq!(empty.header("content-type"), Some(INDEX));
    assert_eq!(empty.json()["manifests"], json!([]));
    let more = |kind: &str| json!({ "subject": subject, "artifactType": kind, "annotations": { "a": kind } });
    let first = pushed.artifact("first", b"layer", more("application/vnd.a+json"));
    let second = pushed.artifact("second", b"layer", more("application/vnd.b+json"));
    let created = pushed.put_manifest("again", MANIFEST, &second).expect(201);
    assert_eq!(created.header("oci-subject"), subject["digest"].as_str());
    let mut found = pushed.get(&path).expect(200).json()["manifests"].clone();
    let found = found.as_array_mut().unwrap();
    assert_eq!(found.len(), 2);
    found.sort_by_key(|it| it["artifactType"].as_str().unwrap().to_owned());
    assert_eq!(
        found[0],
        json!({
            "mediaType": MANIFEST,
            "digest": digest(first.as_bytes()),
            "size": first.len(),
            "artifactType": "application/vnd.a+json",
            "annotations": { "a": "application/vnd.a+json" },
        })
    );
    for filter in ["application/vnd.b+json", "application%2Fvnd.b%2Bjson"] {
        let filtered = pushed.get(&format!("{path}?artifactType={filter}"));
        let filtered = filtered.expect(200);
        assert_eq!(filtered.header("oci-filters-applied"), Some("artifactType"));
        let json = filtered.json();
        assert_eq!(json["manifests"][0]["digest"], digest(second.as_bytes()));
        assert_eq!(json["manifests"][1], json!(null));
    }
    let gone = format!("manifests/{}", digest(first.as_bytes()));
    pushed.send("DELETE", &gone).expect(202);
    let left = pushed.get(&path).expect(200).json();
    assert_eq!(left["manifests"].as_array().unwrap().len(), 1);
    pushed.get("referrers/latest").expect(400);
}

#[test]
fn what_is_deleted_is_gone_and_with_a_manifest_its_tags() {
    let registry = Registry::start();
    let pushed = Pushed::new(&registry);
    let text = pushed.artifact("a", b"layer", json!({}));
    for tag in ["b", "c"] {
        pushed.put_manifest(tag, MANIFEST, &text).expect(201);
    }
    let other = pushed.artifact("other", b"another", json!({}));
    pushed.send("DELETE", "manifests/a").expect(202);
    pushed.get("manifests/a").expect(404);
    assert_eq!(pushed.tags(), ["b", "c", "other"]);
    let own = format!("manifests/{}", digest(text.as_bytes()));
    pushed.get(&own).expect(200);
    pushed.send("DELETE", &own).expect(202);
    for path in [own.as_str(), "manifests/b", "manifests/c"] {
        let gone = pushed.get(path).expect(404);
        assert_eq!(code(&gone), "MANIFEST_UNKNOWN", "{path}");
        pushed.send("DELETE", path).expect(404);
    }
    assert_eq!(pushed.tags(), ["other"]);
    let layer = format!("blobs/{}", digest(b"layer"));
    pushed.get(&layer).expect(307);
    pushed.send("DELETE", &layer).expect(202);
    assert_eq!(code(&pushed.get(&layer).expect(404)), "BLOB_UNKNOWN");
    pushed.send("DELETE", &layer).expect(404);
    let own = format!("manifests/{}", digest(other.as_bytes()));
    pushed.send("DELETE", &own).expect(202);
    assert_eq!(code(&pushed.get("tags/list").expect(404)), "NAME_UNKNOWN");
    // It can be pushed again.
    pushed.artifact("a", b"layer", json!({}));
    assert_eq!(pushed.get("manifests/a").expect(200).text(), text);
}

#[test]
fn whoever_pushes_must_be_allowed_to_6_10() {
    let registry = Registry::start();
    let pushed = Pushed::new(&registry);
    let authority = registry.authority().unwrap_or("registry.test");
    let scheme = if registry.authority().is_some() {
        "http"
    } else {
        "https"
    };
    let challenge =
        format!("Bearer realm=\"{scheme}://{authority}/v2/token\",service=\"{authority}\"");
    let id = "01a3185c-5000-7fff-bfff-ffffffffffff";
    for (method, rest) in [
        ("POST", "blobs/uploads/".to_owned()),
        ("PATCH", format!("blobs/uploads/{id}")),
        ("PUT", format!("blobs/uploads/{id}?digest={NOTHING}")),
        ("GET", format!("blobs/uploads/{id}")),
        ("DELETE", format!("blobs/uploads/{id}")),
        ("PUT", "manifests/latest".to_owned()),
        ("DELETE", "manifests/latest".to_owned()),
        ("DELETE", format!("blobs/{NOTHING}")),
    ] {
        let basic = |credentials: &str| format!("Basic {}", STANDARD.encode(credentials));
        for header in [
            None,
            Some("Bearer wrong".to_owned()),
            Some("Bearer anonymous".to_owned()),
            Some(basic("me:wrong")),
            Some(basic(&format!(":{}", registry.token()))),
        ] {
            let sent = Sent::new(method, &pushed.path(&rest));
            let sent = match &header {
                Some(value) => sent.header("authorization", value),
                None => sent,
            };
            let refused = registry.send(&sent).expect(401);
            assert_eq!(code(&refused), "UNAUTHORIZED", "{method} {rest}");
            let told = refused.header("www-authenticate");
            assert_eq!(told, Some(challenge.as_str()), "{method} {rest}");
        }
    }
}

#[test]
fn a_token_is_given_for_the_admin_token_and_to_anybody_6_10_6_12() {
    let registry = Registry::start();
    let pushed = Pushed::new(&registry);
    let token = |query: &str, authorization: Option<&str>| {
        let sent = Sent::new("GET", &format!("/v2/token{query}"));
        let sent = match authorization {
            Some(value) => sent.header("authorization", value),
            None => sent,
        };
        registry.send(&sent)
    };
    let right = format!(
        "Basic {}",
        STANDARD.encode(format!("any:{}", registry.token()))
    );
    let wrong = format!("Basic {}", STANDARD.encode("any:wrong"));
    for query in [
        "",
        "?service=x",
        "?scope=repository:a:pull,push&service=x",
        "?scope=repository%3Aa%3Apull&scope=repository%3Ab%3Apull%2Cpush",
    ] {
        let anonymous = token(query, None).expect(200).json();
        let given = token(query, Some(&right)).expect(200);
        assert_eq!(given.header("cache-control"), Some("no-store"));
        let given = given.json();
        assert_eq!(given["token"], given["access_token"]);
        token(query, Some(&wrong)).expect(401);
        for (given, status) in [(anonymous, 401), (given, 202)] {
            let bearer = format!("Bearer {}", given["token"].as_str().unwrap());
            let post = Sent::new("POST", &pushed.path("blobs/uploads/"));
            let post = post.header("authorization", &bearer).body(b"");
            registry.send(&post).expect(status);
            let base = Sent::new("GET", "/v2/").header("authorization", &bearer);
            registry.send(&base).expect(200);
        }
    }
    let base =
        |value: &str| registry.send(&Sent::new("GET", "/v2/").header("authorization", value));
    base(&right).expect(200);
    assert_eq!(code(&base(&wrong).expect(401)), "UNAUTHORIZED");
}

#[test]
fn a_download_goes_on_where_it_was_broken_off() {
    let registry = Registry::start();
    let pushed = Pushed::new(&registry);
    let bytes = unique("0123456789").into_bytes();
    let digest = pushed.blob(&bytes);
    let led = pushed.get(&format!("blobs/{digest}")).expect(307);
    let location = led.header("location").unwrap();
    let part = |range: &str| registry.send(&Sent::new("GET", location).header("range", range));
    let size = bytes.len();
    for (range, from, to) in [
        ("bytes=2-4", 2, 5),
        ("bytes=3-", 3, size),
        ("bytes=-4", size - 4, size),
        ("bytes=5-999", 5, size),
    ] {
        let found = part(range).expect(206);
        assert_eq!(found.body, bytes[from..to], "{range}");
        let told = format!("bytes {from}-{}/{size}", to - 1);
        assert_eq!(found.header("content-range"), Some(told.as_str()));
    }
    part("bytes=999-").expect(416);
    let sent = Sent::new("GET", &pushed.path(&format!("blobs/{digest}")));
    let refused = registry
        .send(&sent.header("range", "bytes=5-0"))
        .expect(416);
    let told = format!("bytes */{size}");
    assert_eq!(refused.header("content-range"), Some(told.as_str()));
}

#[test]
fn an_unknown_repository_and_a_name_that_cannot_be_are_404_6_4() {
    let registry = Registry::start();
    for repository in ["nobody/nothing", "a"] {
        let missing = registry.get(&format!("/v2/{repository}{}/tags/list", unique("x")));
        assert_eq!(code(&missing.expect(404)), "NAME_UNKNOWN");
    }
    let long = "a".repeat(256);
    for repository in ["Team/app", "team//app", "-a", "a/", &long] {
        let missing = registry.get(&format!("/v2/{repository}/tags/list"));
        assert_eq!(code(&missing.expect(404)), "NAME_INVALID", "{repository}");
    }
    for method in ["POST", "PUT", "PATCH"] {
        let target = format!("/v2/team/app/blobs/{NOTHING}");
        let refused = registry.admin(method, &target, Some(b"")).expect(405);
        assert_eq!(code(&refused), "UNSUPPORTED");
    }
}

/// One upload, every protocol.
#[test]
fn a_pushed_provider_is_in_the_network_mirror() {
    let registry = Registry::start();
    let provider = PushedProvider::new("1");
    let index = provider.prepare(&registry);
    registry.get(&provider.mirror("index.json")).expect(404);
    provider.tag(&registry, "1.2.0", &index).expect(201);
    let list = registry.get(&provider.mirror("index.json")).expect(200);
    assert_eq!(list.json(), json!({ "versions": { "1.2.0": {} } }));
    let packages = registry
        .get(&provider.mirror("1.2.0.json"))
        .expect(200)
        .json();
    for (arch, zip) in &provider.zips {
        let url = packages["archives"][format!("linux_{arch}")]["url"]
            .as_str()
            .unwrap();
        assert_eq!(registry.get(url).expect(200).body, *zip);
    }
    // And in the repository that is made of it.
    let repository = format!(
        "providers/registry.opentofu.org/{}/widget",
        provider.namespace
    );
    let tags = registry
        .get(&format!("/v2/{repository}/tags/list"))
        .expect(200);
    assert_eq!(tags.json()["tags"], json!(["1.2.0"]));
    // The same again is the same.
    provider.tag(&registry, "1.2.0", &index).expect(201);
    let tag = provider.tag(&registry, "1.3.0_b.1", &index);
    tag.expect(201);
    let list = registry.get(&provider.mirror("index.json")).expect(200);
    assert_eq!(
        list.json(),
        json!({ "versions": { "1.2.0": {}, "1.3.0+b.1": {} } })
    );
}

#[test]
fn only_versions_that_can_be_installed_are_listed_14_1() {
    let registry = Registry::start();
    let provider = PushedProvider::new("1");
    let index = provider.prepare(&registry);
    let pushed = Pushed::of(&registry, &provider.repository());
    for tag in ["1.0", "latest", "v1.0.0", "20240101"] {
        provider.tag(&registry, tag, &index).expect(201);
        pushed.get(&format!("manifests/{tag}")).expect(200);
    }
    pushed.artifact("1.0.0_linux-amd64", b"layer", json!({}));
    assert_eq!(pushed.tags(), Vec::<String>::new());
    registry.get(&provider.mirror("index.json")).expect(404);
    provider.tag(&registry, "1.0.0", &index).expect(201);
    assert_eq!(pushed.tags(), ["1.0.0"]);
}

#[test]
fn what_contradicts_a_mirrored_version_is_not_tagged() {
    let registry = Registry::start();
    let provider = PushedProvider::new("1");
    let index = provider.prepare(&registry);
    provider.tag(&registry, "1.0.0", &index).expect(201);
    let other = PushedProvider::of(&provider.namespace, "2");
    let contradicting = other.prepare(&registry);
    let refused = other.tag(&registry, "1.0.0", &contradicting).expect(409);
    assert_eq!(code(&refused), "DENIED");
    assert!(refused.text().contains("linux_amd64 has the sha256"));
    let pushed = Pushed::of(&registry, &provider.repository());
    assert_eq!(pushed.get("manifests/1.0.0").json(), index);
    other.tag(&registry, "1.0.1", &contradicting).expect(201);
    assert_eq!(pushed.tags(), ["1.0.0", "1.0.1"]);
}

#[test]
fn what_opentofu_could_not_install_is_no_version() {
    let registry = Registry::start();
    let provider = PushedProvider::new("1");
    let index = provider.prepare(&registry);
    let refused = |change: &dyn Fn(&mut Value)| {
        let mut index = index.clone();
        change(&mut index);
        let refused = provider.tag(&registry, "1.0.0", &index).expect(400);
        assert_eq!(code(&refused), "MANIFEST_INVALID");
        refused.text()
    };
    let told = refused(&|index| index["manifests"] = json!([]));
    assert!(told.contains("1 to 64"), "{told}");
    let told = refused(&|index| index["manifests"][0]["platform"] = json!(null));
    assert!(told.contains("needs a platform"), "{told}");
    let told = refused(&|index| index["manifests"][0]["platform"]["os.version"] = json!("1"));
    assert!(told.contains("os.version"), "{told}");
    let told = refused(&|index| {
        let first = index["manifests"][0]["platform"].clone();
        index["manifests"][1]["platform"] = first;
    });
    assert!(told.contains("listed twice"), "{told}");
    let pushed = Pushed::of(&registry, &provider.repository());
    let target = pushed.artifact("target", b"no zip", json!({}));
    let told = refused(&|index| {
        index["manifests"][0]["digest"] = json!(digest(target.as_bytes()));
    });
    assert!(told.contains("artifactType"), "{told}");
    let broken = pushed.blob(b"no zip");
    let text = json!({
        "schemaVersion": 2,
        "artifactType": "application/vnd.opentofu.provider-target",
        "config": { "mediaType": "a/b", "digest": pushed.blob(b"{}"), "size": 2 },
        "layers": [{ "mediaType": "archive/zip", "digest": broken, "size": 6 }],
    })
    .to_string();
    pushed.put_manifest("broken", MANIFEST, &text).expect(201);
    let told = refused(&|index| {
        index["manifests"][0]["digest"] = json!(digest(text.as_bytes()));
    });
    assert!(told.contains("zip"), "{told}");
    registry.get(&provider.mirror("index.json")).expect(404);
}

/// What is published keeps its repositories.
#[test]
fn what_is_published_cannot_be_pushed_over() {
    let registry = Registry::start();
    let (module, mirrored) = (ModuleFixture::new("1.0.0"), MirrorFixture::new("1.0.0"));
    module.publish(&registry);
    mirrored.publish(&registry);
    for repository in [
        format!("modules/{}", module.address),
        format!("providers/{}", mirrored.address()),
    ] {
        let target = format!("/v2/{repository}/blobs/uploads/");
        let refused = registry.admin("POST", &target, Some(b"")).expect(405);
        assert_eq!(code(&refused), "UNSUPPORTED");
    }
}
