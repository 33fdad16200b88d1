//! Keys and signatures created during the test by the gpg on PATH.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{SystemTime, UNIX_EPOCH};

use crate::{detached_signature, parse_signing_keys, verify_detached};

/// A temporary key ring, removed at the end.
struct Gpg(PathBuf);

impl Gpg {
    /// Returns `None` if gpg does not run, and prints the reason.
    fn new(name: &str) -> Option<Self> {
        if let Err(error) = Command::new("gpg").arg("--version").output() {
            eprintln!("skipped: gpg does not run: {error}");
            return None;
        }
        let home = std::env::temp_dir().join(format!("terrace-gpg-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&home).unwrap();
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            std::fs::set_permissions(&home, std::fs::Permissions::from_mode(0o700)).unwrap();
        }
        Some(Self(home))
    }

    fn run(&self, arguments: &[&str], input: &[u8]) -> Vec<u8> {
        let mut child = Command::new("gpg")
            .env("GNUPGHOME", &self.0)
            .args(["--quiet", "--batch", "--yes", "--no-tty"])
            .args(["--pinentry-mode", "loopback", "--passphrase", ""])
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(input).unwrap();
        let output = child.wait_with_output().unwrap();
        let complaint = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "gpg {arguments:?}: {complaint}");
        output.stdout
    }
}

impl Drop for Gpg {
    fn drop(&mut self) {
        let _ = Command::new("gpgconf")
            .env("GNUPGHOME", &self.0)
            .args(["--kill", "gpg-agent"])
            .status();
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "gpg signs at the time of the day"
)]
fn now() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap()
        .as_secs()
}

#[test]
fn keys_and_signatures_of_the_installed_gpg_are_accepted() {
    let Some(gpg) = Gpg::new("each") else { return };
    for algorithm in ["rsa3072", "ed25519", "nistp256", "nistp384", "dsa3072"] {
        let user = format!("{algorithm}@example.com");
        let create = ["--quick-generate-key", &user, algorithm, "sign", "never"];
        gpg.run(&create, b"");
        let key = gpg.run(&["--armor", "--export", &user], b"");
        let keys = parse_signing_keys(str::from_utf8(&key).unwrap()).unwrap();
        for form in ["--armor", "--no-armor", "--textmode"] {
            let signed = b"some\r\nlines\nof text\n";
            let arguments = ["--local-user", &user, form, "--detach-sign"];
            let signature = detached_signature(&gpg.run(&arguments, signed)).unwrap();
            let verified = verify_detached(&keys, signed, &signature, now() + 1).unwrap();
            assert_eq!(verified.warnings, Vec::<String>::new());
            verify_detached(&keys, b"other lines", &signature, now() + 1).unwrap_err();
        }
    }
}

#[test]
fn an_older_export_of_a_renewed_key_takes_nothing_away() {
    let Some(gpg) = Gpg::new("renewed") else {
        return;
    };
    let at = |day: &str| format!("--faked-system-time=202401{day}T000000!");
    let user = "renewed@example.com";
    let create = ["--quick-generate-key", user, "rsa2048", "default", "1y"];
    gpg.run(&[&[at("01").as_str()], create.as_slice()].concat(), b"");
    let export = || gpg.run(&["--armor", "--export", user], b"");
    let old = export();
    let listed = gpg.run(&["--with-colons", "--list-keys", user], b"");
    let listed = String::from_utf8(listed).unwrap();
    let fingerprint = listed.lines().find_map(|line| line.strip_prefix("fpr:"));
    let fingerprint = fingerprint.unwrap().trim_matches(':');
    gpg.run(&[&at("02"), "--quick-set-expire", fingerprint, "2y"], b"");
    let add = ["--quick-add-key", fingerprint, "rsa2048", "sign", "3y"];
    gpg.run(&[&[at("02").as_str()], &add[..]].concat(), b"");
    let new = export();
    let signed = b"signed";
    let signature = gpg.run(&[&at("03"), "--local-user", user, "--detach-sign"], signed);
    let [old, new] = [old, new].map(|text| {
        let text = str::from_utf8(&text).unwrap();
        parse_signing_keys(text).unwrap().remove(0)
    });
    let merged = [new.merged(&old).unwrap(), old.merged(&new).unwrap()];
    for key in &merged {
        assert_eq!(key.expires(), new.expires());
        assert_eq!(key.signing_subkeys(), new.signing_subkeys());
        assert_ne!(key.expires(), old.expires());
        assert!(key.supersedes(&old));
        let show = ["--show-keys", "--with-colons"];
        let read = gpg.run(&show, key.ascii_armor().as_bytes());
        assert!(String::from_utf8(read).unwrap().contains(fingerprint));
    }
    let at = 1_704_412_800;
    verify_detached(&merged, signed, &signature, at).unwrap();
    verify_detached(&[old], signed, &signature, at).unwrap_err();
}
