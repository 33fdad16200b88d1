//! States the target and, in a release build, the commit that the command is built from.

use std::path::Path;
use std::process::Command;

/// The commit, given by a build without a repository.
const COMMIT: &str = "TERRACE_COMMIT";

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed={COMMIT}");
    let target = std::env::var("TARGET").unwrap_or_default();
    // A development build states none: it would be compiled again after each commit.
    let is_release = std::env::var("PROFILE").is_ok_and(|profile| profile == "release");
    let given = std::env::var(COMMIT)
        .ok()
        .filter(|commit| !commit.is_empty());
    let commit = given.or_else(|| is_release.then(checked_out).flatten());
    println!(
        "cargo::rustc-env=TERRACE_BUILD={}",
        commit.map_or_else(|| target.clone(), |commit| format!("{commit}, {target}"))
    );
}

/// Returns the first digits of the checked-out commit. A tarball that was extracted into another repository has none.
fn checked_out() -> Option<String> {
    let top = git(&["rev-parse", "--show-toplevel"])?;
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    if Path::new(&top).canonicalize().ok()? != workspace.canonicalize().ok()? {
        return None;
    }
    for file in ["HEAD", "logs/HEAD"] {
        let path = git(&["rev-parse", "--git-path", file])?;
        println!("cargo::rerun-if-changed={path}");
    }
    git(&[
        "describe",
        "--always",
        "--dirty",
        "--abbrev=12",
        "--exclude=*",
    ])
}

fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}
