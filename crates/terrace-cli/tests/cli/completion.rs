//! The completion of the command by shells.

use std::fs;
use std::process::{Command, Stdio};

use tempfile::TempDir;

use super::support::{directory, ended, terrace};

/// Writes the script for a shell into a directory.
fn script(shell: &str) -> TempDir {
    let script = ended(&mut terrace(&["completion", shell])).expect(0);
    assert!(script.stderr.is_empty(), "{script:?}");
    directory(&[("script", &script.stdout)])
}

/// Runs a program in a directory. Returns its standard output, or `None` if the program is not on this machine.
fn output_of(program: &str, arguments: &[&str], folder: &TempDir) -> Option<String> {
    let mut command = Command::new(program);
    command.args(arguments).current_dir(folder.path());
    let Ok(output) = command.stdin(Stdio::null()).output() else {
        eprintln!("skipped: {program} is not on this machine");
        return None;
    };
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{stdout}{stderr}");
    assert!(stderr.is_empty(), "{stderr}");
    Some(stdout)
}

/// Returns the words that bash offers for the last of these words.
fn offered_in_bash(folder: &TempDir, words: &[&str]) -> Option<Vec<String>> {
    let call = r#"
        source ./script || exit 1
        complete -p terrace | grep -q -- "-F _terrace_words_or_files .*terrace" || exit 2
        COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=()
        _terrace_words_or_files terrace "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
        [[ ${#COMPREPLY[@]} -eq 0 ]] || printf '%s\n' "${COMPREPLY[@]}"
    "#;
    let flags = ["--norc", "--noprofile", "-c", call, "bash"];
    let offered = output_of("bash", &[&flags, words].concat(), folder)?;
    Some(offered.lines().map(str::to_owned).collect())
}

#[test]
fn bash_completes_commands_flags_and_values() {
    let folder = script("bash");
    for (words, expected) in [
        (&["terrace", "pub"] as &[&str], &["publish"] as &[&str]),
        (&["terrace", "publish", "m"], &["module", "modules"]),
        (&["terrace", "--quiet", "mirror", "s"], &["sync"]),
        (
            &["terrace", "completion", ""],
            &["bash", "zsh", "fish", "powershell"],
        ),
        (&["terrace", "admin", "gc", "--ye"], &["--yes"]),
        (&["terrace", "nonsense"], &[]),
    ] {
        let Some(offered) = offered_in_bash(&folder, words) else {
            return;
        };
        assert_eq!(offered, expected, "{words:?}");
    }
}

#[test]
fn bash_offers_files_where_a_file_can_be_given() {
    let folder = script("bash");
    for words in [
        &["terrace", "admin", "import", ""] as &[&str],
        &["terrace", "mirror", "sync", "scr"],
        &["terrace", "publish", "module", ""],
    ] {
        // Without an offer, bash completes the names of files.
        let Some(offered) = offered_in_bash(&folder, words) else {
            return;
        };
        assert!(offered.is_empty(), "{words:?}: {offered:?}");
    }
    let copy = ["terrace", "admin", "audit", "--copy", "scr"];
    let offered = offered_in_bash(&folder, &copy).unwrap();
    assert_eq!(offered, ["script"]);
}

#[test]
fn zsh_accepts_the_script() {
    let folder = script("zsh");
    let text = fs::read_to_string(folder.path().join("script")).unwrap();
    assert!(text.starts_with("#compdef terrace\n"), "{text}");
    assert!(text.contains("'publish:Publish a version"), "{text}");
    output_of("zsh", &["-f", "-n", "./script"], &folder);
}

#[test]
fn fish_completes_commands() {
    let folder = script("fish");
    let call = "source ./script; complete -C 'terrace pub'; complete -C 'terrace mirror s'";
    if let Some(offered) = output_of("fish", &["--no-config", "-c", call], &folder) {
        let words: Vec<&str> = offered
            .lines()
            .filter_map(|line| line.split('\t').next())
            .collect();
        assert_eq!(words, ["publish", "sync"]);
    }
}

#[test]
fn powershell_accepts_the_script() {
    let folder = script("powershell");
    let text = fs::read_to_string(folder.path().join("script")).unwrap();
    assert!(text.contains("Register-ArgumentCompleter -Native -CommandName 'terrace'"));
    let call = "[void][scriptblock]::Create((Get-Content -Raw ./script))";
    output_of("pwsh", &["-NoProfile", "-Command", call], &folder);
}

#[test]
fn an_unknown_shell_is_rejected_with_the_known_ones() {
    let message = ended(&mut terrace(&["completion", "tcsh"]))
        .expect(2)
        .stderr;
    assert!(message.contains("bash, zsh, fish, powershell"), "{message}");
}
