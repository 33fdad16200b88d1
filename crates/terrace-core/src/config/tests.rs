use super::*;

fn read(vars: &[(&str, &str)]) -> Result<Config, ConfigError> {
    Config::from_vars(vars)
}

const TOKEN: (&str, &str) = (ADMIN_TOKEN, "0123456789abcdef");
const FALLBACK: [(&str, &str); 4] = [
    (S3_FALLBACK_ENDPOINT, "https://copies.example.com"),
    (S3_FALLBACK_BUCKET, "copies"),
    (S3_FALLBACK_ACCESS_KEY_ID, "other"),
    (S3_FALLBACK_SECRET_ACCESS_KEY, "other secret"),
];

#[test]
fn a_second_bucket_serves_downloads_only_after_a_failover() {
    let config = read(&[&S3[..], &FALLBACK].concat()).unwrap();
    let key = crate::storage::key::ArchiveKey {
        digest: terrace_base::digest::Sha256::of(b""),
        kind: crate::storage::key::ArchiveKind::Shasums,
    };
    for (serving, host) in [
        (ServingBucket::Main, "https://account.example.com/terrace/"),
        (
            ServingBucket::Fallback,
            "https://copies.example.com/copies/",
        ),
    ] {
        let urls = config.download_urls(serving).unwrap();
        let url = urls.download("https://registry.test", key, UnixTime(0));
        assert!(url.starts_with(host), "{url}");
    }
    assert!(config.fallback.is_some() && read(&S3).unwrap().fallback.is_none());
}

#[test]
fn incomplete_settings_of_the_second_bucket_are_rejected_and_so_is_the_main_bucket() {
    let same = [
        (S3_FALLBACK_ENDPOINT, "https://account.example.com/"),
        (S3_FALLBACK_BUCKET, "terrace"),
    ];
    for (vars, start) in [
        (
            FALLBACK[..3].to_vec(),
            "TERRACE_S3_FALLBACK_SECRET_ACCESS_KEY is not set, but other TERRACE_S3_FALLBACK_… variables are",
        ),
        (
            [&[(S3_FALLBACK_ENDPOINT, "copies")], &FALLBACK[1..]].concat(),
            "TERRACE_S3_FALLBACK_ENDPOINT is not an S3 endpoint",
        ),
        (
            [&S3[..], &same, &FALLBACK[2..]].concat(),
            "TERRACE_S3_FALLBACK_BUCKET is the bucket of TERRACE_S3_BUCKET",
        ),
    ] {
        let error = read(&vars).unwrap_err().to_string();
        assert!(error.starts_with(start), "{error}");
    }
}

const S3: [(&str, &str); 4] = [
    (S3_ENDPOINT, "https://account.example.com"),
    (S3_BUCKET, "terrace"),
    (S3_ACCESS_KEY_ID, "id"),
    (S3_SECRET_ACCESS_KEY, "secret"),
];

const RULE: &str = r#"[{"scopes":["publish:acme"],"issuer":"https://gitlab.com","claims":{"project_path":"acme/widget","ref_protected":"true"}}]"#;
const RULE_FOR_ANYBODY: &str =
    r#"[{"scopes":["publish:acme"],"issuer":"https://gitlab.com","claims":{"ref":"main"}}]"#;
const RULE_WITH_A_TYPO: &str = r#"[{"scopes":["publish"],"issuer":"https://gitlab.com","claims":{"project_path":"acme/widget"}}]"#;

#[test]
fn urls_are_presigned_with_s3_keys_and_signed_by_the_worker_without() {
    let worker = read(&[TOKEN]).unwrap().archive_urls.unwrap();
    assert!(worker.path_signer().is_some());
    let bucket = read(&S3).unwrap().archive_urls.unwrap();
    assert!(bucket.path_signer().is_none());
}

#[test]
fn the_setting_of_downloads_decides_who_serves_archives_and_s3_keys_who_receives_them() {
    let downloads = |value, vars: &[(&str, &str)]| {
        let vars = [vars, &[(DOWNLOADS, value), TOKEN]].concat();
        let urls = read(&vars).unwrap().archive_urls.unwrap();
        (urls.is_of_bucket(), urls.is_cached(), urls.has_bucket())
    };
    assert_eq!(downloads("presigned", &S3), (true, false, true));
    assert_eq!(downloads("worker", &S3), (false, false, true));
    assert_eq!(downloads("edge", &S3), (false, true, true));
    assert_eq!(downloads("worker", &[]), (false, false, false));
    assert_eq!(downloads("edge", &[]), (false, true, false));
}

#[test]
fn downloads_that_nothing_could_sign_are_rejected() {
    let rejected = |vars: &[(&str, &str)]| read(vars).unwrap_err().to_string();
    let presigned = rejected(&[(DOWNLOADS, "presigned"), TOKEN]);
    assert!(presigned.contains("requires S3 keys"), "{presigned}");
    let edge = rejected(&[&S3[..], &[(DOWNLOADS, "edge")]].concat());
    assert!(edge.contains(URL_SECRET), "{edge}");
    let other = rejected(&[(DOWNLOADS, "Edge"), TOKEN]);
    assert!(
        other.contains("must be presigned, worker or edge"),
        "{other}"
    );
}

#[test]
fn an_invalid_variable_is_reported_with_its_name() {
    let s3 = |first: &'static str| [&[(S3_ENDPOINT, first)], &S3[1..]].concat();
    for vars in [
        vec![(ADMIN_TOKEN, "short")],
        vec![(ADMIN_TOKEN, "terrace_9012345678")],
        vec![TOKEN, (ADMIN_TOKEN_PREVIOUS, "short")],
        vec![(ADMIN_TOKEN_PREVIOUS, TOKEN.1)],
        vec![TOKEN, (ACCESS, "Private")],
        vec![(ACCESS, "private")],
        vec![(ACCESS_EXCEPT, "acme")],
        vec![TOKEN, (ACCESS_EXCEPT, "a/b")],
        vec![TOKEN, (TRUSTED_PUBLISHERS, "acme/widget")],
        vec![TOKEN, (TRUSTED_PUBLISHERS, "true")],
        vec![TOKEN, (TRUSTED_PUBLISHERS, RULE_FOR_ANYBODY)],
        vec![TOKEN, (TRUSTED_PUBLISHERS, RULE_WITH_A_TYPO)],
        vec![(TRUSTED_PUBLISHERS, RULE)],
        vec![(URL_SECRET, "short")],
        vec![(URL_LIFETIME, "0")],
        vec![(URL_LIFETIME, "604801")],
        vec![(URL_LIFETIME, "15m")],
        vec![(HOSTNAMES, "a.b, localhost")],
        vec![TOKEN, (PULL_THROUGH, "a.b/c")],
        vec![(PULL_THROUGH, "a.b/*/*")],
        vec![(PULL_BLOCK, "a.b/c/d@one")],
        vec![(OCI_PROVIDERS, "a/b")],
        vec![(OCI_PROVIDERS, "none,a=b.c")],
        vec![(LOG_FIELDS, "package, user")],
        vec![(PULL_MINIMUM_AGE, "3d")],
        vec![(PULL_ORIGINS, "a.b")],
        vec![(PULL_ORIGINS, "a.b=http://c.d")],
        vec![(PULL_ORIGINS, "a.b=https://c.d/v1")],
    ] {
        let error = read(&vars).unwrap_err().to_string();
        assert!(error.starts_with(vars.last().unwrap().0), "{error}");
    }
    for (vars, name) in [
        (s3("https://account.example.com/terrace"), S3_ENDPOINT),
        (s3("account"), S3_ENDPOINT),
        (S3[1..].to_vec(), S3_ENDPOINT),
        (S3[..3].to_vec(), S3_SECRET_ACCESS_KEY),
    ] {
        let error = read(&vars).unwrap_err().to_string();
        assert!(error.starts_with(name), "{error}");
    }
}

#[test]
fn a_misspelt_setting_is_rejected_without_its_value() {
    let error = read(&[TOKEN, ("TERRACE_ACESS", "private")]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "TERRACE_ACESS is not a setting of Terrace; did you mean TERRACE_ACCESS?"
    );
    assert_eq!(error.variable(), "TERRACE_ACESS");
    let error = read(&[("TERRACE_ADMIN_TOKN", TOKEN.1)]).unwrap_err();
    assert!(!format!("{error} {error:?}").contains(TOKEN.1));
}

#[test]
fn secrets_are_not_shown_in_debug_output() {
    let vars = [&[(ADMIN_TOKEN, "hunter2hunter2hunter2")], S3.as_slice()].concat();
    let shown = format!("{:?}", read(&vars).unwrap());
    assert!(
        !shown.contains("hunter2") && !shown.contains("\"secret\""),
        "{shown}"
    );
}

#[test]
fn only_issuers_of_the_configuration_may_be_at_private_hosts() {
    let rule = r#"[{"scopes":["read"],"issuer":"https://localhost:8443/oidc","claims":{"sub":"acme/widget"}}]"#;
    let config = read(&[
        TOKEN,
        (TRUSTED_PUBLISHERS, rule),
        (ISSUER_HOSTS, "10.0.0.7:8443"),
    ]);
    let config = config.unwrap();
    let allows = |issuer: &str, url: &str| {
        let guard = config.issuer_guard(&issuer.parse().unwrap());
        let url: terrace_base::url::Url = url.parse().unwrap();
        guard.check((&url).into()).is_ok()
    };
    let named = "https://localhost:8443/oidc";
    for url in [
        "https://localhost:8443/jwks",
        "https://10.0.0.7:8443/jwks",
        "https://www.googleapis.com/jwks",
    ] {
        assert!(allows(named, url), "{url}");
    }
    for url in ["https://localhost:8444/jwks", "https://169.254.169.254/"] {
        assert!(!allows(named, url), "{url}");
    }
    let stored = "https://idp.example.com";
    assert!(allows(stored, "https://www.googleapis.com/jwks"));
    assert!(!allows(stored, "https://10.0.0.7:8443/jwks"));
}
